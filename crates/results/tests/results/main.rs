//! The crate's promises to its callers: the file formats and the arithmetic.
#![allow(clippy::unwrap_used)]

mod columns;
mod comparison;
mod figures;
mod findings;
mod fixture;
mod json;
mod overhead;
mod published;
mod sensitivity;
mod sweep;
