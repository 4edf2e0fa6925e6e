//! Sweeps: their arithmetic, files, tables, charts and report.

#[cfg(feature = "charts")]
mod charts;
mod differences;
mod files;
pub(crate) mod fixture;
#[cfg(feature = "charts")]
mod html;
#[cfg(feature = "charts")]
mod predictions;
mod shapes;
mod table;
