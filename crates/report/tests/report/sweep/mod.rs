//! Sweeps: their arithmetic, files, tables, charts and report.

mod differences;
mod files;
pub(crate) mod fixture;
mod table;
