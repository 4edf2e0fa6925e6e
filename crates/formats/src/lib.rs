//! The files of Iometer, fio and block traces.
//!
//! Storage engineers keep their workloads in the files of the tools they use, and read results with tools that know
//! those files. This crate reads and writes those files, and nothing else. Its types hold a file's contents in bytes,
//! nanoseconds and percent. Settings that a simulation may not honour have names in the types, so that a caller can
//! refuse them.
//!
//! | module | files |
//! |---|---|
//! | [`iometer`] | configurations (`.icf`), results (`results.csv`) |
//! | [`fio`] | job files, results as JSON, logs of I/O |
//! | [`trace`] | MSR Cambridge, SPC, blkparse, DiskSim, fio's logs, CSV with named columns |
//!
//! A trace is read record by record, with one line in memory:
//!
//! ```
//! use strewn_formats::trace::{TraceOptions, TraceReader};
//!
//! let trace = "13.191135 30 0 5 1\n14.5 30 8 5 0\n";
//! let mut bytes = 0;
//! for record in TraceReader::new(trace.as_bytes(), TraceOptions::default())? {
//!     bytes += record?.length_bytes;
//! }
//! assert_eq!(bytes, 5120);
//! # Ok::<(), strewn_formats::FileFormatError>(())
//! ```
//!
//! # Bad files
//!
//! Every reader accepts any bytes and returns an error, never a panic. Limits on the length of a line and of a file
//! bound its memory. A [`FileFormatError`] names the file (if the caller gave it a name), line and column, and suggests
//! a remedy:
//!
//! ```
//! use strewn_formats::trace::{TraceOptions, TraceReader};
//!
//! let trace = "0,303567,3584,w,0.000000\n0,303567,4K,r,0.1\n";
//! let options = TraceOptions { name: Some("oltp.spc".into()), ..TraceOptions::default() };
//! let error = TraceReader::new(trace.as_bytes(), options)?.find_map(Result::err);
//! assert_eq!(
//!     error.map(|error| error.to_string()).as_deref(),
//!     Some("oltp.spc:2:10: Size: `4K` is not a whole number; write bytes, such as 4096")
//! );
//! # Ok::<(), strewn_formats::FileFormatError>(())
//! ```
//!
//! Text is UTF-8, with or without a byte order mark, with line ends of either kind. Readers recognise gzip and
//! decompress it.

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod fio;
pub mod iometer;
mod text;
pub mod trace;

/// The example of the README, compiled with the documentation's.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub use text::{ErrorKind, FileFormatError, FilePosition, GzipReader, WriteError};
