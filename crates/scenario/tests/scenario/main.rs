//! Scenarios read from text: what is accepted, what is refused and why, and what may be changed afterwards.
//!
//! One test program, because each further one links the whole library again.
#![allow(clippy::unwrap_used)]

mod bad_scenarios;
mod client_raid;
mod common;
mod disk_groups;
mod documents;
mod edited;
mod files;
mod fitted_rows;
mod format;
mod good_scenarios;
mod hosts;
mod housekeeping;
mod mutations;
mod offset;
mod parameters;
mod phases;
mod processor_cores;
mod raid0;
mod raid5;
mod reports;
mod schema;
mod several_workloads;
mod snapshots;
mod volumes;
mod zfs;
