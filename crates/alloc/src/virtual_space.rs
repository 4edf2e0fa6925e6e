//! The block numbers of a volume, and its delayed frees.

use std::error::Error;
use std::fmt;

use strewn_raid::Vbn;

use crate::delayed_frees::{DelayedFrees, REGION_BLOCKS};

/// A region of a volume: 32,768 block numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Region(pub u16);

/// The volume has no free block number left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VolumeFull;

impl fmt::Display for VolumeFull {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the volume has no free block number left")
    }
}

impl Error for VolumeFull {}

/// The volume has more regions than 16 bits can address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VolumeTooLarge(pub u64);

impl fmt::Display for VolumeTooLarge {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "a volume of {} blocks: it takes at most 2147483648 (8 TiB of 4 KiB blocks)",
            self.0
        )
    }
}

impl Error for VolumeTooLarge {}

/// A flexible volume's own block numbers ("virtual VBNs"), region by region, with its delayed frees.
///
/// A volume numbers its own blocks, and a container map leads from these numbers to the aggregate (Edwards et al.,
/// USENIX 2008). A block that the volume stops using leaves the volume's bitmap at once. The free of the aggregate's
/// block is delayed until many of one region can be freed together, because each region costs a read and a write of a
/// bitmap block and of its part of the container map. Only regions are kept, not numbers within them: 2 bytes a block
/// suffice to know which metadata a consistency point dirties.
#[derive(Debug, Clone)]
pub struct VirtualSpace {
    used: Vec<u32>,
    held_back: DelayedFrees,
    current: Region,
    /// Numbers of the current region in use when it became current, and those allocated since.
    given: u32,
}

impl VirtualSpace {
    /// Most blocks of a volume: as many regions as 16 bits can address.
    pub const MOST_BLOCKS: u64 = (u16::MAX as u64 + 1) * REGION_BLOCKS;

    /// The empty space of a volume of `blocks` blocks.
    ///
    /// # Errors
    /// [`VolumeTooLarge`] if it has more regions than 16 bits can address.
    pub fn new(blocks: u64) -> Result<Self, VolumeTooLarge> {
        let regions = blocks.div_ceil(REGION_BLOCKS).max(1);
        if regions > u64::from(u16::MAX) + 1 {
            return Err(VolumeTooLarge(blocks));
        }
        Ok(Self {
            used: vec![0; regions as usize],
            held_back: DelayedFrees::new(regions as u32),
            current: Region(0),
            given: 0,
        })
    }

    /// Number of regions.
    #[must_use]
    pub fn regions(&self) -> u32 {
        self.used.len() as u32
    }

    /// Numbers that are not in use. Those of delayed frees are.
    #[must_use]
    pub fn free_numbers(&self) -> u64 {
        let used: u64 = self.used.iter().map(|used| u64::from(*used)).sum();
        u64::from(self.regions()) * REGION_BLOCKS - used
    }

    /// Delayed frees: blocks that no file uses any more, but that are still in use in the aggregate.
    #[must_use]
    pub fn held_back_blocks(&self) -> u64 {
        self.held_back.blocks()
    }

    /// Numbers of `region` in use, including those of delayed frees.
    ///
    /// # Panics
    /// If there is no such region.
    #[must_use]
    pub fn numbers_used(&self, region: Region) -> u32 {
        self.used[usize::from(region.0)]
    }

    /// The position of the next number within its region.
    #[must_use]
    pub fn position_in_region(&self) -> u32 {
        self.given
    }

    /// Allocates the next number and returns its region. Each region is filled before the next; the next is the
    /// emptiest.
    ///
    /// # Errors
    /// [`VolumeFull`] if every region is full.
    #[inline(always)]
    pub fn allocate(&mut self) -> Result<Region, VolumeFull> {
        let full = |used: &u32| u64::from(*used) >= REGION_BLOCKS;
        if full(&self.used[usize::from(self.current.0)]) {
            let emptiest = (0..self.used.len()).min_by_key(|region| self.used[*region]);
            let emptiest =
                emptiest.filter(|region| !full(&self.used[*region])).ok_or(VolumeFull)?;
            self.current = Region(emptiest as u16);
            self.given = self.used[emptiest];
        }
        self.used[usize::from(self.current.0)] += 1;
        self.given += 1;
        Ok(self.current)
    }

    /// Frees a number of `region`, and delays the free of `vbn`, its block in the aggregate.
    ///
    /// # Panics
    /// If there is no such region, or no file uses a number of it any more. The space counts numbers and does not know
    /// them: a number freed twice is noticed only once the count of its region runs out.
    #[inline(always)]
    pub fn hold_back(&mut self, region: Region, vbn: Vbn) {
        self.assert_in_use(region);
        self.held_back.hold_back(u32::from(region.0), vbn);
    }

    /// Frees a number of `region` whose block in the aggregate stays in use elsewhere.
    ///
    /// # Panics
    /// As [`hold_back`](Self::hold_back).
    pub fn release(&mut self, region: Region) {
        self.assert_in_use(region);
        self.used[usize::from(region.0)] -= 1;
    }

    /// Asserts that a file uses a number of `region`.
    #[inline(always)]
    fn assert_in_use(&self, region: Region) {
        let (used, held_back) =
            (self.numbers_used(region), self.held_back.blocks_of(region.0.into()));
        assert!(used > held_back, "region {}: freed a number, and none is in use", region.0);
    }

    /// Announces a [`hold_back`](Self::hold_back) in `region`.
    ///
    /// # Panics
    /// If there is no such region.
    #[inline(always)]
    pub fn prefetch_held_back(&self, region: Region) {
        self.held_back.prefetch(u32::from(region.0));
    }

    /// If more than `bound` frees are delayed: the region with the most, and its blocks, which the caller frees now.
    /// The numbers of the region can be allocated again.
    pub fn reclaim(&mut self, bound: u64) -> Option<(Region, Vec<Vbn>)> {
        let (region, blocks) = self.held_back.reclaim(bound)?;
        self.used[region as usize] -= blocks.len() as u32;
        Some((Region(region as u16), blocks))
    }
}
