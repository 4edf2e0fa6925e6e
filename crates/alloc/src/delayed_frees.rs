//! Frees that are held back until many of one region can be given back together.

use strewn_raid::Vbn;

use crate::areas::{AreaOrder, Areas};

/// Blocks in a region: what one 4 KiB block of a free map describes.
pub const REGION_BLOCKS: u64 = 32_768;

/// Blocks that were freed but are held back, by region of the map that says so.
///
/// Every region touched costs a consistency point a map block to read and write, so frees that are scattered over many
/// regions are collected, and the regions that hold back most are given back first (Kesavan, Singh, Grusecki and Patel,
/// "Algorithms and Data Structures for Efficient Free Space Reclamation in WAFL", FAST 2017, log them for that).
///
/// Memory: 8 bytes a block held back, some 32 bytes a region.
#[derive(Debug, Clone)]
pub struct DelayedFrees {
    by_region: Vec<Vec<Vbn>>,
    fullest: Areas,
}

impl DelayedFrees {
    /// Nothing held back, of `regions` regions.
    #[must_use]
    pub fn new(regions: u32) -> Self {
        let fullest = Areas::new(vec![0; regions as usize], u32::MAX, AreaOrder::Exact);
        Self { by_region: vec![Vec::new(); regions as usize], fullest }
    }

    /// Makes room for regions up to `regions`.
    pub(crate) fn grow(&mut self, regions: u32) {
        let mut scores: Vec<u32> =
            self.by_region.iter().map(|blocks| blocks.len() as u32).collect();
        scores.resize(regions as usize, 0);
        self.by_region.resize(regions as usize, Vec::new());
        self.fullest = Areas::new(scores, u32::MAX, AreaOrder::Exact);
    }

    /// Blocks held back.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        self.fullest.free_blocks()
    }

    /// Blocks of `region` held back.
    #[must_use]
    pub fn blocks_of(&self, region: u32) -> u32 {
        self.fullest.free_blocks_in(region)
    }

    /// Holds back `vbn`, which `region` describes.
    #[inline(always)]
    pub fn hold_back(&mut self, region: u32, vbn: Vbn) {
        self.by_region[region as usize].push(vbn);
        self.fullest.add(region, 1);
    }

    /// Announces that a block of `region` will be held back.
    #[inline(always)]
    pub(crate) fn prefetch(&self, region: u32) {
        let blocks = &self.by_region[region as usize];
        strewn_memory::prefetch(blocks, blocks.len().saturating_sub(1));
    }

    /// While more than `bound` blocks are held back: the region that holds back most, the lowest of several, with its
    /// blocks, which are held back no longer. O(log regions) and the blocks.
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

    /// The blocks held back.
    pub fn iter(&self) -> impl Iterator<Item = Vbn> + '_ {
        self.by_region.iter().flatten().copied()
    }
}
