//! Arrays on simulated spindles in virtual time, measured segment by segment.
//!
//! A [`Simulation`] is one array, its spindles, and a host. Time is virtual: the simulation takes the next event,
//! advances the clock to it, and tells the array. Hours of array time take minutes, and the same seed repeats a run to
//! the byte.
//!
//! # A run and its segments
//!
//! A run is measured in [`Segment`]s, spans of virtual time. A segment reports what the host, the array, its processor
//! and its spindles did, and how far that is from two laws that any closed system obeys: Little's law and the
//! utilization law ([`Laws`]). Measurements that break a law are wrong, whatever they seem to show.
//!
//! ```
//! use std::ops::ControlFlow;
//! use std::sync::Arc;
//! use strewn_array::{Format, ProcessorCosts};
//! use strewn_array::in_place::{DiskGroupConfig, InPlace, InPlaceConfig, LunConfig};
//! use strewn_raid::{VraidConfig, VraidLayout};
//! use strewn_sim::{Simulation, Spindles};
//! use strewn_spindle::{Drive, Profile, Scheduler};
//! use strewn_workload::{AccessSpecification, AccessStream};
//!
//! let profile = Profile::shipped("seagate-cheetah-15k5-st3146855fc").ok_or("no such drive")?;
//! let drive = Arc::new(Drive::new(&profile)?);
//! let file_sectors = 1 << 24; // 8 GiB
//! let layout = VraidLayout::new(VraidConfig::for_spindles(8)?, drive.capacity_sectors() * 512)?;
//! let array = InPlace::<()>::new(InPlaceConfig {
//!     groups: vec![DiskGroupConfig::new(layout, 64)],
//!     luns: vec![LunConfig::whole(file_sectors)],
//!     spindle_sectors: drive.capacity_sectors(),
//!     write_cache_sectors: 1 << 18,
//!     destage_low_sectors: 1 << 14,
//!     format: Format::Modelled,
//!     log: None,
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
//!
//! # Hosts
//!
//! [`ClosedLoop`] keeps a constant number of operations outstanding and replaces each the moment it is answered.
//! [`Workers`] are the general host: each worker has its own accesses, depth, rate, pauses and end, or replays arrivals
//! by the clock. [`CachedHost`] puts a page cache under either, which writes through or behind. [`ClientRaid`] makes
//! either, or a cached host, clients that lay files out over the objects of several blades and compute parity.
//! [`RemoteClients`] makes either clients of a gateway, which a cached host around them can be. Any other [`Host`] can
//! be run by [`Simulation::with_host`].
//!
//! # Failures
//!
//! [`Simulation::fail_at`] fails a spindle at a chosen time. The commands that it had not completed return to the
//! array, which goes on degraded and rebuilds if it can. If failures exceed parity, the run ends with
//! [`SimulationError::DataLost`].
//!
//! # Snapshots
//!
//! [`Simulation::snapshot_every`] takes snapshots on schedule and deletes the oldest. [`Segment::snapshots`] is what
//! they hold at the end of a segment.

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod any_host;
mod cached_host;
mod client_raid;
mod closed_loop;
mod compiled_loop;
mod component;
mod driven_array;
mod driver;
mod host;
mod layered_host;
mod machine;
mod next_completions;
mod pace;
mod page_cache;
mod processor;
mod remote_clients;
mod request_groups;
mod response_histogram;
mod segment;
mod simulated;
mod simulation;
mod watched;
mod workers;

pub use any_host::AnyHost;
pub use cached_host::CachedHost;
pub use client_raid::{ClientRaid, ClientRaidMeasures, ClientRaidSettings, LostBlade};
pub use closed_loop::ClosedLoop;
pub use compiled_loop::CompiledLoop;
pub use component::{Component, ComponentProbe};
pub use driven_array::Spindles;
pub use host::{
    AccessesError, DirectionMeasures, Host, HostError, HostMeasures, Moved, WorkloadMeasures,
};
pub use machine::{
    ControllerId, ControllerSegment, HostId, Interconnect, LinkSegment, Machine, MachineMeasures,
    PairSettings, Port, PortId, Receiving, TimeIn,
};
pub use next_completions::NextCompletions;
pub use pace::Rate;
pub use page_cache::{PageCacheMeasures, PageCacheSettings, WakeUps, WriteBehind, WritePolicy};
pub use processor::{CoresSegment, ProcessorCores};
pub use remote_clients::{RemoteClients, RemoteClientsSettings, RemoteMeasures};
pub use request_groups::{AnsweredGroup, OnAnswer, RequestGroup, RequestGroups};
pub use response_histogram::ResponseHistogram;
pub use segment::{GroupSegment, Laws, Response, Segment, SpindleGroup};
pub use simulated::Simulated;
pub use simulation::{Progress, Simulation, SimulationError};
pub use watched::{Watch, Watched};
pub use workers::{Accesses, Destination, Outstanding, ThinkTime, TimedAccess, Worker, Workers};
