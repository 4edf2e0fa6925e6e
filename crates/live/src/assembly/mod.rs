//! Which devices are an array: made, found again, and given up.
//!
//! `create` makes files or takes devices and labels them; [`open`] finds an array's devices by their labels, says all
//! that is wrong with them at once, and starts only with what is whole, or what redundancy makes good; `look` says the
//! same without a lock. Nothing is written to a device that an array does not start with.

mod assembled;
mod device_label;
mod diagnosis;
mod open;
mod place;
mod problem;
mod seen;

pub use assembled::{Assembled, OpenOptions};
pub use open::open;
pub use place::{ARRAY_FILE, Place, PlaceError};
pub use problem::{AssemblyError, Problem, ProblemKind};
