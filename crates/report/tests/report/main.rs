//! The crate's promises to its callers: tables, files of tables, charts and pages.
#![allow(clippy::unwrap_used)]

mod bands;
mod charts;
mod controller_work;
mod csv;
mod drives;
mod fixture;
mod html;
mod like;
mod losses;
mod machines;
#[cfg(feature = "parquet")]
mod parquet;
mod phases;
mod results_charts;
mod rows;
mod runs;
mod snapshots;
mod sweep;
mod tables;
