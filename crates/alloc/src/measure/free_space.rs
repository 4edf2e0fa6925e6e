//! Measures of the layout of free space.

use strewn_base::state::SavedValue;
use strewn_raid::ROW_STRIPES;

use crate::aggregate::Aggregate;
use crate::free_map::FreeMap;
use crate::mask::runs;

/// The layout of free space on the spindles.
#[derive(Debug, Clone, Copy, PartialEq, SavedValue)]
pub struct FreeSpace {
    /// The layout score of free space (Smith and Seltzer, SIGMETRICS 1997, for files): the share of free blocks, except
    /// the first of each spindle, that directly follow another free block. 1 is one run per spindle.
    pub score: f64,
    /// The longest run of free blocks on one spindle.
    pub largest_run_blocks: u64,
    /// Free blocks.
    pub free_blocks: u64,
    /// The runs by length.
    pub runs: RunHistogram,
}

impl FreeSpace {
    /// The free space of two aggregates together, the scores weighted by free blocks.
    #[must_use]
    pub fn with(&self, other: &Self) -> Self {
        let free_blocks = self.free_blocks + other.free_blocks;
        let weighted = |one: &Self| one.score * one.free_blocks as f64;
        let score = match free_blocks {
            0 => self.score,
            _ => (weighted(self) + weighted(other)) / free_blocks as f64,
        };
        Self {
            score,
            largest_run_blocks: self.largest_run_blocks.max(other.largest_run_blocks),
            free_blocks,
            runs: RunHistogram(std::array::from_fn(|class| {
                self.runs.0[class] + other.runs.0[class]
            })),
        }
    }

    /// Measures free space that is told as runs on one spindle: the blocks of each. Runs that touch must come as one.
    ///
    /// ```
    /// use strewn_alloc::FreeSpace;
    ///
    /// let space = FreeSpace::of_runs([1, 7, 2]);
    /// assert_eq!((space.free_blocks, space.largest_run_blocks), (10, 7));
    /// // Of nine blocks after the first, seven follow another.
    /// assert_eq!(space.score, 7.0 / 9.0);
    /// ```
    #[must_use]
    pub fn of_runs(runs: impl IntoIterator<Item = u64>) -> Self {
        let mut counter = FreeRunCounter::default();
        runs.into_iter().for_each(|blocks| counter.add(blocks));
        counter.free_space()
    }

    /// Measures one parity group in a pass over the words of its map.
    #[must_use]
    pub fn measure(map: &FreeMap) -> Self {
        let mut pass = FreeSpacePass::default();
        pass.step([map], u64::MAX);
        pass.free_space()
    }

    /// Measures all groups of `aggregate` in a pass over their maps. For steps see [`FreeSpacePass`].
    #[must_use]
    pub fn of<T: Copy>(aggregate: &Aggregate<T>) -> Self {
        let mut pass = FreeSpacePass::default();
        pass.step(aggregate.free_maps(), u64::MAX);
        pass.free_space()
    }
}

/// Counts runs of free blocks on one spindle, in any order. Runs that touch must come as one.
#[derive(Debug, Clone, Copy, Default)]
pub struct FreeRunCounter {
    free_blocks: u64,
    largest: u64,
    runs: RunHistogram,
}

impl FreeRunCounter {
    /// Adds a run of `blocks`; one of 0 blocks is none.
    pub fn add(&mut self, blocks: u64) {
        if blocks > 0 {
            self.free_blocks = self.free_blocks.saturating_add(blocks);
            self.largest = self.largest.max(blocks);
            self.runs.add(blocks);
        }
    }

    /// The free space of the runs so far.
    #[must_use]
    pub fn free_space(&self) -> FreeSpace {
        FreeSpace {
            score: score(self.free_blocks, self.runs.runs(), 1),
            largest_run_blocks: self.largest,
            free_blocks: self.free_blocks,
            runs: self.runs,
        }
    }
}

/// [`FreeSpace::score`] of `runs` runs on `spindles` spindles with free blocks.
fn score(free_blocks: u64, runs: u64, spindles: u64) -> f64 {
    match free_blocks - spindles.min(free_blocks) {
        0 => 1.0,
        others => (free_blocks - runs.min(free_blocks)) as f64 / others as f64,
    }
}

/// Classes of a [`RunHistogram`].
pub const RUN_CLASSES: usize = 41;

/// Runs of free blocks, by powers of two: class `n` holds those of `2^n` to `2^(n+1) - 1` blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, SavedValue)]
pub struct RunHistogram(pub [u64; RUN_CLASSES]);

impl Default for RunHistogram {
    fn default() -> Self {
        Self([0; RUN_CLASSES])
    }
}

impl RunHistogram {
    fn add(&mut self, blocks: u64) {
        self.0[(blocks.ilog2() as usize).min(RUN_CLASSES - 1)] += 1;
    }

    /// Runs of any length.
    #[must_use]
    pub fn runs(&self) -> u64 {
        self.0.iter().sum()
    }

    /// The non-empty classes: the shortest run of the class, and the number of runs.
    pub fn classes(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let all = self.0.iter().enumerate().map(|(class, runs)| (1 << class, *runs));
        all.filter(|(_, runs)| *runs > 0)
    }
}

/// A pass over the free maps, in steps of any number of rows (64 stripes of a group).
///
/// Blocks that change during the pass are measured as they were when the pass reached them.
#[derive(Debug, Clone, Default)]
pub struct FreeSpacePass {
    group: usize,
    row: u64,
    /// Free blocks directly before `row` on each spindle of the group.
    open: Vec<u64>,
    /// Entirely free rows before `row` that are not in `open` yet: most rows of an empty disk.
    free_rows: u64,
    /// Spindles of the group on which a run has ended.
    with_run: Vec<bool>,
    free_blocks: u64,
    spindles_with_free: u64,
    largest: u64,
    runs: RunHistogram,
}

impl FreeSpacePass {
    /// Advances by `rows` rows of `maps`, which must be the same each time ([`Aggregate::free_maps`]). Returns whether
    /// the pass is done.
    pub fn step<'a>(&mut self, maps: impl IntoIterator<Item = &'a FreeMap>, rows: u64) -> bool {
        let mut left = rows;
        for map in maps.into_iter().skip(self.group) {
            let spindles = map.group().data_spindles();
            self.open.resize(usize::from(spindles), 0);
            self.with_run.resize(usize::from(spindles), false);
            let end = map.group().stripes().div_ceil(ROW_STRIPES);
            while self.row < end {
                if left == 0 {
                    return false;
                }
                left -= 1;
                let first = self.row as usize * usize::from(spindles);
                let used = &map.words()[first..first + usize::from(spindles)];
                self.row += 1;
                if used.iter().fold(0, |any, used| any | used) == 0 {
                    self.free_rows += 1;
                    self.free_blocks += ROW_STRIPES * u64::from(spindles);
                    continue;
                }
                self.add_free_rows();
                for (spindle, used) in used.iter().enumerate() {
                    self.read(spindle, !used);
                }
            }
            self.add_free_rows();
            for spindle in 0..usize::from(spindles) {
                self.end_run(spindle);
                self.spindles_with_free += u64::from(self.with_run[spindle]);
            }
            self.open.clear();
            self.with_run.clear();
            self.row = 0;
            self.group += 1;
        }
        true
    }

    fn add_free_rows(&mut self) {
        let blocks = std::mem::take(&mut self.free_rows) * ROW_STRIPES;
        self.open.iter_mut().for_each(|open| *open += blocks);
    }

    #[inline]
    fn read(&mut self, spindle: usize, free: u64) {
        if free == u64::MAX {
            self.open[spindle] += ROW_STRIPES;
            self.free_blocks += ROW_STRIPES;
            return;
        }
        self.free_blocks += u64::from(free.count_ones());
        if free & 1 == 0 {
            self.end_run(spindle);
        }
        for (first, blocks) in runs(free) {
            self.open[spindle] += u64::from(blocks);
            if first + blocks < u64::BITS {
                self.end_run(spindle);
            }
        }
    }

    #[inline]
    fn end_run(&mut self, spindle: usize) {
        let blocks = std::mem::take(&mut self.open[spindle]);
        if blocks > 0 {
            self.runs.add(blocks);
            self.largest = self.largest.max(blocks);
            self.with_run[spindle] = true;
        }
    }

    /// The result, once the pass is done; before that, of the runs that have ended.
    #[must_use]
    pub fn free_space(&self) -> FreeSpace {
        FreeSpace {
            score: score(self.free_blocks, self.runs.runs(), self.spindles_with_free),
            largest_run_blocks: self.largest,
            free_blocks: self.free_blocks,
            runs: self.runs,
        }
    }
}
