//! Arrays of real files, made, damaged in every way that their labels can show, and found again.
#![cfg(unix)]
#![allow(clippy::unwrap_used)]

mod changes;
mod common;
mod creating;
mod opening;
