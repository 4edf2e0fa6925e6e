//! What the crate promises its callers: the file formats, the arithmetic, the tables, the charts.
#![allow(clippy::unwrap_used)]

mod charts;
mod comparison;
mod csv;
mod drives;
mod fixture;
mod json;
mod overhead;
mod published;
mod tables;
