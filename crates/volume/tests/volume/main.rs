//! Volumes through their public interface: cases that can be counted by hand, and random histories against models.

#![allow(clippy::unwrap_used)]

mod defragmentation;
mod formats;
mod histories;
mod persistent_store;
mod properties;
mod refusals;
mod snapshots;
mod virtual_space;
