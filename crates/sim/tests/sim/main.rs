//! Simulations as a whole: what the hosts issue, what a segment measures, and spindles that fail under load.

#![allow(clippy::unwrap_used)]

mod arithmetic;
mod client_raid;
mod closed_loop;
mod cores;
mod disk_groups;
mod failures;
mod groups;
mod housekeeping;
mod luns;
mod machine;
mod page_cache;
mod phases;
mod read_ahead;
mod receiving;
mod recorder;
mod remote_clients;
mod room;
mod snapshots;
mod workers;
mod write_back;
mod write_back_trace;
