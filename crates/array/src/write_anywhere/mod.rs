//! The write-anywhere controller: NVRAM log, buffer cache, consistency points.
//!
//! A host write is logged in NVRAM and acknowledged; blocks that it covers in part are read first. A consistency point
//! writes all dirty blocks together, wherever the allocator finds room, with the metadata that records where. A host
//! read costs one spindle command for each run of blocks that are still contiguous.

mod background;
mod block_keys;
mod config;
mod consistency_point;
mod costs;
mod degraded;
mod failing;
mod groups;
mod held_blocks;
mod history;
mod host;
mod initial_layout;
pub mod metadata;
mod placement;
mod prefetch;
mod read_aggregation;
mod read_ahead;
mod reads;
mod rebuild;
mod rebuild_bytes;
mod reconfigure;
mod recovery;
mod relocation;
mod repair;
mod reservations;
mod restore;
mod room;
mod seal;
mod snapshots;
mod steps;
mod stored;
mod tag;
mod tetris;
mod tetris_bytes;
mod timers;
mod unmap;
mod views;

use std::collections::VecDeque;
use std::ops::Range;

use crate::abilities;
use crate::scan_progress::ScanProgress;
use crate::slots::Slots;
use strewn_alloc::{
    Aggregate, AggregateOptions, BlockMap, FileLayout, FreeSpace, GroupIndex, SummaryBitmap,
};
use strewn_base::Direction;
use strewn_base::memory::check_reservable;
use strewn_base::state::{SavedState, SavedValue, StateError, StateReader, StateWriter};
use strewn_raid::{Parity, ParityGroup, SpindleIndex, Vbn};
use strewn_volume::{Region, SnapshotId, VirtualSpace, VolumeId};

use crate::buffer_cache::{BufferCache, Evicted};
use crate::counters::Counters;
use crate::driver::{
    Array, Driver, GroupMeasures, HostOperation, LayoutMeasures, LunLayoutMeasures, SpindleCommand,
    Tag, Work,
};
use crate::error::ArrayConfigError;
use crate::failure::{DataLost, FailedSpindle, Rebuild};
use crate::first_spindles::FirstSpindles;
use crate::log::LogSize;
use crate::lun_id::LunId;
use crate::payload::{Contents, Payload};
use crate::processor::{ProcessorCosts, ProcessorWork};
use crate::snapshot::{SnapshotMeasures, SnapshotRefusal, VolumeMeasures};
use crate::units::BLOCK_SECTORS;

use background::Background;
pub use background::{BackgroundScan, BackgroundWork};
pub use block_keys::{BlockAddress, BlockKeys, POINTERS};
pub use config::{CacheStart, OtherData, VolumeConfig, WriteAnywhereConfig};
use consistency_point::ConsistencyPoint;
use degraded::Degraded;
pub use groups::PlacedGroup;
pub use history::{DeadBlock, History};
use host::PendingOperation;
use read_aggregation::ReadAggregation;
use read_ahead::ReadAhead;
use reads::Reads;
pub use reconfigure::{Reconfiguration, ReconfigurationError};
use relocation::Relocation;
pub use relocation::{ReallocationScan, RelocationConfig};
pub use restore::RestoreError;
use snapshots::Snapshots;
pub use stored::CatalogBlocks;
use stored::Stored;
use tag::{Owner, TagFields};
pub use views::View;

/// Most blocks of one spindle command. A longer run takes several.
const COMMAND_BLOCKS: u32 = 128;

/// The superblock's key for the allocator. No other block has it.
const SUPERBLOCK: u32 = u32::MAX;

/// A write-anywhere array.
pub struct WriteAnywhere<P: Payload> {
    config: WriteAnywhereConfig,
    first_spindles: FirstSpindles,
    keys: BlockKeys,
    /// The sectors of each LUN, numbered through as the keys of its blocks are.
    lun_sectors: Vec<Range<u64>>,
    /// Blocks are identified by key.
    aggregate: Aggregate<u32>,
    volumes: VirtualSpace,
    /// Each block's VBN and region of its volume, by key: six bytes for each block.
    map: BlockMap,
    regions: Vec<Region>,
    superblock: [Vbn; 2],
    /// Kept only in the durable format, or with bytes.
    stored: Option<Stored>,
    cache: BufferCache,
    contents: P::Contents,
    dirty: SummaryBitmap,
    rewritten: SummaryBitmap,
    operations: Slots<PendingOperation<P>>,
    reads: Reads,
    waiting_for_log: VecDeque<u32>,
    /// Most blocks that may be dirty when the next consistency point begins.
    room_blocks: u64,
    consistency_point: Option<ConsistencyPoint<P>>,
    consistency_point_due_ns: u64,
    rebuild: Rebuild,
    /// The file system's reserve of the aggregate's blocks, in percent.
    reserve_percent: f64,
    /// `None` until a spindle fails. An array without failures must not depend on it.
    degraded: Option<Box<Degraded<P>>>,
    /// `None` until a snapshot is asked for. An array without snapshots must not depend on it.
    snapshots: Option<Box<Snapshots>>,
    /// `None` if the array does not read ahead.
    read_ahead: Option<Box<ReadAhead>>,
    /// LUNs as they are in snapshots, open for reading.
    views: Slots<View>,
    /// Whether the operations are those of a log, which have been admitted before.
    is_replaying: bool,
    counters: Counters,
    /// `None` unless host reads are aggregated across gaps.
    read_aggregation: Option<Box<ReadAggregation>>,
    /// `None` unless something is done in the background.
    background: Option<Box<Background>>,
    /// `None` in an array that relocates nothing. Nothing else must depend on it.
    relocation: Option<Box<Relocation>>,
}

impl<P: Payload> WriteAnywhere<P> {
    /// An array whose LUNs have just been laid out in full, one after another ("full reallocation"): contiguous except
    /// for the change of spindle after each chunk, and followed by its metadata. [`WriteAnywhereConfig::cache_start`]
    /// sets the cache's initial contents.
    ///
    /// # Errors
    /// If a size is zero or the LUNs do not fit.
    pub fn new(config: WriteAnywhereConfig) -> Result<Self, ArrayConfigError> {
        let mut array = Self::bare(config)?;
        array.lay_out().map_err(|full| array.does_not_fit(&full))?;
        array.add_other_data()?;
        array.check_reservations()?;
        array.begin_to_count();
        if array.config.cache_start == CacheStart::Metadata {
            array.warm_metadata();
        }
        Ok(array)
    }

    /// An array without any blocks, superblocks included.
    fn bare(config: WriteAnywhereConfig) -> Result<Self, ArrayConfigError> {
        let smallest = config.volumes.iter().flat_map(|volume| &volume.luns).min();
        // The durable format has volumes that are to get LUNs later.
        if smallest.is_none() && !config.format.is_durable() {
            return Err(ArrayConfigError::NoLun);
        }
        let nonzero = [
            (smallest.map_or(1, |blocks| (*blocks).into()), "a LUN"),
            (config.log.half_bytes, "half of the NVRAM log"),
            (config.consistency_point_interval_ns, "the interval of consistency points"),
            (config.cache_blocks.into(), "the buffer cache"),
            (config.dirty_limit_blocks.into(), "the limit of dirty blocks"),
            (config.tetrises_in_flight.into(), "the number of tetrises in flight"),
        ];
        if let Some((_, what)) = nonzero.iter().find(|(size, _)| *size == 0) {
            return Err(ArrayConfigError::Zero(what));
        }
        let (groups, at_start) = (config.groups.len(), config.groups_at_start);
        if !(1..=groups).contains(&at_start) || groups > WriteAnywhereConfig::MOST_GROUPS {
            return Err(ArrayConfigError::GroupCount { groups, at_start });
        }
        if config.groups.iter().any(|group| group.parity() == Parity::None) {
            return Err(ArrayConfigError::NoParity);
        }
        for (volume, of) in (0..).zip(&config.volumes) {
            let (luns, most) = (of.luns.len(), BlockKeys::MOST_LUNS_OF_VOLUME);
            if luns > most {
                return Err(ArrayConfigError::TooManyLuns { volume, luns, most });
            }
        }
        let options = AggregateOptions {
            chunks: config.chunks,
            shape: config.shape,
            policy: config.policy,
            ..AggregateOptions::default()
        };
        let mut aggregate = Aggregate::new(config.groups.iter().copied(), options)?;
        if at_start < groups {
            // All groups fit together, so that adding those of later cannot fail.
            aggregate = Aggregate::new(config.groups[..at_start].iter().copied(), options)?;
        }
        let volumes = VirtualSpace::new(config.volumes.iter().map(|volume| volume.blocks))?;
        let keys = config.block_keys();
        if keys.end() == u32::MAX {
            return Err(ArrayConfigError::TooManyKeys(config.lun_blocks()));
        }
        check_reservable(config.map_bytes())?;
        let map = BlockMap::new(keys.end().into(), config.total_blocks())?;
        let lun_sectors = (0..keys.luns()).map(|lun| {
            let Range { start, end } = keys.blocks_of(LunId(lun));
            let sector = |key| u64::from(key) * u64::from(BLOCK_SECTORS);
            sector(start)..sector(end)
        });
        Ok(Self {
            lun_sectors: lun_sectors.collect(),
            first_spindles: FirstSpindles::of(config.groups.iter().map(ParityGroup::spindles)),
            aggregate,
            volumes,
            map,
            regions: strewn_base::memory::filled(Region(0), keys.of_volumes().len()),
            superblock: [Vbn(0); 2],
            stored: (config.format.is_durable() || P::CARRIES_DATA).then(|| {
                let stored = Stored::new(keys.data().end);
                match P::CARRIES_DATA {
                    true => stored.with_checksums(keys.end(), config.total_blocks()),
                    false => stored,
                }
            }),
            cache: BufferCache::new(keys.end(), config.cache_blocks, config.protected_blocks),
            contents: P::Contents::default(),
            dirty: SummaryBitmap::new(keys.data().end.into()),
            rewritten: SummaryBitmap::new(keys.data().end.into()),
            operations: Slots::new(),
            reads: Reads::default(),
            waiting_for_log: VecDeque::new(),
            room_blocks: 0,
            consistency_point: None,
            consistency_point_due_ns: 0,
            rebuild: Rebuild::default(),
            reserve_percent: 0.0,
            degraded: None,
            snapshots: None,
            read_ahead: None,
            views: Slots::new(),
            is_replaying: false,
            counters: Counters::default(),
            read_aggregation: None,
            background: None,
            relocation: None,
            keys,
            config,
        })
    }

    fn does_not_fit(&self, full: &NoRoom) -> ArrayConfigError {
        match full {
            NoRoom::Aggregate(_) | NoRoom::ConsistencyPoint(_) => ArrayConfigError::LunsDoNotFit {
                lun_blocks: self.config.lun_blocks(),
                aggregate_blocks: self.config.blocks_at_start(),
            },
            NoRoom::Volume(volume, _) => {
                let config = &self.config.volumes[volume.0 as usize];
                ArrayConfigError::VolumeTooSmall {
                    volume: volume.0,
                    volume_blocks: config.blocks,
                    lun_blocks: config.luns.iter().map(|blocks| u64::from(*blocks)).sum(),
                }
            }
        }
    }

    /// Grants spares, and sets the rebuild's priority.
    #[must_use]
    pub fn with_rebuild(self, rebuild: Rebuild) -> Self {
        Self { rebuild, ..self }
    }

    /// All parity groups that the aggregate will ever have, in the order of their spindles.
    #[must_use]
    pub fn parity_groups(&self) -> &[ParityGroup] {
        &self.config.groups
    }

    /// The allocator and its free maps: those of the groups that have been added.
    #[must_use]
    pub fn aggregate(&self) -> &Aggregate<u32> {
        &self.aggregate
    }

    /// Where the blocks lie.
    #[must_use]
    pub fn block_map(&self) -> &BlockMap {
        &self.map
    }

    /// Gives block `key` a new place in the aggregate, and a new number in its volume if it belongs to one.
    #[inline(always)]
    fn place(&mut self, key: u32) -> Result<Placed, NoRoom> {
        let is_of_volume = self.keys.of_volumes().contains(&key);
        let volume = is_of_volume.then(|| self.keys.volume_of(key));
        self.place_in_volume(key, volume)
    }

    /// The same for a block of `volume`, or of none.
    #[inline(always)]
    fn place_in_volume(&mut self, key: u32, volume: Option<VolumeId>) -> Result<Placed, NoRoom> {
        let vbn = if self.aggregate.keeps_near() {
            let neighbour = key.checked_sub(1).and_then(|before| self.map.get(before));
            self.aggregate.allocate_behind(key, neighbour)?
        } else {
            self.aggregate.allocate(key)?
        };
        let before = self.map.replace(key, vbn);
        if P::CARRIES_DATA
            && let Some(stored) = &mut self.stored
        {
            stored.record_placement(key, vbn);
        }
        let number = if let Some(volume) = volume {
            let allocated = self.volumes.allocate(volume);
            let (region, position) = allocated.map_err(|full| NoRoom::Volume(volume, full))?;
            let before = std::mem::replace(&mut self.regions[key as usize], region);
            Some(Number { region, position, before })
        } else {
            None
        };
        Ok(Placed { vbn, before, number })
    }

    /// Sends a command for `sectors` of one spindle and charges the processor for it.
    #[inline(always)]
    fn send(
        &self,
        driver: &mut impl Driver<P>,
        fields: TagFields,
        direction: Direction,
        run: Run,
        payload: P,
    ) {
        self.send_with(driver, fields, direction, run, payload, false);
    }

    /// As [`send`](Self::send), with [`SpindleCommand::all_or_none`].
    #[inline(always)]
    fn send_with(
        &self,
        driver: &mut impl Driver<P>,
        fields: TagFields,
        direction: Direction,
        run: Run,
        payload: P,
        all_or_none: bool,
    ) {
        let sectors = run.blocks * BLOCK_SECTORS;
        driver.processor(ProcessorWork::Command, self.config.processor.of_command(sectors));
        driver.command(SpindleCommand {
            tag: fields.pack(),
            spindle: self.first_spindles.in_array(run.group, run.spindle),
            direction,
            first_sector: run.dbn * u64::from(BLOCK_SECTORS),
            sectors,
            payload,
            all_or_none,
        });
    }

    /// Inserts blocks that were just read into the cache. Blocks already there are newer, and stay. With `hold`, the
    /// blocks cannot be evicted until released.
    #[inline(always)]
    fn fill(&mut self, first_key: u32, blocks: u32, payload: &P, hold: bool) {
        if self.stored.is_some() && self.are_unmapped(first_key, blocks) {
            return self.fill_unmapped(first_key, blocks, payload, hold);
        }
        self.fill_mapped(first_key, blocks, payload, hold);
    }

    #[inline(always)]
    fn fill_mapped(&mut self, first_key: u32, blocks: u32, payload: &P, hold: bool) {
        let end_of_data = self.keys.data().end;
        let contents = &mut self.contents;
        self.cache.insert_run(first_key, blocks, hold, |key, evicted| {
            forget(contents, evicted, end_of_data);
            if key < end_of_data {
                let sector = u64::from(key) * u64::from(BLOCK_SECTORS);
                let part = payload.slice((key - first_key) * BLOCK_SECTORS, BLOCK_SECTORS);
                contents.store(sector, BLOCK_SECTORS, &part);
            }
        });
        self.counters.read_ahead_dropped = self.cache.dropped_unread();
    }

    fn forget(&mut self, evicted: Evicted) {
        forget(&mut self.contents, evicted, self.keys.data().end);
        self.counters.read_ahead_dropped = self.cache.dropped_unread();
    }

    /// A command has completed, or the recovery that replaced it. `payload` is a read's data.
    #[inline(always)]
    fn on_command_done(&mut self, now_ns: u64, tag: Tag, payload: P, driver: &mut impl Driver<P>) {
        let fields = TagFields::unpack(tag);
        match fields.owner {
            Owner::HostOperation => {
                self.on_operation_command_done(now_ns, fields, &payload, driver)
            }
            Owner::ConsistencyPointRead => {
                let before = driver.turn_to(Work::WriteBack);
                self.on_metadata_read(now_ns, fields, Some(&payload), driver);
                driver.turn_to(before);
            }
            Owner::Tetris => {
                let before = driver.turn_to(Work::WriteBack);
                self.on_tetris_command_done(now_ns, fields, Some(&payload), driver);
                driver.turn_to(before);
            }
            Owner::Recovery => self.on_recovery_command_done(now_ns, fields, Some(payload), driver),
            Owner::Rebuild => self.on_rebuild_command_done(now_ns, fields, Some(payload), driver),
            Owner::Repair => self.on_repair_done(now_ns, fields, driver),
            Owner::AggregatedRead => self.on_aggregated_read(now_ns, fields, payload, driver),
            Owner::Aside => self.on_scan_read_done(),
            Owner::ReadAhead => self.on_read_ahead_done(now_ns, fields, Some(&payload), driver),
            Owner::Relocation => self.on_relocation_read(now_ns, fields, Some(&payload), driver),
        }
    }

    /// The first sector of `lun` if the sectors of all LUNs are numbered through.
    #[inline(always)]
    fn first_sector_of(&self, lun: LunId) -> u64 {
        self.lun_sectors[usize::from(lun.0)].start
    }

    fn processor(&self) -> &ProcessorCosts {
        &self.config.processor
    }

    /// The blocks of a command.
    fn run_of(&self, command: &SpindleCommand<P>) -> Run {
        let (group, spindle) = self.first_spindles.in_group(command.spindle);
        Run {
            group,
            spindle,
            dbn: command.first_sector / u64::from(BLOCK_SECTORS),
            blocks: command.sectors / BLOCK_SECTORS,
        }
    }
}

/// Drops the contents of an evicted block of data.
fn forget<P>(contents: &mut impl Contents<P>, evicted: Evicted, end_of_data: u32) {
    if let Evicted(Some(key)) = evicted
        && key < end_of_data
    {
        contents.forget(u64::from(key) * u64::from(BLOCK_SECTORS), BLOCK_SECTORS);
    }
}

/// Consecutive blocks of one spindle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, SavedValue)]
struct Run {
    group: GroupIndex,
    /// Numbered within the group.
    spindle: SpindleIndex,
    dbn: u64,
    blocks: u32,
}

/// The result of placing a block.
struct Placed {
    vbn: Vbn,
    before: Option<Vbn>,
    /// For a block of a volume.
    number: Option<Number>,
}

/// The new number of a block in its volume: its region and its position there, and the region of its old number.
struct Number {
    region: Region,
    position: u32,
    before: Region,
}

/// The aggregate has no free block, or a volume no free number.
#[derive(Debug, thiserror::Error)]
enum NoRoom {
    #[error(transparent)]
    Aggregate(#[from] strewn_alloc::AllocateError),
    #[error(transparent)]
    ConsistencyPoint(#[from] strewn_alloc::ConsistencyPointError),
    #[error("{0}: {1}")]
    Volume(VolumeId, strewn_volume::VolumeFull),
}

impl<P: Payload> Array<P> for WriteAnywhere<P> {
    fn spindles(&self) -> u16 {
        self.config.groups.iter().map(|group| group.spindles()).sum()
    }

    fn is_parity(&self, spindle: SpindleIndex) -> bool {
        let (group, spindle) = self.first_spindles.in_group(spindle);
        spindle.0 >= self.group(group).data_spindles()
    }

    fn start(&mut self, now_ns: u64, driver: &mut impl Driver<P>) {
        self.consistency_point_due_ns = now_ns + self.config.consistency_point_interval_ns;
        self.start_relocation(now_ns);
        self.set_timer(now_ns, driver);
        self.note_room();
    }

    fn host_operation(
        &mut self,
        now_ns: u64,
        mut operation: HostOperation<P>,
        driver: &mut impl Driver<P>,
    ) {
        if P::CARRIES_DATA && operation.lun.0 >= self.keys.luns() {
            self.read_view(operation, driver);
            return self.end_recoveries(now_ns, driver);
        }
        let lun = &self.lun_sectors[usize::from(operation.lun.0)];
        // From here on, the sectors of all LUNs are numbered through, as the keys of their blocks are.
        operation.first_sector += lun.start;
        let end_sector = operation.first_sector + u64::from(operation.sectors);
        assert!(end_sector <= lun.end, "an operation ends behind its LUN");
        let ahead = self.note_read(&operation);
        self.admit(now_ns, operation, false, driver);
        if let Some(blocks) = ahead {
            self.read_ahead(blocks, driver);
        }
        self.end_recoveries(now_ns, driver);
    }

    fn command_completed(
        &mut self,
        now_ns: u64,
        tag: Tag,
        payload: P,
        driver: &mut impl Driver<P>,
    ) {
        if P::CARRIES_DATA
            && let fields = TagFields::unpack(tag)
            && let Some((run, wrong)) = self.wrong_read(fields, &payload)
        {
            self.on_bad_blocks(now_ns, tag, run, &wrong, payload, driver);
            self.end_recoveries(now_ns, driver);
            return;
        }
        self.on_command_done(now_ns, tag, payload, driver);
        self.end_recoveries(now_ns, driver);
    }

    #[inline]
    fn hint_operation(&self, lun: LunId, direction: Direction, first_sector: u64, sectors: u32) {
        let first_sector = first_sector + self.first_sector_of(lun);
        self.prefetch_for_operation(direction, first_sector, sectors);
    }

    #[inline]
    fn hint_completion(&self, tag: Tag) {
        self.prefetch_for_completion(TagFields::unpack(tag));
    }

    fn spindle_failed(
        &mut self,
        now_ns: u64,
        spindle: SpindleIndex,
        driver: &mut impl Driver<P>,
    ) -> Result<(), DataLost> {
        let lost = self.on_spindle_failed(now_ns, spindle, driver);
        self.end_recoveries(now_ns, driver);
        lost
    }

    fn command_failed(
        &mut self,
        now_ns: u64,
        command: SpindleCommand<P>,
        driver: &mut impl Driver<P>,
    ) {
        self.on_command_failed(now_ns, &command, driver);
        self.end_recoveries(now_ns, driver);
    }

    fn failures(&self) -> &[FailedSpindle] {
        self.degraded.as_ref().map_or(&[], |degraded| &degraded.failures)
    }

    fn forget_cache(&mut self) {
        for key in self.cache.discard_clean() {
            self.forget(Evicted(Some(key)));
        }
    }

    fn timer_fired(&mut self, now_ns: u64, driver: &mut impl Driver<P>) {
        if self.background.is_some() || self.relocation.is_some() {
            self.timers_fired(now_ns, driver);
            self.end_recoveries(now_ns, driver);
        } else if self.consistency_point.is_none() {
            self.begin_consistency_point(now_ns, driver);
            self.end_recoveries(now_ns, driver);
        }
        // While one is in progress, its end sees that the next is due.
    }

    fn scan_progress(&self) -> Option<ScanProgress> {
        self.measure_scan()
    }

    fn processor_costs(&self) -> &ProcessorCosts {
        &self.config.processor
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn assert_invariants(&self) {
        self.cache.assert_invariants();
        assert_eq!(self.dirty.count(), u64::from(self.cache.dirty_blocks()), "dirty blocks");
        assert!(
            self.consistency_point.is_some() || self.waiting_for_log.is_empty(),
            "a write waits for the log, and nothing frees it"
        );
        self.assert_numbers_agree();
        self.assert_reservations_agree();
    }

    fn layout(&self) -> LayoutMeasures {
        let of_lun = |lun| {
            let keys = self.keys.blocks_of(lun);
            let rewritten = self.rewritten.count_range(keys.start.into()..keys.end.into());
            let blocks = self.map.part(keys.clone());
            LunLayoutMeasures {
                file: FileLayout::measure(&blocks, keys.len() as u64, &self.aggregate),
                rewritten: Some(rewritten as f64 / keys.len() as f64),
            }
        };
        LayoutMeasures {
            luns: (0..self.keys.luns()).map(LunId).map(of_lun).collect(),
            free_space: Some(FreeSpace::of(&self.aggregate)),
        }
    }
}

impl<P: Payload> abilities::Growable<P> for WriteAnywhere<P> {
    fn groups(&self) -> Vec<GroupMeasures> {
        self.measure_groups()
    }

    fn add_group(&mut self, now_ns: u64, driver: &mut impl Driver<P>) -> bool {
        let added = self.take_next_group(now_ns, driver);
        self.end_recoveries(now_ns, driver);
        added
    }
}

impl<P: Payload> abilities::Snapshots<P> for WriteAnywhere<P> {
    fn snapshot_volumes(&self) -> Vec<VolumeId> {
        self.volume_ids().collect()
    }

    fn begin_snapshots(
        &mut self,
        now_ns: u64,
        volumes: &[VolumeId],
        driver: &mut impl Driver<P>,
    ) -> Result<Vec<(VolumeId, SnapshotId)>, SnapshotRefusal> {
        self.ask_for_snapshots(now_ns, volumes, driver)
    }

    fn expire_snapshot(&mut self, volume: VolumeId, snapshot: SnapshotId) -> bool {
        self.delete_snapshot(volume, snapshot)
    }

    fn snapshot_measures(&self) -> Option<SnapshotMeasures> {
        self.measure_snapshots()
    }

    fn volume_measures(&self) -> Vec<VolumeMeasures> {
        self.volume_ids().filter_map(|volume| self.measure_volume(volume)).collect()
    }
}

impl<P: Payload> abilities::Durable<P> for WriteAnywhere<P> {
    fn log_size(&self) -> Option<LogSize> {
        Some(self.config.log)
    }

    fn committed(&mut self, now_ns: u64, driver: &mut impl Driver<P>) {
        self.on_committed(now_ns, driver);
        self.end_recoveries(now_ns, driver);
    }

    fn blocks_failed(
        &mut self,
        now_ns: u64,
        command: SpindleCommand<P>,
        bad: &[bool],
        driver: &mut impl Driver<P>,
    ) {
        let (tag, run) = (command.tag, self.run_of(&command));
        self.on_bad_blocks(now_ns, tag, run, bad, command.payload, driver);
        self.end_recoveries(now_ns, driver);
    }
}

impl WriteAnywhere<()> {
    strewn_base::saved_state! {
        fns save_fields, restore_fields {
            parts: aggregate, volumes, map, regions, stored, cache, dirty, rewritten, snapshots, read_ahead, relocation;
            values: superblock, operations, reads, waiting_for_log, room_blocks, consistency_point,
                consistency_point_due_ns, degraded, views, is_replaying, counters, read_aggregation, background;
            built: config, first_spindles, keys, lun_sectors, contents, rebuild, reserve_percent;
        }
    }
}

impl SavedState for WriteAnywhere<()> {
    fn save(&self, to: &mut StateWriter<'_>) -> Result<(), StateError> {
        to.value(&self.aggregate.groups())?;
        to.value(&self.snapshots.is_some())?;
        self.save_fields(to)
    }

    /// The array comes to have the groups that had been added, and room for snapshots if any had been asked for.
    fn restore(&mut self, from: &mut StateReader<'_>) -> Result<(), StateError> {
        let groups: usize = from.value()?;
        let later = self.config.groups.get(self.aggregate.groups()..groups);
        let problem = || StateError::inconsistent(format!("{groups} parity groups were saved"));
        for group in later.ok_or_else(problem)? {
            self.aggregate.add_group(*group).map_err(|_| problem())?;
        }
        if from.value()? {
            self.snapshots_mut();
        }
        self.restore_fields(from)
    }
}
