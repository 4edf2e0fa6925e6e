//! Sweeps: their files, tables, charts and report.

mod charts;
mod files;
#[path = "../../../../results/tests/results/sweep/fixture.rs"]
pub(crate) mod fixture;
mod html;
mod predictions;
mod shapes;
mod table;
