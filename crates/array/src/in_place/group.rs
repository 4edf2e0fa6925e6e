//! A disk group: its spindles, and all that happens on them.

use std::ops::{Index, IndexMut, Range};

use crate::slots::Slots;
use strewn_alloc::{FileLayout, GroupIndex, SummaryBitmap};
use strewn_base::{BLOCK_SECTORS, overlap};
use strewn_raid::{Member, StripedLayout};

use crate::failure::Rebuild;
use crate::format::Format;
use crate::payload::Payload;

use super::LunLayout;
use super::config::DiskGroupConfig;
use super::degraded::Degraded;
use super::destage::Destage;
use super::full_stripes::longest_command_sectors;
use super::host::HostRead;
use super::partial_writes::PartialWrites;
use super::read_cache::ReadCache;
use super::stripes::COMMANDS_OF_EXTENT;
use super::write_cache::WriteCache;

/// A disk group of an array. Its LUNs lie here alone: their sectors are numbered through within the group, as the
/// layout places them, and spindles have their number in the group.
pub(super) struct DiskGroup<P: Payload> {
    pub(super) layout: LunLayout,
    /// Most commands of destages in flight: two for each extent.
    pub(super) most_commands: usize,
    /// The longest command of full stripes; 0 if only extents are destaged.
    pub(super) longest_command_sectors: u64,
    /// Destaging pauses at this many dirty sectors, unless a write waits for room.
    pub(super) destage_low_sectors: u64,
    pub(super) rebuild: Rebuild,
    /// One more than the last sector of the last LUN.
    pub(super) end_sector: u64,
    pub(super) cache: WriteCache,
    pub(super) contents: P::Contents,
    /// `None` if the array neither reads ahead nor keeps what it has read.
    pub(super) read_cache: Option<Box<ReadCache<P>>>,
    pub(super) reads: Slots<HostRead<P>>,
    pub(super) destages: Slots<Destage<P>>,
    /// The commands of extents that the destages in flight count as.
    pub(super) destage_load: usize,
    /// The stripes whose parity a destage is about to change: one destage a stripe.
    pub(super) destaged_stripes: SummaryBitmap,
    pub(super) partial_writes: PartialWrites<P>,
    /// `None` until a spindle fails or a block is bad. A group without failures must not depend on it.
    pub(super) degraded: Option<Box<Degraded<P>>>,
}

impl<P: Payload> DiskGroup<P> {
    /// Without anything cached, for LUNs that end at `end_sector`.
    pub(super) fn new(
        config: &DiskGroupConfig,
        format: Format,
        end_sector: u64,
        destage_low_sectors: u64,
    ) -> Self {
        let longest_command_sectors =
            if config.full_stripes { longest_command_sectors(format) } else { 0 };
        Self {
            longest_command_sectors,
            layout: config.layout.clone(),
            most_commands: COMMANDS_OF_EXTENT * config.destages_in_flight as usize,
            destage_low_sectors,
            rebuild: config.rebuild,
            end_sector,
            cache: WriteCache::new(end_sector),
            contents: P::Contents::default(),
            read_cache: None,
            reads: Slots::new(),
            destages: Slots::new(),
            destage_load: 0,
            destaged_stripes: SummaryBitmap::new(config.layout.stripes()),
            partial_writes: PartialWrites::default(),
            degraded: None,
        }
    }

    /// The stripe of a sector of the LUNs, and the member that it is on.
    pub(super) fn stripe_of(&self, lun_sector: u64) -> (u64, Member) {
        self.layout.stripe_of(lun_sector)
    }

    /// Whether a destage of one of `stripes` is in flight.
    pub(super) fn is_destaged(&self, stripes: Range<u64>) -> bool {
        self.destages.iter().any(|(_, destage)| overlap(&self.stripes_of(destage), &stripes))
    }

    /// How the file of a LUN that begins at `first_sector` lies, for as long as the array exists: contiguous within
    /// chunks. In blocks of 4 KiB, to be compared with a write-anywhere array.
    pub(super) fn file_layout(
        &self,
        first_sector: u64,
        file_sectors: u64,
        spindle_sectors: u64,
    ) -> FileLayout {
        let chunk_sectors = self.layout.unit_sectors();
        let (mut lowest, mut end) = (u64::MAX, 0);
        let sectors = first_sector..first_sector + file_sectors;
        for sector in sectors.step_by(chunk_sectors as usize) {
            let place = self.layout.locate(sector).sector_on_spindle;
            lowest = lowest.min(place);
            end = end.max(place + chunk_sectors);
        }
        let blocks = file_sectors.div_ceil(BLOCK_SECTORS);
        let extents = file_sectors.div_ceil(chunk_sectors);
        FileLayout::of_extents(blocks, extents, (end - lowest) as f64 / spindle_sectors as f64)
    }
}

/// The disk groups of an array, in the order of their spindles.
// Nearly every array has one, which costs no look-up here.
pub(super) struct DiskGroups<P: Payload> {
    first: DiskGroup<P>,
    further: Vec<DiskGroup<P>>,
}

impl<P: Payload> DiskGroups<P> {
    pub(super) fn new(first: DiskGroup<P>, further: impl Iterator<Item = DiskGroup<P>>) -> Self {
        Self { first, further: further.collect() }
    }

    #[inline(always)]
    pub(super) fn get(&self, group: GroupIndex) -> Option<&DiskGroup<P>> {
        match group.index() {
            0 => Some(&self.first),
            further => self.further.get(further - 1),
        }
    }

    pub(super) fn has_several(&self) -> bool {
        !self.further.is_empty()
    }

    #[inline(always)]
    pub(super) fn indices(&self) -> impl Iterator<Item = GroupIndex> + use<P> {
        (0..=self.further.len() as u16).map(GroupIndex)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &DiskGroup<P>> {
        std::iter::once(&self.first).chain(&self.further)
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut DiskGroup<P>> {
        std::iter::once(&mut self.first).chain(&mut self.further)
    }

    /// Sectors of the write cache that are taken.
    #[inline(always)]
    pub(super) fn cached_sectors(&self) -> u64 {
        let further = self.further.iter().map(|group| group.cache.sectors());
        further.fold(self.first.cache.sectors(), |sum, sectors| sum + sectors)
    }
}

impl<P: Payload> Index<GroupIndex> for DiskGroups<P> {
    type Output = DiskGroup<P>;

    #[inline(always)]
    fn index(&self, group: GroupIndex) -> &DiskGroup<P> {
        match group.index() {
            0 => &self.first,
            further => &self.further[further - 1],
        }
    }
}

impl<P: Payload> IndexMut<GroupIndex> for DiskGroups<P> {
    #[inline(always)]
    fn index_mut(&mut self, group: GroupIndex) -> &mut DiskGroup<P> {
        match group.index() {
            0 => &mut self.first,
            further => &mut self.further[further - 1],
        }
    }
}

strewn_base::saved_state! {
    impl for DiskGroup<()> {
        parts: cache, destaged_stripes, read_cache;
        values: reads, destages, destage_load, partial_writes, degraded;
        built: layout, most_commands, longest_command_sectors, destage_low_sectors, rebuild, end_sector, contents;
    }
}

strewn_base::saved_state! {
    impl for DiskGroups<()> {
        parts: first, further;
        values:;
        built:;
    }
}
