//! Strewn studies how a write-anywhere (copy-on-write) layout scatters a LUN's blocks over the spindles of an array,
//! and what that costs beside an array that updates in place.
//!
//! This crate is the facade: it turns a scenario into arrays, runs them in parallel, and gives results. An experiment
//! is a scenario, [`run`], and what one wants to see:
//!
//! ```
//! use strewn::{RunOptions, run, run_with_map};
//! use strewn::scenario::Scenario;
//!
//! let mut scenario = Scenario::load("scenarios/making-sense-of-wafl-4.toml")?;
//! scenario.segments = 2;
//! // A sixty-fourth of full scale, to be quick; leave it out for the real thing.
//! let results = run(&scenario, &RunOptions { scale_down: 64, ..RunOptions::default() }, &())?;
//!
//! let write_anywhere = &results.arrays[0];
//! assert!(write_anywhere.segments[1].iops < write_anywhere.segments[0].iops);
//! println!("{}", strewn::report::all_tables(&results));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The parts stand alone, each with a front page that teaches it: [`alloc`] is the write-anywhere allocator, [`raid`]
//! says where a block lies and what a stripe update needs, [`spindle`] is one drive, [`workload`] draws accesses,
//! [`formats`] reads and writes the files of Iometer, fio and traces, which a [`Load`] runs in place of a scenario's
//! workload, [`array`](mod@array) has the controllers as state machines, [`sim`] runs them in virtual time, [`scenario`] reads
//! experiments, [`report`] writes results.

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod array_run;
mod build;
mod calibrate;
mod cost;
mod export;
mod layout_map;
#[cfg(unix)]
pub mod live;
mod load;
mod memory;
mod record;
mod results;
mod run;
pub mod study;
#[cfg(feature = "command")]
pub mod terminal;

pub use build::BuildError;
pub use calibrate::{CalibrateError, Calibration, FittedParameter, FittedSegment, calibrate};
pub use cost::measure_cost;
pub use export::{fio_output, iometer_results};
pub use layout_map::Mapped;
pub use load::{Load, LoadError, TraceLoop, TraceOptions};
pub use memory::{NotEnoughMemory, needed_bytes};
pub use record::{RecordError, iolog_of_array};
pub use run::{Observer, RunError, RunOptions, WithSimulation, run, run_with_map, simulate};

pub use strewn_alloc as alloc;
pub use strewn_array as array;
pub use strewn_formats as formats;
pub use strewn_raid as raid;
pub use strewn_report as report;
pub use strewn_scenario as scenario;
pub use strewn_sim as sim;
pub use strewn_spindle as spindle;
pub use strewn_workload as workload;

/// The examples of the README, compiled and run with the documentation's.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
