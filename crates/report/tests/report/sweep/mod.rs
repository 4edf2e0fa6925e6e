//! Sweeps: their arithmetic, files, tables, charts and report.

mod differences;
pub(crate) mod fixture;
