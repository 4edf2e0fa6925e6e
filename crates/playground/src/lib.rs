//! Strewn's experiments in a browser: the page of `strewn playground`, and the WebAssembly module inside it.
//!
//! [`page`] writes the page. What it shows lies in `page/`: `module.js` there is the other side of the boundary.
//!
//! The module has no imports but one, and no state between calls: the page asks, and is answered ([`answer`]). A worker
//! asks it to run one array, and is told how far it is. Checks, simulation, tables and charts are those of Strewn's
//! crates, so the same scenario, scale and seed give the same bytes as the command.
//!
//! [`packet`] says what questions and answers are made of; `boundary` is the only part that knows of WebAssembly.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod answers;
#[cfg(target_family = "wasm")]
mod boundary;
#[cfg(not(target_family = "wasm"))]
mod catalog;
mod checked;
mod control;
mod controls;
mod edit;
mod mix;
#[cfg(not(target_family = "wasm"))]
mod module;
pub mod packet;
#[cfg(not(target_family = "wasm"))]
mod page;
#[cfg(not(target_family = "wasm"))]
mod page_error;
mod problems;
mod refusal;
mod results;
mod run;
mod source;
mod teller;

pub use answers::answer;
#[cfg(not(target_family = "wasm"))]
pub use catalog::{Shipped, ShippedText};
#[cfg(not(target_family = "wasm"))]
pub use module::{ModuleError, check_module};
#[cfg(not(target_family = "wasm"))]
pub use page::page;
#[cfg(not(target_family = "wasm"))]
pub use page_error::PageError;
pub use teller::Teller;
