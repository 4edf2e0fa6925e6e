//! One disk drive: its profile, its mechanics, its command queue.
//!
//! A disk is slow in a way that can be worked out. Before a sector can be read the arm has to
//! swing to its cylinder (a *seek*), and the platter has to turn until the sector is under the
//! head (the *rotational delay*). Both are known to microseconds from where the head is and what
//! time it is, so a drive that holds several commands can choose the one it will reach first, and
//! does twice the work. How much a fragmented file costs is decided here.
//!
//! A [`Profile`] is what somebody measured about a drive; six ship with the crate, of
//! which one was measured throughout and five are outlines of data sheets. Each number of a
//! profile says where it comes from. A [`Drive`] is
//! the tables made from it, shared by all spindles of the kind. A [`SimulatedSpindle`] is one
//! drive at work: it holds commands, chooses by its [`Scheduler`], and says when each is done.
//! Time is in whole nanoseconds and belongs to the caller.
//!
//! ```
//! use std::sync::Arc;
//! use strewn_spindle::{Command, Drive, Direction, Profile, Scheduler, SimulatedSpindle};
//!
//! let profile = Profile::shipped("seagate-cheetah-15k5-st3146855fc").ok_or("no such drive")?;
//! let drive = Arc::new(Drive::new(&profile)?);
//! let blocks = drive.capacity_sectors() / 8;
//!
//! // Eight 4 KiB reads are always outstanding: each completion makes room for another.
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
//! Each command goes to the platter unless the spindle was made
//! [with its cache](SimulatedSpindle::with_cache). Left out on purpose: read errors, and what the
//! drive does for itself when idle.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod cache;
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
pub use profile_template::{ProfileTemplate, SeekFigures};
pub use provenance::{Provenance, Provenances};
pub use queue::MAX_DEPTH;
pub use replay::{Arrival, Throughput, closed_loop, one_at_a_time, replay};
pub use rotation::{Angle, Rotation, TICKS_PER_REVOLUTION};
pub use scheduler::{ParseSchedulerError, Scheduler};
pub use simulated::{Completion, Replaced, SimulatedSpindle, SpindleError, Statistics};
pub use strewn_base::Direction;
pub use zone::Zone;
