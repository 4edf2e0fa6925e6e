//! Block traces: what a host requested from its disks, and when.
//!
//! A [`TraceReader`] returns one [`TraceRecord`] after another from any of six formats, plain or gzip. It keeps one
//! line in memory, however long the trace is.
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
mod format;
mod lun;
mod msr;
mod options;
mod reader;
mod record;
mod spc;
mod writer;

pub use format::{TraceFormat, UnknownTraceFormat};
pub use lun::{Beyond, BeyondLun, Lun};
pub use options::{BlkparseAction, OutOfOrder, SpeedUp, SpeedUpError, TraceOptions};
pub use reader::{Skipped, TraceReader};
pub use record::TraceRecord;
pub use strewn_base::Direction;
pub use writer::TraceWriter;
