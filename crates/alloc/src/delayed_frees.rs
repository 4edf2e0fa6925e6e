//! Frees delayed until many blocks of one region can be freed together.

use strewn_base::state::{SavedState, StateError, StateReader, StateWriter};
use strewn_raid::Vbn;

use crate::areas::{AreaOrder, Areas};

/// Blocks in a region: what one 4 KiB block of a free map describes.
pub const REGION_BLOCKS: u64 = 32_768;

/// Delayed frees, by region of the free map.
///
/// Every region that a consistency point touches costs it a read and a write of a map block. Frees scattered over many
/// regions are therefore collected, and the regions with the most are freed first (Kesavan, Singh, Grusecki and Patel,
/// "Algorithms and Data Structures for Efficient Free Space Reclamation in WAFL", FAST 2017, log them for that).
///
/// Memory: 8 bytes a delayed free, some 32 bytes a region.
#[derive(Debug, Clone)]
pub struct DelayedFrees {
    by_region: Vec<Vec<Vbn>>,
    fullest: Areas,
}

impl DelayedFrees {
    /// No delayed frees, in `regions` regions.
    #[must_use]
    pub fn new(regions: u32) -> Self {
        let fullest = Areas::new(vec![0; regions as usize], u32::MAX, AreaOrder::Exact);
        Self { by_region: vec![Vec::new(); regions as usize], fullest }
    }

    /// Grows to `regions` regions.
    pub(crate) fn grow(&mut self, regions: u32) {
        let mut scores: Vec<u32> =
            self.by_region.iter().map(|blocks| blocks.len() as u32).collect();
        scores.resize(regions as usize, 0);
        self.by_region.resize(regions as usize, Vec::new());
        self.fullest = Areas::new(scores, u32::MAX, AreaOrder::Exact);
    }

    /// The number of delayed frees.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        self.fullest.free_blocks()
    }

    /// The number of delayed frees in `region`.
    ///
    /// # Panics
    /// If there is no such region.
    #[inline]
    #[must_use]
    pub fn blocks_of(&self, region: u32) -> u32 {
        self.fullest.free_blocks_in(region)
    }

    /// Delays the free of `vbn`, which lies in `region`. The caller knows that it is not delayed already.
    ///
    /// # Panics
    /// If there is no such region.
    #[inline(always)]
    pub fn hold_back(&mut self, region: u32, vbn: Vbn) {
        self.by_region[region as usize].push(vbn);
        self.fullest.add(region, 1);
    }

    /// Announces a [`hold_back`](Self::hold_back) in `region`.
    ///
    /// # Panics
    /// If there is no such region.
    #[inline(always)]
    pub fn prefetch(&self, region: u32) {
        let blocks = &self.by_region[region as usize];
        strewn_base::memory::prefetch(blocks, blocks.len().saturating_sub(1));
    }

    /// If more than `bound` frees are delayed: the region with the most (the lowest on a tie) and its blocks, which
    /// leave the list. O(log regions), plus O(blocks).
    pub fn reclaim(&mut self, bound: u64) -> Option<(u32, Vec<Vbn>)> {
        if self.blocks() <= bound {
            return None;
        }
        let (region, blocks) = self.fullest.emptiest()?;
        let reclaimed = std::mem::take(&mut self.by_region[region as usize]);
        let (listed, counted) = (reclaimed.len(), blocks as usize);
        assert!(
            listed == counted,
            "region {region}: {counted} delayed frees counted, {listed} listed"
        );
        self.fullest.subtract(region, blocks);
        Some((region, reclaimed))
    }

    /// The delayed frees of `region`, which leave the list.
    ///
    /// # Panics
    /// If there is no such region.
    pub fn reclaim_region(&mut self, region: u32) -> Vec<Vbn> {
        let reclaimed = std::mem::take(&mut self.by_region[region as usize]);
        self.fullest.subtract(region, reclaimed.len() as u32);
        reclaimed
    }

    pub(crate) fn regions(&self) -> u32 {
        self.by_region.len() as u32
    }

    /// The blocks of `region` whose free is delayed.
    pub(crate) fn in_region(&self, region: u32) -> impl Iterator<Item = Vbn> + '_ {
        self.by_region[region as usize].iter().copied()
    }

    /// The blocks whose free is delayed.
    pub fn iter(&self) -> impl Iterator<Item = Vbn> + '_ {
        self.by_region.iter().flatten().copied()
    }
}

impl SavedState for DelayedFrees {
    fn save(&self, to: &mut StateWriter<'_>) -> Result<(), StateError> {
        let Self { by_region, fullest } = self;
        to.values(by_region)?;
        fullest.save(to)
    }

    fn restore(&mut self, from: &mut StateReader<'_>) -> Result<(), StateError> {
        let Self { by_region, fullest } = self;
        from.values(by_region).map_err(|error| error.within("by_region"))?;
        fullest.restore(from).map_err(|error| error.within("fullest"))
    }
}
