//! The arrays of `strewn-array` with real bytes: on files or block devices, crash-safe, served over NBD.
//!
//! A simulated array and a live one run the same controller, allocator, parity and log. This crate adds what real
//! spindles need: an on-disk format, checksums, a log that survives a power loss, restart, check and scrub. Age an
//! array with any program that can use a block device, then measure what became of its layout.
//!
//! # Layers
//!
//! | layer | modules | job |
//! |---|---|---|
//! | membership | [`assembly`], [`configuration`], [`format`](mod@format) | create, open, replace and destroy arrays; labels; the on-disk format |
//! | a running array | [`starting`], [`restart`], [`running`], [`serving`], [`nbd`] | restart from the newest superblock and the log; a thread of its own; network block devices |
//! | administration | [`administration`], [`control`], [`metrics`] | volumes, LUNs, snapshots and clones by name, changed while the array is served; the control socket; a page of metrics over HTTP |
//! | [`engine`] | | one controller, its store and its log: turns what the controller asks for into I/Os, in an order that survives a crash |
//! | [`store`], [`log`](mod@log) | | blocks with checksums on spindles; host records and redo records on the log device |
//! | [`device`] | | files and block devices by io_uring or threads, and simulated devices that lose power and fail |
//! | an array at rest | [`check`](mod@check), [`scrub`](mod@scrub), [`snapshots`], [`offline`] | verify everything on the devices; repair from redundancy; read a snapshot |
//!
//! Engine, store and log do no I/O and read no clock: each decides what its devices do, and is told the outcome. The
//! same engine therefore runs on files and on simulated devices, where one seed repeats a whole fault schedule.
//!
//! # What a live array guarantees
//!
//! 1. An acknowledged write survives a crash and a power loss.
//! 2. After either, an unacknowledged write is there in full or not at all, for each piece of up to 1 MiB.
//! 3. With as many spindles lost as its parity covers (two with RAID-DP, one otherwise), an array serves all its data,
//!    and rebuilds a replacement while it serves.
//! 4. Each block that is read is verified, so that corrupted, misdirected, torn and lost writes are detected and the
//!    block is recomputed from its stripe.
//! 5. If failures exceed what parity covers, the read fails or the array stops with the reason; it never returns wrong
//!    data.
//!
//! Data that only the log holds is as safe as the log's device, or as both if it is mirrored. `docs/live.md` in the
//! repository states the limits, and `docs/format.md` the format, byte by byte.
//!
//! # An array on files
//!
//! ```
//! use std::path::Path;
//! use std::sync::mpsc::channel;
//!
//! use strewn_live::assembly::{ArrayLocation, CreateOptions, OpenOptions, create, open};
//! use strewn_live::configuration::{ArraySpec, LayoutName};
//! use strewn_live::device::IoBackend;
//! use strewn_live::engine::{Answer, HostRequest, TargetId};
//! use strewn_live::starting::start;
//!
//! /// Opens the array in a directory, has one request answered, and shuts the array down.
//! fn run(directory: &Path, request: HostRequest) -> Result<Answer, Box<dyn std::error::Error>> {
//!     let devices = open(&ArrayLocation::Directory(directory.into()), OpenOptions::default())?;
//!     let array = start(devices, IoBackend::Auto)?.serve()?;
//!     let (sender, receiver) = channel();
//!     array.client().submit(TargetId::FIRST_LUN, request, Box::new(move |answer| drop(sender.send(answer))));
//!     let answer = receiver.recv()?;
//!     array.shut_down()?;
//!     Ok(answer?)
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let parent = tempfile::tempdir()?;
//! let directory = parent.path().join("array");
//! let spec = ArraySpec {
//!     layout: LayoutName::RaidDp,
//!     data_spindles: 3,
//!     spindle_bytes: 24 << 20,
//!     lun_bytes: 16 << 20,
//!     log_half_bytes: Some(1 << 20),
//!     cache_bytes: Some(4 << 20),
//! };
//! create(&CreateOptions::new(&directory, spec))?;
//!
//! // Sectors of 512 bytes. The answer comes when the data is safe.
//! let data = vec![7; 8 * 512];
//! let written = run(&directory, HostRequest::Write { first_sector: 100, data: data.clone() })?;
//! assert_eq!(written, Answer::Done);
//! assert_eq!(run(&directory, HostRequest::Read(100..108))?, Answer::Bytes(data));
//! # Ok(())
//! # }
//! ```

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod administration;
#[cfg(unix)]
pub mod assembly;
pub mod catalog;
pub mod check;
pub mod configuration;
#[cfg(unix)]
pub mod control;
mod cross_check;
pub mod data;
pub mod device;
pub mod engine;
pub mod format;
pub mod log;
#[cfg(unix)]
pub mod measured_array;
#[cfg(unix)]
pub mod metrics;
mod names;
pub mod nbd;
pub mod offline;
#[cfg(unix)]
mod private_socket;
pub mod restart;
pub mod running;
pub mod scrub;
pub mod serving;
pub mod snapshots;
#[cfg(unix)]
pub mod starting;
pub mod store;
mod stripe_compute;
mod stripe_read;
mod toml_text;
mod turns;

pub use configuration::Configuration;

/// The example of the README compiles.
#[cfg(all(doctest, unix))]
#[doc = include_str!("../README.md")]
struct Readme;
