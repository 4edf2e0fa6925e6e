//! The block numbers of a volume inside an aggregate, and the frees it holds back.

use std::error::Error;
use std::fmt;

use strewn_raid::Vbn;

use crate::delayed_frees::{DelayedFrees, REGION_BLOCKS};

/// A region of a volume's block numbers.
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

/// The volume has more regions than 16 bits can name.
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
/// A volume numbers its blocks apart from the aggregate (Edwards et al., USENIX 2008): a container map leads from
/// the one to the other. A block that the volume stops using leaves the volume's own bitmap at once, but the block
/// of the aggregate behind it is held back until many of one region can be given back together, since each region
/// costs a bitmap block and its part of the container map to read and write. Only regions are kept, not numbers
/// within them: 2 bytes a block are enough to know which metadata a consistency point dirties.
#[derive(Debug, Clone)]
pub struct VirtualSpace {
    used: Vec<u32>,
    held_back: DelayedFrees,
    current: Region,
    /// Numbers of the current region given out since it became current.
    given: u32,
}

impl VirtualSpace {
    /// The empty space of a volume of `blocks` blocks.
    ///
    /// # Errors
    /// If it has more regions than 16 bits can name.
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

    /// Blocks of the aggregate that are held back.
    #[must_use]
    pub fn held_back_blocks(&self) -> u64 {
        self.held_back.blocks()
    }

    /// How many numbers of `region` are in use, those of blocks that are held back among them.
    #[must_use]
    pub fn numbers_used(&self, region: Region) -> u32 {
        self.used[usize::from(region.0)]
    }

    /// How far into its region the next number lies.
    #[must_use]
    pub fn position_in_region(&self) -> u32 {
        self.given
    }

    /// Takes the next number; its region. Regions are used up in order, then the emptiest is taken.
    ///
    /// # Errors
    /// [`VolumeFull`] when every region is full.
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

    /// Gives a number of `region` back and holds back the block of the aggregate behind it.
    #[inline(always)]
    pub fn hold_back(&mut self, region: Region, vbn: Vbn) {
        self.held_back.hold_back(u32::from(region.0), vbn);
    }

    /// Gives a number of `region` back whose block of the aggregate stays in use otherwise.
    pub fn release(&mut self, region: Region) {
        self.used[usize::from(region.0)] -= 1;
    }

    /// Announces that a block of `region` will be held back.
    #[inline(always)]
    pub fn prefetch_held_back(&self, region: Region) {
        self.held_back.prefetch(u32::from(region.0));
    }

    /// While more than `bound` blocks are held back: the region that holds back most, with its blocks. They are no
    /// longer held back, and the region's numbers can be given out again.
    pub fn reclaim(&mut self, bound: u64) -> Option<(Region, Vec<Vbn>)> {
        let (region, blocks) = self.held_back.reclaim(bound)?;
        self.used[region as usize] -= blocks.len() as u32;
        Some((Region(region as u16), blocks))
    }
}
