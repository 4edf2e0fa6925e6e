//! The block numbers of volumes, and their delayed frees.

use std::error::Error;
use std::fmt;
use std::ops::Range;

use strewn_alloc::{DelayedFrees, REGION_BLOCKS};
use strewn_base::state::SavedValue;
use strewn_raid::Vbn;

use crate::VolumeId;

/// A region of a volume: 32,768 block numbers. The regions of all volumes of a [`VirtualSpace`] are numbered together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, SavedValue)]
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

/// The volumes have more regions than 16 bits can address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VolumeTooLarge(
    /// Blocks of the volume, or of all volumes.
    pub u64,
);

impl fmt::Display for VolumeTooLarge {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "volumes of {} blocks: together they have at most 2147483648 (8 TiB of 4 KiB blocks)",
            self.0
        )
    }
}

impl Error for VolumeTooLarge {}

/// The block numbers of flexible volumes ("virtual VBNs"), region by region, with their delayed frees.
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
    /// The regions of each volume, and where its next number comes from unless it is the last allocated in.
    volumes: Vec<(Range<u32>, NextNumber)>,
    /// The volume that a number was allocated in last.
    last: VolumeId,
    next: NextNumber,
}

/// Where a volume's next number comes from.
#[derive(Debug, Clone, Copy, Default, SavedValue)]
struct NextNumber {
    region: Region,
    /// Numbers of the region in use when it became current, and those allocated since.
    position: u32,
}

impl VirtualSpace {
    /// Most blocks of all volumes: as many regions as 16 bits can address.
    pub const MOST_BLOCKS: u64 = (u16::MAX as u64 + 1) * REGION_BLOCKS;

    /// The empty spaces of volumes of so many blocks each, numbered from 0.
    ///
    /// # Errors
    /// [`VolumeTooLarge`] if they have more regions than 16 bits can address.
    pub fn new(blocks: impl IntoIterator<Item = u64>) -> Result<Self, VolumeTooLarge> {
        let (mut volumes, mut regions, mut all_blocks) = (Vec::new(), 0, 0u64);
        for blocks in blocks {
            all_blocks = all_blocks.saturating_add(blocks);
            let end = u64::from(regions) + Self::regions_of(blocks);
            if end > u64::from(u16::MAX) + 1 {
                return Err(VolumeTooLarge(all_blocks));
            }
            let next = NextNumber { region: Region(regions as u16), position: 0 };
            volumes.push((regions..end as u32, next));
            regions = end as u32;
        }
        Ok(Self {
            used: vec![0; regions as usize],
            held_back: DelayedFrees::new(regions),
            volumes,
            last: VolumeId(0),
            next: NextNumber::default(),
        })
    }

    /// Number of regions of a volume of `blocks` blocks: at least one.
    #[must_use]
    pub fn regions_of(blocks: u64) -> u64 {
        blocks.div_ceil(REGION_BLOCKS).max(1)
    }

    /// The regions of `volume`.
    ///
    /// # Panics
    /// If there is no such volume.
    pub fn regions_in(&self, volume: VolumeId) -> impl Iterator<Item = Region> + use<> {
        self.volumes[volume.0 as usize].0.clone().map(|region| Region(region as u16))
    }

    /// Number of regions of all volumes.
    #[must_use]
    pub fn regions(&self) -> u32 {
        self.used.len() as u32
    }

    /// Numbers of `volume` that are not in use. Those of delayed frees are.
    ///
    /// # Panics
    /// If there is no such volume.
    #[must_use]
    pub fn free_numbers(&self, volume: VolumeId) -> u64 {
        self.regions_in(volume)
            .map(|region| REGION_BLOCKS - u64::from(self.numbers_used(region)))
            .sum()
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

    /// Allocates the next number of `volume`. Returns its region and its position there. Each region is filled before
    /// the next; the next is the emptiest.
    ///
    /// # Errors
    /// [`VolumeFull`] if every region of the volume is full.
    ///
    /// # Panics
    /// If there is no such volume.
    #[inline(always)]
    pub fn allocate(&mut self, volume: VolumeId) -> Result<(Region, u32), VolumeFull> {
        if volume != self.last {
            self.turn_to(volume);
        }
        let full = |used: &u32| u64::from(*used) >= REGION_BLOCKS;
        if full(&self.used[usize::from(self.next.region.0)]) {
            let regions = self.volumes[volume.0 as usize].0.clone();
            let emptiest = regions.min_by_key(|region| self.used[*region as usize]);
            let emptiest =
                emptiest.filter(|region| !full(&self.used[*region as usize])).ok_or(VolumeFull)?;
            self.next.region = Region(emptiest as u16);
            self.next.position = self.used[emptiest as usize];
        }
        self.used[usize::from(self.next.region.0)] += 1;
        let position = self.next.position;
        self.next.position += 1;
        Ok((self.next.region, position))
    }

    /// A consistency point allocates volume after volume, so this is rare.
    #[inline(never)]
    fn turn_to(&mut self, volume: VolumeId) {
        self.volumes[self.last.0 as usize].1 = self.next;
        self.next = self.volumes[volume.0 as usize].1;
        self.last = volume;
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

    /// The delayed frees of `region`, which the caller frees now. The numbers of the region can be allocated again.
    ///
    /// # Panics
    /// If there is no such region.
    pub fn reclaim_region(&mut self, region: Region) -> Vec<Vbn> {
        let blocks = self.held_back.reclaim_region(u32::from(region.0));
        self.used[usize::from(region.0)] -= blocks.len() as u32;
        blocks
    }
}

strewn_base::saved_state! {
    impl for VirtualSpace {
        parts: used, held_back;
        values: volumes, last, next;
        built:;
    }
}

strewn_base::saved_number!(Region, u16, |region: Region| region.0, Region);
