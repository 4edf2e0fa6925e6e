//! Strewn's experiments in a browser: the WebAssembly module behind the page of `strewn playground`.
//!
//! The module has no imports but one, and no state between calls: the page asks, and is answered ([`answer`]). A worker asks
//! it to run one array, and is told how far it is. Checks, simulation, tables and charts are those of Strewn's crates, so the
//! same scenario, scale and seed give the same bytes as the command.
//!
//! [`packet`] says what questions and answers are made of; `boundary` is the only part that knows of WebAssembly.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod answers;
#[cfg(target_family = "wasm")]
mod boundary;
mod checked;
mod controls;
mod edit;
mod limits;
mod mix;
pub mod packet;
mod refusal;
mod results;
mod run;
mod source;

pub use answers::{Teller, answer};
