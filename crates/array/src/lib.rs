//! Array controllers as state machines, without I/O and without a clock.
//!
//! An [`Array`] is told what happens and when: a host operation arrives, a spindle has done a command, a timer has run
//! out. Through a [`Driver`] it says what it wants: work for its processor, commands for its spindles, an
//! acknowledgement for the host, a timer. Whoever implements `Driver` decides what a spindle is and what time is: a
//! simulation, or real drives. [`write_anywhere`] never overwrites, [`in_place`] always does.
//!
//! A spindle may fail ([`Array::spindle_failed`]): the array then reads lost blocks from the rest of their stripes, plans
//! updates around them, and rebuilds what was lost where it has a spare or reserve ([`Rebuild`]).
//!
//! What the data are is a type parameter, [`Payload`]; for `()` there are none, and the array only says where they
//! would go. Here a write of 4 KiB comes in, and everything it leads to is printed:
//!
//! ```
//! use strewn_alloc::{AllocationShape, PolicyName};
//! use strewn_array::write_anywhere::{CacheStart, WriteAnywhere, WriteAnywhereConfig};
//! use strewn_array::*;
//! use strewn_raid::{Parity, ParityGroup};
//!
//! /// Spindles that do everything at once, and a host that only listens.
//! #[derive(Default)]
//! struct Printer {
//!     done: Vec<Tag>,
//!     acknowledged: u32,
//! }
//!
//! impl Driver<()> for Printer {
//!     fn processor(&mut self, _cost_ns: u64) {}
//!     fn command(&mut self, command: SpindleCommand<()>) {
//!         println!("{}: {:?} {} sectors", command.spindle, command.direction, command.sectors);
//!         self.done.push(command.tag);
//!     }
//!     fn acknowledge(&mut self, _operation: OperationId, _when: Acknowledge, _payload: ()) {
//!         self.acknowledged += 1;
//!     }
//!     fn set_timer(&mut self, _at_ns: u64) {}
//! }
//!
//! let mut array = WriteAnywhere::<()>::new(WriteAnywhereConfig {
//!     group: ParityGroup::new(Parity::RaidDp, 4, 65_536)?,
//!     shape: AllocationShape::default(),
//!     policy: PolicyName::EmptiestArea,
//!     other_data: None,
//!     volume_blocks: 100_000,
//!     file_blocks: 10_000,
//!     log_half_bytes: 1 << 20,
//!     log_record_header_bytes: 160,
//!     checkpoint_interval_ns: 10_000_000_000,
//!     cache_blocks: 4_096,
//!     protected_blocks: 2_048,
//!     dirty_limit_blocks: 1_000,
//!     tetrises_in_flight: 2,
//!     delayed_free_blocks: 1_000,
//!     cache_start: CacheStart::Metadata,
//!     processor: ProcessorCosts::default(),
//! })?;
//! let mut printer = Printer::default();
//! array.start(0, &mut printer);
//! let write = HostOperation {
//!     id: OperationId(0),
//!     direction: Direction::Write,
//!     first_sector: 800,
//!     sectors: 8,
//!     payload: (),
//! };
//! array.host_operation(1_000, write, &mut printer);
//! assert_eq!(printer.acknowledged, 1); // from the NVRAM log: no spindle has been asked yet
//!
//! array.timer_fired(10_000_000_000, &mut printer); // a consistency point begins
//! while let Some(tag) = printer.done.pop() {
//!     array.command_completed(10_000_000_000, tag, (), &mut printer);
//! }
//! assert_eq!(array.counters().checkpoints, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod buffer_cache;
mod counters;
mod crc;
mod driver;
mod failure;
pub mod in_place;
mod nvram_log;
mod payload;
mod processor;
mod units;
pub mod write_anywhere;

pub use counters::Counters;
pub use crc::{crc32c, crc32c_of_parts};
pub use driver::{
    Acknowledge, Array, Driver, HostOperation, LayoutMeasures, OperationId, Root, SpindleCommand,
    Tag, Work,
};
pub use failure::{DataLost, FailedSpindle, Rebuild};
pub use payload::{BlockContents, Contents, Payload};
pub use processor::ProcessorCosts;
pub use strewn_base::Direction;
