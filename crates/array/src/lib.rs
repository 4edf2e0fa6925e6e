//! Array controllers as state machines, without I/O and without a clock.

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod buffer_cache;
mod counters;
mod driver;
pub mod in_place;
mod nvram_log;
mod payload;
mod processor;
pub mod write_anywhere;

pub use counters::Counters;
pub use driver::{
    Acknowledge, Array, Direction, Driver, HostOperation, Layout, OperationId, SpindleCommand, Tag,
};
pub use payload::{Contents, Payload};
pub use processor::ProcessorCosts;
