//! Arrays on real files from the outside: the program that people run, asked with the tools that people have.
//!
//! What survives SIGKILL is checked in two ways at once. A client of our own keeps a model of the LUN: it knows, sector
//! by sector, what was answered and what was under way when the server died. So nothing it was told may be missing, and a
//! write under way must be there wholly or not at all. fio cannot go on without its server, so of it two jobs run in each
//! round: one that is complete before the server dies, whose region is verified after every later restart, and one that
//! is under way in another region, as a load that the model does not have to know.
//!
//! Tools that are not installed are left out, with a line that says so. Random tests print their seed.
#![allow(clippy::unwrap_used)]
#![cfg(unix)]

mod array;
#[allow(dead_code)]
#[path = "../../crates/live/tests/nbd/client.rs"]
mod client;
mod copies;
mod fio;
mod killed;
mod log;
mod model;
mod page;
mod processes;
mod qemu;
mod tools;
