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

pub use assembled::{AssembledArray, OpenOptions};
pub use change_error::ChangeError;
pub use create::{CreateOptions, CreatedArray, SpindleDevices, create, unused_path};
pub use destroy::{DestroyReport, destroy};
pub use membership::{mark_failed, record_device_path};
pub use open::open;
pub use place::{ARRAY_FILE, ArrayLocation, LocationError};
pub use problem::{AssemblyError, DeviceProblem, DeviceProblemKind};
pub use replace::{NewLog, ReplacementDevice, open_to_replace, prepare_replacement};
pub use seen::is_of_an_array;
pub use status::{Condition, SpindleStatus, Status, look};
