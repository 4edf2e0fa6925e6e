//! Arrays and simulated spindles in virtual time, measured segment by segment.

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod host;
mod next_completions;
mod segment;
mod simulation;
mod world;

pub use segment::{Laws, Response, Segment, SpindleGroup};
pub use simulation::{Progress, Simulation, SimulationError, Spindles};
