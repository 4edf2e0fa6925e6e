//! Strewn studies how a write-anywhere (copy-on-write) layout fragments a LUN over the spindles of an array, and what
//! that costs compared with an array that updates in place.
//!
//! This crate is the facade: all of Strewn's crates under one name. An experiment loads a scenario, calls [`run`],
//! which runs its arrays in parallel, and looks at the results:
//!
//! ```
//! use strewn::{RunOptions, run, run_with_map};
//! use strewn::scenario::Scenario;
//!
//! let mut scenario = Scenario::load("scenarios/making-sense-of-wafl-4.toml")?;
//! scenario.segments = 2;
//! // 1/64 of full scale runs in seconds; leave `scale_down` out for the full run.
//! let results = run(&scenario, &RunOptions { scale_down: 64, ..RunOptions::default() }, &())?;
//!
//! let write_anywhere = &results.arrays[0];
//! assert!(write_anywhere.segments[1].iops < write_anywhere.segments[0].iops);
//! println!("{}", strewn::report::all_tables(&results));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`run_with_map`] also records where the file lies, [`calibrate()`] fits a scenario to published figures, and a
//! [`Load`] replaces the scenario's workload by one from Iometer, fio or a trace. [`characterization`] measures
//! single drives.
//!
//! Each part is a crate of its own, with a front page that teaches it:
//!
//! | crate | what it does |
//! |---|---|
//! | [`scenario`] | reads and checks experiments |
//! | [`workload`] | draws accesses |
//! | [`formats`] | reads and writes the files of Iometer and fio, and block traces |
//! | [`raid`] | locates blocks, and plans what a stripe update reads and writes |
//! | [`alloc`] | allocates blocks write-anywhere |
//! | [`volume`] | keeps files, snapshots and clones in an aggregate |
//! | [`array`](mod@array) | runs the controllers, as state machines without I/O |
//! | [`spindle`] | models one drive |
//! | [`transport`] | models links, and the protocols over them |
//! | [`sim`] | runs arrays in virtual time |
//! | [`results`] | holds results as data, and compares them |
//! | [`report`] | writes results as tables, charts and files |
//! | [`sweep`] | runs studies: many runs that differ by axes |
//! | `file` | looks at real files: where they lie, and what it costs |
//!
//! # Features
//!
//! - `command` (default): the `strewn` command and the `terminal` module for programs like it. A program that uses only
//!   the library turns it off. Needs `file`, `live` and `threads`.
//! - `file` (default): the `file` module, which looks at the files of a file system.
//! - `live` (default): the `live` module, which runs a workload on an array of real bytes, and `strewn-live`, the
//!   arrays themselves.
//! - `threads` (default): the arrays of a scenario run in parallel. Without it, one runs after another, with the same
//!   results.
//! - `png` (default): charts as PNG too (`--png`).
//! - `parquet` (default): the table of segments as Parquet (`--format parquet`), and the table of a sweep.

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod failure;
#[cfg(feature = "command")]
mod page_of_shipped;
#[cfg(feature = "command")]
mod shipped;
#[cfg(feature = "command")]
pub mod terminal;

pub use failure::Failure;
#[cfg(feature = "command")]
pub use page_of_shipped::page as playground_page;
#[cfg(feature = "command")]
pub use shipped::shipped_scenario;
#[cfg(feature = "command")]
pub mod studies;

pub use strewn_run::*;

pub use strewn_alloc as alloc;
pub use strewn_array as array;
#[cfg(feature = "file")]
pub use strewn_file as file;
pub use strewn_formats as formats;
pub use strewn_raid as raid;
pub use strewn_report as report;
pub use strewn_results as results;
pub use strewn_scenario as scenario;
pub use strewn_sim as sim;
pub use strewn_spindle as spindle;
pub use strewn_sweep as sweep;
pub use strewn_transport as transport;
pub use strewn_volume as volume;
pub use strewn_workload as workload;

#[cfg(test)]
mod tests {
    use super::array::in_place::InPlace;
    use super::array::write_anywhere::WriteAnywhere;
    use super::sim::Simulation;

    #[test]
    fn simulations_are_shared_between_threads() {
        fn shared<T: Send + Sync>() {}
        shared::<Simulation<WriteAnywhere<()>>>();
        shared::<Simulation<InPlace<()>>>();
    }
}

/// The examples of the README, compiled and run with the documentation's.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
