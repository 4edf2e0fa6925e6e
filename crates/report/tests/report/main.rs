//! The crate's promises to its callers: the file formats, the arithmetic, the tables, the charts.
#![allow(clippy::unwrap_used)]

mod bands;
mod charts;
mod comparison;
mod controller_work;
mod csv;
mod drives;
mod figures;
mod fixture;
mod html;
mod json;
mod like;
mod losses;
mod machines;
mod overhead;
#[cfg(feature = "parquet")]
mod parquet;
mod phases;
mod published;
mod results_charts;
mod rows;
mod runs;
mod sensitivity;
mod snapshots;
mod sweep;
mod tables;
