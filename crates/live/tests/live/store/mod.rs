//! The format, the store and the log: against models, over simulated devices, through crashes and faults.

mod crashes;
mod faults;
mod format;
mod log;
mod log_model;
mod losses;
mod mirrored_log;
mod rig;
mod shadow;
mod single;
