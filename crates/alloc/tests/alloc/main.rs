//! The allocator through its public interface: cases that can be counted by hand, and random histories against models.

#![allow(clippy::unwrap_used)]

mod aggregate;
mod bulk_frees;
mod measures;
mod model;
mod refusals;
mod streams;
