//! Turns a controller's requests into work for the store and the log.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use slab::Slab;
use strewn_array::{
    Acknowledge, BlockContents, Direction, Driver, Durability, LogRecord, Logged, OperationId,
    Payload, ProcessorWork, Refusal, Root, SpindleCommand,
};
use strewn_base::BLOCK_SECTORS;
use strewn_raid::{Dbn, SpindleIndex};

use crate::data::Data;
use crate::device::BLOCK_BYTES;
use crate::format::{BlockTag, RedoWrite};
use crate::log::{Log, RedoToken};
use crate::store::{BlockState, ReadOutcome, Store, Token};

use super::expected_blocks::ExpectedBlocks;

/// An event that the array reports while it is called.
pub(super) enum ArrayEvent {
    /// With the number of its record in the log, if it has one.
    Acknowledged(OperationId, Data, Option<u64>),
    Refused(OperationId, Refusal),
    Commit(Box<Root>),
}

/// Called for each spindle command of the array, in the order in which it asks for them.
pub type CommandWatch = Box<dyn FnMut(&SpindleCommand<Data>) + Send>;

/// A spindle command in the store, or one that waits until its redo record is durable.
pub(super) struct Command {
    pub(super) command: SpindleCommand<Data>,
    pub(super) redo: Option<RedoToken>,
    /// For a write with a redo record, the tags of its blocks.
    block_tag: Vec<BlockTag>,
}

impl Command {
    fn new(command: SpindleCommand<Data>) -> Self {
        Self { command, redo: None, block_tag: Vec::new() }
    }
}

/// The driver that the array sees, and the commands in flight.
pub(super) struct LiveDriver {
    pub(super) now_ns: u64,
    pub(super) timer_ns: Option<u64>,
    pub(super) store: Store,
    pub(super) log: Log,
    /// The number of the file of each LUN.
    pub(super) files: Vec<u32>,
    /// The number of the consistency point that blocks are written with.
    pub(super) consistency_point: u64,
    pub(super) outbox: Vec<ArrayEvent>,
    pub(super) watch: Option<CommandWatch>,
    /// Commands of the current call.
    issued: Vec<SpindleCommand<Data>>,
    /// Closed atomic batches of the current call. No two batches write the same stripe.
    closed_batches: Vec<Vec<SpindleCommand<Data>>>,
    /// Whether a spindle was lost and the labels do not say so yet. A write to stripes in use that compensates for a
    /// lost spindle makes that spindle stale. If the power failed then, a restart would trust it because of a label
    /// that still marks it as present. Until the labels are written, no atomic batch may even enter the log.
    labels_are_behind: bool,
    /// Whether atomic batches wait for the host log: see
    /// [`LiveArray::OVERWRITES_IN_PLACE`](super::LiveArray::OVERWRITES_IN_PLACE).
    waits_for_log: bool,
    /// Deferred atomic batches, in order, each with the host record that must be durable first.
    waiting: VecDeque<(u64, Vec<SpindleCommand<Data>>)>,
    /// The operation that the log has just taken, and the number of its record.
    logged: Option<(OperationId, u64)>,
    /// The first host record that the consistency point in progress does not cover.
    pub(super) log_start: u64,
    /// The first host records of the log's previous and current half.
    pub(super) half_starts: [u64; 2],
    /// The last redo record appended.
    pub(super) last_redo: RedoToken,
    pub(super) commands: Slab<Command>,
    /// Commands that wait for their redo record to become durable, in the order of the records.
    held: VecDeque<(RedoToken, Vec<usize>)>,
    /// Expected contents of blocks, for an array that checks blocks against their stripes.
    pub(super) expected: Option<ExpectedBlocks>,
    /// Number of incomplete commands, by redo record.
    unwritten: BTreeMap<RedoToken, usize>,
}

impl LiveDriver {
    pub(super) fn new(
        store: Store,
        log: Log,
        consistency_point: u64,
        waits_for_log: bool,
        now_ns: u64,
    ) -> Self {
        let log_start = log.next_sequence();
        Self {
            now_ns,
            timer_ns: None,
            store,
            log,
            files: vec![BlockContents::FIRST_FILE],
            logged: None,
            log_start,
            half_starts: [log_start; 2],
            consistency_point,
            outbox: Vec::new(),
            watch: None,
            issued: Vec::new(),
            closed_batches: Vec::new(),
            labels_are_behind: false,
            waits_for_log,
            waiting: VecDeque::new(),
            last_redo: RedoToken(0),
            commands: Slab::new(),
            held: VecDeque::new(),
            expected: None,
            unwritten: BTreeMap::new(),
        }
    }

    /// Sends the commands of one call; returns false if there were none. Atomic batches go through a redo record.
    pub(super) fn dispatch(&mut self) -> bool {
        let mut issued = std::mem::take(&mut self.issued);
        let is_any = !issued.is_empty() || !self.closed_batches.is_empty();
        let mut together = std::mem::take(&mut self.closed_batches);
        together.push(extract_bound(&mut issued));
        for command in issued {
            let slot = self.commands.insert(Command::new(command));
            self.send(slot);
        }
        for bound in together.into_iter().filter(|bound| !bound.is_empty()) {
            if self.labels_are_behind || self.waits_for_log {
                self.waiting.push_back((self.log.last_sequence(), bound));
            } else {
                self.log_batch(bound);
            }
        }
        is_any
    }

    /// Appends an atomic batch to the redo log. Its commands are sent when the record is durable.
    fn log_batch(&mut self, bound: Vec<SpindleCommand<Data>>) {
        let mut block_tag: Vec<Vec<BlockTag>> = bound.iter().map(tags_of_payload).collect();
        if let Some(expected) = &mut self.expected {
            // The tag of parity is a checksum over the data written with it, so data comes first.
            for of_parity in [false, true] {
                for (command, block_tag) in bound.iter().zip(&mut block_tag) {
                    expect_writes(expected, command, block_tag, of_parity);
                }
            }
        }
        let writes: Vec<RedoWrite<'_>> = bound
            .iter()
            .zip(&block_tag)
            .map(|(one, block_tags)| RedoWrite {
                spindle: one.spindle,
                first: Dbn(blocks_of(one).start),
                block_tags,
                bytes: one.payload.parts().collect(),
            })
            .collect();
        let redo = self.log.append_redo(&writes);
        self.last_redo = redo;
        self.unwritten.insert(redo, bound.len());
        let commands = &mut self.commands;
        let in_record = |block_tag: Vec<BlockTag>| {
            block_tag.into_iter().map(|one| BlockTag { redo: redo.0, ..one })
        };
        let slots = bound
            .into_iter()
            .zip(block_tag)
            .map(|(command, block_tag)| {
                let block_tag = in_record(block_tag).collect();
                commands.insert(Command { redo: Some(redo), block_tag, ..Command::new(command) })
            })
            .collect();
        self.held.push_back((redo, slots));
    }

    /// Sets whether the labels lack a spindle's loss.
    pub(super) fn set_labels_behind(&mut self, behind: bool) {
        self.labels_are_behind = behind;
    }

    /// Continues with batches that waited for the labels or the log; returns false if none could go on.
    pub(super) fn retry_deferred(&mut self) -> bool {
        let durable = self.log.durable().host;
        let mut is_any = false;
        while let Some((needed, bound)) = self.waiting.pop_front() {
            let log_is_behind = self.waits_for_log && needed > durable;
            if self.labels_are_behind || log_is_behind || !self.ensure_checked(&bound) {
                self.waiting.push_front((needed, bound));
                break;
            }
            self.log_batch(bound);
            is_any = true;
        }
        is_any
    }

    /// Sends the commands whose redo records are now durable.
    pub(super) fn on_redo_durable(&mut self, durable: RedoToken) {
        while self.held.front().is_some_and(|(redo, _)| *redo <= durable) {
            let Some((_, slots)) = self.held.pop_front() else { break };
            for slot in slots {
                self.send(slot);
            }
        }
    }

    /// Returns whether nothing is in flight.
    pub(super) fn is_idle(&self) -> bool {
        self.commands.is_empty() && self.waiting.is_empty()
    }

    /// Starts the checks of the stripes of these commands that need one. Returns whether none does.
    fn ensure_checked(&mut self, commands: &[SpindleCommand<Data>]) -> bool {
        let Some(expected) = &mut self.expected else { return true };
        let mut all_known = true;
        for command in commands {
            let blocks = blocks_of(command);
            all_known &=
                expected.ensure_checked(&mut self.store, command.spindle, blocks).is_none();
        }
        all_known
    }

    fn send(&mut self, slot: usize) {
        let Command { command, redo, block_tag } = &mut self.commands[slot];
        let token = Token(slot as u64);
        let &mut SpindleCommand { spindle, first_sector, sectors, .. } = command;
        let blocks = blocks_of(command);
        if let Some(expected) = &mut self.expected
            && let Some(stripe) = expected.ensure_checked(&mut self.store, spindle, blocks.clone())
        {
            expected.wait(stripe, slot);
            return;
        }
        match command.direction {
            Direction::Read => {
                if let Some(expected) = &mut self.expected {
                    expected.read(slot, spindle, blocks);
                }
                self.store.read(token, spindle, first_sector, sectors);
            }
            Direction::Write => {
                if redo.is_none() {
                    *block_tag = tags_of_payload(command);
                    if let Some(expected) = &mut self.expected {
                        let unnumbered =
                            expected.ensure_numbered(&mut self.store, spindle, blocks.clone());
                        if let Some(stripe) = unnumbered {
                            expected.wait(stripe, slot);
                            return;
                        }
                        expect_writes(expected, command, block_tag, false);
                        expect_writes(expected, command, block_tag, true);
                        let durable = self.log.durable().redo.0;
                        expected.number(spindle, blocks, block_tag, durable);
                    }
                }
                let bytes: Vec<&[u8]> = command.payload.parts().collect();
                self.store.write(
                    token,
                    spindle,
                    first_sector,
                    &bytes,
                    block_tag,
                    self.consistency_point,
                );
            }
        }
    }

    /// Sets whether a spindle holds everything that was written to it.
    pub(super) fn set_complete(&mut self, spindle: SpindleIndex, is_complete: bool) {
        if let Some(expected) = &mut self.expected {
            expected.set_complete(spindle, is_complete);
        }
    }

    /// Handles the checksum entries of a member of a stripe, or `None` if the member is gone. Sends the commands that
    /// waited for the check.
    pub(super) fn on_checksums_read(&mut self, token: Token, states: Option<Vec<BlockState>>) {
        let Some(expected) = &mut self.expected else { return };
        for slot in expected.on_checksums_read(token, states) {
            self.send(slot);
        }
    }

    /// Marks blocks of a read as bad if they do not match their expected contents. Returns false if that cannot be
    /// decided and the read was sent again.
    pub(super) fn flag_stale(&mut self, token: Token, outcome: &mut ReadOutcome) -> bool {
        let Some(expected) = &mut self.expected else { return true };
        let slot = token.0 as usize;
        let is_told = expected.flag_stale(slot, &mut outcome.blocks);
        if !is_told {
            self.send(slot);
        }
        is_told
    }

    /// Removes a command that is complete, or never will be.
    pub(super) fn take(&mut self, token: Token) -> SpindleCommand<Data> {
        let Command { command, redo, .. } = self.commands.remove(token.0 as usize);
        if let Some(expected) = &mut self.expected {
            match command.direction {
                Direction::Read => expected.forget_read(token.0 as usize),
                Direction::Write => expected.on_written(command.spindle, blocks_of(&command)),
            }
        }
        if let Some(redo) = redo
            && let Some(left) = self.unwritten.get_mut(&redo)
        {
            *left -= 1;
            if *left == 0 {
                self.unwritten.remove(&redo);
                self.log.redo_written(redo);
            }
        }
        command
    }
}

/// Extracts the writes that must be atomic from `commands`.
fn extract_bound(commands: &mut Vec<SpindleCommand<Data>>) -> Vec<SpindleCommand<Data>> {
    let is_bound = |command: &mut SpindleCommand<Data>| {
        command.all_or_none && command.direction == Direction::Write
    };
    commands.extract_if(.., is_bound).collect()
}

/// Returns the blocks of 4 KiB that a command touches.
fn blocks_of(command: &SpindleCommand<Data>) -> Range<u64> {
    let first = command.first_sector / BLOCK_SECTORS;
    let end = (command.first_sector + u64::from(command.sectors)).div_ceil(BLOCK_SECTORS);
    first..end
}

/// Returns the block tags in a write's payload.
fn tags_of_payload(command: &SpindleCommand<Data>) -> Vec<BlockTag> {
    let blocks = blocks_of(command);
    let holds = command.payload.holds((blocks.end - blocks.start) as usize);
    holds.into_iter().map(BlockTag::from).collect()
}

/// Records the new contents of a write's blocks, either of its parity or of everything else, and completes their
/// tags. In-place arrays write whole blocks.
fn expect_writes(
    expected: &mut ExpectedBlocks,
    command: &SpindleCommand<Data>,
    block_tag: &mut [BlockTag],
    of_parity: bool,
) {
    let bytes = command.payload.bytes().chunks(BLOCK_BYTES);
    for ((dbn, block_tag), bytes) in blocks_of(command).zip(block_tag).zip(bytes) {
        if (block_tag.holds == BlockContents::Parity) == of_parity {
            *block_tag = expected.write(command.spindle, Dbn(dbn), *block_tag, bytes);
        }
    }
}

impl Driver<Data> for LiveDriver {
    /// Real work costs real time; there is nothing to simulate.
    fn processor(&mut self, _work: ProcessorWork, _cost_ns: u64) {}

    fn command(&mut self, command: SpindleCommand<Data>) {
        if let Some(watch) = &mut self.watch {
            watch(&command);
        }
        self.issued.push(command);
    }

    fn acknowledge(&mut self, operation: OperationId, _when: Acknowledge, payload: Data) {
        let record = self.logged.take().map(|(logged, record)| {
            assert_eq!(logged, operation, "what the log takes is acknowledged next");
            record
        });
        self.outbox.push(ArrayEvent::Acknowledged(operation, payload, record));
    }

    fn refuse(&mut self, operation: OperationId, why: Refusal) {
        self.outbox.push(ArrayEvent::Refused(operation, why));
    }

    fn set_timer(&mut self, at_ns: u64) {
        self.timer_ns = Some(at_ns);
    }

    fn take_spare(&mut self, spindle: SpindleIndex) {
        // Arrays are configured without spares. A replacement comes through `LiveArrayEngine::replaced`.
        unreachable!("{spindle} has no spare");
    }

    fn log(&mut self, operation: OperationId, record: LogRecord, data: &Data) -> Logged {
        let (LogRecord::Write { lun, .. } | LogRecord::Unmap { lun, .. }) = record;
        let file = self.files[usize::from(lun.0)];
        let logged = self.log.append(record, file, data.bytes());
        if logged == Logged::Done && !self.log.is_replaying() {
            self.logged = Some((operation, self.log.last_sequence()));
        }
        logged
    }

    fn consistency_point_begins(&mut self) {
        self.log.switch_half();
        if !self.log.is_replaying() {
            self.log_start = self.log.next_sequence();
            self.half_starts = [self.half_starts[1], self.log_start];
        }
    }

    fn consistency_point_ends(&mut self) {
        self.log.release();
    }
}

impl Durability for LiveDriver {
    fn commit(&mut self, root: Root) {
        self.outbox.push(ArrayEvent::Commit(Box::new(root)));
    }

    fn all_or_none_ends(&mut self) {
        let bound = extract_bound(&mut self.issued);
        self.closed_batches.push(bound);
    }
}
