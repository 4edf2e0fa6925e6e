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
    /// Whether the labels say which spindles there are. Until they do, no redo record is made: it would have nothing for a
    /// spindle that is lost, and that one would be taken for whole if it came back with the power.
    pub(super) labels_are_safe: bool,
    /// Commands that wait for the labels, by redo record.
    waiting_for_labels: VecDeque<Vec<SpindleCommand<Data>>>,
    pub(super) commands: Slab<Command>,
    /// Commands that wait for their redo record, in the order of the records.
    held: VecDeque<(RedoToken, Vec<usize>)>,
    /// Commands of a redo record that are not done.
    unwritten: BTreeMap<RedoToken, usize>,
}

impl World {
    pub(super) fn new(store: Store, log: Log, checkpoint: u64, now_ns: u64) -> Self {
        Self {
            now_ns,
            timer_ns: None,
            store,
            log,
            checkpoint,
            said: Vec::new(),
            gathered: Vec::new(),
            labels_are_safe: true,
            waiting_for_labels: VecDeque::new(),
            commands: Slab::new(),
            held: VecDeque::new(),
            unwritten: BTreeMap::new(),
        }
    }

    /// Hands on what the array has asked for in one call; whether that was anything. What must be all or none on the
    /// spindles goes into a redo record first.
    pub(super) fn hand_on(&mut self) -> bool {
        let gathered = std::mem::take(&mut self.gathered);
        let is_any = !gathered.is_empty();
        let (bound, free): (Vec<_>, Vec<_>) = gathered
            .into_iter()
            .partition(|command| command.all_or_none && command.direction == Direction::Write);
        for command in free {
            let slot = self.commands.insert(Command { command, redo: None });
            self.send(slot);
        }
        if !bound.is_empty() {
            self.waiting_for_labels.push_back(bound);
        }
        while self.labels_are_safe
            && let Some(bound) = self.waiting_for_labels.pop_front()
        {
            self.append_redo(bound);
        }
        is_any
    }

    /// Puts commands into a redo record; they are sent when it is durable.
    fn append_redo(&mut self, bound: Vec<SpindleCommand<Data>>) {
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
        self.unwritten.insert(redo, bound.len());
        let commands = &mut self.commands;
        let slots = bound
            .into_iter()
            .map(|command| commands.insert(Command { command, redo: Some(redo) }))
            .collect();
        self.held.push_back((redo, slots));
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
        self.commands.is_empty() && self.waiting_for_labels.is_empty()
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
