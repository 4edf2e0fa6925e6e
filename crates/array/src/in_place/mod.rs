//! The in-place controller: write-back cache, destage, read-modify-write of VRAID-5 and RAID-5; RAID-0.
//!
//! A host write is acknowledged from a mirrored cache. An elevator destages dirty extents to where they belong: it
//! reads the old data and the old parity of the sectors that change, and writes both; without parity, it only writes.
//! If all data of a stripe are dirty, it writes the stripe and reads nothing. A host read costs one spindle command for
//! each chunk it touches, however long the array has been in use.
//!
//! An array has one or several disk groups. Each LUN lies in one of them. Spindles, layout, destages, reserve, losses
//! and rebuild are those of a group; the groups share the processor, the room in the write cache, and the log.
//!
//! With a payload of bytes, the array computes parity and the contents of lost or bad blocks ([`BadBlocks`]), and each
//! write records what its blocks contain. In the durable format it writes whole blocks of 4 KiB. Without a mirrored
//! cache, it needs a log: see [`InPlaceConfig::log`].

mod bad_blocks;
mod blocks;
mod config;
mod degraded;
mod destage;
mod failing;
mod full_stripes;
mod group;
mod host;
mod layout;
mod log_drain;
mod partial_stripes;
mod partial_writes;
mod read_ahead;
mod read_cache;
mod rebuild;
mod recovery;
mod segments;
mod slices;
mod steps;
mod stripes;
mod tag;
mod write_cache;

use std::collections::VecDeque;
use std::ops::Range;

use strewn_alloc::GroupIndex;
use strewn_base::{BLOCK_SECTORS, Direction, SECTOR_BYTES};
use strewn_raid::{SpindleIndex, StripedLayout};

use crate::abilities;
use crate::counters::Counters;
use crate::driver::{
    Acknowledge, Array, Driver, GroupMeasures, HostOperation, LayoutMeasures, LunLayoutMeasures,
    SpindleCommand, Tag,
};
use crate::error::ArrayConfigError;
use crate::failure::{DataLost, FailedSpindle};
use crate::first_spindles::FirstSpindles;
use crate::log::LogSize;
use crate::lun_id::LunId;
use crate::payload::Payload;
use crate::processor::{ProcessorCosts, ProcessorWork};
use crate::read_ahead::Streams;

pub use bad_blocks::BadBlocks;
use blocks::BlockSet;
pub use config::{DiskGroupConfig, InPlaceConfig, LunConfig};
use group::{DiskGroup, DiskGroups};
pub use layout::{LunLayout, Raid0Layout, Raid5Layout};
use log_drain::LogDrain;
use tag::{Kind, TagFields};

/// Where a LUN is.
struct PlacedLun {
    group: GroupIndex,
    /// Its sectors, numbered through in the group.
    sectors: Range<u64>,
}

/// An in-place array.
pub struct InPlace<P: Payload> {
    config: InPlaceConfig,
    luns: Vec<PlacedLun>,
    groups: DiskGroups<P>,
    first_spindles: FirstSpindles,
    /// The streams of each LUN; empty if the array does not read ahead.
    streams: Vec<Streams>,
    waiting_for_room: VecDeque<HostOperation<P>>,
    failures: Vec<FailedSpindle>,
    /// Whether the half of the log in use has records.
    log_has_records: bool,
    log_drain: Option<Box<LogDrain>>,
    bad_blocks: BadBlocks,
    counters: Counters,
}

impl<P: Payload> InPlace<P> {
    /// An array with an empty cache.
    ///
    /// # Errors
    /// If a size is zero or the LUN does not fit the layout.
    pub fn new(config: InPlaceConfig) -> Result<Self, ArrayConfigError> {
        let groups = config.groups.len();
        if !(1..=InPlaceConfig::MOST_GROUPS).contains(&groups) {
            return Err(ArrayConfigError::DiskGroupCount { groups });
        }
        if let Some(lun) = config.luns.iter().find(|lun| lun.group.index() >= groups) {
            return Err(ArrayConfigError::NoSuchGroup { group: lun.group, groups });
        }
        if config.luns.is_empty() {
            return Err(ArrayConfigError::NoLun);
        }
        for (index, group) in (0..).map(GroupIndex).zip(&config.groups) {
            let layout_sectors = group.layout.lun_capacity_sectors();
            let lun_sectors = config.end_sector(index);
            if lun_sectors > layout_sectors {
                return Err(ArrayConfigError::LunTooLarge { lun_sectors, layout_sectors });
            }
            if group.destages_in_flight == 0 {
                return Err(ArrayConfigError::Zero("the number of destages in flight"));
            }
            let chunk_bytes = group.layout.unit_sectors() * SECTOR_BYTES;
            if (P::CARRIES_DATA || config.format.is_durable())
                && !chunk_bytes.is_multiple_of(BLOCK_SECTORS * SECTOR_BYTES)
            {
                return Err(ArrayConfigError::ChunkOfParts { chunk_bytes });
            }
        }
        let nonzero = [
            (config.luns.iter().map(|lun| lun.sectors).min().unwrap_or(0), "a LUN"),
            (config.luns.iter().map(|lun| lun.file_sectors).min().unwrap_or(0), "a file"),
            (config.spindle_sectors, "a spindle"),
            (config.write_cache_sectors, "the write cache"),
        ];
        if let Some((_, what)) = nonzero.iter().find(|(size, _)| *size == 0) {
            return Err(ArrayConfigError::Zero(what));
        }
        let of_parts = config.luns.iter().find(|lun| !lun.sectors.is_multiple_of(BLOCK_SECTORS));
        if let (true, Some(lun)) = (config.format.is_durable(), of_parts) {
            return Err(ArrayConfigError::LunOfParts { lun_sectors: lun.sectors });
        }
        let spindles: u64 =
            config.groups.iter().map(|group| u64::from(group.layout.spindles())).sum();
        let disk_group = |(index, group): (GroupIndex, &DiskGroupConfig)| {
            let share = config.destage_low_sectors * u64::from(group.layout.spindles()) / spindles;
            DiskGroup::new(group, config.format, config.end_sector(index), share)
        };
        let mut disk_groups = (0..).map(GroupIndex).zip(&config.groups).map(disk_group);
        let Some(first) = disk_groups.next() else {
            return Err(ArrayConfigError::DiskGroupCount { groups });
        };
        let luns = config.lun_sectors().into_iter().zip(&config.luns);
        Ok(Self {
            luns: luns.map(|(sectors, lun)| PlacedLun { group: lun.group, sectors }).collect(),
            groups: DiskGroups::new(first, disk_groups),
            first_spindles: config.first_spindles(),
            streams: Vec::new(),
            waiting_for_room: VecDeque::new(),
            failures: Vec::new(),
            log_has_records: false,
            log_drain: None,
            bad_blocks: BadBlocks::default(),
            counters: Counters::default(),
            config,
        })
    }

    /// The configuration that the array was created with.
    #[must_use]
    pub fn config(&self) -> &InPlaceConfig {
        &self.config
    }

    /// The disk group of a LUN.
    #[inline(always)]
    fn group_of(&self, lun: LunId) -> GroupIndex {
        self.luns[usize::from(lun.0)].group
    }

    /// There is room in the cache, and a stripe of `group` that others may have waited for.
    fn destage_ended(&mut self, group: GroupIndex, driver: &mut impl Driver<P>) {
        self.admit_waiting(driver);
        if self.groups[group].degraded.is_some() {
            self.on_stripes_free(group, driver);
        } else {
            self.destage(driver);
        }
        self.finish_log_drain(driver);
    }

    /// A command has completed. A read has brought its data, except for the blocks that are gone.
    fn on_command_done(
        &mut self,
        now_ns: u64,
        tag: Tag,
        payload: &P,
        gone: &BlockSet,
        driver: &mut impl Driver<P>,
    ) {
        let tag = TagFields::of(tag);
        // Nearly every array has one group: with its number known, finding it costs nothing.
        if tag.group == GroupIndex(0) {
            let tag = TagFields { group: GroupIndex(0), ..tag };
            self.on_command_of_group_done(now_ns, tag, payload, gone, driver);
        } else {
            self.on_command_of_group_done(now_ns, tag, payload, gone, driver);
        }
    }

    #[inline(always)]
    fn on_command_of_group_done(
        &mut self,
        now_ns: u64,
        tag: TagFields,
        payload: &P,
        gone: &BlockSet,
        driver: &mut impl Driver<P>,
    ) {
        let outcome = Some((payload, gone));
        match tag.kind {
            Kind::HostRead => self.on_read_done(tag, payload, gone, driver),
            Kind::Destage => {
                if self.on_destage_command_done(tag, outcome, driver) {
                    self.destage_ended(tag.group, driver);
                }
            }
            Kind::Recovery => self.on_recovery_command_done(tag, outcome, driver),
            Kind::Step => self.on_rebuild_command_done(now_ns, tag, outcome, driver),
            Kind::ReadAhead => self.on_read_ahead_done(tag, Some(payload), gone, driver),
        }
    }

    /// Sends a command to a spindle of `group`, which it names by its number there.
    #[inline(always)]
    fn send(&self, group: GroupIndex, mut command: SpindleCommand<P>, driver: &mut impl Driver<P>) {
        command.spindle = self.first_spindles.in_array(group, command.spindle);
        driver.processor(ProcessorWork::Command, self.config.processor.of_command(command.sectors));
        driver.command(command);
    }
}

impl<P: Payload> Array<P> for InPlace<P> {
    fn spindles(&self) -> u16 {
        self.config.groups.iter().map(|group| group.layout.spindles()).sum()
    }

    fn host_operation(
        &mut self,
        _now_ns: u64,
        mut operation: HostOperation<P>,
        driver: &mut impl Driver<P>,
    ) {
        // From here on, the sectors of all LUNs of a group are numbered through.
        let lun = &self.luns[usize::from(operation.lun.0)];
        let group = lun.group;
        operation.first_sector += lun.sectors.start;
        let end_sector = operation.first_sector + u64::from(operation.sectors);
        assert!(end_sector <= lun.sectors.end, "an operation ends behind its LUN");
        driver.processor(
            ProcessorWork::Operation,
            self.config.processor.of_operation(operation.sectors),
        );
        match operation.direction {
            Direction::Read => {
                let ahead = self.note_read(&operation);
                if group == GroupIndex(0) {
                    self.read(GroupIndex(0), operation, driver);
                } else {
                    self.read(group, operation, driver);
                }
                if let Some(sectors) = ahead {
                    self.read_ahead(group, sectors, driver);
                }
            }
            Direction::Write => {
                if self.config.format.is_durable() {
                    self.write_blocks(group, operation, driver);
                } else {
                    self.write_or_wait(operation, Acknowledge::AfterProcessor, driver);
                }
                self.destage(driver);
                if self.log_drain.is_some() {
                    self.finish_log_drain(driver);
                }
            }
        }
    }

    fn command_completed(
        &mut self,
        now_ns: u64,
        tag: Tag,
        payload: P,
        driver: &mut impl Driver<P>,
    ) {
        self.on_command_done(now_ns, tag, &payload, &BlockSet::EMPTY, driver);
    }

    #[inline]
    fn hint_operation(&self, lun: LunId, direction: Direction, first_sector: u64, sectors: u32) {
        let lun = &self.luns[usize::from(lun.0)];
        let first_sector = first_sector + lun.sectors.start;
        let cache = &self.groups[lun.group].cache;
        match direction {
            Direction::Read => cache.prefetch_summary(first_sector),
            Direction::Write => {
                // The bits of 512 sectors are a cache line: two for some operations.
                cache.prefetch_dirty(first_sector);
                cache.prefetch_dirty(first_sector + u64::from(sectors) - 1);
            }
        }
    }

    #[inline]
    fn hint_completion(&self, tag: Tag) {
        let TagFields { kind, group, slot, .. } = TagFields::of(tag);
        // A driver's own commands, such as superblocks, have tags that are not the array's.
        if kind == Kind::Destage
            && let Some(group) = self.groups.get(group)
            && let Some(destage) = group.destages.get(slot)
        {
            group.cache.prefetch(destage.sectors.start);
        }
    }

    fn spindle_failed(
        &mut self,
        now_ns: u64,
        spindle: SpindleIndex,
        driver: &mut impl Driver<P>,
    ) -> Result<(), DataLost> {
        self.on_spindle_failed(now_ns, spindle, driver)
    }

    fn command_failed(
        &mut self,
        now_ns: u64,
        command: SpindleCommand<P>,
        driver: &mut impl Driver<P>,
    ) {
        self.on_command_failed(now_ns, &command, driver);
    }

    fn failures(&self) -> &[FailedSpindle] {
        &self.failures
    }

    fn forget_cache(&mut self) {
        for group in self.groups.iter_mut() {
            if let Some(cache) = &mut group.read_cache {
                cache.clear();
            }
        }
    }

    fn processor_costs(&self) -> &ProcessorCosts {
        &self.config.processor
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn assert_invariants(&self) {
        for group in self.groups.iter() {
            assert!(
                group.destage_load <= group.most_commands || group.destages.len() == 1,
                "more destages are in flight than may be"
            );
            let taken = group.destages.iter().flat_map(|(_, one)| one.taken());
            let in_flight: u64 = taken.map(|sectors| sectors.end - sectors.start).sum();
            assert_eq!(
                in_flight,
                group.cache.sectors_in_flight(),
                "sectors on their way to the spindles"
            );
            if let Some(cache) = &group.read_cache {
                cache.assert_invariants();
            }
        }
    }

    fn layout(&self) -> LayoutMeasures {
        let luns = self.luns.iter().zip(&self.config.luns).map(|(placed, lun)| {
            let (group, first_sector) = (&self.groups[lun.group], placed.sectors.start);
            let file =
                group.file_layout(first_sector, lun.file_sectors, self.config.spindle_sectors);
            LunLayoutMeasures { file, rewritten: None }
        });
        LayoutMeasures { luns: luns.collect(), free_space: None }
    }
}

impl<P: Payload> abilities::Growable<P> for InPlace<P> {
    fn groups(&self) -> Vec<GroupMeasures> {
        let groups = (0..).map(GroupIndex).zip(&self.config.groups);
        let measured = groups.map(|(index, group)| {
            let first = self.first_spindles.in_array(index, SpindleIndex(0)).0;
            let capacity_sectors = group.layout.lun_capacity_sectors();
            let luns = self.config.luns.iter().filter(|lun| lun.group == index);
            let lun_sectors: u64 = luns.map(|lun| lun.sectors).sum();
            GroupMeasures {
                spindles: first..first + group.layout.spindles(),
                blocks: capacity_sectors / BLOCK_SECTORS,
                free_blocks: Some((capacity_sectors - lun_sectors) / BLOCK_SECTORS),
            }
        });
        measured.filter(|_| self.config.groups.len() > 1).collect()
    }
}

impl<P: Payload> abilities::Snapshots<P> for InPlace<P> {}

impl<P: Payload> abilities::Durable<P> for InPlace<P> {
    fn log_size(&self) -> Option<LogSize> {
        self.config.log
    }

    fn committed(&mut self, _now_ns: u64, driver: &mut impl Driver<P>) {
        self.on_committed(driver);
    }

    /// `bad` has one flag for each block of the spindle that the command touches, even in part. The command's payload
    /// is the data read; its contents at a bad block are ignored. A partial write of a bad block counts as done: the
    /// block stays bad, and is computed when it is read.
    fn blocks_failed(
        &mut self,
        now_ns: u64,
        command: SpindleCommand<P>,
        bad: &[bool],
        driver: &mut impl Driver<P>,
    ) {
        if P::CARRIES_DATA {
            self.on_bad_blocks(now_ns, command, bad, driver);
        } else {
            self.command_completed(now_ns, command.tag, command.payload, driver);
        }
    }
}

strewn_base::saved_state! {
    impl for InPlace<()> {
        parts: groups;
        values: streams, waiting_for_room, failures, log_has_records, log_drain, bad_blocks, counters;
        built: config, luns, first_spindles;
    }
}
