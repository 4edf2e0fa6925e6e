//! The crate's promises to its callers: the file formats and the arithmetic.
#![allow(clippy::unwrap_used)]

mod columns;
mod comparison;
mod figures;
mod fixture;
mod json;
mod overhead;
mod published;
mod sensitivity;
mod sweep;
