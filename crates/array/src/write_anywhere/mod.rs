//! The write-anywhere controller: NVRAM log, buffer cache, consistency points.
//!
//! A host write is logged in NVRAM and acknowledged; blocks that it covers in part are read first. A consistency point
//! writes all dirty blocks together, wherever the allocator finds room, with the metadata that records where. A host
//! read costs one spindle command for each run of blocks that are still contiguous.
//!
//! # Parts
//!
//! `space` says where blocks lie, `memory` what is in the cache. `host`, `consistency_point`, `redundancy` and
//! `background` work on these two and never call each other: what a part wants done elsewhere it asks for
//! (`Next`), and the loop here carries it out.

/// What a part sees of an array besides itself.
macro_rules! context {
    ($array:expr, $now_ns:expr, $driver:expr) => {
        &mut Context {
            now_ns: $now_ns,
            driver: $driver,
            is_in_progress: $array.consistency_points.is_in_progress(),
            space: &mut $array.space,
            memory: &mut $array.memory,
            counters: &mut $array.counters,
            next: &mut $array.next,
        }
    };
}

mod at_rest;
mod background;
mod checking;
mod consistency_point;
mod context;
#[cfg(test)]
mod fixture;
mod host;
mod memory;
mod redundancy;
mod space;
mod tag;

use strewn_alloc::{FileLayout, FreeSpace};
use strewn_base::Direction;
use strewn_base::state::{SavedState, StateError, StateReader, StateWriter};
use strewn_raid::SpindleIndex;
use strewn_volume::{SnapshotId, VolumeId};

use crate::abilities;
use crate::counters::Counters;
use crate::driver::{
    Acknowledge, Array, Driver, GroupMeasures, HostOperation, LayoutMeasures, LunLayoutMeasures,
    SpindleCommand, Tag, Work,
};
use crate::error::ArrayConfigError;
use crate::failure::{DataLost, FailedSpindle, Rebuild};
use crate::log::LogSize;
use crate::lun_id::LunId;
use crate::payload::Payload;
use crate::processor::ProcessorCosts;
use crate::requests::Requests;
use crate::scan_progress::ScanProgress;
use crate::snapshot::{SnapshotMeasures, SnapshotRefusal, VolumeMeasures};

pub use background::BackgroundWork;
pub use background::map_scan::BackgroundScan;
pub use background::relocation::{ReallocationScan, RelocationConfig};
pub use space::PlacedGroup;
pub use space::address::{BlockAddress, POINTERS};
pub use space::config::{CacheStart, OtherData, VolumeConfig, WriteAnywhereConfig};
pub use space::history::{DeadBlock, History};
pub use space::keys::BlockKeys;
pub use space::metadata;
pub use space::pending::CatalogBlocks;
pub use space::reconfigure::{Reconfiguration, ReconfigurationError};
pub use space::restore_error::RestoreError;
pub use space::view::View;

use background::Background;
use consistency_point::ConsistencyPoints;
use context::{Context, LogAttempt, Next};
use host::Host;
use memory::Memory;
use redundancy::Redundancy;
use space::{Run, Space};
use tag::{Owner, TagFields};

/// A write-anywhere array.
pub struct WriteAnywhere<P: Payload> {
    space: Space,
    memory: Memory<P>,
    host: Host<P>,
    consistency_points: ConsistencyPoints<P>,
    redundancy: Redundancy<P>,
    background: Background,
    counters: Counters,
    /// What parts have asked for and is still to be carried out. Empty between events.
    next: Requests<Next<P>>,
}

impl<P: Payload> WriteAnywhere<P> {
    /// An array whose LUNs have just been laid out in full, one after another ("full reallocation"): contiguous except
    /// for the change of spindle after each chunk, and followed by its metadata. [`WriteAnywhereConfig::cache_start`]
    /// sets the cache's initial contents.
    ///
    /// # Errors
    /// If a size is zero or the LUNs do not fit.
    pub fn new(config: WriteAnywhereConfig) -> Result<Self, ArrayConfigError> {
        let space = Space::laid_out(config, P::CARRIES_DATA)?;
        let mut array = Self::of(space);
        if array.space.config.cache_start == CacheStart::Metadata {
            array.memory.warm(array.space.placed_metadata());
        }
        Ok(array)
    }

    /// An array of the blocks in `space`, with nothing in memory.
    fn of(space: Space) -> Self {
        Self {
            memory: Memory::new(&space),
            host: Host::new(),
            consistency_points: ConsistencyPoints::new(),
            redundancy: Redundancy::new(space.config.groups.len(), Rebuild::default()),
            background: Background::default(),
            counters: Counters::default(),
            next: Requests::new(),
            space,
        }
    }

    /// Grants spares, and sets the rebuild's priority.
    #[must_use]
    pub fn with_rebuild(self, rebuild: Rebuild) -> Self {
        Self { redundancy: Redundancy::new(self.space.config.groups.len(), rebuild), ..self }
    }

    /// Gives the array work to do in the background.
    ///
    /// # Panics
    /// If a scan looks at no blocks.
    #[must_use]
    pub fn with_background(mut self, work: BackgroundWork) -> Self {
        self.background.set_work(work);
        self
    }

    /// Relocates blocks as `config` says.
    #[must_use]
    pub fn with_relocation(mut self, config: RelocationConfig) -> Self {
        self.background.set_relocation(config);
        self.host.reports_reads = self.background.relocates();
        if self.background.relocates() {
            self.memory.dirty.begin_relocating();
        }
        self
    }

    /// Aggregates runs of a host read across gaps of at most `most_gap_blocks` blocks; never, if that is 0. A gap is
    /// what lies on a spindle between two runs that one operation wants.
    #[must_use]
    pub fn with_read_gap_aggregation(mut self, most_gap_blocks: u32) -> Self {
        self.host.aggregate_reads(most_gap_blocks);
        self
    }

    /// From now on, reads ahead of sequential streams, each by at most `bytes`; less than a block is not at all.
    ///
    /// # Panics
    /// If something is being read ahead.
    pub fn set_read_ahead(&mut self, bytes: u64) {
        self.host.set_read_ahead(bytes, &self.space);
        if self.host.reads_ahead() {
            self.memory.cache.read_ahead();
        }
    }

    /// From now on, so many reads in a row begin a stream, after the first
    /// ([`stream_matches`](crate::stream_matches)).
    pub fn set_stream_matches(&mut self, matches: u8) {
        self.host.set_stream_matches(matches);
    }

    /// Carries out all that the parts have asked for during an event.
    #[inline(always)]
    fn settle(&mut self, now_ns: u64, driver: &mut impl Driver<P>) {
        if !self.next.is_empty() || self.redundancy.has_ended() {
            self.carry_out_all(now_ns, driver);
        }
    }

    #[inline(never)]
    fn carry_out_all(&mut self, now_ns: u64, driver: &mut impl Driver<P>) {
        loop {
            while let Some(next) = self.next.take_next() {
                self.carry_out(next, now_ns, driver);
            }
            if !self.redundancy.end_one(context!(self, now_ns, driver)) {
                return;
            }
        }
    }

    fn carry_out(&mut self, next: Next<P>, now_ns: u64, driver: &mut impl Driver<P>) {
        match next {
            Next::Read(fields, run) if self.space.is_lost(run) => {
                self.recover(fields, run, now_ns, driver);
            }
            Next::Read(fields, run) => {
                context!(self, now_ns, driver).send(fields, Direction::Read, run, P::default());
            }
            Next::Recover(fields, run) => self.recover(fields, run, now_ns, driver),
            Next::Arrived(fields, payload) => self.on_arrived(fields, payload, now_ns, driver),
            Next::Recovered(fields, Some(payload)) => {
                self.on_done(fields, payload, now_ns, driver);
            }
            Next::Recovered(fields, None) => self.on_gone(fields, now_ns, driver),
            Next::RowsFree(group) => {
                if self.space.is_wanted_row_free(group) {
                    self.next.push(Next::AdvanceConsistencyPoint);
                }
                self.next.push(Next::ResumeRedundancy(group));
            }
            Next::ResumeRedundancy(group) => {
                self.redundancy.resume(group, context!(self, now_ns, driver));
            }
            Next::ReadAhead(lun, blocks) => {
                self.host.read_ahead(lun, blocks, context!(self, now_ns, driver));
            }
            Next::Log(when, attempt) => {
                self.host.log_waiting(when, attempt, context!(self, now_ns, driver));
            }
            Next::NoteHostRead(first, last) => {
                self.background.note_host_read((first, last), context!(self, now_ns, driver));
            }
            Next::BeginConsistencyPoint => self.begin_consistency_point(now_ns, driver),
            Next::AdvanceConsistencyPoint => {
                self.consistency_points.advance(context!(self, now_ns, driver));
            }
            Next::AfterCommit => {
                if self.consistency_points.is_in_progress() {
                    self.counters.back_to_back_consistency_points += 1;
                } else if now_ns >= self.consistency_points.due_ns
                    || self.is_much_dirty()
                    || self.space.snapshots.as_ref().is_some_and(|snapshots| snapshots.is_asked())
                {
                    self.begin_consistency_point(now_ns, driver);
                }
            }
            Next::RelocateAfterCommit => {
                self.background.on_commit(context!(self, now_ns, driver));
            }
            Next::AfterRelocation(waits_for_room) => {
                // A consistency point makes the room that relocation waits for.
                if waits_for_room || self.is_much_dirty() {
                    self.begin_consistency_point(now_ns, driver);
                }
            }
            Next::AfterTimer => {
                if now_ns >= self.consistency_points.due_ns {
                    self.begin_consistency_point(now_ns, driver);
                }
                self.next.push(Next::SetTimer);
            }
            Next::SetTimer => {
                if self.background.due_ns().is_some() || self.consistency_points.due_ns > now_ns {
                    self.set_timer(now_ns, driver);
                }
            }
            Next::TurnTo(work) => {
                driver.turn_to(work);
            }
        }
    }

    fn is_much_dirty(&self) -> bool {
        self.memory.is_much_dirty(self.space.config.dirty_limit_blocks)
    }

    /// Begins a consistency point with all that is dirty, unless one is in progress.
    fn begin_consistency_point(&mut self, now_ns: u64, driver: &mut impl Driver<P>) {
        if self.consistency_points.is_in_progress() {
            return;
        }
        self.consistency_points.due_ns = now_ns + self.space.config.consistency_point_interval_ns;
        self.set_timer(now_ns, driver);
        let background = &mut self.background;
        let requested = |space: &Space| background.requests(now_ns, space);
        let cx = context!(self, now_ns, driver);
        if let Some(taken) = self.consistency_points.begin(requested, cx) {
            self.background.on_consistency_point(&taken);
        }
    }

    /// Sets the one timer to whatever is due next: a consistency point, or something in the background.
    fn set_timer(&self, now_ns: u64, driver: &mut impl Driver<P>) {
        let due_ns = self.consistency_points.due_ns;
        let at_ns = match self.background.due_ns().map(|at_ns| at_ns.max(now_ns)) {
            None => due_ns,
            // The end of the consistency point in progress sees that the next is due.
            Some(at_ns) if due_ns <= now_ns => at_ns,
            Some(at_ns) => due_ns.min(at_ns),
        };
        driver.set_timer(at_ns);
    }

    /// A command has completed, or the recovery that replaced it. `payload` is a read's data.
    #[inline(always)]
    fn on_done(&mut self, fields: TagFields, payload: P, now_ns: u64, driver: &mut impl Driver<P>) {
        let cx = context!(self, now_ns, driver);
        match fields.owner {
            Owner::HostOperation => self.host.on_command_done(fields, &payload, cx),
            Owner::ConsistencyPointRead => {
                let before = cx.driver.turn_to(Work::WriteBack);
                self.consistency_points.on_metadata_read(fields, Some(&payload), cx);
                cx.then(Next::TurnTo(before));
            }
            Owner::Tetris => {
                let before = cx.driver.turn_to(Work::WriteBack);
                self.consistency_points.on_tetris_command_done(fields, Some(&payload), cx);
                cx.then(Next::TurnTo(before));
            }
            Owner::Recovery => self.redundancy.on_recovery_command_done(fields, Some(payload), cx),
            Owner::Rebuild => self.redundancy.on_rebuild_command_done(fields, Some(payload), cx),
            Owner::Repair => self.redundancy.on_repair_done(fields, cx),
            Owner::AggregatedRead => self.host.on_aggregated_read(fields, &payload, cx),
            Owner::Aside => self.background.on_scan_read_done(),
            Owner::ReadAhead => self.host.on_read_ahead_done(fields, Some(&payload), cx),
            Owner::Relocation => self.background.on_relocation_read(fields, Some(&payload), cx),
        }
    }

    /// A command failed with its spindle: what waits for it gets its blocks elsewhere.
    #[cold]
    fn on_failed(&mut self, fields: TagFields, run: Run, now_ns: u64, driver: &mut impl Driver<P>) {
        if fields.owner.waits_for_blocks() {
            return self.recover(fields, run, now_ns, driver);
        }
        self.begin_losses();
        let cx = context!(self, now_ns, driver);
        match fields.owner {
            Owner::Tetris => self.consistency_points.on_tetris_command_done(fields, None, cx),
            Owner::Recovery => self.redundancy.on_recovery_command_done(fields, None, cx),
            // The step was given up when the spindle failed.
            Owner::Rebuild => self.redundancy.on_rebuild_command_done(fields, None, cx),
            Owner::Repair => self.redundancy.on_repair_done(fields, cx),
            Owner::AggregatedRead => self.host.read_runs_apart(fields, cx),
            Owner::Aside => self.background.on_scan_read_done(),
            Owner::HostOperation
            | Owner::ConsistencyPointRead
            | Owner::ReadAhead
            | Owner::Relocation => unreachable!("it waits for its blocks"),
        }
    }

    /// The blocks of a read can be neither read nor computed.
    #[cold]
    fn on_gone(&mut self, fields: TagFields, now_ns: u64, driver: &mut impl Driver<P>) {
        let cx = context!(self, now_ns, driver);
        match fields.owner {
            Owner::HostOperation => self.host.on_blocks_gone(fields, cx),
            Owner::ReadAhead => self.host.on_read_ahead_done(fields, None, cx),
            // What the metadata describes is in memory, and is written elsewhere.
            Owner::ConsistencyPointRead => {
                self.consistency_points.on_metadata_read(fields, None, cx);
            }
            // It stays where it is.
            Owner::Relocation => self.background.on_relocation_read(fields, None, cx),
            owner => unreachable!("{owner:?} is not recovered"),
        }
    }

    /// Recovers a read some of whose blocks are lost or bad.
    #[cold]
    fn recover(&mut self, fields: TagFields, run: Run, now_ns: u64, driver: &mut impl Driver<P>) {
        self.begin_losses();
        let blocks = self.blocks_read(fields);
        self.redundancy.recover(fields, run, blocks, context!(self, now_ns, driver));
    }

    /// From the first loss on, the array keeps what it has lost.
    #[cold]
    fn begin_losses(&mut self) {
        if self.space.losses.is_none() {
            let groups = (0..self.space.config.groups.len() as u16).map(strewn_alloc::GroupIndex);
            let rows = groups.map(|group| self.consistency_points.rows_in_flight(group));
            self.space.begin_losses(rows);
        }
    }
}

impl<P: Payload> Array<P> for WriteAnywhere<P> {
    fn spindles(&self) -> u16 {
        self.space.config.groups.iter().map(|group| group.spindles()).sum()
    }

    fn is_parity(&self, spindle: SpindleIndex) -> bool {
        let (group, spindle) = self.space.first_spindles.in_group(spindle);
        spindle.0 >= self.space.group(group).data_spindles()
    }

    fn start(&mut self, now_ns: u64, driver: &mut impl Driver<P>) {
        self.consistency_points.due_ns = now_ns + self.space.config.consistency_point_interval_ns;
        self.background.start(now_ns);
        self.set_timer(now_ns, driver);
        self.space.note_room();
    }

    fn host_operation(
        &mut self,
        now_ns: u64,
        mut operation: HostOperation<P>,
        driver: &mut impl Driver<P>,
    ) {
        let cx = context!(self, now_ns, driver);
        if P::CARRIES_DATA && operation.lun.0 >= cx.space.keys.luns() {
            self.host.read_view(operation, cx);
            return self.settle(now_ns, driver);
        }
        let lun = &cx.space.lun_sectors[usize::from(operation.lun.0)];
        // From here on, the sectors of all LUNs are numbered through, as the keys of their blocks are.
        operation.first_sector += lun.start;
        let end_sector = operation.first_sector + u64::from(operation.sectors);
        assert!(end_sector <= lun.end, "an operation ends behind its LUN");
        let ahead = self.host.note_read(&operation, cx.space);
        self.host.admit(operation, false, cx);
        if let Some((lun, blocks)) = ahead {
            cx.then(Next::ReadAhead(lun, blocks));
        }
        self.settle(now_ns, driver);
    }

    fn command_completed(
        &mut self,
        now_ns: u64,
        tag: Tag,
        payload: P,
        driver: &mut impl Driver<P>,
    ) {
        self.on_arrived(TagFields::unpack(tag), payload, now_ns, driver);
        self.settle(now_ns, driver);
    }

    #[inline]
    fn hint_operation(&self, lun: LunId, direction: Direction, first_sector: u64, sectors: u32) {
        let first_sector = first_sector + self.space.first_sector_of(lun);
        self.memory.prefetch_for_operation(&self.space, direction, first_sector, sectors);
    }

    #[inline]
    fn hint_completion(&self, tag: Tag) {
        self.memory.prefetch_for_completion(TagFields::unpack(tag));
    }

    fn spindle_failed(
        &mut self,
        now_ns: u64,
        spindle: SpindleIndex,
        driver: &mut impl Driver<P>,
    ) -> Result<(), DataLost> {
        self.begin_losses();
        let lost = self.redundancy.on_spindle_failed(spindle, context!(self, now_ns, driver));
        self.settle(now_ns, driver);
        lost
    }

    fn command_failed(
        &mut self,
        now_ns: u64,
        command: SpindleCommand<P>,
        driver: &mut impl Driver<P>,
    ) {
        let run = self.space.run_of(&command);
        self.on_failed(TagFields::unpack(command.tag), run, now_ns, driver);
        self.settle(now_ns, driver);
    }

    fn failures(&self) -> &[FailedSpindle] {
        self.redundancy.failures()
    }

    fn forget_cache(&mut self) {
        self.memory.discard_clean(&mut self.counters);
    }

    fn timer_fired(&mut self, now_ns: u64, driver: &mut impl Driver<P>) {
        if self.background.has_work() {
            let cx = context!(self, now_ns, driver);
            self.background.on_timer(cx);
            cx.then(Next::AfterTimer);
        } else {
            // While one is in progress, its end sees that the next is due.
            self.begin_consistency_point(now_ns, driver);
        }
        self.settle(now_ns, driver);
    }

    fn scan_progress(&self) -> Option<ScanProgress> {
        self.background.scan_progress(self.space.keys.data_blocks())
    }

    fn processor_costs(&self) -> &ProcessorCosts {
        &self.space.config.processor
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn assert_invariants(&self) {
        assert!(self.next.is_empty(), "a part has asked for what was not carried out");
        self.memory.assert_invariants();
        assert!(
            self.consistency_points.is_in_progress() || !self.host.is_waiting_for_log(),
            "a write waits for the log, and nothing frees it"
        );
        self.space.assert_numbers_agree();
        self.space.assert_reservations_agree();
    }

    fn layout(&self) -> LayoutMeasures {
        let space = &self.space;
        let of_lun = |lun| {
            let keys = space.keys.blocks_of(lun);
            let rewritten = self.memory.dirty.rewritten(keys.clone());
            let blocks = space.map.part(keys.clone());
            LunLayoutMeasures {
                file: FileLayout::measure(&blocks, keys.len() as u64, &space.aggregate),
                rewritten: Some(rewritten as f64 / keys.len() as f64),
            }
        };
        LayoutMeasures {
            luns: (0..space.keys.luns()).map(LunId).map(of_lun).collect(),
            free_space: Some(FreeSpace::of(&space.aggregate)),
            ..LayoutMeasures::nothing()
        }
    }
}

impl<P: Payload> abilities::Growable<P> for WriteAnywhere<P> {
    fn groups(&self) -> Vec<GroupMeasures> {
        self.space.measure_groups()
    }

    fn add_group(&mut self, now_ns: u64, driver: &mut impl Driver<P>) -> bool {
        let added = self.space.take_next_group();
        if added {
            // Writes may have waited for room.
            self.next.push(Next::Log(Acknowledge::Now, LogAttempt::First));
        }
        self.settle(now_ns, driver);
        added
    }
}

impl<P: Payload> abilities::Snapshots<P> for WriteAnywhere<P> {
    fn snapshot_volumes(&self) -> Vec<VolumeId> {
        self.space.volume_ids().collect()
    }

    fn begin_snapshots(
        &mut self,
        now_ns: u64,
        volumes: &[VolumeId],
        driver: &mut impl Driver<P>,
    ) -> Result<Vec<(VolumeId, SnapshotId)>, SnapshotRefusal> {
        let dirty_blocks = self.memory.cache.dirty_blocks();
        let asked = self.space.ask_for_snapshots(volumes, dirty_blocks);
        match asked {
            Ok(_) => self.begin_consistency_point(now_ns, driver),
            Err(SnapshotRefusal::NotSimulated) => {}
            Err(_) => self.counters.snapshots_refused += volumes.len() as u64,
        }
        self.settle(now_ns, driver);
        asked
    }

    fn expire_snapshot(&mut self, volume: VolumeId, snapshot: SnapshotId) -> bool {
        self.delete_snapshot(volume, snapshot)
    }

    fn snapshot_measures(&self) -> Option<SnapshotMeasures> {
        self.space.measure_snapshots(self.counters.snapshots_refused > 0)
    }

    fn volume_measures(&self) -> Vec<VolumeMeasures> {
        let volumes = self.space.volume_ids();
        volumes.filter_map(|volume| self.space.measure_volume(volume)).collect()
    }
}

impl<P: Payload> abilities::Durable<P> for WriteAnywhere<P> {
    fn log_size(&self) -> Option<LogSize> {
        Some(self.space.config.log)
    }

    fn committed(&mut self, now_ns: u64, driver: &mut impl Driver<P>) {
        self.consistency_points.on_committed(context!(self, now_ns, driver));
        self.settle(now_ns, driver);
    }

    fn blocks_failed(
        &mut self,
        now_ns: u64,
        command: SpindleCommand<P>,
        bad: &[bool],
        driver: &mut impl Driver<P>,
    ) {
        let (fields, run) = (TagFields::unpack(command.tag), self.space.run_of(&command));
        self.on_bad_blocks(fields, run, bad, command.payload, now_ns, driver);
        self.settle(now_ns, driver);
    }
}

impl WriteAnywhere<()> {
    strewn_base::saved_state! {
        fns save_fields, restore_fields {
            parts: space, memory, host, redundancy, background;
            values: consistency_points, counters;
            built: next;
        }
    }
}

impl SavedState for WriteAnywhere<()> {
    fn save(&self, to: &mut StateWriter<'_>) -> Result<(), StateError> {
        assert!(self.next.is_empty(), "an array is saved between events");
        self.save_fields(to)
    }

    fn restore(&mut self, from: &mut StateReader<'_>) -> Result<(), StateError> {
        self.restore_fields(from)
    }
}
