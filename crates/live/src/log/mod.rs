//! The NVRAM log on a device: acknowledged writes that are not on the spindles yet, and writes that must be atomic.
//!
//! A [`Log`] does no I/O: it issues its devices' I/Os through [`Log::take_ios`], and learns their outcome through
//! [`Log::done`]. Host records and redo records are two streams, each with its own two halves on each device:
//!
//! - A host write or unmap is appended, and may be acknowledged once it is durable. When a consistency point begins,
//!   the stream switches to the other half ([`Log::switch_half`]); when its superblock is durable, the previous half
//!   is released ([`Log::release`]).
//! - A redo record must be durable before the first of its block writes is sent to a spindle. This stream switches by
//!   itself, and asks for a flush of all spindles ([`Log::wants_flush`]) to release a half.
//!
//! Records that are appended while others are being written go out together as the next group. Several groups of a
//! stream may be in flight, all of them in one half. A record counts as durable once it and all records before it
//! are, because recovery finds no record after a torn one.
//!
//! A mirrored log is on two devices, with the same bytes at the same places. A record is durable once it is on both. If
//! one of them fails, the other goes on alone as soon as the labels say so: see [`Log::failing`].
//!
//! [`read_log`] reads what the log holds after a crash: each record from any device that has it whole.

mod copies;
mod halves;
mod read_error;
mod recovery;
mod redo;
mod repair;
mod scan;
mod stream;

use strewn_array::{LogLedger, LogRecord, Logged};
use strewn_base::SECTOR_BYTES;

use crate::device::{DeviceIndex, Io, IoCompletion, IoError};
use crate::format::{ArrayTag, LogLayout, RecordKind, RedoWrite};

use copies::Copies;
pub use read_error::LogReadError;
pub use recovery::{HostRecord, RecoveredLog, RedoRecord, read_log};
use redo::RedoStream;
pub use repair::{LogDeviceFinding, LogRepair};
use stream::{Area, Stream};

/// The first numbers of new records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogStart {
    /// Host records.
    pub host: Numbering,
    /// Redo records.
    pub redo: Numbering,
}

/// The first number of a stream's new records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Numbering {
    /// The number of the next record.
    pub next: u64,
    /// The number of the record before it on the device; 0 if there is none.
    pub last: u64,
}

impl LogStart {
    /// A log that never had a record.
    pub const NEW: Self = Self { host: Numbering::NEW, redo: Numbering::NEW };
}

impl Numbering {
    const NEW: Self = Self { next: 1, last: 0 };
}

/// A redo record, identified by its number in its stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RedoToken(pub u64);

/// How much of the log is durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Durable {
    /// All host records up to this number are durable; 0 for none. Records from before a recovery count as durable.
    pub host: u64,
    /// All redo records up to this one are durable.
    pub redo: RedoToken,
}

/// The log of a running array.
#[derive(Debug)]
pub struct Log {
    copies: Copies,
    tag: ArrayTag,
    layout: LogLayout,
    host: Stream,
    redo: RedoStream,
    /// How full the halves are, in accounted bytes.
    ledger: LogLedger,
    replaying: bool,
    failed: Option<IoError>,
}

/// How full the half of the NVRAM log is that takes records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogFill {
    /// Bytes of records in it.
    pub filled_bytes: u64,
    /// Bytes of the half.
    pub half_bytes: u64,
}

impl Log {
    /// Returns a log on `devices`, of which there are one or two. Both halves count as free: a durable superblock must
    /// cover what [`read_log`] recovered before anything is appended.
    #[must_use]
    pub fn new(devices: &[DeviceIndex], layout: LogLayout, tag: ArrayTag, start: LogStart) -> Self {
        let host = layout.halves().map(|offset| Area { offset, bytes: layout.half_bytes() });
        let redo_bytes = layout.redo_half_blocks * crate::device::BLOCK_BYTES as u64;
        let redo = layout.redo_halves().map(|offset| Area { offset, bytes: redo_bytes });
        Self {
            copies: Copies::new(devices),
            tag,
            layout,
            host: Stream::new(host, start.host),
            redo: RedoStream::new(redo, start.redo),
            ledger: LogLedger::new(layout.size()),
            replaying: false,
            failed: None,
        }
    }

    /// Returns the number of the next host record: the `log_start` of a consistency point that begins now.
    #[must_use]
    pub fn next_sequence(&self) -> u64 {
        self.host.next_sequence()
    }

    /// Returns the number of the last host record, durable or not; 0 if there never was one.
    #[must_use]
    pub fn last_sequence(&self) -> u64 {
        self.host.last_sequence()
    }

    /// Returns why the log has failed, if it has. A failed log accepts records, but none becomes durable.
    #[must_use]
    pub fn failed(&self) -> Option<&IoError> {
        self.failed.as_ref()
    }

    /// Appends a host record with the data of a write. Once it is in the log, its number is
    /// [`last_sequence`](Self::last_sequence), and it may be acknowledged when [`Durable::host`] reaches that. Capacity
    /// is counted by the rule of [`LogLayout::accounted_bytes`].
    ///
    /// # Panics
    /// If `data` is not as long as the record says.
    pub fn append(&mut self, record: LogRecord, file: u32, data: &[u8]) -> Logged {
        let logged = self.ledger.append(&record);
        if logged != Logged::Done || self.replaying {
            return logged;
        }
        let kind = match record {
            LogRecord::Write { lun: _, first_sector, sectors } => {
                let bytes = u64::from(sectors) * SECTOR_BYTES;
                assert_eq!(data.len() as u64, bytes, "a record has all the data of its write");
                RecordKind::Write { file, first_sector, sectors }
            }
            LogRecord::Unmap { lun: _, first_sector, sectors } => {
                assert!(data.is_empty(), "an unmap has no data");
                RecordKind::Unmap { file, first_sector, sectors }
            }
        };
        self.host.append(self.tag, kind, data);
        Logged::Done
    }

    /// Starts or ends the replay of what [`read_log`] recovered. Meanwhile records are counted and not kept, since they
    /// are in the log. What was replayed must be safe before a replay ends.
    pub fn set_replaying(&mut self, replaying: bool) {
        self.replaying = replaying;
        self.ledger = LogLedger::new(self.layout.size());
    }

    /// Returns whether the log is being replayed.
    #[must_use]
    pub fn is_replaying(&self) -> bool {
        self.replaying
    }

    /// Returns the room left in the current half, in accounted bytes.
    #[must_use]
    pub fn room(&self) -> u64 {
        self.ledger.room_bytes()
    }

    /// Returns how full the current half is, in accounted bytes.
    #[must_use]
    pub fn fill(&self) -> LogFill {
        let half_bytes = self.layout.size().half_bytes;
        let filled_bytes = half_bytes.saturating_sub(self.ledger.room_bytes());
        LogFill { filled_bytes, half_bytes }
    }

    /// Switches to the other half, because a consistency point begins that covers everything before it.
    ///
    /// # Panics
    /// If the other half was not released.
    pub fn switch_half(&mut self) {
        self.ledger.switch();
        if !self.replaying {
            self.host.switch();
        }
    }

    /// Releases the previous half: a superblock is durable whose `log_start` is after its records.
    ///
    /// # Panics
    /// If it was released before.
    pub fn release(&mut self) {
        self.ledger.release();
    }

    /// Appends a redo record of `writes`. None of them may be sent to its spindle before [`Durable::redo`] reaches
    /// the returned token. A recovery applies the record unless a durable superblock has a higher `redo_start`.
    ///
    /// # Panics
    /// If the record has more blocks than 64 stripes of the spindles that the layout was made for.
    pub fn append_redo(&mut self, writes: &[RedoWrite<'_>]) -> RedoToken {
        RedoToken(self.redo.append(self.tag, writes))
    }

    /// Notes that all block writes of a redo record are complete, or will never be: a flush now makes them durable.
    pub fn redo_written(&mut self, token: RedoToken) {
        self.redo.written(token.0);
    }

    /// Returns the number of the first redo record with incomplete block writes: the `redo_start` of a superblock
    /// that is written after a flush that begins now.
    #[must_use]
    pub fn redo_start(&self) -> u64 {
        self.redo.start()
    }

    /// Returns whether a flush of all spindles would release a full half of the redo log. Announce the flush with
    /// [`flush_started`](Self::flush_started) before sending it, and its completion on all spindles with
    /// [`flush_finished`](Self::flush_finished).
    #[must_use]
    pub fn wants_flush(&self) -> bool {
        self.redo.wants_flush()
    }

    /// Notes that a flush of all spindles begins, for whatever reason: everything written by now is durable once it
    /// is complete. A second flush while one is in progress is ignored.
    pub fn flush_started(&mut self) {
        self.redo.flush_started();
    }

    /// Notes that the flush of [`flush_started`](Self::flush_started) is complete.
    pub fn flush_finished(&mut self) {
        self.redo.flush_finished(self.tag);
    }

    /// Returns how much of the log is durable.
    #[must_use]
    pub fn durable(&self) -> Durable {
        Durable { host: self.host.durable(), redo: RedoToken(self.redo.stream.durable()) }
    }

    /// Appends the next groups to `ios`, unless too many are in flight.
    pub fn take_ios(&mut self, ios: &mut Vec<Io>) {
        if self.failed.is_some() {
            return;
        }
        for stream in [&mut self.host, &mut self.redo.stream] {
            stream.take_ios(&mut self.copies, ios);
        }
    }

    /// Handles the completion of an I/O. Returns how much of the log is durable now.
    ///
    /// # Errors
    /// The error of the failed I/O, if no other device has the log. Nothing becomes durable after that.
    pub fn done(&mut self, done: IoCompletion) -> Result<Durable, IoError> {
        if let Err(error) = &done.result
            && !self.fail(done.device)
        {
            self.failed.get_or_insert_with(|| error.clone());
        }
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let (group, copy) = Copies::of_io(done.id);
        let is_durable = done.result.is_ok();
        let buffer = self.host.done(group, copy, is_durable, done.buffer);
        if let Some(buffer) = buffer {
            self.redo.stream.done(group, copy, is_durable, buffer);
        }
        Ok(self.durable())
    }

    /// Notes that one of the devices has failed, and sends it nothing more; returns false if no other one works.
    pub fn fail(&mut self, device: DeviceIndex) -> bool {
        self.copies.fail(device)
    }

    /// Returns a device that has failed, until [`failure_recorded`](Self::failure_recorded). Until then, nothing that
    /// it lacks counts as durable: after a power loss its label would pass it for whole.
    #[must_use]
    pub fn failing(&self) -> Option<DeviceIndex> {
        self.copies.failing()
    }

    /// Notes that the labels say durably that the [`failing`](Self::failing) device has failed. Returns how much of the
    /// log is durable without it.
    pub fn failure_recorded(&mut self) -> Durable {
        if let Some(copy) = self.copies.failure_recorded() {
            self.host.go_on_without(copy);
            self.redo.stream.go_on_without(copy);
        }
        self.durable()
    }
}
