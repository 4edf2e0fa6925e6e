//! The arrays of `strewn-array` on real spindles: a directory of files, or block devices, with the bytes.
//!
//! What places, caches, logs and protects is the code that a simulation runs. New here are the devices, the format on
//! them, and who is served.

#![cfg_attr(test, allow(clippy::unwrap_used))]

#[cfg(unix)]
pub mod assembly;
pub mod configuration;
pub mod device;
pub mod format;
pub mod log;
pub mod nbd;
pub mod store;

pub use configuration::Configuration;
