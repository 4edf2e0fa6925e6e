//! The arrays of `strewn-array` on real spindles: a directory of files, or block devices, with the bytes.
//!
//! What places, caches, logs and protects is the code that a simulation runs. New here are the devices, the format on
//! them, and who is served.

#![cfg_attr(test, allow(clippy::unwrap_used))]

#[cfg(unix)]
pub mod assembly;
pub mod check;
pub mod configuration;
mod cross_check;
pub mod data;
pub mod device;
pub mod engine;
pub mod format;
pub mod log;
pub mod nbd;
pub mod offline;
pub mod restart;
pub mod running;
pub mod scrub;
pub mod serving;
pub mod snapshots;
#[cfg(unix)]
pub mod starting;
pub mod store;
mod stripe_read;
pub mod torture;

pub use configuration::Configuration;
