//! A stream of records in two halves of the log device, written in groups.

use std::collections::VecDeque;

use super::Numbering;
use crate::device::{Buffer, DeviceIndex, Io, IoId, IoRequest};
use crate::format::{ArrayTag, RECORD_HEADER_BYTES, RecordHeader, RecordKind};

/// Size at which a group takes no more records, in bytes.
const GROUP_BYTES: usize = 1 << 20;

/// Groups in flight. A device makes concurrent writes durable for the price of one.
const GROUPS_IN_FLIGHT: usize = 8;

/// Buffers kept for later groups.
const SPARE_BUFFERS: usize = GROUPS_IN_FLIGHT + 1;

/// A half on the device, in bytes.
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
    id: IoId,
    is_done: bool,
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

    pub(super) fn take_ios(&mut self, device: DeviceIndex, ids: &mut u64, ios: &mut Vec<Io>) {
        while self.in_flight.len() < GROUPS_IN_FLIGHT {
            // Records of a new filling continue those of the other half. If the earlier ones were torn and the later
            // ones whole, acknowledged records would seem to be missing.
            let filling = self.in_flight.back().map(|group| group.filling);
            let may_go = |group: &Pending| filling.is_none_or(|one| one == group.filling);
            if !self.pending.front().is_some_and(may_go) {
                return;
            }
            let Some(group) = self.pending.pop_front() else { return };
            let Pending { half, filling, buffer: from, last, .. } = group;
            let (area, at) = (self.halves[half], self.position[half]);
            let end = at + from.bytes().len() as u64;
            // The capacity was checked before the append: see `LogLayout::new`.
            assert!(
                end <= area.bytes,
                "a half of the log has {} bytes, and needs {end}",
                area.bytes
            );
            self.position[half] = end;
            let id = IoId(*ids);
            *ids += 1;
            self.in_flight.push_back(InFlight { id, is_done: false, filling, last });
            let request = IoRequest::Write { offset: area.offset + at, from, durable: true };
            ios.push(Io { id, device, request });
        }
    }

    /// Handles the completion of an I/O. Returns its buffer if it does not belong to this stream.
    pub(super) fn done(&mut self, id: IoId, mut buffer: Buffer) -> Option<Buffer> {
        let Some(group) = self.in_flight.iter_mut().find(|group| group.id == id) else {
            return Some(buffer);
        };
        group.is_done = true;
        while let Some(group) = self.in_flight.front().filter(|group| group.is_done) {
            self.durable = self.durable.max(group.last);
            self.in_flight.pop_front();
        }
        if self.spare.len() < SPARE_BUFFERS {
            buffer.clear();
            self.spare.push(buffer);
        }
        None
    }
}
