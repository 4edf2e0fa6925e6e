//! The requests of a trace.

use strewn_base::Direction;

/// A request of a trace.
///
/// ```
/// use strewn_formats::trace::{Direction, TraceRecord};
///
/// let record = TraceRecord {
///     arrival_ns: 1_500_000,
///     device: 0,
///     offset_bytes: 4096,
///     length_bytes: 8192,
///     direction: Direction::Write,
/// };
/// assert_eq!(record.end_bytes(), 12_288);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TraceRecord {
    /// When it arrives, in nanoseconds after the first record of the trace.
    pub arrival_ns: u64,
    /// The device of the trace: the disk of an MSR trace, the application storage unit of an SPC
    /// trace, the device of a DiskSim trace, the virtual disk of an Alibaba or Tencent trace, the
    /// position of an iolog's file, and for blktrace and blkparse the kernel's number, which is the
    /// major number times 2^20 plus the minor. 0 in formats without devices.
    pub device: u32,
    /// The first byte on the device.
    pub offset_bytes: u64,
    /// Number of bytes, at least 1 and at most 2^32.
    pub length_bytes: u64,
    /// Whether they are read or written.
    pub direction: Direction,
}

impl TraceRecord {
    /// Returns the byte after the last. A reader refuses records for which it would pass 2^64.
    #[must_use]
    pub fn end_bytes(&self) -> u64 {
        self.offset_bytes.saturating_add(self.length_bytes)
    }
}

/// How long a request took when the trace was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TraceResponse {
    /// When the request arrived, as in [`TraceRecord::arrival_ns`].
    pub arrival_ns: u64,
    /// Its device, as in [`TraceRecord::device`].
    pub device: u32,
    /// Whether bytes were read or written.
    pub direction: Direction,
    /// The recorded time from its arrival to its completion, in nanoseconds, whatever the speed of the replay.
    pub response_ns: u64,
}

/// A request as its line gives it, before times are counted from the first record.
#[derive(Clone, Copy, Debug)]
pub(super) struct RawRecord {
    /// Counted from the origin of the format's times.
    pub(super) at_ns: u128,
    pub(super) device: u32,
    pub(super) offset_bytes: u64,
    pub(super) length_bytes: u64,
    pub(super) direction: Direction,
    /// How long it took, if its line has it.
    pub(super) response_ns: Option<u64>,
}

/// A parsed line.
#[derive(Clone, Copy, Debug)]
pub(super) enum Parsed {
    Record(RawRecord),
    /// A request that was counted is completed.
    Completion(RawRecord),
    /// An event of a request other than the one that is counted.
    OtherAction,
    /// A discard.
    Trim,
    /// Another request without data: a flush, a command of another kind.
    NoData,
    /// A heading or an empty line.
    Nothing,
    /// The end of the trace; a summary follows.
    End,
}
