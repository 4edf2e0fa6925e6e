//! Host operations: what each needs, and writes up to the NVRAM log.

use std::ops::{Range, RangeInclusive};

use strewn_base::Direction;
use strewn_base::state::SavedValue;

use crate::driver::{Acknowledge, Driver, HostOperation, Refusal};
use crate::log::{LogRecord, Logged};
use crate::payload::{Contents, Payload};
use crate::processor::ProcessorWork;
use crate::units::BLOCK_SECTORS;

use super::super::context::{Context, LogAttempt, Next};
use super::super::tag::TagFields;
use super::Host;

/// A host operation in progress.
#[derive(SavedValue)]
pub(super) struct PendingOperation<P> {
    /// Its sectors are numbered through all LUNs.
    pub(super) host: HostOperation<P>,
    pub(super) stage: Stage,
    /// Spindle commands in flight for it, and blocks that it waits for because they are being read ahead.
    pub(super) awaited: u32,
    /// A read's answer so far.
    pub(super) answer: P,
    /// Whether it unmaps its blocks instead of writing them.
    is_unmap: bool,
    /// Blocks that it needs and that cannot be read or computed. It is refused once no command is in flight.
    pub(super) lost: Vec<u32>,
}

/// What an operation waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, SavedValue)]
pub(super) enum Stage {
    /// The indirect blocks that locate its blocks.
    Indirect,
    /// Its blocks (a read), or those it covers in part (a write).
    Blocks,
    /// Room in the NVRAM log.
    Log,
    /// Its blocks, which are those of a snapshot: sectors and keys are the LUN's own.
    View,
}

impl<P: Default> PendingOperation<P> {
    #[inline(always)]
    pub(super) fn new(host: HostOperation<P>, stage: Stage, is_unmap: bool) -> Self {
        Self { host, stage, awaited: 0, answer: P::default(), is_unmap, lost: Vec::new() }
    }
}

impl<P> PendingOperation<P> {
    pub(super) fn end_sector(&self) -> u64 {
        self.host.first_sector + u64::from(self.host.sectors)
    }

    /// Keys of the first and last block touched.
    pub(super) fn blocks(&self) -> RangeInclusive<u32> {
        let block = |sector: u64| (sector / u64::from(BLOCK_SECTORS)) as u32;
        block(self.host.first_sector)..=block(self.end_sector() - 1)
    }

    /// The blocks that a write covers in part: its first, its last, both or none.
    fn partial_blocks(&self) -> impl Iterator<Item = u32> + use<P> {
        self.partial_runs().into_iter().flatten()
    }

    /// The partial blocks as runs. Two consecutive blocks make one run.
    #[inline(always)]
    fn partial_runs(&self) -> [Range<u32>; 2] {
        let (first, last) = (*self.blocks().start(), *self.blocks().end());
        let head = !self.host.first_sector.is_multiple_of(BLOCK_SECTORS.into());
        let tail = !self.end_sector().is_multiple_of(BLOCK_SECTORS.into());
        let first_is_partial = head || (tail && first == last);
        let last_is_partial = tail && first != last;
        let (heads, tails) = (u32::from(first_is_partial), u32::from(last_is_partial));
        if heads + tails == 2 && first + 1 == last {
            return [first..last + 1, 0..0];
        }
        [first..first + heads, last..last + tails]
    }
}

/// How an attempt to log a write has ended.
enum Attempted {
    /// It is logged, or refused.
    Done,
    /// It waits for the consistency point in progress.
    Waits,
    /// A consistency point must begin before the next attempt.
    Again(LogAttempt),
}

impl<P: Payload> Host<P> {
    /// Admits a host operation, which first needs its indirect blocks.
    #[inline(always)]
    pub(crate) fn admit(
        &mut self,
        host: HostOperation<P>,
        is_unmap: bool,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        let sectors_moved = if is_unmap { 0 } else { host.sectors };
        cx.driver.processor(ProcessorWork::Operation, cx.costs().of_operation(sectors_moved));
        let operation = PendingOperation::new(host, Stage::Indirect, is_unmap);
        let blocks = operation.blocks();
        let slot = self.operations.insert(operation) as u32;
        let keys = &cx.space.keys;
        let (first, last) = (keys.indirect_of(*blocks.start()), keys.indirect_of(*blocks.end()));
        for key in first..=last {
            if self.look_up(key, cx) {
                continue;
            }
            if self.is_on_its_way(key) {
                self.wait_for_read_ahead(slot, key);
            } else {
                self.read_metadata(slot, key, cx);
            }
        }
        if self.operations[slot as usize].awaited == 0 {
            self.read_blocks(slot, Acknowledge::AfterProcessor, cx);
        }
    }

    /// A command of an operation has completed.
    #[inline(always)]
    pub(crate) fn on_command_done(
        &mut self,
        fields: TagFields,
        payload: &P,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        let consistency_point_may_wait = cx.memory.reads.came_back(fields.epoch_parity);
        self.on_read_done(fields, payload, cx);
        if consistency_point_may_wait {
            cx.then(Next::AdvanceConsistencyPoint);
        }
    }

    /// Blocks that an operation asked for can be neither read nor computed.
    #[cold]
    pub(crate) fn on_blocks_gone(
        &mut self,
        fields: TagFields,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        let consistency_point_may_wait = cx.memory.reads.came_back(fields.epoch_parity);
        let operation = &mut self.operations[fields.slot as usize];
        // The map in memory has the contents of an indirect block.
        if operation.stage != Stage::Indirect {
            operation.lost.extend(fields.first_key..fields.first_key + fields.blocks);
        }
        operation.awaited -= 1;
        if operation.awaited == 0 {
            self.on_stage_done(fields.slot, cx);
        }
        if consistency_point_may_wait {
            cx.then(Next::AdvanceConsistencyPoint);
        }
    }

    #[inline(always)]
    fn on_read_done(
        &mut self,
        fields: TagFields,
        payload: &P,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        let operation = &mut self.operations[fields.slot as usize];
        let (stage, direction) = (operation.stage, operation.host.direction);
        let is_view = P::CARRIES_DATA && stage == Stage::View;
        // The cache is of the active image.
        if !is_view {
            // A partial block stays in memory until the write has been applied to it.
            let hold = stage == Stage::Blocks && direction == Direction::Write;
            let (first, blocks) = (fields.first_key, fields.blocks);
            cx.memory.fill(first, blocks, payload, hold, &cx.space.map, cx.counters);
        }
        assert!(operation.awaited > 0, "a read has completed that its operation did not wait for");
        operation.awaited -= 1;
        if is_view || stage == Stage::Blocks && direction == Direction::Read {
            lay_block_run(operation, fields.first_key, fields.blocks, payload);
        }
        if operation.awaited == 0 {
            self.on_stage_done(fields.slot, cx);
        }
    }

    /// An operation has no command in flight any more.
    #[inline(always)]
    pub(super) fn on_stage_done(&mut self, slot: u32, cx: &mut Context<'_, P, impl Driver<P>>) {
        let operation = &self.operations[slot as usize];
        match operation.stage {
            Stage::Indirect => self.read_blocks(slot, Acknowledge::Now, cx),
            Stage::Blocks if !operation.lost.is_empty() => {
                self.refuse(slot, Refusal::BlocksGone, cx)
            }
            Stage::Blocks => self.on_blocks_ready(slot, Acknowledge::Now, cx),
            Stage::View => self.on_view_read(slot, Acknowledge::Now, cx),
            Stage::Log => unreachable!("an operation that waits for the log has no command out"),
        }
    }

    #[cold]
    fn refuse(&mut self, slot: u32, why: Refusal, cx: &mut Context<'_, P, impl Driver<P>>) {
        let operation = self.operations.remove(slot as usize);
        if operation.host.direction == Direction::Write {
            release_partial_blocks(&operation, cx);
        }
        cx.driver.refuse(operation.host.id, why);
    }

    /// Reads the blocks that the operation needs and the cache lacks, with one command for each run.
    #[inline(always)]
    fn read_blocks(
        &mut self,
        slot: u32,
        when: Acknowledge,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        let operation = &mut self.operations[slot as usize];
        operation.stage = Stage::Blocks;
        match operation.host.direction {
            Direction::Read => {
                let blocks = *operation.blocks().start()..operation.blocks().end() + 1;
                let hits = cx.counters.cache_hits;
                cx.counters.host_read_blocks += u64::from(blocks.end - blocks.start);
                cx.counters.data_reads += self.read_missing(slot, blocks, true, cx);
                cx.counters.host_read_hits += cx.counters.cache_hits - hits;
            }
            Direction::Write => {
                for blocks in operation.partial_runs() {
                    cx.counters.edge_reads += self.read_missing(slot, blocks, false, cx);
                }
            }
        }
        if self.operations[slot as usize].awaited == 0 {
            self.on_blocks_ready(slot, when, cx);
        }
    }

    /// Everything the operation needs is in memory.
    #[inline(always)]
    fn on_blocks_ready(
        &mut self,
        slot: u32,
        when: Acknowledge,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        match self.operations[slot as usize].host.direction {
            Direction::Read => {
                let operation = self.operations.remove(slot as usize);
                let (first, last) = operation.blocks().into_inner();
                cx.driver.acknowledge(operation.host.id, when, operation.answer);
                if self.reports_reads {
                    cx.then(Next::NoteHostRead(first, last));
                }
            }
            Direction::Write => {
                // Writes that wait for the log are served in order: a later one does not overtake them.
                let is_first = self.waiting_for_log.is_empty();
                self.waiting_for_log.push_back(slot);
                match is_first {
                    true => self.log_waiting(when, LogAttempt::First, cx),
                    false => self.wait_for_log(slot, cx),
                }
            }
        }
    }

    fn wait_for_log(&mut self, slot: u32, cx: &mut Context<'_, P, impl Driver<P>>) {
        let stage = &mut self.operations[slot as usize].stage;
        if *stage != Stage::Log {
            *stage = Stage::Log;
            cx.counters.stalled_writes += 1;
        }
    }

    /// Logs the writes that wait for it, in order, as many as there is room for; the first one as it says.
    #[inline(never)]
    pub(crate) fn log_waiting(
        &mut self,
        mut when: Acknowledge,
        mut attempt: LogAttempt,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        while let Some(&slot) = self.waiting_for_log.front() {
            match self.log(slot, when, attempt, cx) {
                Attempted::Done => drop(self.waiting_for_log.pop_front()),
                Attempted::Waits => return self.wait_for_log(slot, cx),
                Attempted::Again(attempt) => {
                    cx.then(Next::BeginConsistencyPoint);
                    return cx.then(Next::Log(when, attempt));
                }
            }
            (when, attempt) = (Acknowledge::Now, LogAttempt::First);
            if !cx.is_in_progress && cx.memory.is_much_dirty(cx.space.config.dirty_limit_blocks) {
                cx.then(Next::BeginConsistencyPoint);
                return cx.then(Next::Log(when, attempt));
            }
        }
    }

    /// Logs a write or an unmap, makes its blocks dirty and acknowledges it; or refuses it, if it has no room.
    #[inline(always)]
    fn log(
        &mut self,
        slot: u32,
        when: Acknowledge,
        attempt: LogAttempt,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) -> Attempted {
        let operation = &self.operations[slot as usize];
        let (host, is_unmap) = (&operation.host, operation.is_unmap);
        let (dirty, dirty_blocks) = (cx.memory.dirty.blocks(), cx.memory.cache.dirty_blocks());
        if !is_unmap && !cx.space.has_room(operation.blocks(), dirty, dirty_blocks) {
            return match attempt {
                // What a consistency point moves becomes free.
                _ if cx.is_in_progress => Attempted::Waits,
                LogAttempt::First => Attempted::Again(LogAttempt::HadNoRoom),
                LogAttempt::HalfWasFull | LogAttempt::HadNoRoom => {
                    cx.counters.refused_writes += 1;
                    self.refuse(slot, Refusal::NoSpace, cx);
                    Attempted::Done
                }
            };
        }
        if attempt == LogAttempt::HadNoRoom && cx.is_in_progress {
            return Attempted::Waits;
        }
        let (id, lun, sectors) = (host.id, host.lun, host.sectors);
        let first_sector = host.first_sector - cx.space.first_sector_of(lun);
        let record = match is_unmap {
            true => LogRecord::Unmap { lun, first_sector, sectors },
            false => LogRecord::Write { lun, first_sector, sectors },
        };
        match cx.driver.log(id, record, &host.payload) {
            Logged::Done => {}
            Logged::BothFull => return Attempted::Waits,
            Logged::HalfFull => {
                assert!(
                    attempt != LogAttempt::HalfWasFull,
                    "an empty half of the log takes any record"
                );
                return Attempted::Again(LogAttempt::HalfWasFull);
            }
        }
        let operation = self.operations.remove(slot as usize);
        if is_unmap {
            cx.memory.unmap(operation.blocks());
        } else {
            if cx.space.snapshots.is_some() {
                cx.space.note_growth(operation.blocks(), cx.memory.dirty.blocks());
            }
            for block in operation.blocks() {
                cx.memory.write(block, cx.counters);
            }
            release_partial_blocks(&operation, cx);
            let HostOperation { first_sector, payload, .. } = &operation.host;
            cx.memory.contents.store(*first_sector, sectors, payload);
        }
        cx.driver.acknowledge(id, when, P::default());
        Attempted::Done
    }

    /// Blocks that the operation in `slot` waited for have been read ahead; without a payload, they could not be, and
    /// it reads them itself.
    pub(super) fn end_wait_for_read_ahead(
        &mut self,
        slot: u32,
        blocks: Range<u32>,
        payload: Option<P>,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        let operation = &mut self.operations[slot as usize];
        let count = blocks.end - blocks.start;
        operation.awaited -= count;
        match (operation.stage, payload) {
            (Stage::Blocks, Some(payload)) => {
                lay_block_run(operation, blocks.start, count, &payload);
            }
            (Stage::Blocks, None) => {
                cx.counters.data_reads += self.read_missing(slot, blocks, true, cx);
            }
            // The map in memory has the contents of an indirect block.
            (Stage::Indirect | Stage::Log | Stage::View, _) => {}
        }
        if self.operations[slot as usize].awaited == 0 {
            self.on_stage_done(slot, cx);
        }
    }
}

/// A write no longer needs the blocks that it covers in part, of which it holds those that are not lost.
#[inline(always)]
fn release_partial_blocks<P: Payload>(
    operation: &PendingOperation<P>,
    cx: &mut Context<'_, P, impl Driver<P>>,
) {
    for block in operation.partial_blocks() {
        if !operation.lost.contains(&block) {
            cx.memory.release(block, cx.counters);
        }
    }
}

/// Copies the wanted part of a run of blocks into a read's answer.
#[inline(always)]
pub(super) fn lay_block_run<P: Payload>(
    operation: &mut PendingOperation<P>,
    first_block: u32,
    blocks: u32,
    payload: &P,
) {
    let run_start = u64::from(first_block) * u64::from(BLOCK_SECTORS);
    let run_end = run_start + u64::from(blocks * BLOCK_SECTORS);
    let wanted = operation.host.first_sector..operation.end_sector();
    let (start, end) = (run_start.max(wanted.start), run_end.min(wanted.end));
    let part = payload.slice((start - run_start) as u32, (end - start) as u32);
    operation.answer.splice((start - wanted.start) as u32, &part);
}
