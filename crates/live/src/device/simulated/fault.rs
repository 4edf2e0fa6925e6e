//! Faults that are put into simulated devices, and the log of them.

use super::super::{DeviceIndex, IoId};
use super::crash::CrashCounts;

/// How often a device does wrong by itself, each in a million of what it does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FaultRates {
    /// A block becomes unreadable, of reads and writes done: as often one of what is read as any other written one.
    pub unreadable_per_million: u32,
    /// A bit of a block flips at rest, of reads and writes done: where, as above.
    pub corrupted_per_million: u32,
    /// A write lands elsewhere, of writes done.
    pub misdirected_per_million: u32,
    /// A write is reported done and never happens, of writes done.
    pub lost_per_million: u32,
    /// Every other time up to so many writes that follow it are lost, too.
    pub lost_in_a_row: u32,
}

/// A fault that was put into a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// These bytes cannot be read until they are written again.
    Unreadable {
        /// The first of them.
        offset: u64,
        /// How many.
        bytes: u64,
    },
    /// Bits of a byte were flipped, where it lies.
    Corrupted {
        /// The byte.
        offset: u64,
        /// The bits.
        mask: u8,
    },
    /// A write that was reported done landed elsewhere; what lay where it belongs still does.
    Misdirected {
        /// The write.
        id: IoId,
        /// Where it belongs.
        offset: u64,
        /// How long it is.
        bytes: u64,
        /// Where it landed.
        landed_at: u64,
    },
    /// A write was reported done and never happened.
    LostWrite {
        /// The write.
        id: IoId,
        /// Where it belongs.
        offset: u64,
        /// How long it is.
        bytes: u64,
    },
    /// The device no longer answers. It lost its power, so that what was not safe may be torn or lost.
    Gone {
        /// What became of the writes that were not safe.
        writes: CrashCounts,
    },
    /// Writes fail for want of space from here on, or no longer do.
    Full(bool),
    /// The device takes so many times as long from here on.
    Slow {
        /// How many times; 1 as it should be.
        factor: u32,
    },
    /// All devices lost their power; logged once for each.
    PowerLost {
        /// What became of the writes that were not safe.
        writes: CrashCounts,
    },
}

/// A fault with its place and time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Injected {
    /// When, in nanoseconds of the simulation.
    pub now_ns: u64,
    /// Where.
    pub device: DeviceIndex,
    /// What.
    pub fault: Fault,
}
