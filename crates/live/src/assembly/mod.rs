//! Which devices are an array: made, found again, and given up.
//!
//! [`create`] makes files or takes devices and labels them; [`open`] finds an array's devices by their labels, says all
//! that is wrong with them at once, and starts only with what is whole, or what redundancy makes good; [`look`] says the
//! same without a lock. Nothing is written to a device that an array does not start with.

mod assembled;
mod blank;
mod change_error;
mod create;
mod destroy;
mod device_label;
mod diagnosis;
mod directory;
mod find;
mod given;
mod membership;
mod open;
mod place;
mod problem;
mod random;
mod replace;
mod seen;
mod status;

pub use assembled::{Assembled, OpenOptions};
pub use change_error::ChangeError;
pub use create::{CreateOptions, Created, SpindleDevices, create, free_name};
pub use destroy::{Destroyed, destroy};
pub use membership::{mark_failed, name_device};
pub use open::open;
pub use place::{ARRAY_FILE, Place, PlaceError};
pub use problem::{AssemblyError, Problem, ProblemKind};
pub use replace::{NewDevice, NewLog, open_to_replace, prepare_replacement};
pub use seen::is_of_an_array;
pub use status::{Condition, SpindleStatus, Status, look};
