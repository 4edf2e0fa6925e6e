//! The model beside real OpenZFS 2.3.2, as `reference/` has recorded it.

#![allow(clippy::unwrap_used, reason = "tests")]

mod aged;
mod allocator;
mod array;
mod asize;
mod autotrim;
mod classes;
mod commands;
mod draid;
mod full;
mod l2arc;
mod machine;
mod order;
mod recording;
mod snapshots;
mod volumes;
