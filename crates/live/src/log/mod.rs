//! The NVRAM log on a device: what was acknowledged and is not yet on the spindles, and what must reach them as one.
//!
//! A [`Log`] does no I/O: it says through [`Log::take_ios`] what is to be done and is told through [`Log::done`] what
//! became of it. Host records and redo records are two streams, each with two halves of its own on the device:
//!
//! - A host write or punch is appended, and may be acknowledged once it is durable. When a consistency point begins,
//!   the stream is switched to the other half ([`Log::switch_half`]); when its superblock is safe, the half before is
//!   released ([`Log::release`]).
//! - A redo record has to be durable before the first of its block writes is sent to a spindle. Its stream switches by
//!   itself, and asks for a flush of all spindles ([`Log::wants_flush`]) to release a half.
//!
//! Records that are appended while others are being written go out together as the next group. Some groups are in flight
//! at a time in each stream, all of them in one half. A record counts as durable when it and all before it are: a recovery
//! finds no record behind one that is torn.
//!
//! [`read_log`] finds after a crash what the log has.

mod recovery;
mod redo;
mod scan;
mod stream;

use crate::device::{DeviceIndex, Io, IoCompletion, IoError};
use crate::format::{ArrayTag, LogLayout, RecordKind, RedoWrite};

pub use recovery::{HostRecord, RecoveredLog, RedoRecord, read_log};
use redo::RedoStream;
use stream::{Area, Stream};

/// Where the numbers of new records begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogStart {
    /// Of the host records.
    pub host: Numbering,
    /// Of the redo records.
    pub redo: Numbering,
}

/// Where the numbers of a stream's new records begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Numbering {
    /// The number of the next record.
    pub next: u64,
    /// The number of the record before it, of whatever is on the device; 0 where none was.
    pub last: u64,
}

impl LogStart {
    /// A log that never had a record.
    pub const NEW: Self = Self { host: Numbering::NEW, redo: Numbering::NEW };
}

impl Numbering {
    const NEW: Self = Self { next: 1, last: 0 };
}

/// A redo record, by its number in its stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RedoToken(pub u64);

/// How far the log is durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Durable {
    /// All host records up to this number are; 0 where none is. Those of before a recovery count as durable.
    pub host: u64,
    /// All redo records up to this one are.
    pub redo: RedoToken,
}

/// A half has no room for another record: it was given more than it is accounted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the log's half takes {capacity} accounted bytes, and the record would make it {needed}")]
pub struct HalfFull {
    /// Accounted bytes that the half takes.
    pub capacity: u64,
    /// Accounted bytes with the record.
    pub needed: u64,
}

/// The other half was not released yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the log's other half has records that no safe consistency point covers")]
pub struct HalfInUse;

/// The log of an array that is running.
#[derive(Debug)]
pub struct Log {
    device: DeviceIndex,
    tag: ArrayTag,
    layout: LogLayout,
    host: Stream,
    redo: RedoStream,
    /// Accounted bytes in the current half.
    accounted: u64,
    /// Whether the half that is not current has records that are needed.
    other_half_in_use: bool,
    ids: u64,
    failed: Option<IoError>,
}

impl Log {
    /// The log on `device`. What [`read_log`] recovered must be covered by a superblock that is safe before anything is
    /// appended: both halves are taken as free.
    #[must_use]
    pub fn new(device: DeviceIndex, layout: LogLayout, tag: ArrayTag, start: LogStart) -> Self {
        let host = layout.halves().map(|offset| Area { offset, bytes: layout.half_bytes() });
        let redo_bytes = layout.redo_half_blocks * crate::device::BLOCK_BYTES as u64;
        let redo = layout.redo_halves().map(|offset| Area { offset, bytes: redo_bytes });
        Self {
            device,
            tag,
            layout,
            host: Stream::new(host, start.host),
            redo: RedoStream::new(redo, start.redo),
            accounted: 0,
            other_half_in_use: false,
            ids: 0,
            failed: None,
        }
    }

    /// The device it is on; what it has done comes to [`Self::done`].
    #[must_use]
    pub fn device(&self) -> DeviceIndex {
        self.device
    }

    /// The number that the next host record gets: the `log_start` of a consistency point that begins now.
    #[must_use]
    pub fn next_sequence(&self) -> u64 {
        self.host.next_sequence()
    }

    /// The number of the last host record, durable or not; 0 where none ever was.
    #[must_use]
    pub fn last_sequence(&self) -> u64 {
        self.host.last_sequence()
    }

    /// Why the log is of no use any more, if it is: it takes records, but none becomes durable.
    #[must_use]
    pub fn failed(&self) -> Option<&IoError> {
        self.failed.as_ref()
    }

    /// Appends a host write of `data`, a multiple of 512 bytes, at sector `first_sector` of the LUN, and gives its
    /// number. It may be acknowledged once [`Durable::host`] is as high.
    ///
    /// # Errors
    /// Where the half has no room by the rule of [`LogLayout::accounted_bytes`].
    ///
    /// # Panics
    /// Where `data` is no multiple of 512 bytes, or has 4 GiB.
    pub fn append_write(&mut self, first_sector: u64, data: &[u8]) -> Result<u64, HalfFull> {
        assert!(data.len().is_multiple_of(512), "a host writes whole sectors");
        let sectors = (data.len() / 512) as u64;
        self.append_host(RecordKind::Write { first_sector, sectors }, data)
    }

    /// Appends that the host gave back `sectors` of the LUN from `first_sector` on, and gives its number.
    ///
    /// # Errors
    /// As [`append_write`](Self::append_write).
    pub fn append_unmap(&mut self, first_sector: u64, sectors: u64) -> Result<u64, HalfFull> {
        self.append_host(RecordKind::Unmap { first_sector, sectors }, &[])
    }

    fn append_host(&mut self, kind: RecordKind, data: &[u8]) -> Result<u64, HalfFull> {
        let needed = self.accounted + LogLayout::accounted_bytes(data.len() as u64);
        let capacity = self.layout.half_bytes();
        if needed > capacity {
            return Err(HalfFull { capacity, needed });
        }
        self.accounted = needed;
        Ok(self.host.append(self.tag, kind, data))
    }

    /// What a half takes, in accounted bytes.
    #[must_use]
    pub fn half_bytes(&self) -> u64 {
        self.layout.half_bytes()
    }

    /// What the current half still takes, in accounted bytes.
    #[must_use]
    pub fn room(&self) -> u64 {
        self.layout.half_bytes() - self.accounted
    }

    /// From now on host records go to the other half: a consistency point begins, which covers all before.
    ///
    /// # Errors
    /// Where the other half was not released.
    pub fn switch_half(&mut self) -> Result<(), HalfInUse> {
        if self.other_half_in_use {
            return Err(HalfInUse);
        }
        self.other_half_in_use = true;
        self.accounted = 0;
        self.host.switch();
        Ok(())
    }

    /// The half before the last switch is needed no longer: a superblock is safe whose `log_start` is behind its records.
    pub fn release(&mut self) {
        self.other_half_in_use = false;
    }

    /// Appends a redo record of `writes`, none of which may be sent to its spindle before [`Durable::redo`] is as high
    /// as what this gives. A recovery applies the record until a superblock is safe that has a higher `redo_start`.
    ///
    /// # Panics
    /// Where the record has more blocks than 64 stripes of the spindles that the layout was made for.
    pub fn append_redo(&mut self, writes: &[RedoWrite<'_>]) -> RedoToken {
        RedoToken(self.redo.append(self.tag, writes))
    }

    /// All block writes of a redo record are done, or will never be: a flush now makes it safe.
    pub fn redo_written(&mut self, token: RedoToken) {
        self.redo.written(token.0);
    }

    /// The number of the first redo record whose block writes are not all done: the `redo_start` of a superblock that is
    /// written after a flush which begins now.
    #[must_use]
    pub fn redo_start(&self) -> u64 {
        self.redo.start()
    }

    /// Whether a flush of all spindles would release a half of the redo area, now that it is full. The flush is
    /// announced with [`flush_started`](Self::flush_started) before it is asked for, and
    /// [`flush_finished`](Self::flush_finished) says that all spindles have done it.
    #[must_use]
    pub fn wants_flush(&self) -> bool {
        self.redo.wants_flush()
    }

    /// A flush of all spindles begins, for whatever reason: what is written by now will be safe when it is done. While
    /// one is under way, another says nothing.
    pub fn flush_started(&mut self) {
        self.redo.flush_started();
    }

    /// The flush of [`flush_started`](Self::flush_started) is done.
    pub fn flush_finished(&mut self) {
        self.redo.flush_finished(self.tag);
    }

    /// How far the log is durable.
    #[must_use]
    pub fn durable(&self) -> Durable {
        Durable { host: self.host.durable(), redo: RedoToken(self.redo.stream.durable()) }
    }

    /// What the device is to do now: the next groups, where not too many are in flight.
    pub fn take_ios(&mut self, ios: &mut Vec<Io>) {
        if self.failed.is_some() {
            return;
        }
        for stream in [&mut self.host, &mut self.redo.stream] {
            stream.take_ios(self.device, &mut self.ids, ios);
        }
    }

    /// Something is done; gives how far the log is durable now.
    ///
    /// # Errors
    /// What failed. Nothing becomes durable after that.
    pub fn done(&mut self, done: IoCompletion) -> Result<Durable, IoError> {
        if let Err(error) = &done.result {
            self.failed.get_or_insert_with(|| error.clone());
        }
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let buffer = self.host.done(done.id, done.buffer);
        if let Some(buffer) = buffer {
            self.redo.stream.done(done.id, buffer);
        }
        Ok(self.durable())
    }
}
