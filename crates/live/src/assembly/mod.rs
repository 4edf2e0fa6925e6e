//! Assembles arrays from devices: creates, opens, changes and destroys them.
//!
//! [`create`] creates files or takes devices, and labels them. [`open`] finds an array's devices by their labels,
//! reports everything that is wrong with them at once, and returns only reliable devices, provided that redundancy
//! covers the rest. [`look`] reports the same without taking a lock. No operation writes to a device that the array
//! does not start with.
//!
//! The files build on each other in one direction: names and errors; labels on a device; probing of all named
//! devices; their diagnosis; the operations.

mod add_group;
mod assembled;
mod create;
mod destroy;
mod device_label;
mod diagnosis;
mod directory;
mod error;
mod location;
mod log_check;
mod names;
mod open;
mod probe;
mod problem;
mod replace;
mod status;
mod supplied;

pub use add_group::{AddGroupOptions, GrownArray, open_to_add_group};
pub use assembled::{AssembledArray, OpenOptions};
pub use create::{CreateOptions, CreatedArray, LogDevices, SpindleDevices, create};
pub use destroy::{DestroyReport, destroy};
pub use error::{AssemblyError, MembershipError};
pub use location::ArrayLocation;
pub use names::{ARRAY_FILE, unused_path};
pub use open::open;
pub use probe::is_of_an_array;
pub use problem::{DeviceProblem, DeviceProblemKind};
pub use replace::{
    NewLog, ReplacementDevice, log_to_replace, mark_failed, open_to_replace, prepare_replacement,
};
pub use status::{Condition, MemberStatus, Status, look};
