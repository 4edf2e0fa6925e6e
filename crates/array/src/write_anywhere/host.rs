//! Host reads and writes, up to the NVRAM log.

use std::ops::{Range, RangeInclusive};

use strewn_base::Direction;
use strewn_base::state::SavedValue;
use strewn_raid::Vbn;

use crate::driver::{Acknowledge, Driver, HostOperation, OperationId, Refusal};
use crate::log::{LogRecord, Logged};
use crate::lun_id::LunId;
use crate::payload::{Contents, Payload};
use crate::processor::ProcessorWork;
use crate::units::{BLOCK_BYTES, BLOCK_SECTORS};

use super::stored::MOST_UNMAPPED;
use super::tag::{Owner, TagFields};
use super::{COMMAND_BLOCKS, Run, WriteAnywhere};

/// A host operation in progress.
#[derive(SavedValue)]
pub(super) struct PendingOperation<P> {
    /// Its sectors are numbered through all LUNs.
    host: HostOperation<P>,
    stage: Stage,
    /// Spindle commands in flight for it, and blocks that it waits for because they are being read ahead.
    awaited: u32,
    /// A read's answer so far.
    answer: P,
    /// Whether it unmaps its blocks instead of writing them.
    is_unmap: bool,
    /// Blocks that it needs and that cannot be read or computed. It is refused once no command is in flight.
    lost: Vec<u32>,
}

/// What an operation waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, SavedValue)]
enum Stage {
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
    fn new(host: HostOperation<P>, stage: Stage, is_unmap: bool) -> Self {
        Self { host, stage, awaited: 0, answer: P::default(), is_unmap, lost: Vec::new() }
    }
}

impl<P> PendingOperation<P> {
    pub(super) fn id(&self) -> OperationId {
        self.host.id
    }

    fn end_sector(&self) -> u64 {
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

impl<P: Payload> WriteAnywhere<P> {
    /// Admits a host operation, which first needs its indirect blocks.
    #[inline(always)]
    pub(super) fn admit(
        &mut self,
        now_ns: u64,
        host: HostOperation<P>,
        is_unmap: bool,
        driver: &mut impl Driver<P>,
    ) {
        let sectors_moved = if is_unmap { 0 } else { host.sectors };
        driver.processor(ProcessorWork::Operation, self.processor().of_operation(sectors_moved));
        let operation = PendingOperation::new(host, Stage::Indirect, is_unmap);
        let blocks = operation.blocks();
        let slot = self.operations.insert(operation) as u32;
        let (first, last) =
            (self.keys.indirect_of(*blocks.start()), self.keys.indirect_of(*blocks.end()));
        for key in first..=last {
            if self.look_up(key) {
                continue;
            }
            if self.is_on_its_way(key) {
                self.wait_for_read_ahead(slot, key);
            } else {
                self.read_for(slot, key, 1, driver);
                self.counters.metadata_reads += 1;
            }
        }
        if self.operations[slot as usize].awaited == 0 {
            self.read_blocks(now_ns, slot, Acknowledge::AfterProcessor, driver);
        }
    }

    /// A command of an operation has completed.
    #[inline(always)]
    pub(super) fn on_operation_command_done(
        &mut self,
        now_ns: u64,
        fields: TagFields,
        payload: &P,
        driver: &mut impl Driver<P>,
    ) {
        let consistency_point_may_wait = self.reads.came_back(fields.epoch_parity);
        self.on_read_done(now_ns, fields, payload, driver);
        if consistency_point_may_wait {
            self.advance_consistency_point(now_ns, driver);
        }
    }

    /// Blocks that an operation asked for can be neither read nor computed.
    #[cold]
    pub(super) fn operation_lost_blocks(
        &mut self,
        now_ns: u64,
        fields: TagFields,
        driver: &mut impl Driver<P>,
    ) {
        let consistency_point_may_wait = self.reads.came_back(fields.epoch_parity);
        let operation = &mut self.operations[fields.slot as usize];
        // The map in memory has the contents of an indirect block.
        if operation.stage != Stage::Indirect {
            operation.lost.extend(fields.first_key..fields.first_key + fields.blocks);
        }
        operation.awaited -= 1;
        if operation.awaited == 0 {
            self.on_stage_done(now_ns, fields.slot, driver);
        }
        if consistency_point_may_wait {
            self.advance_consistency_point(now_ns, driver);
        }
    }

    #[inline(always)]
    fn on_read_done(
        &mut self,
        now_ns: u64,
        fields: TagFields,
        payload: &P,
        driver: &mut impl Driver<P>,
    ) {
        let operation = &mut self.operations[fields.slot as usize];
        let stage = operation.stage;
        let is_view = P::CARRIES_DATA && stage == Stage::View;
        // A partial block stays in memory until the write has been applied to it.
        let hold = stage == Stage::Blocks && operation.host.direction == Direction::Write;
        // The cache is of the active image.
        if !is_view {
            self.fill(fields.first_key, fields.blocks, payload, hold);
        }
        let operation = &mut self.operations[fields.slot as usize];
        assert!(operation.awaited > 0, "a read has completed that its operation did not wait for");
        operation.awaited -= 1;
        if is_view || stage == Stage::Blocks && operation.host.direction == Direction::Read {
            lay_block_run(operation, fields.first_key, fields.blocks, payload);
        }
        if operation.awaited == 0 {
            self.on_stage_done(now_ns, fields.slot, driver);
        }
    }

    /// An operation has no command in flight any more.
    #[inline(always)]
    fn on_stage_done(&mut self, now_ns: u64, slot: u32, driver: &mut impl Driver<P>) {
        let operation = &self.operations[slot as usize];
        match operation.stage {
            Stage::Indirect => self.read_blocks(now_ns, slot, Acknowledge::Now, driver),
            Stage::Blocks if !operation.lost.is_empty() => {
                let operation = self.operations.remove(slot as usize);
                if operation.host.direction == Direction::Write {
                    self.release_partial_blocks(&operation);
                }
                driver.refuse(operation.host.id, Refusal::BlocksGone);
            }
            Stage::Blocks => self.on_blocks_ready(now_ns, slot, Acknowledge::Now, driver),
            Stage::View => self.on_view_read(slot, Acknowledge::Now, driver),
            Stage::Log => unreachable!("an operation that waits for the log has no command out"),
        }
    }

    /// Reads the blocks that the operation needs and the cache lacks, with one command for each run.
    #[inline(always)]
    fn read_blocks(
        &mut self,
        now_ns: u64,
        slot: u32,
        when: Acknowledge,
        driver: &mut impl Driver<P>,
    ) {
        let operation = &mut self.operations[slot as usize];
        operation.stage = Stage::Blocks;
        match operation.host.direction {
            Direction::Read => {
                let blocks = *operation.blocks().start()..operation.blocks().end() + 1;
                let hits = self.counters.cache_hits;
                self.counters.host_read_blocks += u64::from(blocks.end - blocks.start);
                self.counters.data_reads += self.read_missing(slot, blocks, true, driver);
                self.counters.host_read_hits += self.counters.cache_hits - hits;
            }
            Direction::Write => {
                for blocks in operation.partial_runs() {
                    self.counters.edge_reads += self.read_missing(slot, blocks, false, driver);
                }
            }
        }
        if self.operations[slot as usize].awaited == 0 {
            self.on_blocks_ready(now_ns, slot, when, driver);
        }
    }

    /// Reads those of `blocks` that are not in the cache, and returns the number of commands. Cached blocks are copied
    /// into the answer at once, before they can be evicted; without `answer`, they are held.
    #[inline(always)]
    fn read_missing(
        &mut self,
        slot: u32,
        blocks: Range<u32>,
        answer: bool,
        driver: &mut impl Driver<P>,
    ) -> u64 {
        let (mut block, mut commands) = (blocks.start, 0);
        while block < blocks.end {
            if self.look_up(block) {
                if answer {
                    self.answer_from_cache(slot, block);
                } else {
                    self.cache.hold(block);
                }
                block += 1;
                continue;
            }
            let Some(run) = self.run_from(block, blocks.end) else {
                self.never_written(slot, block, answer);
                block += 1;
                continue;
            };
            if answer && self.is_on_its_way(block) {
                self.wait_for_read_ahead(slot, block);
                block += 1;
                continue;
            }
            self.counters.cache_lookups += u64::from(run.blocks - 1);
            if answer && let Some(read_aggregation) = &mut self.read_aggregation {
                read_aggregation.note_run(block, run);
            } else {
                self.read_run_for(slot, block, run, driver);
                commands += 1;
            }
            block += run.blocks;
        }
        if answer && self.read_aggregation.is_some() {
            commands += self.read_noted_runs(slot, driver);
        }
        commands
    }

    /// Copies a cached block into a read's answer.
    #[inline(always)]
    fn answer_from_cache(&mut self, slot: u32, block: u32) {
        let sector = u64::from(block) * u64::from(BLOCK_SECTORS);
        let part = self.contents.load(sector, BLOCK_SECTORS);
        lay_block_run(&mut self.operations[slot as usize], block, 1, &part);
    }

    /// Counts a read that an operation waits for. Returns the parity of the present epoch.
    pub(super) fn awaits_read(&mut self, slot: u32) -> bool {
        self.operations[slot as usize].awaited += 1;
        self.reads.sent()
    }

    /// A block without a place reads as zeros, without a command.
    #[cold]
    pub(super) fn never_written(&mut self, slot: u32, block: u32, answer: bool) {
        let zeros = P::from_bytes(vec![0; BLOCK_BYTES]);
        if answer {
            lay_block_run(&mut self.operations[slot as usize], block, 1, &zeros);
        } else {
            self.fill_mapped(block, 1, &zeros, true);
        }
    }

    /// Begins to read a view: `host` has the LUN's own sectors. Returns the operation's slot, and the LUN's blocks that
    /// it touches.
    pub(super) fn begin_view_read(&mut self, host: HostOperation<P>) -> (u32, Range<u32>) {
        let operation = PendingOperation::new(host, Stage::View, false);
        let blocks = operation.blocks();
        let slot = self.operations.insert(operation) as u32;
        (slot, *blocks.start()..*blocks.end() + 1)
    }

    /// All reads of a view's operation are sent: answers it if there are none.
    pub(super) fn on_view_reads_sent(&mut self, slot: u32, driver: &mut impl Driver<P>) {
        if self.operations[slot as usize].awaited == 0 {
            self.on_view_read(slot, Acknowledge::AfterProcessor, driver);
        }
    }

    /// The view that the operation in `slot` reads, if it reads one.
    pub(super) fn view_read_by(&self, slot: u32) -> Option<LunId> {
        let operation = self.operations.get(slot as usize)?;
        (operation.stage == Stage::View).then_some(operation.host.lun)
    }

    fn on_view_read(&mut self, slot: u32, when: Acknowledge, driver: &mut impl Driver<P>) {
        let operation = self.operations.remove(slot as usize);
        match operation.lost.is_empty() {
            true => driver.acknowledge(operation.host.id, when, operation.answer),
            false => driver.refuse(operation.host.id, Refusal::BlocksGone),
        }
    }

    /// The longest run of consecutive blocks, neither cached nor being read ahead, that starts at `block`, ends before
    /// `end` and fits one command. `None` if `block` was never written, or has been unmapped.
    #[inline(always)]
    pub(super) fn run_from(&self, block: u32, end: u32) -> Option<Run> {
        let vbn = self.map.get(block).filter(|_| !self.is_unmapped(block))?;
        let (mut run, most) = self.first_of_run(vbn, &(block..end));
        while run.blocks < most
            && self.goes_on(block + run.blocks, Vbn(vbn.0 + u64::from(run.blocks)))
        {
            run.blocks += 1;
        }
        Some(run)
    }

    /// Whether block `next` has the place `behind` and is to be read from there.
    #[inline(always)]
    fn goes_on(&self, next: u32, behind: Vbn) -> bool {
        self.map.get(next) == Some(behind)
            && !self.cache.contains(next)
            && !self.is_on_its_way(next)
            && !self.is_unmapped(next)
    }

    /// The longest run of consecutive places from `vbn` on, those of `blocks`, that fits one command. It goes on as
    /// long as `goes_on` says that the next block has the next place.
    #[inline(always)]
    pub(super) fn longest_run(
        &self,
        vbn: Vbn,
        blocks: Range<u32>,
        goes_on: impl Fn(u32, Vbn) -> bool,
    ) -> Run {
        let (mut run, most) = self.first_of_run(vbn, &blocks);
        while run.blocks < most {
            let behind = Vbn(vbn.0 + u64::from(run.blocks));
            if !goes_on(blocks.start + run.blocks, behind) {
                break;
            }
            run.blocks += 1;
        }
        run
    }

    /// The first block of a run from `vbn` on, those of `blocks`, and the most that the run may have.
    #[inline(always)]
    fn first_of_run(&self, vbn: Vbn, blocks: &Range<u32>) -> (Run, u32) {
        let run = self.run_at(vbn);
        // The next VBN after a spindle's last block is on the next spindle.
        let on_spindle = self.group(run.group).blocks_per_spindle() - run.dbn;
        let wanted = COMMAND_BLOCKS.min(blocks.end - blocks.start);
        (run, u64::from(wanted).min(on_spindle) as u32)
    }

    /// Everything the operation needs is in memory.
    #[inline(always)]
    fn on_blocks_ready(
        &mut self,
        now_ns: u64,
        slot: u32,
        when: Acknowledge,
        driver: &mut impl Driver<P>,
    ) {
        match self.operations[slot as usize].host.direction {
            Direction::Read => {
                let operation = self.operations.remove(slot as usize);
                let (first, last) = operation.blocks().into_inner();
                driver.acknowledge(operation.host.id, when, operation.answer);
                if self.relocation.is_some() {
                    self.note_host_read(now_ns, (first, last), driver);
                }
            }
            Direction::Write => {
                // Writes that wait for the log are served in order: a later one does not overtake them.
                let logged =
                    self.waiting_for_log.is_empty() && self.log_write(now_ns, slot, when, driver);
                if !logged {
                    self.operations[slot as usize].stage = Stage::Log;
                    self.waiting_for_log.push_back(slot);
                    self.counters.stalled_writes += 1;
                }
            }
        }
    }

    /// Logs a write or an unmap, makes its blocks dirty and acknowledges it; or refuses it, if it has no room. False if
    /// it has to wait for the consistency point in progress.
    #[inline(never)]
    fn log_write(
        &mut self,
        now_ns: u64,
        slot: u32,
        when: Acknowledge,
        driver: &mut impl Driver<P>,
    ) -> bool {
        let PendingOperation { host, is_unmap, .. } = &self.operations[slot as usize];
        let (id, is_unmap) = (host.id, *is_unmap);
        let (first_sector, sectors) = (host.first_sector, host.sectors);
        if !is_unmap && !self.has_room(slot) {
            return self.make_room(now_ns, slot, driver);
        }
        let (lun, in_lun) = (host.lun, first_sector - self.first_sector_of(host.lun));
        let record = match is_unmap {
            true => LogRecord::Unmap { lun, first_sector: in_lun, sectors },
            false => LogRecord::Write { lun, first_sector: in_lun, sectors },
        };
        match driver.log(id, record, &host.payload) {
            Logged::Done => {}
            Logged::BothFull => return false,
            Logged::HalfFull => {
                self.begin_consistency_point(now_ns, driver);
                // Metadata that had no place before takes room that was counted on.
                if !is_unmap && !self.has_room(slot) {
                    return false;
                }
                let payload = &self.operations[slot as usize].host.payload;
                let logged = driver.log(id, record, payload);
                assert_eq!(logged, Logged::Done, "an empty half of the log takes any record");
            }
        }
        let operation = self.operations.remove(slot as usize);
        if is_unmap {
            self.unmap_blocks(operation.blocks());
        } else {
            if self.snapshots.is_some() {
                self.note_growth(operation.blocks());
            }
            self.write_blocks(&operation);
            self.contents.store(first_sector, sectors, &operation.host.payload);
        }
        driver.acknowledge(id, when, P::default());
        if self.consistency_point.is_none() && self.is_much_dirty() {
            self.begin_consistency_point(now_ns, driver);
        }
        true
    }

    #[inline(always)]
    fn write_blocks(&mut self, operation: &PendingOperation<P>) {
        for block in operation.blocks() {
            if P::CARRIES_DATA && self.cache.is_flushing(block) {
                self.freeze_for_consistency_point(block);
            }
            let (newly_dirty, evicted) = self.cache.write(block);
            self.forget(evicted);
            if newly_dirty {
                self.dirty.insert(u64::from(block));
            } else if let Some(relocation) = &mut self.relocation {
                relocation.on_written(block);
            }
            if let Some(stored) = &mut self.stored {
                stored.unmapped.remove(u64::from(block));
            }
        }
        self.release_partial_blocks(operation);
    }

    /// A write no longer needs the blocks that it covers in part, of which it holds those that are not lost.
    #[inline(always)]
    pub(super) fn release_partial_blocks(&mut self, operation: &PendingOperation<P>) {
        for block in operation.partial_blocks() {
            if !operation.lost.contains(&block) {
                let evicted = self.cache.release(block);
                self.forget(evicted);
            }
        }
    }

    /// Whether so much has changed that a consistency point begins.
    #[inline(always)]
    pub(super) fn is_much_dirty(&self) -> bool {
        self.cache.dirty_blocks() > self.config.dirty_limit_blocks
            || self.stored.as_ref().is_some_and(|stored| stored.unmapped.count() > MOST_UNMAPPED)
    }

    /// Admits the writes that waited for the log, as many as it has room for.
    pub(super) fn admit_waiting(&mut self, now_ns: u64, driver: &mut impl Driver<P>) {
        while let Some(slot) = self.waiting_for_log.front().copied() {
            if !self.log_write(now_ns, slot, Acknowledge::Now, driver) {
                break;
            }
            self.waiting_for_log.pop_front();
        }
    }

    #[inline(always)]
    fn look_up(&mut self, key: u32) -> bool {
        let hit = self.use_unread(key) || self.cache.touch(key);
        self.counters.cache_lookups += 1;
        self.counters.cache_hits += u64::from(hit);
        hit
    }

    #[inline(always)]
    fn read_for(&mut self, slot: u32, key: u32, blocks: u32, driver: &mut impl Driver<P>) {
        if let Some(vbn) = self.map.get(key) {
            let run = Run { blocks, ..self.run_at(vbn) };
            self.read_run_for(slot, key, run, driver);
        }
    }

    #[inline(always)]
    pub(super) fn read_run_for(
        &mut self,
        slot: u32,
        first_key: u32,
        run: Run,
        driver: &mut impl Driver<P>,
    ) {
        let (blocks, epoch_parity) = (run.blocks, self.reads.sent());
        let fields =
            TagFields { owner: Owner::HostOperation, slot, first_key, blocks, epoch_parity };
        self.operations[slot as usize].awaited += 1;
        self.send_read(driver, fields, run);
    }
}

impl<P: Payload> WriteAnywhere<P> {
    /// The operation in `slot` waits for block `key`, which is being read ahead.
    #[cold]
    fn wait_for_read_ahead(&mut self, slot: u32, key: u32) {
        let Some(read_ahead) = &mut self.read_ahead else { return };
        read_ahead.waiters.add(slot, key..key + 1);
        self.operations[slot as usize].awaited += 1;
    }

    /// Blocks that the operation in `slot` waited for have been read ahead; without a payload, they could not be, and
    /// it reads them itself.
    pub(super) fn end_wait_for_read_ahead(
        &mut self,
        now_ns: u64,
        slot: u32,
        blocks: Range<u32>,
        payload: Option<P>,
        driver: &mut impl Driver<P>,
    ) {
        let operation = &mut self.operations[slot as usize];
        let count = blocks.end - blocks.start;
        operation.awaited -= count;
        match (operation.stage, payload) {
            (Stage::Blocks, Some(payload)) => {
                lay_block_run(operation, blocks.start, count, &payload);
            }
            (Stage::Blocks, None) => {
                self.counters.data_reads += self.read_missing(slot, blocks, true, driver);
            }
            // The map in memory has the contents of an indirect block.
            (Stage::Indirect | Stage::Log | Stage::View, _) => {}
        }
        if self.operations[slot as usize].awaited == 0 {
            self.on_stage_done(now_ns, slot, driver);
        }
    }
}

/// Copies the wanted part of a run of blocks into a read's answer.
#[inline(always)]
fn lay_block_run<P: Payload>(
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
