//! The configuration of an in-place array.

use std::ops::Range;

use strewn_alloc::GroupIndex;
use strewn_raid::{SpindleIndex, StripedLayout};

use super::layout::LunLayout;
use crate::failure::Rebuild;
use crate::first_spindles::FirstSpindles;
use crate::format::Format;
use crate::log::LogSize;
use crate::processor::ProcessorCosts;

/// An in-place controller: LUNs on VRAID-5, RAID-5 or RAID-0 behind a write-back cache.
#[derive(Debug, Clone)]
pub struct InPlaceConfig {
    /// The disk groups, in the order of their spindles: 1 to [`MOST_GROUPS`](Self::MOST_GROUPS).
    pub groups: Vec<DiskGroupConfig>,
    /// The LUNs. Each lies in one disk group, and begins with a stripe of its own.
    pub luns: Vec<LunConfig>,
    /// Sectors of one spindle. The file's span is given as a share of them.
    pub spindle_sectors: u64,
    /// The write cache (one copy of the mirror), in sectors. All disk groups share it.
    pub write_cache_sectors: u64,
    /// Destaging pauses at this many dirty sectors, unless a write waits for room. A disk group has a share of them, by
    /// its spindles, so that what one has not written back makes no other write back earlier.
    pub destage_low_sectors: u64,
    /// The on-disk format.
    pub format: Format,
    /// The log that protects what is acknowledged; `None` if the cache does, as a mirrored one.
    pub log: Option<LogSize>,
    /// The controller's processor.
    pub processor: ProcessorCosts,
}

/// A disk group: spindles on which some of the LUNs lie, and nothing else does.
#[derive(Debug, Clone)]
pub struct DiskGroupConfig {
    /// The layout of the sectors of the group's LUNs and their parity.
    pub layout: LunLayout,
    /// Extents destaged at once. Stripes count as the extents that keep the spindles busy as long.
    pub destages_in_flight: u32,
    /// Whether stripes that are dirty as a whole or nearly so are destaged together. Only in
    /// [`Format::Modelled`]: a durable array destages extents.
    pub full_stripes: bool,
    /// The distributed reserve, in failures that it absorbs, if the layout has any; and the rebuild's priority.
    pub rebuild: Rebuild,
}

/// A LUN of an in-place array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LunConfig {
    /// The disk group that it lies in.
    pub group: GroupIndex,
    /// Sectors of the LUN.
    pub sectors: u64,
    /// Sectors of the file that hosts work on, which starts at the LUN's first sector.
    pub file_sectors: u64,
}

impl LunConfig {
    /// A LUN of so many sectors in the first disk group, on all of which hosts work.
    #[must_use]
    pub fn whole(sectors: u64) -> Self {
        Self { group: GroupIndex(0), sectors, file_sectors: sectors }
    }
}

impl DiskGroupConfig {
    /// A disk group without reserve that rebuilds one segment at a time, and destages full stripes together.
    #[must_use]
    pub fn new(layout: impl Into<LunLayout>, destages_in_flight: u32) -> Self {
        let rebuild = Rebuild::default();
        Self { layout: layout.into(), destages_in_flight, full_stripes: true, rebuild }
    }

    /// Sets whether stripes that are dirty as a whole or nearly so are destaged together.
    #[must_use]
    pub fn with_full_stripes(self, full_stripes: bool) -> Self {
        Self { full_stripes, ..self }
    }

    /// Grants reserve for `rebuild.spares` failures, if the layout has any, and sets the rebuild's priority.
    #[must_use]
    pub fn with_rebuild(self, rebuild: Rebuild) -> Self {
        Self { rebuild, ..self }
    }

    fn stripe_sectors(&self) -> u64 {
        self.layout.stripe_sectors()
    }
}

impl InPlaceConfig {
    /// These disk groups and LUNs, on spindles of so many sectors, behind a write cache that is mirrored and needs no
    /// log. Destaging pauses when a tenth of the cache is dirty.
    #[must_use]
    pub fn new(
        groups: Vec<DiskGroupConfig>,
        luns: Vec<LunConfig>,
        spindle_sectors: u64,
        write_cache_sectors: u64,
    ) -> Self {
        Self {
            groups,
            luns,
            spindle_sectors,
            write_cache_sectors,
            destage_low_sectors: write_cache_sectors / 10,
            format: Format::default(),
            log: None,
            processor: ProcessorCosts::default(),
        }
    }

    /// Most disk groups of an array.
    pub const MOST_GROUPS: usize = FirstSpindles::MOST;

    /// The disk group of an array that has a single one, such as a live array.
    ///
    /// # Panics
    /// If there are several, or none.
    #[must_use]
    pub fn single_group(&self) -> &DiskGroupConfig {
        assert_eq!(self.groups.len(), 1, "the array has one disk group");
        &self.groups[0]
    }

    /// The sectors of each LUN if the sectors of all LUNs of its disk group are numbered through, as the layout places
    /// them.
    ///
    /// # Panics
    /// If a LUN's disk group does not exist.
    #[must_use]
    pub fn lun_sectors(&self) -> Vec<Range<u64>> {
        let mut next = vec![0u64; self.groups.len()];
        let luns = self.luns.iter().map(|lun| {
            let next = &mut next[lun.group.index()];
            let first = next.next_multiple_of(self.groups[lun.group.index()].stripe_sectors());
            *next = first.saturating_add(lun.sectors);
            first..*next
        });
        luns.collect()
    }

    /// One more than the last sector of the last LUN of a disk group, numbered through; 0 without LUNs.
    #[must_use]
    pub fn end_sector(&self, group: GroupIndex) -> u64 {
        let luns = self.luns.iter().zip(self.lun_sectors());
        let mut of_group = luns.filter(|(lun, _)| lun.group == group);
        of_group.next_back().map_or(0, |(_, sectors)| sectors.end)
    }

    /// Returns how many stripes the LUNs of a disk group take.
    #[must_use]
    pub fn stripes(&self, group: GroupIndex) -> u64 {
        self.end_sector(group).div_ceil(self.groups[group.index()].stripe_sectors())
    }

    /// Returns whether parity covers the loss of these spindles, in every stripe of the LUNs.
    #[must_use]
    pub fn survives(&self, lost: &[SpindleIndex]) -> bool {
        let first_spindles = self.first_spindles();
        (0..).map(GroupIndex).zip(&self.groups).all(|(index, DiskGroupConfig { layout, .. })| {
            let is_lost = |spindle| lost.contains(&first_spindles.in_array(index, spindle));
            (0..self.stripes(index)).all(|stripe| {
                let stripe = layout.stripe(stripe);
                let members = stripe.units().filter(|(_, unit)| is_lost(unit.spindle));
                let lost = members.map(|(member, _)| member).collect();
                layout.shape().gone(lost).is_empty()
            })
        })
    }

    pub(crate) fn first_spindles(&self) -> FirstSpindles {
        FirstSpindles::of(self.groups.iter().map(|group| group.layout.spindles()))
    }
}
