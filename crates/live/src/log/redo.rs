//! The redo records: which half holds each, and when a half is free.

use std::collections::{BTreeSet, VecDeque};

use super::Numbering;
use super::stream::{Area, Stream};
use crate::device::BLOCK_BYTES;
use crate::format::{ArrayTag, RecordHeader, RecordKind, RedoWrite, encode_redo, redo_data_bytes};

/// The redo records of a half.
#[derive(Debug, Default)]
struct Half {
    /// The number of the first record; `None` if the half is free.
    first: Option<u64>,
    /// The records with incomplete block writes.
    unwritten: BTreeSet<u64>,
    /// The most bytes that they can take.
    used: u64,
}

/// The stream of redo records. It switches halves by itself when one is full.
#[derive(Debug)]
pub(super) struct RedoStream {
    pub(super) stream: Stream,
    halves: [Half; 2],
    /// Size of a half, in bytes.
    capacity: u64,
    /// Which halves the flush in progress will release.
    flushing: Option<[bool; 2]>,
    /// Records that found no room, in order: their numbers and data.
    waiting: VecDeque<(u64, Vec<u8>)>,
    /// The number of the next record.
    next: u64,
    encoded: Vec<u8>,
}

impl RedoStream {
    pub(super) fn new(areas: [Area; 2], numbering: Numbering) -> Self {
        Self {
            stream: Stream::new(areas, numbering),
            halves: Default::default(),
            capacity: areas[0].bytes,
            flushing: None,
            waiting: VecDeque::new(),
            next: numbering.next,
            encoded: Vec::new(),
        }
    }

    pub(super) fn append(&mut self, tag: ArrayTag, writes: &[RedoWrite<'_>]) -> u64 {
        let mut data = std::mem::take(&mut self.encoded);
        data.clear();
        encode_redo(writes, &mut data);
        // A half takes four of the largest records: see `LogLayout::new`.
        assert!(
            used_bytes(&data) <= self.capacity,
            "a redo record of {} blocks, where a half has {} bytes",
            data.len() / redo_data_bytes(1),
            self.capacity,
        );
        let number = self.next;
        self.next += 1;
        if self.waiting.is_empty() && self.make_room(used_bytes(&data)) {
            self.place(tag, number, &data);
            self.encoded = data;
        } else {
            self.waiting.push_back((number, data));
        }
        number
    }

    /// Returns whether there is room, switching to the other half if the current one is full.
    fn make_room(&mut self, bytes: u64) -> bool {
        let current = self.stream.current();
        if self.halves[current].used + bytes <= self.capacity {
            return true;
        }
        if self.halves[1 - current].first.is_some() {
            return false;
        }
        self.stream.switch();
        true
    }

    fn place(&mut self, tag: ArrayTag, number: u64, data: &[u8]) {
        let half = &mut self.halves[self.stream.current()];
        half.used += used_bytes(data);
        half.first.get_or_insert(number);
        half.unwritten.insert(number);
        // This very record is in one of the halves.
        let needed_from = self.halves.iter().filter_map(|half| half.first).min().unwrap_or(number);
        let appended = self.stream.append(tag, RecordKind::Redo { needed_from }, data);
        assert_eq!(
            appended, number,
            "redo records are numbered in the order in which they are appended"
        );
    }

    pub(super) fn written(&mut self, number: u64) {
        for half in &mut self.halves {
            half.unwritten.remove(&number);
        }
    }

    /// Returns the number of the first record with incomplete block writes.
    pub(super) fn start(&self) -> u64 {
        let unwritten = self.halves.iter().filter_map(|half| half.unwritten.first());
        let waiting = self.waiting.front().map(|(number, _)| number);
        unwritten.chain(waiting).min().copied().unwrap_or(self.next)
    }

    /// Returns whether a flush that begins now would release the full half.
    pub(super) fn wants_flush(&self) -> bool {
        let full = &self.halves[1 - self.stream.current()];
        self.flushing.is_none() && full.first.is_some() && full.unwritten.is_empty()
    }

    pub(super) fn flush_started(&mut self) {
        let full = 1 - self.stream.current();
        let mut released = [false; 2];
        // A half that is free now may have records by the end of the flush.
        released[full] = self.wants_flush();
        self.flushing.get_or_insert(released);
    }

    pub(super) fn flush_finished(&mut self, tag: ArrayTag) {
        let Some(released) = self.flushing.take() else { return };
        let current = self.stream.current();
        for (at, half) in self.halves.iter_mut().enumerate().filter(|(at, _)| released[*at]) {
            // Its records are overwritten next, so a crash must need none of them.
            assert!(at != current, "the half that records go to is not released");
            assert!(half.unwritten.is_empty(), "a half is released once its block writes are done");
            *half = Half::default();
        }
        while let Some((number, data)) = self.waiting.pop_front() {
            if !self.make_room(used_bytes(&data)) {
                self.waiting.push_front((number, data));
                break;
            }
            self.place(tag, number, &data);
        }
    }
}

/// Returns the most bytes that a record can take, including the padding of its group.
fn used_bytes(data: &[u8]) -> u64 {
    RecordHeader::record_bytes(data.len()).next_multiple_of(BLOCK_BYTES) as u64
}
