//! The write allocator of one aggregate: consistency points that take free blocks and give used ones back.

use std::collections::VecDeque;

use strewn_raid::{ParityGroup, SpindleIndex, SpindleSet, Vbn};
use thiserror::Error;

use crate::free_map::{FreeMap, WORD_STRIPES};

/// How free space is taken: sizes of what WAFL calls allocation area, tetris and chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AllocationShape {
    /// Stripes in an allocation area: a positive multiple of 64.
    pub area_stripes: u64,
    /// Stripes sent to RAID at once: a power of two, at most 64.
    pub tetris_stripes: u64,
    /// Blocks laid on one spindle before the next takes its turn: a power of two, at most a tetris's stripes.
    pub chunk_blocks: u64,
}

impl Default for AllocationShape {
    /// 4096 stripes, 64 stripes, 64 blocks.
    fn default() -> Self {
        Self { area_stripes: 4096, tetris_stripes: 64, chunk_blocks: 64 }
    }
}

/// Why an aggregate cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum AggregateError {
    /// The area is not a positive multiple of 64 stripes.
    #[error("an allocation area of {0} stripes: it takes a positive multiple of 64")]
    AreaStripes(u64),
    /// The tetris is not a power of two of at most 64 stripes.
    #[error("a tetris of {0} stripes: it takes a power of two, at most 64")]
    TetrisStripes(u64),
    /// The chunk is not a power of two, or longer than a tetris.
    #[error(
        "a chunk of {chunk} blocks: it takes a power of two, at most the {tetris} stripes of a tetris"
    )]
    ChunkBlocks {
        /// The chunk asked for, in blocks.
        chunk: u64,
        /// The tetris it must fit, in stripes.
        tetris: u64,
    },
}

/// No free block is left. What the open consistency point has taken so far is still its own: abandon it, and the
/// aggregate is as it was before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the aggregate has no free block left")]
pub struct OutOfSpace;

/// Blocks to be written together: up to 64 consecutive stripes, with what is written on each spindle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tetris {
    /// The stripe (and DBN) that bit 0 of every mask stands for.
    pub first_stripe: u64,
    /// One mask a data spindle, a bit set for each stripe in which that spindle's block is written.
    pub written: Vec<u64>,
}

impl Tetris {
    /// Blocks written.
    #[must_use]
    pub fn blocks(&self) -> u32 {
        self.written.iter().map(|mask| mask.count_ones()).sum()
    }

    /// The stripes with at least one block written, one bit each.
    #[must_use]
    pub fn stripes_touched(&self) -> u64 {
        self.written.iter().fold(0, |any, mask| any | mask)
    }

    /// The stripes in which every data spindle's block is written, one bit each.
    #[must_use]
    pub fn stripes_full(&self) -> u64 {
        self.written.iter().fold(u64::MAX, |all, mask| all & mask)
    }

    /// The data spindles whose block in stripe `bit` is written.
    #[must_use]
    pub fn changed_in(&self, bit: u32) -> SpindleSet {
        let mut changed = 0;
        for (spindle, mask) in self.written.iter().enumerate() {
            changed |= (mask >> bit & 1) << spindle;
        }
        SpindleSet(changed)
    }
}

/// Where the allocator stands: the next stripe to look at, and the part of a tetris that is being filled.
#[derive(Debug, Clone)]
struct Cursor {
    area_end: u64,
    /// First stripe after the window.
    next_stripe: u64,
    /// The word (of 64 stripes) the window lies in, and which of its stripes it covers.
    word: u64,
    window: u64,
    spindle: u16,
    /// Free blocks of the current spindle in the window that are not given out yet.
    available: u64,
}

/// The blocks of one parity group and the allocator that writes anywhere in it.
///
/// Blocks are taken between [`begin`](Self::begin) and [`commit`](Self::commit): the emptiest allocation area
/// first, within it tetris by tetris, a chunk of each spindle in turn, so that blocks given in ascending file
/// order lie in order on a spindle. Blocks given back with [`free_at_commit`](Self::free_at_commit) can be taken
/// again only after the commit: until then the last consistency point still refers to them.
#[derive(Debug, Clone)]
pub struct Aggregate {
    map: FreeMap,
    shape: AllocationShape,
    cursor: Cursor,
    open: Option<Tetris>,
    closed: VecDeque<Tetris>,
    /// What the open consistency point has taken: spindle, word and mask.
    taken: Vec<(SpindleIndex, u64, u64)>,
    freed: Vec<Vbn>,
    expected_blocks: u64,
    allocated_blocks: u64,
}

impl Aggregate {
    /// An empty aggregate on `group`.
    ///
    /// # Errors
    /// If the shape's sizes do not fit each other.
    pub fn new(group: ParityGroup, shape: AllocationShape) -> Result<Self, AggregateError> {
        let AllocationShape { area_stripes, tetris_stripes, chunk_blocks } = shape;
        if area_stripes == 0 || !area_stripes.is_multiple_of(WORD_STRIPES) {
            return Err(AggregateError::AreaStripes(area_stripes));
        }
        if !tetris_stripes.is_power_of_two() || tetris_stripes > WORD_STRIPES {
            return Err(AggregateError::TetrisStripes(tetris_stripes));
        }
        if !chunk_blocks.is_power_of_two() || chunk_blocks > tetris_stripes {
            return Err(AggregateError::ChunkBlocks {
                chunk: chunk_blocks,
                tetris: tetris_stripes,
            });
        }
        let spindle = group.data_spindles();
        Ok(Self {
            map: FreeMap::all_free(group, area_stripes),
            shape,
            cursor: Cursor {
                area_end: 0,
                next_stripe: 0,
                word: 0,
                window: 0,
                spindle,
                available: 0,
            },
            open: None,
            closed: VecDeque::new(),
            taken: Vec::new(),
            freed: Vec::new(),
            expected_blocks: 0,
            allocated_blocks: 0,
        })
    }

    /// The free map and the areas' scores.
    #[must_use]
    pub fn free_map(&self) -> &FreeMap {
        &self.map
    }

    /// The parity group.
    #[must_use]
    pub fn group(&self) -> &ParityGroup {
        self.map.group()
    }

    /// Begins a consistency point that will take about `expected_blocks`. The last tetris is made as shallow as
    /// what then remains, so that its stripes are full though it is not.
    pub fn begin(&mut self, expected_blocks: u64) {
        debug_assert!(
            self.taken.is_empty() && self.freed.is_empty(),
            "a consistency point is open"
        );
        self.expected_blocks = expected_blocks;
        self.allocated_blocks = 0;
    }

    /// Takes the next free block.
    ///
    /// # Errors
    /// [`OutOfSpace`] when there is none.
    #[inline]
    pub fn allocate(&mut self) -> Result<Vbn, OutOfSpace> {
        while self.cursor.available == 0 {
            self.next_chunk()?;
        }
        let bit = self.cursor.available.trailing_zeros();
        self.cursor.available &= self.cursor.available - 1;
        let spindle = SpindleIndex(self.cursor.spindle);
        let tetris = self.open.get_or_insert_with(|| Tetris {
            first_stripe: self.cursor.word * WORD_STRIPES,
            written: vec![0; usize::from(self.map.group().data_spindles())],
        });
        tetris.written[spindle.index()] |= 1 << bit;
        self.allocated_blocks += 1;
        Ok(self.map.vbn(spindle, self.cursor.word * WORD_STRIPES + u64::from(bit)))
    }

    /// Gives back a block that the consistency point stops using; it becomes free with the commit.
    #[inline]
    pub fn free_at_commit(&mut self, vbn: Vbn) {
        self.freed.push(vbn);
    }

    /// The next tetris that is complete, in the order of allocation: the blocks that [`allocate`](Self::allocate)
    /// gave, spindle by spindle and chunk by chunk.
    pub fn next_tetris(&mut self) -> Option<Tetris> {
        self.closed.pop_front()
    }

    /// Ends allocation for the open consistency point; the tetris being filled is complete as it is.
    pub fn finish(&mut self) {
        self.close_tetris();
        // Holes that the last chunk left stay free until their area is the emptiest again.
        self.cursor.available = 0;
        self.cursor.spindle = self.map.group().data_spindles();
    }

    /// Makes the consistency point real: what it gave back is free. Returns how many blocks that was.
    pub fn commit(&mut self) -> u64 {
        self.finish();
        self.taken.clear();
        let freed = self.freed.len() as u64;
        for vbn in std::mem::take(&mut self.freed) {
            self.map.release(vbn);
        }
        freed
    }

    /// Drops the open consistency point: what it took is free again, what it gave back is still used.
    pub fn abandon(&mut self) {
        self.finish();
        self.closed.clear();
        self.freed.clear();
        for (spindle, word, mask) in std::mem::take(&mut self.taken) {
            for bit in (0..64).filter(|bit| mask >> bit & 1 == 1) {
                let vbn = self.map.vbn(spindle, word * WORD_STRIPES + bit);
                self.map.release(vbn);
            }
        }
    }

    /// Moves to the next spindle of the window, or to the next window.
    fn next_chunk(&mut self) -> Result<(), OutOfSpace> {
        let spindles = self.map.group().data_spindles();
        self.cursor.spindle = self.cursor.spindle.saturating_add(1);
        if self.cursor.spindle >= spindles {
            self.next_window()?;
            self.cursor.spindle = 0;
        }
        let spindle = SpindleIndex(self.cursor.spindle);
        self.cursor.available = self.map.free_word(spindle, self.cursor.word) & self.cursor.window;
        Ok(())
    }

    /// Opens the next window: at most a chunk deep, within one tetris, with at least one free block in it.
    fn next_window(&mut self) -> Result<(), OutOfSpace> {
        loop {
            let first = self.cursor.next_stripe;
            if first.is_multiple_of(self.shape.tetris_stripes) || first >= self.cursor.area_end {
                self.close_tetris();
            }
            if first >= self.cursor.area_end {
                let (area, free) = self.map.emptiest_area();
                if free == 0 {
                    return Err(OutOfSpace);
                }
                let stripes = self.map.area_stripes(area);
                self.cursor.next_stripe = stripes.start;
                self.cursor.area_end = stripes.end;
                continue;
            }
            let chunk_end = (first / self.shape.chunk_blocks + 1) * self.shape.chunk_blocks;
            let depth = chunk_end.min(self.cursor.area_end) - first;
            let depth = self.depth_for_the_rest(first, depth);
            self.cursor.next_stripe = first + depth;
            self.cursor.word = first / WORD_STRIPES;
            self.cursor.window = stripes_mask(first, depth);
            if self.free_in_window(self.cursor.word, self.cursor.window) > 0 {
                return Ok(());
            }
        }
    }

    /// As few stripes from `first` on as hold what the consistency point still expects to write, at most `depth`.
    fn depth_for_the_rest(&self, first: u64, depth: u64) -> u64 {
        let rest = self.expected_blocks.saturating_sub(self.allocated_blocks).max(1);
        let spindles = u64::from(self.map.group().data_spindles());
        let mut shallow = rest.div_ceil(spindles);
        while shallow < depth
            && self.free_in_window(first / WORD_STRIPES, stripes_mask(first, shallow)) < rest
        {
            shallow += 1;
        }
        shallow.min(depth)
    }

    fn free_in_window(&self, word: u64, window: u64) -> u64 {
        (0..self.map.group().data_spindles())
            .map(|spindle| self.map.free_word(SpindleIndex(spindle), word) & window)
            .map(|free| u64::from(free.count_ones()))
            .sum()
    }

    fn close_tetris(&mut self) {
        let Some(tetris) = self.open.take() else { return };
        let word = tetris.first_stripe / WORD_STRIPES;
        for (spindle, &mask) in tetris.written.iter().enumerate() {
            if mask != 0 {
                let spindle = SpindleIndex(spindle as u16);
                self.map.take_mask(spindle, word, mask);
                self.taken.push((spindle, word, mask));
            }
        }
        self.closed.push_back(tetris);
    }
}

/// The bits of `depth` stripes from `first` on, within the word that `first` lies in.
fn stripes_mask(first: u64, depth: u64) -> u64 {
    let bit = first % WORD_STRIPES;
    let depth = depth.min(WORD_STRIPES - bit);
    if depth == 0 { 0 } else { (u64::MAX >> (WORD_STRIPES - depth)) << bit }
}
