//! Strewn studies how a write-anywhere (copy-on-write) layout scatters a LUN's blocks over the spindles of an array,
//! and what that costs beside an array that updates in place.

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod build;
mod calibrate;
mod memory;
mod results;
mod run;

pub use build::BuildError;
pub use calibrate::{CalibrateError, Calibration, FittedParameter, FittedSegment, calibrate};
pub use memory::{NotEnoughMemory, needed_bytes};
pub use run::{Observer, RunError, RunOptions, run};

pub use strewn_alloc as alloc;
pub use strewn_array as array;
pub use strewn_raid as raid;
pub use strewn_report as report;
pub use strewn_scenario as scenario;
pub use strewn_sim as sim;
pub use strewn_spindle as spindle;
pub use strewn_workload as workload;
