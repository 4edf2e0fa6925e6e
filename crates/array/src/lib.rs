//! Array controllers as state machines, without I/O and without a clock.
//!
//! A storage array is hard to study and hard to test if it calls its disks and reads the time by itself. Here it does
//! neither. An [`Array`] is told what happens and when: a host operation arrives, a spindle completes a command, the
//! timer expires. In reply it requests work through a [`Driver`]: processor time, spindle commands, an acknowledgement,
//! a timer. The driver decides what a spindle is and what time is. One driver simulates drives in virtual time, another
//! runs real ones, and both run the same controller.
//!
//! There are two controllers:
//!
//! - [`write_anywhere`] never overwrites. A write is logged in NVRAM and acknowledged; a consistency point later writes
//!   all dirty blocks to free places, with the metadata that records where.
//! - [`in_place`] overwrites each sector where it belongs. A write is acknowledged from a mirrored cache; an elevator
//!   destages dirty extents by read-modify-write of data and parity, or full stripes without a read.
//!
//! # An array and its driver
//!
//! The driver below completes every command at once and prints it. A 4 KiB write is acknowledged before any spindle is
//! involved; the consistency point then writes the block, the metadata that leads to it, and parity. A [`Payload`] is
//! the data; the payload `()` carries none, so the array only says where data would go.
//!
//! ```
//! use strewn_array::write_anywhere::{VolumeConfig, WriteAnywhere, WriteAnywhereConfig};
//! use strewn_array::*;
//! use strewn_raid::{Parity, ParityGroup};
//!
//! /// Spindles that complete every command at once, a log that only counts its records, and a host that only counts
//! /// its answers.
//! struct Printer {
//!     done: Vec<Tag>,
//!     log: LogLedger,
//!     acknowledged: u32,
//! }
//!
//! impl Durability for Printer {}
//!
//! impl Driver<()> for Printer {
//!     fn processor(&mut self, _work: ProcessorWork, _cost_ns: u64) {}
//!     fn command(&mut self, command: SpindleCommand<()>) {
//!         println!("{}: {:?} {} sectors", command.spindle, command.direction, command.sectors);
//!         self.done.push(command.tag);
//!     }
//!     fn acknowledge(&mut self, _operation: OperationId, _when: Acknowledge, _payload: ()) {
//!         self.acknowledged += 1;
//!     }
//!     fn set_timer(&mut self, _at_ns: u64) {}
//!     fn log(&mut self, _operation: OperationId, record: LogRecord, _data: &()) -> Logged {
//!         self.log.append(&record)
//!     }
//!     fn consistency_point_begins(&mut self) {
//!         self.log.switch();
//!     }
//!     fn consistency_point_ends(&mut self) {
//!         self.log.release();
//!     }
//! }
//!
//! let log = LogSize { half_bytes: 1 << 20, record_header_bytes: 160 };
//! let group = ParityGroup::new(Parity::RaidDp, 4, 65_536)?;
//! let volume = VolumeConfig::of_one_lun(100_000, 10_000);
//! let config = WriteAnywhereConfig::new(vec![group], vec![volume], log, 4_096);
//! // Every other field has a value that can be changed so.
//! let config = WriteAnywhereConfig { tetrises_in_flight: 4, ..config };
//! let mut array = WriteAnywhere::<()>::new(config)?;
//! let mut printer = Printer { done: vec![], log: LogLedger::new(log), acknowledged: 0 };
//! array.start(0, &mut printer);
//! let write = HostOperation {
//!     id: OperationId(0),
//!     lun: LunId(0),
//!     direction: Direction::Write,
//!     first_sector: 800,
//!     sectors: 8,
//!     payload: (),
//! };
//! array.host_operation(1_000, write, &mut printer);
//! assert_eq!(printer.acknowledged, 1); // from the NVRAM log, before any write to a spindle
//!
//! array.timer_fired(10_000_000_000, &mut printer); // a consistency point begins
//! while let Some(tag) = printer.done.pop() {
//!     array.command_completed(10_000_000_000, tag, (), &mut printer);
//! }
//! assert_eq!(array.counters().consistency_points, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Failures
//!
//! A spindle fails by [`Array::spindle_failed`], at any time; the driver then returns the commands that it had not
//! completed. The array goes on degraded: it reads lost blocks from the rest of their stripes, plans parity updates
//! around them, and rebuilds onto a spare or distributed reserve if [`Rebuild`] grants one. If failures exceed parity,
//! the array stops with [`DataLost`]. With a payload that carries data, single bad blocks ([`Durable::blocks_failed`])
//! are computed from parity and rewritten.
//!
//! # Invariants
//!
//! The controllers assert their invariants in release builds too: a completion belongs to a command in flight, a tetris
//! writes only places allocated to it, a consistency point commits only when all of it is written. Checks that need a
//! pass over a cache are in [`Array::assert_invariants`], which a driver calls now and then.

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod abilities;
mod buffer_cache;
mod counters;
mod crc;
mod driver;
mod error;
mod failure;
mod first_spindles;
mod format;
pub mod in_place;
mod log;
mod lun_id;
mod map_picture;
mod payload;
mod processor;
mod read_ahead;
mod read_locks;
#[cfg(test)]
mod recorder;
mod requests;
mod root;
mod scan_progress;
mod slots;
mod snapshot;
mod units;
pub mod write_anywhere;

pub use abilities::{AnyArray, Durable, Growable, Snapshots};
pub use counters::Counters;
pub use crc::{crc32c, crc32c_of_parts};
pub use driver::{
    Acknowledge, Array, Driver, Durability, GroupMeasures, HostOperation, LayoutMeasures,
    LunLayoutMeasures, OperationId, PoolMeasures, Refusal, SpindleCommand, Tag, Work,
};
pub use error::ArrayConfigError;
pub use failure::{DataLost, FailedSpindle, Rebuild};
pub use first_spindles::FirstSpindles;
pub use format::Format;
pub use log::{LogLedger, LogRecord, LogSize, Logged};
pub use lun_id::LunId;
pub use payload::{BlockContents, Contents, Payload};
pub use processor::{ProcessorCosts, ProcessorWork, WriteBackCosts};
pub use read_ahead::{MOST_STREAMS, stream_matches};
pub use root::{CATALOG_BLOCKS, Root};
pub use scan_progress::ScanProgress;
pub use slots::Slots;
pub use snapshot::{SnapshotMeasures, SnapshotRefusal, VolumeMeasures};
pub use strewn_base::Direction;
pub use strewn_volume::{SnapshotId, VolumeId};
