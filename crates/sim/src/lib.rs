//! Arrays and simulated spindles in virtual time, measured segment by segment.
//!
//! A [`Simulation`] is one array, the spindles it works on, and a host. The plain host is a [`ClosedLoop`], which keeps
//! a constant number of operations outstanding; [`Workers`] have accesses, depths, paces and ends of their own, or replay
//! arrivals by the clock. Time is virtual: what would take hours takes a minute, and the same seed gives the same run. A
//! [`Segment`] is a span of it, measured; its [`Laws`] say whether the measurements can be true.
//!
//! ```
//! use std::ops::ControlFlow;
//! use std::sync::Arc;
//! use strewn_array::ProcessorCosts;
//! use strewn_array::in_place::{InPlace, InPlaceConfig};
//! use strewn_raid::{VraidConfig, VraidLayout};
//! use strewn_sim::{Simulation, Spindles};
//! use strewn_spindle::{Drive, Profile, Scheduler};
//! use strewn_workload::{AccessSpecification, AccessStream};
//!
//! let profile = Profile::shipped("seagate-cheetah-15k5-st3146855fc").ok_or("no such drive")?;
//! let drive = Arc::new(Drive::new(&profile)?);
//! let file_sectors = 1 << 24; // 8 GiB
//! let array = InPlace::<()>::new(InPlaceConfig {
//!     layout: VraidLayout::new(VraidConfig::for_spindles(8)?, drive.capacity_sectors() * 512)?.into(),
//!     lun_sectors: file_sectors,
//!     file_sectors,
//!     spindle_sectors: drive.capacity_sectors(),
//!     write_cache_sectors: 1 << 18,
//!     destage_low_sectors: 1 << 14,
//!     destages_in_flight: 64,
//!     processor: ProcessorCosts { host_operation_ns: 20_000, ..ProcessorCosts::default() },
//! })?;
//! let spindles =
//!     Spindles { drive, scheduler: Scheduler::Sptf, commands_per_spindle: 16, stretch: 1 };
//! let specification = AccessSpecification::shipped("file-server").ok_or("no such accesses")?;
//! let accesses = AccessStream::new(&specification, 0, file_sectors, 1)?;
//!
//! let mut simulation = Simulation::new(array, &spindles, accesses, 64)?;
//! let ten_seconds = simulation.run_segment(10_000_000_000, &mut |_| ControlFlow::Continue(()))?;
//! assert!(ten_seconds.laws.hold());
//! println!("{} operations answered", ten_seconds.operations);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod closed_loop;
mod component;
mod driver;
mod host;
mod next_completions;
mod pace;
mod segment;
mod simulation;
mod watched;
mod workers;

pub use closed_loop::ClosedLoop;
pub use component::{Component, ComponentProbe};
pub use host::{AccessesError, DirectionMeasures, Host, HostMeasures, Moved};
pub use next_completions::NextCompletions;
pub use pace::Rate;
pub use segment::{Laws, Response, Segment, SpindleGroup};
pub use simulation::{Progress, Simulation, SimulationError, Spindles};
pub use watched::{Watch, Watched};
pub use workers::{Accesses, Outstanding, ThinkTime, TimedAccess, Worker, Workers};
