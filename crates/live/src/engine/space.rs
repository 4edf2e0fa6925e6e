//! Writes that found no space under their device: a sparse file on a full file system.
//!
//! To the rest of the engine such a write is one that takes long: it is sent again until there is room. So a record of
//! the log, a block, a label or a superblock is written in the end, in the order that everything else relies on, and a
//! power loss meanwhile leaves what it leaves of any write in flight. Hosts are not kept waiting: see
//! [`LiveArrayEngine::out_of_space`](super::LiveArrayEngine::out_of_space).

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use crate::device::{DeviceIndex, Io, IoCompletion, IoError, IoId, IoRequest};

/// How long a refused write waits until it is sent again.
const RETRY_AFTER_NS: u64 = 100_000_000;

/// The engine's writes, as far as space is concerned.
#[derive(Default)]
pub(super) struct SpaceWait {
    /// The offset of each write in flight, and whether it is durable.
    writes: FxHashMap<IoId, (u64, bool)>,
    /// Writes that were refused and are not done.
    refused: FxHashMap<IoId, DeviceIndex>,
    /// Since when there are any.
    since_ns: Option<u64>,
    /// Those of them that wait for the next attempt.
    waiting: Vec<Io>,
    /// When that is due.
    retry_ns: Option<u64>,
    /// Those that are sent again.
    again: Vec<Io>,
}

impl SpaceWait {
    /// Adds the writes that are sent again to `ios`, and notes all writes among these. Their ids are unique.
    pub(super) fn take_ios(&mut self, ios: &mut Vec<Io>) {
        ios.append(&mut self.again);
        for io in ios.iter() {
            if let IoRequest::Write { offset, durable, .. } = io.request {
                self.writes.insert(io.id, (offset, durable));
            }
        }
    }

    /// Handles a completion; returns `None` if it was a write without space, which will be sent again.
    pub(super) fn done(&mut self, now_ns: u64, done: IoCompletion) -> Option<IoCompletion> {
        let write = self.writes.remove(&done.id);
        if let Some((offset, durable)) = write
            && done.result == Err(IoError::NoSpace)
        {
            let IoCompletion { id, device, buffer: from, .. } = done;
            let request = IoRequest::Write { offset, from, durable };
            self.refused.insert(id, device);
            self.waiting.push(Io { id, device, request });
            self.since_ns.get_or_insert(now_ns);
            self.retry_ns.get_or_insert(now_ns + RETRY_AFTER_NS);
            return None;
        }
        if self.refused.remove(&done.id).is_some() && self.refused.is_empty() {
            self.since_ns = None;
        }
        Some(done)
    }

    /// Returns when [`timer`](Self::timer) must be called next.
    pub(super) fn timer_ns(&self) -> Option<u64> {
        self.retry_ns
    }

    /// Sends the writes again whose time has come.
    pub(super) fn timer(&mut self, now_ns: u64) {
        if self.retry_ns.is_some_and(|at_ns| at_ns <= now_ns) {
            self.retry_ns = None;
            self.again.append(&mut self.waiting);
        }
    }

    /// Returns whether any write waits for space.
    pub(super) fn is_short(&self) -> bool {
        !self.refused.is_empty()
    }

    /// Returns since when writes have waited for space.
    pub(super) fn short_since_ns(&self) -> Option<u64> {
        self.since_ns
    }

    /// Returns the devices without space.
    pub(super) fn devices(&self) -> Vec<DeviceIndex> {
        let devices: BTreeSet<DeviceIndex> = self.refused.values().copied().collect();
        devices.into_iter().collect()
    }
}
