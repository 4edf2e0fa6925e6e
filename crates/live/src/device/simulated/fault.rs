//! Faults injected into simulated devices, and the log of them.

use super::super::{DeviceIndex, IoId};
use super::crash::CrashCounts;

/// Rates of a device's spontaneous faults, in occurrences per million operations.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FaultRates {
    /// A block becomes unreadable, per read or write. On a read, half of these hit a block being read; all others hit
    /// any written block.
    pub unreadable_per_million: u32,
    /// A bit of a block flips at rest, per read or write; the block is chosen as above.
    pub corrupted_per_million: u32,
    /// Up to [`MOST_ERASED_BLOCKS`] consecutive blocks become zeros, per read or write; the first one is chosen as
    /// above.
    pub erased_per_million: u32,
    /// A write lands elsewhere, per write.
    pub misdirected_per_million: u32,
    /// A write is reported done and never happens, per write.
    pub lost_per_million: u32,
    /// After such a loss, every other time up to this many following writes are lost too.
    pub lost_in_a_row: u32,
}

/// The most blocks that one fault erases: three rows with their checksums, and some.
pub const MOST_ERASED_BLOCKS: u64 = 200;

/// A fault that was injected, with what it hit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// These bytes cannot be read until they are written again.
    Unreadable {
        /// Offset of the first byte.
        offset: u64,
        /// Number of bytes.
        bytes: u64,
    },
    /// Bits of a byte flipped at rest.
    Corrupted {
        /// Offset of the byte.
        offset: u64,
        /// A set bit for each bit that flipped.
        mask: u8,
    },
    /// These bytes became zeros.
    Erased {
        /// Offset of the first byte.
        offset: u64,
        /// Number of bytes.
        bytes: u64,
    },
    /// A write that was reported done landed elsewhere; its target keeps its old contents.
    Misdirected {
        /// I/O that wrote.
        id: IoId,
        /// Where it was to write, in bytes.
        offset: u64,
        /// Number of bytes that it wrote.
        bytes: u64,
        /// Where it landed.
        landed_at: u64,
    },
    /// A write was reported done and never happened.
    LostWrite {
        /// I/O that was to write.
        id: IoId,
        /// Where it was to write, in bytes.
        offset: u64,
        /// Number of bytes that it was to write.
        bytes: u64,
    },
    /// The device no longer answers. It lost power, so that writes that were not durable may be torn or lost.
    Gone {
        /// The fate of the writes that were not durable.
        writes: CrashCounts,
    },
    /// From here on, writes fail for lack of space, or no longer do.
    Full(bool),
    /// From here on, the device takes this many times as long.
    Slow {
        /// The factor; 1 is normal.
        factor: u32,
    },
    /// All devices lost power; logged once for each.
    PowerLost {
        /// The fate of the writes that were not durable.
        writes: CrashCounts,
    },
}

/// A fault with its place and time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Injected {
    /// The time, in nanoseconds of the simulation.
    pub now_ns: u64,
    /// Device that it hit.
    pub device: DeviceIndex,
    /// What happened to the device.
    pub fault: Fault,
}
