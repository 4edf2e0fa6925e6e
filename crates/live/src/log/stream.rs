//! A stream of records in two halves of the log, written in groups, each group to every device of the log.

use std::collections::VecDeque;

use super::Numbering;
use super::copies::{Copies, CopySet};
use crate::device::{Buffer, Io, IoRequest};
use crate::format::{ArrayTag, RECORD_HEADER_BYTES, RecordHeader, RecordKind};

/// Size at which a group takes no more records, in bytes.
const GROUP_BYTES: usize = 1 << 20;

/// Groups in flight. A device makes concurrent writes durable for the price of one.
const GROUPS_IN_FLIGHT: usize = 8;

/// Buffers kept for later groups.
const SPARE_BUFFERS: usize = GROUPS_IN_FLIGHT + 1;

/// A half on a device, in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Area {
    pub(super) offset: u64,
    pub(super) bytes: u64,
}

/// A group that was not sent yet. The last one still takes records.
#[derive(Debug)]
struct Pending {
    half: usize,
    /// The filling of a half that it belongs to.
    filling: u64,
    /// Whole blocks.
    buffer: Buffer,
    /// Bytes used by records.
    used: usize,
    last: u64,
}

/// A group that is being written, or was written and waits for an earlier one.
#[derive(Debug)]
struct InFlight {
    number: u64,
    /// The devices that it is not durable on yet, and must be.
    missing: CopySet,
    filling: u64,
    last: u64,
}

#[derive(Debug)]
pub(super) struct Stream {
    halves: [Area; 2],
    /// The half that records are appended to.
    current: usize,
    /// How many fillings of halves were begun.
    filling: u64,
    /// Bytes of each half that were sent as groups.
    position: [u64; 2],
    numbering: Numbering,
    durable: u64,
    pending: VecDeque<Pending>,
    /// Groups in the order of their records.
    in_flight: VecDeque<InFlight>,
    spare: Vec<Buffer>,
}

impl Stream {
    pub(super) fn new(halves: [Area; 2], numbering: Numbering) -> Self {
        Self {
            halves,
            current: 0,
            filling: 0,
            position: [0; 2],
            numbering,
            durable: numbering.last,
            pending: VecDeque::new(),
            in_flight: VecDeque::new(),
            spare: Vec::new(),
        }
    }

    pub(super) fn next_sequence(&self) -> u64 {
        self.numbering.next
    }

    pub(super) fn last_sequence(&self) -> u64 {
        self.numbering.last
    }

    pub(super) fn durable(&self) -> u64 {
        self.durable
    }

    pub(super) fn current(&self) -> usize {
        self.current
    }

    /// Switches to the start of the other half, whose records are no longer needed. Records that were never sent
    /// count as durable.
    pub(super) fn switch(&mut self) {
        self.current = 1 - self.current;
        self.filling += 1;
        let released = self.current;
        for pending in self.pending.iter().filter(|pending| pending.half == released) {
            self.durable = self.durable.max(pending.last);
        }
        self.pending.retain(|pending| pending.half != released);
        self.position[self.current] = 0;
    }

    pub(super) fn append(&mut self, tag: ArrayTag, kind: RecordKind, data: &[u8]) -> u64 {
        let Numbering { next: sequence, last: follows } = self.numbering;
        self.numbering = Numbering { next: sequence + 1, last: sequence };
        let (durable, data_bytes) = (self.durable, data.len() as u32);
        let header = RecordHeader { sequence, follows, durable, kind, data_bytes };
        let takes_more =
            |group: &Pending| group.filling == self.filling && group.used < GROUP_BYTES;
        if !self.pending.back().is_some_and(takes_more) {
            let (half, filling) = (self.current, self.filling);
            let buffer = self.spare.pop().unwrap_or_default();
            self.pending.push_back(Pending { half, filling, buffer, used: 0, last: sequence });
        }
        if let Some(group) = self.pending.back_mut() {
            group.buffer.put(group.used, &header.encode(tag, data));
            group.buffer.put(group.used + RECORD_HEADER_BYTES, data);
            group.used += RecordHeader::record_bytes(data.len());
            group.last = sequence;
        }
        sequence
    }

    pub(super) fn take_ios(&mut self, copies: &mut Copies, ios: &mut Vec<Io>) {
        while self.in_flight.len() < GROUPS_IN_FLIGHT {
            // Records of a new filling continue those of the other half. If the earlier ones were torn and the later
            // ones whole, acknowledged records would seem to be missing.
            let filling = self.in_flight.back().map(|group| group.filling);
            let may_go = |group: &Pending| filling.is_none_or(|one| one == group.filling);
            if !self.pending.front().is_some_and(may_go) {
                return;
            }
            let Some(group) = self.pending.pop_front() else { return };
            let Pending { half, filling, mut buffer, last, .. } = group;
            let (area, at) = (self.halves[half], self.position[half]);
            let end = at + buffer.bytes().len() as u64;
            // The capacity was checked before the append: see `LogLayout::new`.
            assert!(
                end <= area.bytes,
                "a half of the log has {} bytes, and needs {end}",
                area.bytes
            );
            self.position[half] = end;
            let number = copies.next_group();
            self.in_flight.push_back(InFlight { number, missing: copies.needed(), filling, last });
            let mut targets = copies.working().peekable();
            while let Some((copy, device)) = targets.next() {
                // Only a mirror copies the bytes.
                let from = match targets.peek() {
                    Some(_) => buffer.clone(),
                    None => std::mem::take(&mut buffer),
                };
                let request = IoRequest::Write { offset: area.offset + at, from, durable: true };
                ios.push(Io { id: Copies::io(number, copy), device, request });
            }
        }
    }

    /// Handles the completion of a write of group `number` to one of the devices. Returns its buffer if the group does
    /// not belong to this stream.
    pub(super) fn done(
        &mut self,
        number: u64,
        copy: usize,
        is_durable: bool,
        mut buffer: Buffer,
    ) -> Option<Buffer> {
        let Some(group) = self.in_flight.iter_mut().find(|group| group.number == number) else {
            return Some(buffer);
        };
        if is_durable {
            group.missing.remove(copy);
        }
        self.advance();
        if self.spare.len() < SPARE_BUFFERS {
            buffer.clear();
            self.spare.push(buffer);
        }
        None
    }

    /// Goes on without one of the devices: groups no longer wait for it.
    pub(super) fn go_on_without(&mut self, copy: usize) {
        for group in &mut self.in_flight {
            group.missing.remove(copy);
        }
        self.advance();
    }

    fn advance(&mut self) {
        while let Some(group) = self.in_flight.front().filter(|group| group.missing.is_empty()) {
            self.durable = self.durable.max(group.last);
            self.in_flight.pop_front();
        }
    }
}
