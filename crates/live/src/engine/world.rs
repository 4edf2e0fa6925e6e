//! What an array asks for, as what a store and a log can do.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use slab::Slab;
use strewn_array::{
    Acknowledge, BlockContents, Direction, Driver, OperationId, Payload, Root, SpindleCommand,
};
use strewn_raid::{Dbn, SpindleIndex};

use crate::data::Data;
use crate::device::BLOCK_BYTES;
use crate::format::{Kept, RedoWrite};
use crate::log::{Log, RedoToken};
use crate::store::{BlockState, ReadOutcome, Store, Token};

use super::expected::Expected;

/// What an array has said, in order.
pub(super) enum Said {
    Acknowledged(OperationId, Data),
    Refused(OperationId),
    CheckpointBegins,
    Commit(Root),
}

/// A command that the store has, or that waits until its redo record is durable.
pub(super) struct Command {
    pub(super) command: SpindleCommand<Data>,
    pub(super) redo: Option<RedoToken>,
    /// Of a write with a redo record what is kept beside its blocks.
    kept: Vec<Kept>,
}

impl Command {
    fn new(command: SpindleCommand<Data>) -> Self {
        Self { command, redo: None, kept: Vec::new() }
    }
}

/// The array's world while it is being called, and what of it is under way.
pub(super) struct World {
    pub(super) now_ns: u64,
    pub(super) timer_ns: Option<u64>,
    pub(super) store: Store,
    pub(super) log: Log,
    /// The consistency point that blocks are written with from now on.
    pub(super) checkpoint: u64,
    pub(super) said: Vec<Said>,
    gathered: Vec<SpindleCommand<Data>>,
    /// What of it must be all or none, and is of other stripes than what follows.
    ended: Vec<Vec<SpindleCommand<Data>>>,
    /// Whether the labels do not say yet which spindles are lost. A write to stripes in use that makes up for a lost spindle
    /// leaves that one behind, and whoever found it with a label that has it present would take it for right: until the
    /// labels are written, nothing that must be all or none is even in the log.
    labels_are_behind: bool,
    /// Whether what must be all or none waits for the log: [`LiveArray::WRITES_OVER`](super::LiveArray::WRITES_OVER).
    waits_for_log: bool,
    /// What must be all or none and waits, in order, each with the host record that must be durable before it. What the
    /// array has acknowledged in the same call has no number yet: then there is none here.
    waiting: VecDeque<(Option<u64>, Vec<SpindleCommand<Data>>)>,
    /// The last redo record that was made.
    pub(super) last_redo: RedoToken,
    pub(super) commands: Slab<Command>,
    /// Commands that wait for their redo record, in the order of the records.
    held: VecDeque<(RedoToken, Vec<usize>)>,
    /// What blocks must be, of an array of which that is known by their stripes.
    pub(super) expected: Option<Expected>,
    /// Commands of a redo record that are not done.
    unwritten: BTreeMap<RedoToken, usize>,
}

impl World {
    pub(super) fn new(
        store: Store,
        log: Log,
        checkpoint: u64,
        waits_for_log: bool,
        now_ns: u64,
    ) -> Self {
        Self {
            now_ns,
            timer_ns: None,
            store,
            log,
            checkpoint,
            said: Vec::new(),
            gathered: Vec::new(),
            ended: Vec::new(),
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

    /// Hands on what the array has asked for in one call; whether that was anything. What must be all or none on the
    /// spindles goes into a redo record first.
    pub(super) fn hand_on(&mut self) -> bool {
        let mut gathered = std::mem::take(&mut self.gathered);
        let is_any = !gathered.is_empty() || !self.ended.is_empty();
        let mut together = std::mem::take(&mut self.ended);
        together.push(take_bound(&mut gathered));
        for command in gathered {
            let slot = self.commands.insert(Command::new(command));
            self.send(slot);
        }
        for bound in together.into_iter().filter(|bound| !bound.is_empty()) {
            if self.labels_are_behind || self.waits_for_log {
                self.waiting.push_back((None, bound));
            } else {
                self.send_all_or_none(bound);
            }
        }
        is_any
    }

    /// Puts commands into a redo record; they are sent when it is durable.
    fn send_all_or_none(&mut self, bound: Vec<SpindleCommand<Data>>) {
        let mut kept: Vec<Vec<Kept>> = bound.iter().map(kept_by_itself).collect();
        if let Some(expected) = &mut self.expected {
            // What parity keeps is of the data that are written with it.
            for of_parity in [false, true] {
                for (command, kept) in bound.iter().zip(&mut kept) {
                    note_writes(expected, command, kept, of_parity);
                }
            }
        }
        let writes: Vec<RedoWrite<'_>> = bound
            .iter()
            .zip(&kept)
            .map(|(one, kept)| RedoWrite {
                spindle: one.spindle,
                first: Dbn(blocks_of(one).start),
                kept,
                bytes: one.payload.parts().collect(),
            })
            .collect();
        let redo = self.log.append_redo(&writes);
        self.last_redo = redo;
        self.unwritten.insert(redo, bound.len());
        let commands = &mut self.commands;
        let in_record = |kept: Vec<Kept>| kept.into_iter().map(|one| Kept { redo: redo.0, ..one });
        let slots = bound
            .into_iter()
            .zip(kept)
            .map(|(command, kept)| {
                let kept = in_record(kept).collect();
                commands.insert(Command { redo: Some(redo), kept, ..Command::new(command) })
            })
            .collect();
        self.held.push_back((redo, slots));
    }

    /// The labels do not say what they should, or do again.
    pub(super) fn labels_are(&mut self, behind: bool) {
        self.labels_are_behind = behind;
    }

    /// Goes on with what waited for labels and for the log; whether that was anything. All that the array has acknowledged
    /// so far is in the log.
    pub(super) fn go_on_with_waiting(&mut self) -> bool {
        let (last, durable) = (self.log.last_sequence(), self.log.durable().host);
        for (needed, _) in &mut self.waiting {
            needed.get_or_insert(last);
        }
        let mut is_any = false;
        while let Some((needed, bound)) = self.waiting.pop_front() {
            let log_is_behind = self.waits_for_log && needed > Some(durable);
            if self.labels_are_behind || log_is_behind || !self.is_known(&bound) {
                self.waiting.push_front((needed, bound));
                break;
            }
            self.send_all_or_none(bound);
            is_any = true;
        }
        is_any
    }

    /// Sends what waited for redo records that are durable now.
    pub(super) fn redo_is_durable(&mut self, durable: RedoToken) {
        while self.held.front().is_some_and(|(redo, _)| *redo <= durable) {
            let Some((_, slots)) = self.held.pop_front() else { break };
            for slot in slots {
                self.send(slot);
            }
        }
    }

    /// Whether nothing is under way.
    pub(super) fn is_idle(&self) -> bool {
        self.commands.is_empty() && self.waiting.is_empty()
    }

    /// Whether the stripes of these commands were looked at, if that is needed; they are from now on.
    fn is_known(&mut self, commands: &[SpindleCommand<Data>]) -> bool {
        let Some(expected) = &mut self.expected else { return true };
        let mut all_known = true;
        for command in commands {
            let blocks = blocks_of(command);
            all_known &= expected.look_first(&mut self.store, command.spindle, blocks).is_none();
        }
        all_known
    }

    fn send(&mut self, slot: usize) {
        let Command { command, redo, kept } = &mut self.commands[slot];
        let token = Token(slot as u64);
        let &mut SpindleCommand { spindle, first_sector, sectors, .. } = command;
        let blocks = blocks_of(command);
        if let Some(expected) = &mut self.expected
            && let Some(stripe) = expected.look_first(&mut self.store, spindle, blocks.clone())
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
                    *kept = kept_by_itself(command);
                    if let Some(expected) = &mut self.expected {
                        note_writes(expected, command, kept, false);
                        note_writes(expected, command, kept, true);
                        // Parity is as new as the data that it covers, each of which was written with a durable record.
                        let durable = self.log.durable().redo.0;
                        let parity =
                            kept.iter_mut().filter(|one| one.holds == BlockContents::Parity);
                        parity.for_each(|one| one.redo = durable);
                    }
                }
                let bytes: Vec<&[u8]> = command.payload.parts().collect();
                self.store.write(token, spindle, first_sector, &bytes, kept, self.checkpoint);
            }
        }
    }

    /// Whether a spindle has all that was written to it.
    pub(super) fn spindle_is_whole(&mut self, spindle: SpindleIndex, is_whole: bool) {
        if let Some(expected) = &mut self.expected {
            expected.is_whole(spindle, is_whole);
        }
    }

    /// A member of a stripe was looked at, if it is there: commands go on that waited for it.
    pub(super) fn looked(&mut self, token: Token, states: Option<Vec<BlockState>>) {
        let Some(expected) = &mut self.expected else { return };
        for slot in expected.looked(token, states) {
            self.send(slot);
        }
    }

    /// Calls blocks of a read bad that are not what they must be. False if that cannot be told, and the read was sent again.
    pub(super) fn doubt(&mut self, token: Token, outcome: &mut ReadOutcome) -> bool {
        let Some(expected) = &mut self.expected else { return true };
        let slot = token.0 as usize;
        let is_told = expected.doubt(slot, &mut outcome.blocks);
        if !is_told {
            self.send(slot);
        }
        is_told
    }

    /// A command is done, or never will be.
    pub(super) fn take(&mut self, token: Token) -> SpindleCommand<Data> {
        let Command { command, redo, .. } = self.commands.remove(token.0 as usize);
        if let Some(expected) = &mut self.expected {
            match command.direction {
                Direction::Read => expected.read_is_over(token.0 as usize),
                Direction::Write => expected.written(command.spindle, blocks_of(&command)),
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

/// Takes out of `commands` what must be all or none.
fn take_bound(commands: &mut Vec<SpindleCommand<Data>>) -> Vec<SpindleCommand<Data>> {
    let is_bound = |command: &mut SpindleCommand<Data>| {
        command.all_or_none && command.direction == Direction::Write
    };
    commands.extract_if(.., is_bound).collect()
}

/// Blocks of 4 KiB that a command touches.
fn blocks_of(command: &SpindleCommand<Data>) -> Range<u64> {
    let first = command.first_sector / 8;
    let end = (command.first_sector + u64::from(command.sectors)).div_ceil(8);
    first..end
}

/// What is kept beside the blocks of a write, as far as it says so itself.
fn kept_by_itself(command: &SpindleCommand<Data>) -> Vec<Kept> {
    let blocks = blocks_of(command);
    let holds = command.payload.holds((blocks.end - blocks.start) as usize);
    holds.into_iter().map(Kept::from).collect()
}

/// Notes what the blocks of a write will be, those of parity or all others, and what is kept of them. Arrays in place write
/// whole blocks.
fn note_writes(
    expected: &mut Expected,
    command: &SpindleCommand<Data>,
    kept: &mut [Kept],
    of_parity: bool,
) {
    let bytes = command.payload.bytes().chunks(BLOCK_BYTES);
    for ((dbn, kept), bytes) in blocks_of(command).zip(kept).zip(bytes) {
        if (kept.holds == BlockContents::Parity) == of_parity {
            *kept = expected.write(command.spindle, Dbn(dbn), *kept, bytes);
        }
    }
}

impl Driver<Data> for World {
    /// The processor is a real one: what it costs it costs.
    fn processor(&mut self, _cost_ns: u64) {}

    fn command(&mut self, command: SpindleCommand<Data>) {
        self.gathered.push(command);
    }

    fn all_or_none_ends(&mut self) {
        let bound = take_bound(&mut self.gathered);
        self.ended.push(bound);
    }

    fn acknowledge(&mut self, operation: OperationId, _when: Acknowledge, payload: Data) {
        self.said.push(Said::Acknowledged(operation, payload));
    }

    fn set_timer(&mut self, at_ns: u64) {
        self.timer_ns = Some(at_ns);
    }

    fn take_spare(&mut self, spindle: SpindleIndex) {
        // Arrays are made without spares: a replacement comes by `Engine::replaced`.
        debug_assert!(false, "{spindle} has no spare");
    }

    fn checkpoint_begins(&mut self) {
        self.said.push(Said::CheckpointBegins);
    }

    fn commit(&mut self, root: Root) -> bool {
        self.said.push(Said::Commit(root));
        true
    }

    fn refuse(&mut self, operation: OperationId) {
        self.said.push(Said::Refused(operation));
    }
}
