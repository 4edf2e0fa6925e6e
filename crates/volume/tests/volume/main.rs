//! Volumes through their public interface: cases that can be counted by hand, and random histories against models.

#![allow(clippy::unwrap_used)]

mod defragmentation;
mod histories;
mod persistent_store;
mod refusals;
mod snapshots;
mod virtual_space;
