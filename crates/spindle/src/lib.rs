//! One disk drive: its profile, its mechanics, its command queue.
//!
//! A disk's delays can be computed. Before it reads a sector, the arm moves to the sector's cylinder (a *seek*), and
//! the platter turns until the sector is under the head (the *rotational delay*). Position and time determine both to
//! microseconds. A drive with several commands can therefore choose the one that it reaches first, and completes half
//! as many again, or twice as many. These delays are the price of fragmentation.
//!
//! A [`Profile`] holds the measurements of a drive, each with its source. Thirteen ship with the crate: one measured
//! throughout, and twelve derived from data sheets; [`data_sheet`] makes one from the text of another data sheet, and
//! [`Profile::from_template`] from its numbers. A [`Drive`] is
//! the tables made from a profile, shared by all spindles of the kind. A [`SimulatedSpindle`] is one drive at work: it
//! queues commands, chooses by its [`Scheduler`], and tells when each completes. Time is in whole nanoseconds and
//! belongs to the caller.
//!
//! ```
//! use std::sync::Arc;
//! use strewn_spindle::{Command, Drive, Direction, Profile, Scheduler, SimulatedSpindle};
//!
//! let profile = Profile::shipped("seagate-cheetah-15k5-st3146855fc").ok_or("no such drive")?;
//! let drive = Arc::new(Drive::new(&profile)?);
//! let blocks = drive.capacity_sectors() / 8;
//!
//! // Eight 4 KiB reads are always outstanding: each completion submits another.
//! let reads_per_second = |scheduler| -> Result<u64, Box<dyn std::error::Error>> {
//!     let mut spindle = SimulatedSpindle::new(Arc::clone(&drive), scheduler, 8)?;
//!     let scattered = |number: u64| Command {
//!         lba: number.wrapping_mul(0x9e37_79b9_7f4a_7c15) % blocks * 8,
//!         sectors: 8,
//!         direction: Direction::Read,
//!     };
//!     for number in 0..8 {
//!         spindle.submit(0, scattered(number), number)?;
//!     }
//!     for number in 8.. {
//!         let now_ns = spindle.next_completion_ns();
//!         if now_ns >= 10_000_000_000 {
//!             break;
//!         }
//!         spindle.complete();
//!         spindle.submit(now_ns, scattered(number), number)?;
//!     }
//!     Ok(spindle.statistics().reads / 10)
//! };
//!
//! let in_order = reads_per_second(Scheduler::Fcfs)?;
//! let nearest_first = reads_per_second(Scheduler::Sptf)?;
//! assert!((160..190).contains(&in_order), "{in_order}");
//! assert!((240..280).contains(&nearest_first), "{nearest_first}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Every command goes to the platter, unless the spindle was made [with its cache](SimulatedSpindle::with_cache). The
//! model leaves out read errors, and anything that the drive does by itself when idle.

#![cfg_attr(test, allow(clippy::unwrap_used))]

/// The example of the README is one that compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod cache;
pub mod data_sheet;
pub mod fit;
mod geometry;
mod mechanics;
mod profile;
mod profile_template;
mod profile_validation;
mod provenance;
mod queue;
mod replay;
mod rotation;
mod scheduler;
mod simulated;
mod zone;

pub use geometry::{Location, Track};
pub use mechanics::{Command, CommandError, Drive, Positioning, Transfer};
pub use profile::{Cache, Overheads, Profile, ProfileError, ReadAhead};
pub use profile_template::{DriveFigures, ProfileTemplate, SeekFigures};
pub use provenance::{ProfileFault, Provenance, Provenances};
pub use queue::MAX_DEPTH;
pub use replay::{Arrival, Throughput, closed_loop, one_at_a_time, replay};
pub use rotation::{Angle, Rotation, TICKS_PER_REVOLUTION};
pub use scheduler::{ParseSchedulerError, Scheduler};
pub use simulated::{Completion, Replaced, SimulatedSpindle, SpindleError, Statistics};
pub use strewn_base::Direction;
pub use zone::Zone;
