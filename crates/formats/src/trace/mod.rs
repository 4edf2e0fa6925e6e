//! Block traces: what a host asked of its disks, and when.
//!
//! A [`TraceReader`] gives one [`TraceRecord`] after another from any of six formats, plain or
//! gzip, and holds one line in memory, however long the trace is.
//!
//! ```
//! use strewn_formats::trace::{Direction, TraceFormat, TraceOptions, TraceReader};
//!
//! // Timestamp (100 ns), host, disk, type, offset, size, response time.
//! let msr = "\
//! 128166372003061629,web,0,Read,7014609920,24576,41286
//! 128166372016382155,web,0,Write,1317441536,8192,1963
//! ";
//! let options = TraceOptions { name: Some("web_0.csv".into()), ..TraceOptions::default() };
//! let mut reader = TraceReader::new(msr.as_bytes(), options)?;
//! assert_eq!(reader.format(), TraceFormat::Msr);
//!
//! let first = reader.next().ok_or("no record")??;
//! assert_eq!((first.arrival_ns, first.direction), (0, Direction::Read));
//! let second = reader.next().ok_or("one record")??;
//! assert_eq!((second.arrival_ns, second.offset_bytes), (1_332_052_600, 1_317_441_536));
//! assert!(reader.next().is_none());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | format | line | time | place and size |
//! |---|---|---|---|
//! | [`Msr`](TraceFormat::Msr) | `Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime` | Windows file time, 100 ns | bytes |
//! | [`Spc`](TraceFormat::Spc) | `ASU,LBA,Size,Opcode,Timestamp` and optional fields | seconds | LBA in blocks of 512 bytes, size in bytes |
//! | [`Blkparse`](TraceFormat::Blkparse) | blkparse's default output | seconds | sectors of 512 bytes |
//! | [`DiskSim`](TraceFormat::DiskSim) | `time device block blocks flags`; flags in hexadecimal, bit 0 set for a read | milliseconds | blocks of 512 bytes |
//! | [`FioIolog`](TraceFormat::FioIolog) | fio's iolog, version 2 or 3 | version 2 milliseconds, version 3 microseconds | bytes |
//! | [`Columns`](TraceFormat::Columns) | CSV whose first line names `id`, `arrival_ms`, `lba`, `sectors`, `rw` among others | milliseconds | sectors of 512 bytes |
//!
//! Sources: the README of the MSR Cambridge traces; the Storage Performance Council's trace file
//! format, revision 1.0.1; the manual page of blkparse 1.2.0; DiskSim's `iotrace_ascii_get_ioreq_event`;
//! for iologs see [`fio`](crate::fio).

mod blkparse;
mod columns;
mod detect;
mod disksim;
mod lun;
mod msr;
mod options;
mod reader;
mod spc;
mod writer;

use std::fmt;
pub use strewn_base::Direction;
use strewn_base::SECTOR_BYTES;

pub use lun::{Beyond, BeyondLun, Lun};
pub use options::{BlkparseAction, OutOfOrder, SpeedUp, SpeedUpError, TraceOptions};
pub use reader::{Skipped, TraceReader};
pub use writer::TraceWriter;

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
    /// Which device of the trace it is for: the disk of an MSR trace, the application storage unit
    /// of an SPC trace, the device of a DiskSim trace, the position of an iolog's file, and for
    /// blkparse the kernel's number, which is the major number times 2^20 plus the minor.
    pub device: u32,
    /// The first byte of the device.
    pub offset_bytes: u64,
    /// How many bytes, 1 or more.
    pub length_bytes: u64,
    /// Whether they are read or written.
    pub direction: Direction,
}

impl TraceRecord {
    /// The byte after the last. A reader refuses records for which it would pass 2^64.
    #[must_use]
    pub fn end_bytes(&self) -> u64 {
        self.offset_bytes.saturating_add(self.length_bytes)
    }
}

/// A format of traces. [The module](self) says what each looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TraceFormat {
    /// MSR Cambridge's CSV.
    Msr,
    /// The Storage Performance Council's format, in which UMass keeps its traces.
    Spc,
    /// The text that blkparse prints.
    Blkparse,
    /// DiskSim's ASCII format.
    DiskSim,
    /// fio's log of I/O.
    FioIolog,
    /// CSV with named columns.
    Columns,
}

impl TraceFormat {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Msr, Self::Spc, Self::Blkparse, Self::DiskSim, Self::FioIolog, Self::Columns];

    /// The name by which a user chooses it; [`FromStr`](std::str::FromStr) reads it.
    ///
    /// ```
    /// use strewn_formats::trace::TraceFormat;
    ///
    /// assert_eq!("disksim".parse(), Ok(TraceFormat::DiskSim));
    /// let error = "spcc".parse::<TraceFormat>().unwrap_err();
    /// assert_eq!(error.to_string(), "`spcc` is not a format of traces; did you mean `spc`?");
    /// ```
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Msr => "msr",
            Self::Spc => "spc",
            Self::Blkparse => "blkparse",
            Self::DiskSim => "disksim",
            Self::FioIolog => "fio-iolog",
            Self::Columns => "columns",
        }
    }
}

impl fmt::Display for TraceFormat {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

/// A word is not the name of a trace format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` is not a format of traces; {help}")]
pub struct UnknownTraceFormat {
    name: String,
    help: String,
}

impl std::str::FromStr for TraceFormat {
    type Err = UnknownTraceFormat;

    fn from_str(name: &str) -> Result<Self, UnknownTraceFormat> {
        let found = Self::ALL.into_iter().find(|format| format.name() == name);
        found.ok_or_else(|| {
            let names = Self::ALL.map(Self::name);
            let otherwise = format!("there are {}", names.join(", "));
            UnknownTraceFormat {
                help: crate::text::did_you_mean(name, names, &otherwise),
                name: name.to_owned(),
            }
        })
    }
}

/// What a line of a trace says, before times are counted from the first record.
#[derive(Clone, Copy, Debug)]
struct RawRecord {
    /// From whatever the format counts from.
    at_ns: u128,
    device: u32,
    offset_bytes: u64,
    length_bytes: u64,
    direction: Direction,
}

/// What a line comes to.
#[derive(Clone, Copy, Debug)]
enum Parsed {
    Record(RawRecord),
    /// Another event in the life of a request than the one that is counted.
    OtherAction,
    /// It reads and writes nothing: a flush, a discard, a request of no bytes.
    NoData,
    /// A heading or an empty line.
    Nothing,
    /// What follows is no longer the trace.
    End,
}
