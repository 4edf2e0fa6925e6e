//! Access specifications, and the stream of accesses drawn from them.
//!
//! An [`AccessSpecification`] states what a host asks of a LUN, in Iometer's terms: the sizes of its
//! accesses, the percentage that reads, the percentage that is random, and the alignment. An
//! [`AccessStream`] draws accesses from it as Iometer does, over a region of a LUN. The stream is
//! endless and repeatable: the same specification, region and seed give the same accesses on every
//! machine.
//!
//! The crate knows nothing of time. The host decides when to issue the next access and how many are
//! outstanding. A [`Pattern`] adds what Iometer and fio have beyond that: bursts and the delays
//! between them, an alignment per line, hot spots. Its [`PatternStream`] states the delay before an
//! access, and the host waits.
//!
//! ```
//! use strewn_workload::{AccessSpecification, AccessStream, Direction};
//!
//! // Intel's File Server pattern: 11.08 KiB in the mean, 80 % read, all of it random.
//! let file_server = AccessSpecification::shipped("file-server").ok_or("not shipped")?;
//! assert_eq!(file_server.mean_bytes(), 11_345.92);
//!
//! // Over a file of 100 GiB at the start of a LUN, with seed 1.
//! let file_sectors = 100 * (1 << 30) / 512;
//! let mut stream = AccessStream::new(&file_server, 0, file_sectors, 1)?;
//!
//! let mut reads = 0;
//! for _ in 0..10_000 {
//!     let access = stream.next_access();
//!     assert!(access.sector + u64::from(access.sectors) <= file_sectors);
//!     reads += u32::from(access.direction == Direction::Read);
//! }
//! assert!((7_800..8_200).contains(&reads));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Your own specification is a list of [`AccessLine`]s:
//!
//! ```
//! use strewn_workload::{AccessLine, AccessSpecification};
//!
//! let line = |bytes, percent_of_accesses| AccessLine {
//!     bytes,
//!     percent_of_accesses,
//!     read_percent: 67,
//!     random_percent: 100,
//! };
//! let error = AccessSpecification::new("half", vec![line(4096, 30), line(8192, 20)], 4096)
//!     .unwrap_err();
//! assert_eq!(
//!     error.to_string(),
//!     "the lines of access specification \"half\" take 50 % of accesses; they must take 100 %"
//! );
//! ```

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod distribution;
mod error;
mod gaps;
mod pattern;
mod pattern_stream;
mod random_map;
mod sectors;
mod shipped;
mod specification;
mod stream;

pub use distribution::{Distribution, ZoneShare};
pub use error::WorkloadError;
pub use gaps::ExponentialGaps;
pub use pattern::{Pattern, PatternLine, Sequence};
pub use pattern_stream::{PacedAccess, PatternStream};
pub use shipped::shipped_names;
pub use specification::{AccessLine, AccessSpecification};
pub use stream::{Access, AccessStream};
pub use strewn_base::Direction;

/// The example of the README is compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;
