//! The files of Iometer, fio and block traces.
//!
//! Storage people have their workloads in the files of the tools that they use, and read results
//! with tools that know those files. This crate reads and writes them, and nothing else: it knows
//! no engine, and its types say what a file says, in bytes, nanoseconds and percent. What a
//! simulation cannot honour is in the types, by name, so that a caller can refuse it.
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
//! # Ok::<(), strewn_formats::FormatError>(())
//! ```
//!
//! # Bad files
//!
//! Every reader takes any bytes and gives an error, never a panic, with memory bounded by limits of
//! a line's and a file's length. A [`FormatError`] names the file, if the caller gave it a name,
//! with line and column, and says what to do:
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
//! # Ok::<(), strewn_formats::FormatError>(())
//! ```
//!
//! Text is UTF-8, with or without a byte order mark, with line ends of either kind; gzip is
//! recognised and read directly.

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod fio;
pub mod iometer;
mod text;
pub mod trace;

/// The example of the README is one that compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub use text::{ErrorKind, FilePosition, FormatError, WriteError};
