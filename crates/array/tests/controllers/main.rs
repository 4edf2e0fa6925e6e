//! Both controllers with real bytes: spindles in memory that complete commands in any order, and a host that knows
//! what each of its reads may return.

#![allow(clippy::unwrap_used)]

mod bytes;
mod failures;
mod faulty;
mod harness;
mod host;
mod in_place;
mod in_place_bytes;
#[path = "../common/payloads.rs"]
mod payloads;
mod read_your_writes;
mod write_anywhere;
