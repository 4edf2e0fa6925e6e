//! Block traces: what a host requested from its disks, and when.
//!
//! A [`TraceReader`] returns one [`TraceRecord`] after another from any of ten formats, plain, gzip or zstd. It keeps
//! one line in memory, however long the trace is.
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
//! | [`Alibaba`](TraceFormat::Alibaba) | `device_id,opcode,offset,length,timestamp` | microseconds | bytes |
//! | [`Tencent`](TraceFormat::Tencent) | `Timestamp,Offset,Size,IOType,VolumeID` | whole seconds | sectors of 512 bytes |
//! | [`Vscsi`](TraceFormat::Vscsi) | binary, version 1 or 2, little endian | microseconds | blocks of 512 bytes, length in bytes |
//! | [`Blktrace`](TraceFormat::Blktrace) | binary, version 7, of either byte order | nanoseconds | sectors of 512 bytes, length in bytes |
//!
//! Sources: the README of the MSR Cambridge traces; the Storage Performance Council's trace file
//! format, revision 1.0.1; the manual page of blkparse 1.2.0; DiskSim's `iotrace_ascii_get_ioreq_event`;
//! for iologs see [`fio`](crate::fio); the READMEs of the Alibaba block traces (2020) and of the Tencent
//! traces in SNIA's IOTTA repository; libCacheSim's `vscsi.h` for the records, and VMware's
//! `vmkapi_scsi_trace.h` for their microseconds; the kernel's `blktrace_api.h`.

mod alibaba;
mod binary;
mod blkparse;
mod blktrace;
mod bytes;
mod columns;
mod detect;
mod disksim;
mod format;
mod lun;
mod msr;
mod options;
mod reader;
mod record;
mod responses;
mod spc;
mod spread;
mod tencent;
mod vscsi;
mod writer;

pub use format::{TraceFormat, UnknownTraceFormat};
pub use lun::{Beyond, BeyondLun, Lun};
pub use options::{BlkparseAction, OutOfOrder, SpeedUp, SpeedUpError, TraceOptions};
pub use reader::{Skipped, TraceReader};
pub use record::{TraceRecord, TraceResponse};
pub use strewn_base::Direction;
pub use writer::TraceWriter;
