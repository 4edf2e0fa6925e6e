//! Live arrays: the format, the store, the log and the engine against models, through crashes and faults, on simulated
//! devices and on real files; the NBD server; whole fault schedules.
//!
//! Tests that need a tool or a permission are in `tests/outside`.
#![cfg(unix)]
#![allow(clippy::unwrap_used)]

mod assembly;
mod device;
mod engine;
mod nbd;
mod prediction;
mod serving;
mod store;
