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
//! use strewn_array::ProcessorCosts;
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
//!     processor: ProcessorCosts { host_operation_ns: 20_000, ..ProcessorCosts::default() },
//!     ..InPlaceConfig::new(
//!         vec![DiskGroupConfig::new(layout, 64)],
//!         vec![LunConfig::whole(file_sectors)],
//!         drive.capacity_sectors(),
//!         1 << 18,
//!     )
//! })?;
//! let spindles = Spindles::new(drive, Scheduler::Sptf, 16);
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
//! [`RemoteClients`] makes either clients of a gateway, which a cached host around them can be.
//!
//! # A host of your own
//!
//! Any other [`Host`] is run by [`Simulation::with_host`]. It decides where accesses go and what follows an answer. A
//! [`Recorder`] does the rest: it numbers operations, times them, and measures segments. This one is a database, each
//! of whose connections reads a block of the index, then the row, and then commits with a record in the log:
//!
//! ```
//! # use std::ops::ControlFlow;
//! # use std::sync::Arc;
//! # use strewn_array::in_place::{DiskGroupConfig, InPlace, InPlaceConfig, LunConfig};
//! # use strewn_array::ProcessorCosts;
//! # use strewn_raid::{VraidConfig, VraidLayout};
//! # use strewn_sim::{ResponseHistogram, Simulation, Spindles};
//! # use strewn_spindle::{Drive, Profile, Scheduler};
//! use strewn_array::{Direction, HostOperation, LunId, OperationId};
//! use strewn_sim::{Ended, Host, HostMeasures, Moved, Recorder};
//! use strewn_workload::Access;
//!
//! const INDEX: LunId = LunId(0);
//! const ROWS: LunId = LunId(1);
//! const LOG: LunId = LunId(2);
//! const LUN_SECTORS: u64 = 1 << 21; // 1 GiB
//!
//! struct Database {
//!     connections: u32,
//!     random: u64,
//!     log_sector: u64,
//!     commits: ResponseHistogram,
//!     recorder: Recorder,
//! }
//!
//! impl Database {
//!     fn read(&mut self, now_ns: u64, lun: LunId) -> HostOperation<()> {
//!         self.random = self.random.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
//!         let sector = (self.random >> 32) % (LUN_SECTORS / 16) * 16;
//!         self.recorder.issue(now_ns, lun, Access { sector, sectors: 16, direction: Direction::Read })
//!     }
//!
//!     fn write_log(&mut self, now_ns: u64) -> HostOperation<()> {
//!         let sector = self.log_sector;
//!         self.log_sector = (sector + 8) % LUN_SECTORS;
//!         self.recorder.issue(now_ns, LOG, Access { sector, sectors: 8, direction: Direction::Write })
//!     }
//!
//!     fn go_on(&mut self, now_ns: u64, ended: Ended) -> Option<HostOperation<()>> {
//!         Some(match ended.lun {
//!             INDEX => self.read(now_ns, ROWS),
//!             ROWS => self.write_log(now_ns),
//!             _ => {
//!                 self.commits.record(ended.response_ns);
//!                 self.read(now_ns, INDEX)
//!             }
//!         })
//!     }
//! }
//!
//! impl Host for Database {
//!     fn first(&mut self) -> Option<HostOperation<()>> {
//!         (self.recorder.outstanding() < self.connections).then(|| self.read(0, INDEX))
//!     }
//!
//!     fn answered(&mut self, now_ns: u64, id: OperationId) -> Option<HostOperation<()>> {
//!         let ended = self.recorder.answered(now_ns, id);
//!         self.go_on(now_ns, ended)
//!     }
//!
//!     fn refused(&mut self, now_ns: u64, id: OperationId) -> Option<HostOperation<()>> {
//!         let ended = self.recorder.refused(now_ns, id);
//!         self.go_on(now_ns, ended)
//!     }
//!
//!     fn issued(&self) -> Moved {
//!         self.recorder.issued()
//!     }
//!
//!     fn answered_in_segment(&self) -> u64 {
//!         self.recorder.answered_in_segment()
//!     }
//!
//!     fn end_segment(&mut self, _start_ns: u64, end_ns: u64) -> HostMeasures {
//!         self.recorder.end_segment(end_ns)
//!     }
//! }
//!
//! # let profile = Profile::shipped("seagate-cheetah-15k5-st3146855fc").ok_or("no such drive")?;
//! # let drive = Arc::new(Drive::new(&profile)?);
//! # let layout = VraidLayout::new(VraidConfig::for_spindles(8)?, drive.capacity_sectors() * 512)?;
//! # let array = InPlace::<()>::new(InPlaceConfig {
//! #     processor: ProcessorCosts { host_operation_ns: 20_000, ..ProcessorCosts::default() },
//! #     ..InPlaceConfig::new(
//! #         vec![DiskGroupConfig::new(layout, 64)],
//! #         vec![LunConfig::whole(LUN_SECTORS); 3],
//! #         drive.capacity_sectors(),
//! #         1 << 18,
//! #     )
//! # })?;
//! # let spindles = Spindles::new(drive, Scheduler::Sptf, 16);
//! let database = Database {
//!     connections: 64,
//!     random: 1,
//!     log_sector: 0,
//!     commits: ResponseHistogram::default(),
//!     recorder: Recorder::new(),
//! };
//! let mut simulation = Simulation::with_host(array, &spindles, database)?;
//! let ten_seconds = simulation.run_segment(10_000_000_000, &mut |_| ControlFlow::Continue(()))?;
//! assert!(ten_seconds.laws.hold());
//! assert_eq!(simulation.host().recorder.outstanding(), 64);
//! let commits = simulation.into_host().commits;
//! println!("{} commits, 99 % within {} ns", commits.count(), commits.quantile(0.99));
//! # assert!(ten_seconds.operations.abs_diff(3 * commits.count()) <= 3 * 64);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! An answer may be followed by several operations, or by one that is due later: [`Recorder::schedule`] takes these.
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
mod recorder;
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
pub use client_raid::{ClientRaid, ClientRaidConfig, ClientRaidMeasures, LostBlade};
pub use closed_loop::ClosedLoop;
pub use compiled_loop::CompiledLoop;
pub use component::{Component, ComponentProbe};
pub use driven_array::Spindles;
pub use host::{
    AccessesError, DirectionMeasures, Host, HostError, HostMeasures, Moved, WorkloadMeasures,
};
pub use machine::{
    ControllerId, ControllerSegment, HostId, Interconnect, LinkSegment, Machine, MachineMeasures,
    PairConfig, Port, PortId, Receiving, TimeIn,
};
pub use next_completions::NextCompletions;
pub use pace::Rate;
pub use page_cache::{PageCacheConfig, PageCacheMeasures, WakeUps, WriteBehind, WritePolicy};
pub use processor::{CoresSegment, ProcessorCores};
pub use recorder::{Ended, Recorder};
pub use remote_clients::{RemoteClients, RemoteClientsConfig, RemoteMeasures};
pub use request_groups::{AnsweredGroup, OnAnswer, RequestGroup, RequestGroups};
pub use response_histogram::ResponseHistogram;
pub use segment::{GroupSegment, Laws, Response, Segment, SpindleGroup};
pub use simulated::Simulated;
pub use simulation::{Progress, Simulation, SimulationError};
/// How [`Host::save_state`] and [`Accesses::save_state`] write state.
pub use strewn_base::state;
pub use watched::{Watch, Watched};
pub use workers::{Accesses, Destination, Outstanding, ThinkTime, TimedAccess, Worker, Workers};

/// The example of the README is compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;
