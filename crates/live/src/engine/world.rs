//! What an array asks for, as what a store and a log can do.

use std::collections::{BTreeMap, VecDeque};

use slab::Slab;
use strewn_array::{Acknowledge, Direction, Driver, OperationId, Payload, Root, SpindleCommand};
use strewn_raid::{Dbn, SpindleIndex};

use crate::data::Data;
use crate::device::BLOCK_BYTES;
use crate::format::RedoWrite;
use crate::log::{Log, RedoToken};
use crate::store::{Store, Token};

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
            let slot = self.commands.insert(Command { command, redo: None });
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
        let holds: Vec<_> = bound.iter().map(|one| one.payload.holds(blocks_of(one))).collect();
        let writes: Vec<RedoWrite<'_>> = bound
            .iter()
            .zip(&holds)
            .map(|(one, holds)| RedoWrite {
                spindle: one.spindle,
                first: Dbn(one.first_sector * 512 / BLOCK_BYTES as u64),
                holds,
                bytes: one.payload.bytes(),
            })
            .collect();
        let redo = self.log.append_redo(&writes);
        self.last_redo = redo;
        self.unwritten.insert(redo, bound.len());
        let commands = &mut self.commands;
        let slots = bound
            .into_iter()
            .map(|command| commands.insert(Command { command, redo: Some(redo) }))
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
            if self.labels_are_behind || log_is_behind {
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

    fn send(&mut self, slot: usize) {
        let Command { command, .. } = &self.commands[slot];
        let token = Token(slot as u64);
        let &SpindleCommand { spindle, first_sector, sectors, .. } = command;
        match command.direction {
            Direction::Read => self.store.read(token, spindle, first_sector, sectors),
            Direction::Write => {
                let holds = command.payload.holds(blocks_of(command));
                let bytes = command.payload.bytes();
                self.store.write(token, spindle, first_sector, bytes, &holds, self.checkpoint);
            }
        }
    }

    /// A command is done, or never will be.
    pub(super) fn take(&mut self, token: Token) -> SpindleCommand<Data> {
        let Command { command, redo } = self.commands.remove(token.0 as usize);
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
fn blocks_of(command: &SpindleCommand<Data>) -> usize {
    let first = command.first_sector / 8;
    let end = (command.first_sector + u64::from(command.sectors)).div_ceil(8);
    (end - first) as usize
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
