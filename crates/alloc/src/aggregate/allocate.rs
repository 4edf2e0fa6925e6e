//! Allocation: group by group, area by area, tetris by tetris, chunk by chunk.

use strewn_raid::{BlockLocation, Dbn, ROW_STRIPES, SpindleIndex, SpindleSet, Vbn};

use super::{Aggregate, AllocateError, Group, OutOfSpace, Taken};
use crate::free_map::{FreeMap, MapPosition};
use crate::group_index::GroupIndex;
use crate::tetris::OpenTetris;

impl<T: Copy> Aggregate<T> {
    /// Allocates the next free block, to hold `what`.
    ///
    /// # Errors
    /// [`AllocateError`] if there is none, or no consistency point is open.
    #[inline(always)]
    pub fn allocate(&mut self, what: T) -> Result<Vbn, AllocateError> {
        while self.groups[self.turn].cursor.available == 0 {
            self.next_chunk()?;
        }
        let cursor = &mut self.groups[self.turn].cursor;
        let bit = cursor.available & cursor.available.wrapping_neg();
        cursor.available ^= bit;
        Ok(Vbn(self.record(bit, &[what]) + u64::from(bit.trailing_zeros())))
    }

    /// Allocates a block for each of `contents`, in order, and calls `placed` with the VBN of each.
    ///
    /// # Errors
    /// [`AllocateError`] if there are not enough, or no consistency point is open; then nothing is allocated. With
    /// [`AllocateError::Scores`], the blocks placed until then are.
    pub fn allocate_all(
        &mut self,
        contents: &[T],
        mut placed: impl FnMut(T, Vbn),
    ) -> Result<(), AllocateError> {
        self.in_consistency_point()?;
        let (needed, free) = (contents.len() as u64, self.free_blocks());
        if needed > free {
            return Err(OutOfSpace { needed, free }.into());
        }
        let mut rest = contents;
        while !rest.is_empty() {
            while self.groups[self.turn].cursor.available == 0 {
                self.next_chunk()?;
            }
            let blocks = if self.is_scattered() {
                placed(rest[0], self.allocate(rest[0])?);
                1
            } else {
                self.fill_window(rest, &mut placed)
            };
            rest = &rest[blocks..];
        }
        Ok(())
    }

    /// Allocates the blocks of the window, from the current spindle on, until these or `contents` end. Returns how
    /// many.
    fn fill_window(&mut self, contents: &[T], placed: &mut impl FnMut(T, Vbn)) -> usize {
        if self.open.is_none() {
            self.open_tetris(GroupIndex(self.turn as u16), 0);
        }
        let Group { cursor, map, first_vbn, spindles, .. } = &mut self.groups[self.turn];
        let open = self.open.as_mut().expect("a tetris is open");
        let (mut at, row) = (*cursor, map.row(cursor.row));
        let mut blocks = 0;
        loop {
            let spindle = SpindleIndex(at.spindle);
            let first = *first_vbn + map.group().vbn(spindle, Dbn(at.row * ROW_STRIPES)).0;
            let before = at.available;
            for &what in &contents[blocks..] {
                placed(what, Vbn(first + u64::from(at.available.trailing_zeros())));
                at.available &= at.available - 1;
                blocks += 1;
                if at.available == 0 {
                    break;
                }
            }
            open.add_mask(spindle, before ^ at.available);
            // What follows the last block is looked for when the next one is allocated.
            if blocks == contents.len() || !at.fill_next(row, *spindles) {
                break;
            }
        }
        *cursor = at;
        open.tetris.contents.extend_from_slice(&contents[..blocks]);
        self.open_blocks += blocks as u64;
        self.allocated_blocks += blocks as u64;
        blocks
    }

    /// Allocates a block for `what`, which follows the block at `neighbour` in its file: close behind it, if the policy
    /// keeps blocks near and a block there is free; otherwise as [`allocate`](Self::allocate) does.
    ///
    /// # Errors
    /// As [`allocate`](Self::allocate).
    pub fn allocate_behind(
        &mut self,
        what: T,
        neighbour: Option<Vbn>,
    ) -> Result<Vbn, AllocateError> {
        self.in_consistency_point()?;
        if self.keeps_near
            && let Some(place) = neighbour.and_then(|neighbour| self.locate(neighbour))
            && let Some(dbn) = self.free_close_behind(place.group, place.location)
        {
            let map = &mut self.groups[place.group.index()].map;
            map.check_area(place.group, map.area_of(dbn))?;
            let spindle = place.location.spindle;
            let (row, bit) = (dbn / ROW_STRIPES, 1 << (dbn % ROW_STRIPES));
            self.allocated_blocks += 1;
            let first = self.record_scattered(place.group, spindle, row, bit, &[what]);
            return Ok(Vbn(first + dbn % ROW_STRIPES));
        }
        self.allocate(what)
    }

    fn in_consistency_point(&self) -> Result<(), AllocateError> {
        if self.is_open { Ok(()) } else { Err(AllocateError::NoConsistencyPoint) }
    }

    fn free_close_behind(&self, group: GroupIndex, behind: BlockLocation) -> Option<u64> {
        let map = &self.groups[group.index()].map;
        let from = behind.dbn.0 + 1;
        // Beyond the chunk, it is the next spindle's turn.
        let end = from.next_multiple_of(self.options.shape.chunk_blocks).min(map.group().stripes());
        let dbn = map.next_stripe(behind.spindle, from, end, true)?;
        (!map.areas().is_withheld(map.area_of(dbn))).then_some(dbn)
    }

    /// Records that `mask` of the current spindle and row is allocated to `contents`. Returns the VBN of bit 0.
    #[inline(always)]
    fn record(&mut self, mask: u64, contents: &[T]) -> u64 {
        self.allocated_blocks += contents.len() as u64;
        let group = GroupIndex(self.turn as u16);
        let Group { cursor, map, first_vbn, .. } = &self.groups[self.turn];
        let (spindle, row) = (SpindleIndex(cursor.spindle), cursor.row);
        if self.is_scattered() {
            return self.record_scattered(group, spindle, row, mask, contents);
        }
        let vbn = first_vbn + map.group().vbn(spindle, Dbn(row * ROW_STRIPES)).0;
        self.open_blocks += contents.len() as u64;
        if self.open.is_none() {
            self.open_tetris(group, contents.len());
        }
        let open = self.open.as_mut().expect("a tetris is open");
        open.add(spindle, mask, contents);
        vbn
    }

    /// Opens the tetris of the current row, with memory for `blocks` just allocated and what else it will hold.
    #[inline(never)]
    fn open_tetris(&mut self, group: GroupIndex, blocks: usize) {
        let Group { cursor, map, .. } = &self.groups[group.index()];
        let expected = self.expected_blocks.saturating_sub(self.allocated_blocks);
        let blocks = blocks.max(cursor.window_blocks.min(expected) as usize);
        let spindles = map.group().data_spindles();
        self.open = Some(OpenTetris::with_capacity(group, cursor.row, spindles, blocks));
    }

    /// The same while every tetris stays open: the map marks blocks as used at once.
    #[cold]
    fn record_scattered(
        &mut self,
        group: GroupIndex,
        spindle: SpindleIndex,
        row: u64,
        mask: u64,
        contents: &[T],
    ) -> u64 {
        let of_group = &mut self.groups[group.index()];
        of_group.map.take_mask(spindle, row, mask);
        of_group.map.blocks_taken(row, mask.count_ones());
        of_group.forget_available(spindle, row, mask);
        let Group { map, first_vbn, .. } = of_group;
        self.taken.push(Taken { place: MapPosition::new(group, map.word(spindle, row), 0), mask });
        let spindles = map.group().data_spindles();
        let open = self.scattered.entry((group, row));
        let open = open.or_insert_with(|| OpenTetris::with_capacity(group, row, spindles, 0));
        open.add(spindle, mask, contents);
        *first_vbn + map.group().vbn(spindle, Dbn(row * ROW_STRIPES)).0
    }

    /// Moves to the next spindle of the window, or to the next window.
    #[inline(never)]
    fn next_chunk(&mut self) -> Result<(), AllocateError> {
        // While none is open, no spindle of a window is being filled, so that every allocation comes here.
        self.in_consistency_point()?;
        let Group { cursor, map, spindles, .. } = &mut self.groups[self.turn];
        if cursor.spindles_left > 0 && cursor.fill_next(map.row(cursor.row), *spindles) {
            return Ok(());
        }
        self.next_window()?;
        let Group { cursor, map, spindles, .. } = &mut self.groups[self.turn];
        cursor.spindles_left = map.group().data_spindles();
        let found = cursor.fill_next(map.row(cursor.row), *spindles);
        assert!(found, "a window without a free block");
        Ok(())
    }

    /// Opens the next window: at most a chunk deep, within one tetris, with at least one free block in it.
    fn next_window(&mut self) -> Result<(), AllocateError> {
        let tetris_stripes = self.options.shape.tetris_stripes;
        let chunk_blocks = self.options.shape.chunk_blocks;
        loop {
            if self.groups[self.turn].cursor.is_between_tetrises(tetris_stripes) {
                self.close_tetris();
                self.turn = self.next_turn().ok_or(OutOfSpace { needed: 1, free: 0 })?;
            }
            let group = &mut self.groups[self.turn];
            if group.cursor.next_stripe >= group.cursor.area_end {
                let Some(area) = group.choose_area(self.lifetime) else { continue };
                // An area whose score is too high would be chosen for ever, one whose score is too low overdrawn.
                group.map.check_area(GroupIndex(self.turn as u16), area)?;
                let stripes = group.map.stripes_of_area(area);
                group.cursor.next_stripe = stripes.start;
                group.cursor.area_end = stripes.end;
                group.choose_spindles(self.lifetime, area);
            }
            let Group { cursor, map, spindles, .. } = group;
            let row = cursor.next_stripe / ROW_STRIPES;
            let end = cursor.area_end.div_ceil(ROW_STRIPES);
            let found = map.next_row_with_free(row, end);
            if found != Some(row) {
                cursor.next_stripe = found.map_or(cursor.area_end, |row| row * ROW_STRIPES);
                continue;
            }
            let first = cursor.next_stripe;
            let chunk_end = (first / chunk_blocks + 1) * chunk_blocks;
            let depth = chunk_end.min(cursor.area_end) - first;
            let rest = self.expected_blocks.saturating_sub(self.allocated_blocks).max(1);
            let (window, depth) = window_for(map, *spindles, first, depth, rest);
            cursor.next_stripe = first + depth;
            cursor.row = row;
            cursor.window = window;
            // Another stream of blocks may have left this group amid a chunk.
            cursor.available = 0;
            cursor.window_blocks = free_in_window(map, *spindles, row, window);
            if cursor.window_blocks > 0 {
                return Ok(());
            }
        }
    }

    /// The group that fills the next tetris: the next one whose free share is at least half that of the emptiest group;
    /// `None` if all are full.
    fn next_turn(&self) -> Option<usize> {
        let share = |group: &Group| {
            group.map.free_blocks() as f64 / group.map.group().total_blocks() as f64
        };
        if self.groups.len() == 1 {
            return (self.groups[0].map.free_blocks() > 0).then_some(0);
        }
        let emptiest = self.groups.iter().map(share).fold(0.0, f64::max);
        (1..=self.groups.len())
            .map(|step| (self.turn + step) % self.groups.len())
            .find(|index| emptiest > 0.0 && share(&self.groups[*index]) >= emptiest / 2.0)
    }

    pub(crate) fn close_tetris(&mut self) {
        let Some(open) = self.open.take() else { return };
        let open_blocks = std::mem::take(&mut self.open_blocks);
        let tetris = open.close();
        // Each block once, and each with its contents.
        let named = tetris.contents.len() as u64;
        let row = tetris.first_stripe / ROW_STRIPES;
        let map = &mut self.groups[tetris.group.index()].map;
        let group = tetris.group;
        let written = map.take_row(row, &tetris.written, |word, mask| {
            self.taken.push(Taken { place: MapPosition::new(group, word, 0), mask });
        });
        assert!(
            written == open_blocks && named == open_blocks,
            "a tetris of {open_blocks} blocks writes {written} and names {named}"
        );
        map.blocks_taken(row, written as u32);
        self.closed.push_back(tetris);
    }
}

impl super::Cursor {
    /// Moves to the next spindle that has a free block in the window, `row` being its row of words. Returns whether one
    /// is left.
    #[inline]
    fn fill_next(&mut self, row: &[u64], spindles: SpindleSet) -> bool {
        self.available = 0;
        while self.spindles_left > 0 && self.available == 0 {
            self.spindles_left -= 1;
            self.spindle = next_spindle(self.spindle, row.len());
            let is_filled = spindles.0 >> self.spindle & 1;
            self.available =
                !row[usize::from(self.spindle)] & self.window & is_filled.wrapping_neg();
        }
        self.available != 0
    }

    fn is_between_tetrises(&self, tetris_stripes: u64) -> bool {
        self.next_stripe.is_multiple_of(tetris_stripes) || self.next_stripe >= self.area_end
    }
}

/// The spindle whose turn it is after `spindle`, of so many.
#[inline]
pub(super) fn next_spindle(spindle: u16, spindles: usize) -> u16 {
    let next = spindle + 1;
    if usize::from(next) < spindles { next } else { 0 }
}

/// As few stripes from `first` on as hold `rest` blocks, at most `depth`: the mask in their row, and how many.
fn window_for(map: &FreeMap, filled: SpindleSet, first: u64, depth: u64, rest: u64) -> (u64, u64) {
    let row = first / ROW_STRIPES;
    let whole = stripes_mask(first, depth);
    let spindles = u64::from(map.group().data_spindles());
    let mut shallow = rest.div_ceil(spindles);
    if shallow >= depth || free_in_window(map, filled, row, whole) <= rest {
        return (whole, depth);
    }
    while free_in_window(map, filled, row, stripes_mask(first, shallow)) < rest {
        shallow += 1;
    }
    (stripes_mask(first, shallow), shallow)
}

fn free_in_window(map: &FreeMap, filled: SpindleSet, row: u64, window: u64) -> u64 {
    let words = (0..).zip(map.row(row));
    words
        .map(|(spindle, used)| {
            let window = window & (filled.0 >> spindle & 1).wrapping_neg();
            u64::from((!used & window).count_ones())
        })
        .sum()
}

/// The bits of `depth` stripes from `first` on, within the row that `first` lies in.
fn stripes_mask(first: u64, depth: u64) -> u64 {
    let bit = first % ROW_STRIPES;
    let depth = depth.min(ROW_STRIPES - bit);
    if depth == 0 { 0 } else { (u64::MAX >> (ROW_STRIPES - depth)) << bit }
}
