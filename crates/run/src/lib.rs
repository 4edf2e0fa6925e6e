//! Runs the experiments of Strewn: builds the arrays of a scenario, runs them in parallel, in virtual time or on real
//! spindles, and returns results.
//!
//! ```
//! use strewn_run::{RunOptions, run};
//! use strewn_scenario::Scenario;
//!
//! let mut scenario = Scenario::default();
//! scenario.segments = 2;
//! // 1/64 of full scale runs in seconds; leave `scale_down` out for the full run.
//! let results = run(&scenario, &RunOptions { scale_down: 64, ..RunOptions::default() }, &())?;
//!
//! let write_anywhere = &results.arrays[0];
//! assert!(write_anywhere.segments[1].iops < write_anywhere.segments[0].iops);
//! println!("{}", results.to_json_string()?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! - [`run_with_map`] also records where the file lies; [`simulate`] hands over the simulation itself.
//! - [`RunInParts`] runs each array on its own, wherever that may be, and puts what they did together.
//! - [`calibrate()`] fits a scenario to published figures.
//! - A [`Load`] replaces the scenario's workload by one from Iometer, fio or a trace.
//! - [`characterization`] measures single drives.
//! - The `live` module runs a workload on an array of real bytes, and measures it with the same instruments.
//!
//! The `strewn` crate has all of this beside the crates it is made of.
//!
//! # Features
//!
//! - `clock` (default): how long a run took (`wall_seconds`, which is 0 without it), and what a run costs. A browser
//!   has no clock that the standard library knows of.
//! - `live` (default): the `live` module, and with it `strewn-live`.
//! - `threads` (default): the arrays of a scenario run in parallel. Without it, one runs after another, with the same
//!   results.

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod array_run;
mod calibrate;
mod calibrate_rows;
mod causes;
pub mod characterization;
mod client_raid;
#[cfg(feature = "clock")]
mod cost;
mod export;
mod gateway;
mod hosts;
mod layout_map;
#[cfg(all(unix, feature = "live"))]
pub mod live;
mod load;
mod lun_requests;
mod machine_events;
mod memory;
mod observer;
mod parallel;
mod parts;
mod published_names;
mod record;
mod refit;
mod replace_file;
mod replicates;
mod results;
mod run;
mod run_error;
mod save_error;
mod saved_run;
mod scale_limits;
mod sensitivity;
mod sensitivity_file;
mod wall_clock;

pub use array_run::ArrayRun;
pub use calibrate::{CalibrateError, Calibration, FittedParameter, FittedSegment, calibrate};
pub use calibrate_rows::{CalibrateRowsError, RowCalibration, calibrate_rows};
pub use causes::with_causes;
#[cfg(feature = "clock")]
pub use cost::{measure_cost, wall_for};
pub use export::{fio_output, iometer_results};
pub use load::{
    Load, LoadError, LoadStream, TraceLoop, TraceOptions, TraceView, TraceVolumes,
    TraceVolumesError, trace_figures,
};
pub use lun_requests::{LunFigures, laid_out_lun_bytes, run_lun_requests};
pub use memory::{NotEnoughMemory, available_bytes, needed_bytes, needed_bytes_of};
pub use observer::Observer;
pub use parallel::{ThreadsError, over_threads, threads};
pub use parts::RunInParts;
pub use published_names::PublishedNameError;
pub use record::{IologError, iolog_of_array};
pub use refit::{NoFit, Prediction, Refit, RefitError, RefitOptions, Variation, refit};
pub use replace_file::Replacement;
pub use replicates::MOST_REPLICATES;
pub use run::{QUICK_SCALE_DOWN, RunOptions, published, run, run_with_map, simulate};
pub use run_error::{RunError, Unwritten};
pub use save_error::SaveError;
pub use saved_run::SavedRun;
pub use sensitivity::sensitivity;
pub use sensitivity_file::sensitivity_path;
pub use strewn_scenario::build::BuildError;
