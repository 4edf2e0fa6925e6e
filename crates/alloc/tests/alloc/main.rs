//! The allocator through its public interface: cases that can be counted by hand, and random histories against models.

#![allow(clippy::unwrap_used)]

mod aggregate;
mod bulk_frees;
mod defragmentation;
mod measures;
mod model;
mod persistent_store;
mod refusals;
mod snapshots;
mod virtual_space;
mod volumes;
