//! Both controllers with real bytes: spindles in memory that complete commands in any order, fail, or hold what was not
//! written there; and hosts that know what each of their reads may return.

#![allow(clippy::unwrap_used)]

mod bytes;
mod cases;
mod disk_groups;
mod failures;
mod faulty;
mod harness;
mod host;
mod housekeeping;
mod in_place;
mod in_place_bytes;
mod payloads;
mod read_ahead;
mod read_your_writes;
mod relocation;
mod room;
mod snapshots;
mod stored;
mod write_anywhere;
