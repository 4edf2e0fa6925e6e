//! Records that follow each other in two areas of the log device, and go out in groups.

use std::collections::VecDeque;

use super::Numbering;
use crate::device::{BLOCK_BYTES, Buffer, DeviceIndex, Io, IoId, Request};
use crate::format::{ArrayTag, RecordHeader, RecordKind};

/// The most blocks of one I/O: 1 MiB.
const IO_BLOCKS: usize = 256;

/// Buffers kept for the groups to come.
const SPARE_BUFFERS: usize = 8;

/// A half on the device, in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Area {
    pub(super) offset: u64,
    pub(super) bytes: u64,
}

/// Records for one half that are not sent yet.
#[derive(Debug)]
struct Pending {
    half: usize,
    bytes: Vec<u8>,
    last: u64,
}

/// The group that is being written.
#[derive(Debug)]
struct InFlight {
    ids: Vec<IoId>,
    last: u64,
}

#[derive(Debug)]
pub(super) struct Stream {
    halves: [Area; 2],
    /// The half that records are appended to.
    current: usize,
    /// Bytes of each half that groups were sent to.
    position: [u64; 2],
    numbering: Numbering,
    durable: u64,
    pending: VecDeque<Pending>,
    in_flight: Option<InFlight>,
    spare_bytes: Vec<u8>,
    spare_buffers: Vec<Buffer>,
}

impl Stream {
    pub(super) fn new(halves: [Area; 2], numbering: Numbering) -> Self {
        Self {
            halves,
            current: 0,
            position: [0; 2],
            numbering,
            durable: numbering.last,
            pending: VecDeque::new(),
            in_flight: None,
            spare_bytes: Vec::new(),
            spare_buffers: Vec::new(),
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

    /// From now on records go to the other half, from its start on. What it has is needed no longer; where some of it
    /// was not even sent, it is as good as durable.
    pub(super) fn switch(&mut self) {
        self.current = 1 - self.current;
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
        let header = RecordHeader { sequence, follows, kind, data_bytes: data.len() as u32 };
        let continues = self.pending.back().is_some_and(|pending| pending.half == self.current);
        if !continues {
            let bytes = std::mem::take(&mut self.spare_bytes);
            self.pending.push_back(Pending { half: self.current, bytes, last: sequence });
        }
        if let Some(pending) = self.pending.back_mut() {
            let end = pending.bytes.len() + RecordHeader::record_bytes(data.len());
            pending.bytes.extend_from_slice(&header.encode(tag, data));
            pending.bytes.extend_from_slice(data);
            pending.bytes.resize(end, 0);
            pending.last = sequence;
        }
        sequence
    }

    pub(super) fn take_ios(&mut self, device: DeviceIndex, ids: &mut u64, ios: &mut Vec<Io>) {
        if self.in_flight.is_some() {
            return;
        }
        let Some(mut pending) = self.pending.pop_front() else { return };
        let (area, at) = (self.halves[pending.half], self.position[pending.half]);
        let end = at + (pending.bytes.len() as u64).next_multiple_of(BLOCK_BYTES as u64);
        // The rule of capacity, which whoever appends has checked: see `LogLayout::new`.
        assert!(end <= area.bytes, "a half of the log has {} bytes, and needs {end}", area.bytes);
        self.position[pending.half] = end;
        let mut group = InFlight { ids: Vec::new(), last: pending.last };
        let mut offset = area.offset + at;
        for part in pending.bytes.chunks(IO_BLOCKS * BLOCK_BYTES) {
            let mut from = self.buffer(part.len().div_ceil(BLOCK_BYTES));
            let (bytes, padding) = from.bytes_mut().split_at_mut(part.len());
            bytes.copy_from_slice(part);
            padding.fill(0);
            let id = IoId(*ids);
            *ids += 1;
            group.ids.push(id);
            let bytes = from.bytes().len() as u64;
            ios.push(Io { id, device, request: Request::Write { offset, from, durable: true } });
            offset += bytes;
        }
        self.in_flight = Some(group);
        pending.bytes.clear();
        self.spare_bytes = pending.bytes;
    }

    /// An I/O is done; gives its buffer back where it was not of this stream.
    pub(super) fn done(&mut self, id: IoId, buffer: Buffer) -> Option<Buffer> {
        let Some(group) = &mut self.in_flight else { return Some(buffer) };
        let Some(at) = group.ids.iter().position(|of_group| *of_group == id) else {
            return Some(buffer);
        };
        group.ids.swap_remove(at);
        if group.ids.is_empty() {
            self.durable = self.durable.max(group.last);
            self.in_flight = None;
        }
        if self.spare_buffers.len() < SPARE_BUFFERS {
            self.spare_buffers.push(buffer);
        }
        None
    }

    /// A buffer of so many blocks, with anything in it.
    fn buffer(&mut self, blocks: usize) -> Buffer {
        let spare = self.spare_buffers.iter().position(|spare| spare.blocks() == blocks);
        spare.map_or_else(|| Buffer::zeroed(blocks), |at| self.spare_buffers.swap_remove(at))
    }
}
