//! The crate as its callers see it.
#![allow(clippy::unwrap_used)]

mod bad_files;
mod fio_jobs;
mod fio_output;
mod iologs;
mod iometer_configurations;
mod iometer_results;
mod mutations;
mod samples;
mod streaming;
mod traces;
mod wiring;
