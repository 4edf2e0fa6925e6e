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
//!
//! # Parts
//!
//! `space` says where sectors lie, `memory` what is cached. `host`, `destage` and `redundancy` work on these two and
//! never call each other: what a part wants done elsewhere it asks for (`Next`), and the loop here carries it out.

/// What a part sees of an array besides itself.
macro_rules! context {
    ($array:expr, $now_ns:expr, $driver:expr) => {
        &mut Context {
            now_ns: $now_ns,
            driver: $driver,
            space: &mut $array.space,
            memory: &mut $array.memory,
            counters: &mut $array.counters,
            next: &mut $array.next,
        }
    };
}

mod context;
mod destage;
#[cfg(test)]
mod fixture;
mod host;
mod memory;
mod redundancy;
mod space;
mod tag;

use strewn_alloc::GroupIndex;
use strewn_base::state::{SavedState, StateError, StateReader, StateWriter};
use strewn_base::{Direction, SECTOR_BYTES};
use strewn_raid::{SpindleIndex, StripedLayout};

use crate::abilities;
use crate::counters::Counters;
use crate::driver::{
    Array, Driver, GroupMeasures, HostOperation, LayoutMeasures, SpindleCommand, Tag,
};
use crate::error::ArrayConfigError;
use crate::failure::{DataLost, FailedSpindle};
use crate::log::LogSize;
use crate::lun_id::LunId;
use crate::payload::Payload;
use crate::processor::ProcessorCosts;
use crate::requests::Requests;

pub use space::{
    BadBlocks, DiskGroupConfig, InPlaceConfig, LunConfig, LunLayout, Raid0Layout, Raid5Layout,
};

use context::{Context, Next};
use destage::Destaging;
use host::Host;
use memory::Memory;
use redundancy::Redundancy;
use space::blocks::{BlockSet, blocks_touched};
use space::{Run, Space};
use tag::{Kind, TagFields};

/// An in-place array.
pub struct InPlace<P: Payload> {
    space: Space,
    memory: Memory<P>,
    host: Host<P>,
    destaging: Destaging<P>,
    redundancy: Redundancy<P>,
    counters: Counters,
    /// What parts have asked for and is still to be carried out. Empty between events.
    next: Requests<Next<P>>,
}

impl<P: Payload> InPlace<P> {
    /// An array with an empty cache.
    ///
    /// # Errors
    /// If a size is zero or the LUN does not fit the layout.
    pub fn new(config: InPlaceConfig) -> Result<Self, ArrayConfigError> {
        let space = Space::new(config, P::CARRIES_DATA)?;
        Ok(Self {
            memory: Memory::new(&space),
            host: Host::new(&space),
            destaging: Destaging::new(&space),
            redundancy: Redundancy::new(&space),
            counters: Counters::default(),
            next: Requests::new(),
            space,
        })
    }

    /// The configuration that the array was created with.
    #[must_use]
    pub fn config(&self) -> &InPlaceConfig {
        &self.space.config
    }

    /// The bad blocks met since the array was created.
    #[must_use]
    pub fn bad_blocks(&self) -> &BadBlocks {
        &self.space.bad_blocks
    }

    /// From now on, reads ahead of sequential streams, each by at most `read_ahead_bytes`, and keeps `read_cache_bytes`
    /// of what hosts have read; 0 is not at all. With both, what is read ahead is part of the read cache, and a stream
    /// is ahead by at most half of it: no more would be there when it is wanted. It needs chunks of whole blocks of 4
    /// KiB, and a disk group whose LUNs take less than 16 TiB: without these, nothing is read ahead or kept.
    ///
    /// # Panics
    /// If something is being read ahead.
    pub fn set_read_cache(&mut self, read_ahead_bytes: u64, read_cache_bytes: u64) {
        let Self { space, memory, .. } = self;
        self.host.set_read_cache(read_ahead_bytes, read_cache_bytes, space, memory);
    }

    /// From now on, so many reads in a row begin a stream, after the first
    /// ([`stream_matches`](crate::stream_matches)).
    pub fn set_stream_matches(&mut self, matches: u8) {
        self.host.set_stream_matches(matches);
    }

    /// Begins a log drain, unless one is in progress or there is nothing to write. A shutdown calls it until the array
    /// [is clean](Self::is_clean).
    pub fn begin_log_drain(&mut self, now_ns: u64, driver: &mut impl Driver<P>) {
        if !self.destaging.has_log_drain() && !self.is_clean() {
            for next in [Next::OpenLogDrain, Next::Destage, Next::FinishLogDrain] {
                self.next.push(next);
            }
            self.settle(now_ns, driver);
        }
    }

    /// Whether everything acknowledged is on the spindles, and the log is no longer needed.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.memory.is_clean() && self.host.is_clean() && !self.destaging.has_log_drain()
    }

    /// A new device has replaced a failed spindle and receives its commands from now on. The spindle's segments are
    /// rebuilt onto it, or moved back from reserve. Does nothing for a spindle that has not failed or is fully rebuilt.
    pub fn replaced(&mut self, now_ns: u64, spindle: SpindleIndex, driver: &mut impl Driver<P>) {
        self.redundancy.on_replaced(spindle, context!(self, now_ns, driver));
        self.settle(now_ns, driver);
    }

    /// Carries out all that the parts have asked for during an event.
    #[inline(always)]
    fn settle(&mut self, now_ns: u64, driver: &mut impl Driver<P>) {
        if !self.next.is_empty() {
            self.carry_out_all(now_ns, driver);
        }
    }

    #[inline(never)]
    fn carry_out_all(&mut self, now_ns: u64, driver: &mut impl Driver<P>) {
        while let Some(next) = self.next.take_next() {
            self.carry_out(next, now_ns, driver);
        }
    }

    fn carry_out(&mut self, next: Next<P>, now_ns: u64, driver: &mut impl Driver<P>) {
        let cx = context!(self, now_ns, driver);
        match next {
            Next::Read(fields, run) => {
                match cx.space.groups[fields.group].place_now(run.spindle, run.first_sector) {
                    Some((spindle, first_sector)) => {
                        let run = Run { spindle, first_sector, ..run };
                        cx.send(fields, Direction::Read, run, P::default());
                    }
                    None => self.redundancy.recover(fields, run, cx),
                }
            }
            Next::Recovered(fields, payload, gone) => {
                self.on_done(fields, &payload, &gone, now_ns, driver);
            }
            Next::ReadAheadDone(group, read, blocks, payload) => {
                self.host.end_wait(group, read, blocks, payload, cx);
            }
            Next::CompleteWrite(group, write) => {
                self.host.complete_waiting(group, write, cx);
            }
            Next::Write(write, when) => self.host.write_or_wait(write, when, cx),
            Next::AdmitWaiting => self.host.admit_waiting(cx),
            Next::Destage => self.destaging.begin(cx),
            Next::DestageEnded(group) => {
                cx.then(Next::AdmitWaiting);
                if cx.space.is_degraded(group) {
                    cx.then(Next::StripesFree(group));
                } else {
                    cx.then(Next::Destage);
                }
                cx.then(Next::FinishLogDrain);
            }
            Next::OpenLogDrain => self.destaging.open_log_drain(cx),
            Next::FinishLogDrain => self.destaging.finish_log_drain(cx),
            Next::MendParity(group, first, gone) => {
                self.redundancy.mend_parity(group, first, gone, cx);
            }
            Next::StripesFree(group) => self.redundancy.on_stripes_free(group, cx),
            Next::BeginRecovery(group, slot) => self.redundancy.begin_recovery(group, slot, cx),
            Next::AdvanceRebuild(group) => self.redundancy.advance_rebuild(group, cx),
            Next::EndLosses(group) => self.redundancy.end_losses(group, cx.space),
        }
    }

    /// A command has completed, or the recovery that replaced it. A read has brought its data, except for the blocks
    /// that are gone.
    #[inline(always)]
    fn on_done(
        &mut self,
        tag: TagFields,
        payload: &P,
        gone: &BlockSet,
        now_ns: u64,
        driver: &mut impl Driver<P>,
    ) {
        let outcome = Some((payload, gone));
        // A context of its own for each: that of what is inlined stays in registers.
        match tag.kind {
            Kind::HostRead => {
                self.host.on_read_done(tag, payload, gone, context!(self, now_ns, driver));
            }
            Kind::Destage => {
                let cx = context!(self, now_ns, driver);
                if self.destaging.on_command_done(tag, outcome, cx) {
                    self.on_destage_ended(tag.group, now_ns, driver);
                }
            }
            Kind::Recovery => {
                let cx = context!(self, now_ns, driver);
                self.redundancy.on_recovery_command_done(tag, outcome, cx);
            }
            Kind::Step => {
                let cx = context!(self, now_ns, driver);
                self.redundancy.on_rebuild_command_done(tag, outcome, cx);
            }
            Kind::ReadAhead => {
                let cx = context!(self, now_ns, driver);
                self.host.on_read_ahead_done(tag, Some(payload), gone, cx);
            }
        }
    }

    /// A destage has ended: there is room in the cache, and a stripe that others may have waited for.
    #[inline(always)]
    fn on_destage_ended(&mut self, group: GroupIndex, now_ns: u64, driver: &mut impl Driver<P>) {
        let is_waited_for = !self.memory.waiting_for_room.is_empty()
            || self.space.is_degraded(group)
            || self.destaging.has_log_drain();
        if P::CARRIES_DATA || is_waited_for {
            self.next.push(Next::DestageEnded(group));
        } else {
            // Nearly always only others begin, which ask for nothing.
            self.destaging.begin(context!(self, now_ns, driver));
        }
    }

    /// Some blocks of a read are bad. Of a payload that is not all of what was asked for, nothing counts as read.
    #[cold]
    fn on_bad_blocks(
        &mut self,
        now_ns: u64,
        command: SpindleCommand<P>,
        bad: &[bool],
        driver: &mut impl Driver<P>,
    ) {
        let SpindleCommand { tag, first_sector, sectors, mut payload, .. } = command;
        let touched = blocks_touched(first_sector, sectors);
        let mut bad = BlockSet::of_flags(bad, touched);
        let bytes = sectors as usize * SECTOR_BYTES as usize;
        if payload.bytes().len() != bytes {
            payload = P::from_bytes(vec![0; bytes]);
            bad = BlockSet::all(touched);
        }
        let fields = TagFields::of(tag);
        // The operations that wait for what has been read ahead read what is bad themselves, and repair it.
        if bad.is_empty() || fields.kind == Kind::ReadAhead {
            return self.on_done(fields, &payload, &bad, now_ns, driver);
        }
        self.space.groups[fields.group].losses_or_new();
        let at = match fields.kind {
            Kind::HostRead => Some(self.host.place_of_read(fields, &self.space)),
            Kind::Destage => self.destaging.place_of_read(fields, &self.space),
            Kind::Recovery => self.redundancy.read_directly_by(fields),
            // What is read of the rest of a stripe has no other way to it.
            Kind::Step | Kind::ReadAhead => None,
        };
        let Some((spindle, first_sector)) = at else {
            return self.on_done(fields, &payload, &bad, now_ns, driver);
        };
        let run = Run { spindle, first_sector, sectors };
        let cx = context!(self, now_ns, driver);
        self.redundancy.recover_blocks((fields.group, Some(tag)), run, payload, bad, cx);
    }
}

impl<P: Payload> Array<P> for InPlace<P> {
    fn spindles(&self) -> u16 {
        self.space.config.groups.iter().map(|group| group.layout.spindles()).sum()
    }

    fn host_operation(
        &mut self,
        now_ns: u64,
        mut operation: HostOperation<P>,
        driver: &mut impl Driver<P>,
    ) {
        // From here on, the sectors of all LUNs of a group are numbered through.
        let lun = self.space.lun(operation.lun);
        let group = lun.group;
        operation.first_sector += lun.sectors.start;
        let end_sector = operation.first_sector + u64::from(operation.sectors);
        assert!(end_sector <= lun.sectors.end, "an operation ends behind its LUN");
        match operation.direction {
            Direction::Read => {
                self.host.on_read(group, operation, context!(self, now_ns, driver));
            }
            Direction::Write => {
                self.host.on_write(group, operation, context!(self, now_ns, driver));
                self.settle(now_ns, driver);
                self.destaging.begin(context!(self, now_ns, driver));
                if self.destaging.has_log_drain() {
                    self.destaging.finish_log_drain(context!(self, now_ns, driver));
                }
            }
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
        let tag = TagFields::of(tag);
        // Nearly every array has one group: with its number known, finding it costs nothing.
        if tag.group == GroupIndex(0) {
            let tag = TagFields { group: GroupIndex(0), ..tag };
            self.on_done(tag, &payload, &BlockSet::EMPTY, now_ns, driver);
        } else {
            self.on_done(tag, &payload, &BlockSet::EMPTY, now_ns, driver);
        }
        self.settle(now_ns, driver);
    }

    #[inline]
    fn hint_operation(&self, lun: LunId, direction: Direction, first_sector: u64, sectors: u32) {
        let lun = self.space.lun(lun);
        let first_sector = first_sector + lun.sectors.start;
        let cache = &self.memory.groups[lun.group].cache;
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
        let tag = TagFields::of(tag);
        // A driver's own commands, such as superblocks, have tags that are not the array's.
        if tag.kind == Kind::Destage
            && let Some(first_sector) = self.destaging.first_sector_of(tag)
        {
            self.memory.groups[tag.group].cache.prefetch(first_sector);
        }
    }

    fn spindle_failed(
        &mut self,
        now_ns: u64,
        spindle: SpindleIndex,
        driver: &mut impl Driver<P>,
    ) -> Result<(), DataLost> {
        self.redundancy.on_spindle_failed(spindle, context!(self, now_ns, driver))?;
        self.settle(now_ns, driver);
        Ok(())
    }

    /// What waits for the command gets its sectors elsewhere.
    fn command_failed(
        &mut self,
        now_ns: u64,
        command: SpindleCommand<P>,
        driver: &mut impl Driver<P>,
    ) {
        let tag = TagFields::of(command.tag);
        let cx = context!(self, now_ns, driver);
        match tag.kind {
            Kind::HostRead => {
                // It may have been sent to reserve; the recovery needs the place by the layout.
                let (spindle, first_sector) = self.host.place_of_read(tag, cx.space);
                let run = Run { spindle, first_sector, sectors: command.sectors };
                self.redundancy.recover(tag, run, cx);
            }
            Kind::Destage => {
                if self.destaging.on_command_done(tag, None, cx) {
                    self.next.push(Next::DestageEnded(tag.group));
                }
            }
            Kind::Recovery => self.redundancy.on_recovery_command_done(tag, None, cx),
            Kind::ReadAhead => self.host.on_read_ahead_done(tag, None, &BlockSet::EMPTY, cx),
            // The step was given up when the spindle failed.
            Kind::Step => self.redundancy.on_rebuild_command_done(tag, None, cx),
        }
        self.settle(now_ns, driver);
    }

    fn failures(&self) -> &[FailedSpindle] {
        self.redundancy.failures()
    }

    fn forget_cache(&mut self) {
        self.memory.forget_reads();
    }

    fn processor_costs(&self) -> &ProcessorCosts {
        &self.space.config.processor
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn assert_invariants(&self) {
        assert!(self.next.is_empty(), "a part has asked for what was not carried out");
        self.destaging.assert_invariants(&self.memory);
        self.memory.assert_invariants();
    }

    fn layout(&self) -> LayoutMeasures {
        self.space.layout()
    }
}

impl<P: Payload> abilities::Growable<P> for InPlace<P> {
    fn groups(&self) -> Vec<GroupMeasures> {
        self.space.measure_groups()
    }
}

impl<P: Payload> abilities::Snapshots<P> for InPlace<P> {}

impl<P: Payload> abilities::Durable<P> for InPlace<P> {
    fn log_size(&self) -> Option<LogSize> {
        self.space.config.log
    }

    fn committed(&mut self, now_ns: u64, driver: &mut impl Driver<P>) {
        self.destaging.on_committed(context!(self, now_ns, driver));
        self.settle(now_ns, driver);
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
            self.settle(now_ns, driver);
        } else {
            self.command_completed(now_ns, command.tag, command.payload, driver);
        }
    }
}

impl InPlace<()> {
    strewn_base::saved_state! {
        fns save_fields, restore_fields {
            parts: space, memory, host, destaging, redundancy;
            values: counters;
            built: next;
        }
    }
}

impl SavedState for InPlace<()> {
    fn save(&self, to: &mut StateWriter<'_>) -> Result<(), StateError> {
        assert!(self.next.is_empty(), "an array is saved between events");
        self.save_fields(to)
    }

    fn restore(&mut self, from: &mut StateReader<'_>) -> Result<(), StateError> {
        self.restore_fields(from)
    }
}
