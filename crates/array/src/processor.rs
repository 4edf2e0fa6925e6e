//! The costs of a controller's processor.

use strewn_base::state::SavedValue;

/// Picoseconds in a nanosecond.
const PS_PER_NS: u64 = 1_000;

/// The time that a controller's processor takes for operations and commands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProcessorCosts {
    /// For each host operation, in nanoseconds.
    pub host_operation_ns: u64,
    /// For each spindle command, in nanoseconds.
    pub spindle_command_ns: u64,
    /// For each sector of 512 bytes moved between host and memory or between memory and spindle, in picoseconds.
    pub per_sector_ps: u64,
    /// The share of the processor that write-back (a consistency point, or destaging) has while host operations wait
    /// for it too, in percent: its commands need not queue behind all host operations admitted before them. 0 serves
    /// all work in order of arrival.
    pub write_back_percent: u8,
    /// What write-back costs besides its commands.
    pub write_back: WriteBackCosts,
    /// For taking the commands that have completed, however many at once, in nanoseconds. It comes on top of what each
    /// command costs when it is sent. A driver charges it.
    pub interrupt_ns: u64,
}

/// What write-back costs a processor besides commands and the sectors that they move.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WriteBackCosts {
    /// For each block that a consistency point places, in nanoseconds.
    pub allocated_block_ns: u64,
    /// For each block that becomes free in the aggregate, in nanoseconds.
    pub freed_block_ns: u64,
    /// For each metadata block that a consistency point changes, in nanoseconds.
    pub metadata_block_ns: u64,
    /// For each sector that is XORed into a parity, in picoseconds.
    pub parity_sector_ps: u64,
}

impl WriteBackCosts {
    /// Nothing.
    pub const NONE: Self = Self {
        allocated_block_ns: 0,
        freed_block_ns: 0,
        metadata_block_ns: 0,
        parity_sector_ps: 0,
    };

    /// The cost of XORing `sectors` into parities, in nanoseconds.
    #[inline]
    #[must_use]
    pub fn of_parity(&self, sectors: u64) -> u64 {
        sectors * self.parity_sector_ps / PS_PER_NS
    }
}

impl ProcessorCosts {
    /// The cost of a host operation of `sectors`, in nanoseconds.
    #[inline]
    #[must_use]
    pub fn of_operation(&self, sectors: u32) -> u64 {
        self.host_operation_ns + u64::from(sectors) * self.per_sector_ps / PS_PER_NS
    }

    /// The cost of going through `sectors` in memory, in nanoseconds.
    #[inline]
    #[must_use]
    pub fn of_memory(&self, sectors: u32) -> u64 {
        u64::from(sectors) * self.per_sector_ps / PS_PER_NS
    }

    /// The cost of a spindle command of `sectors`, in nanoseconds.
    #[inline]
    #[must_use]
    pub fn of_command(&self, sectors: u32) -> u64 {
        self.spindle_command_ns + u64::from(sectors) * self.per_sector_ps / PS_PER_NS
    }
}

/// What a controller's processor works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, SavedValue)]
pub enum ProcessorWork {
    /// A host operation: its admission, its data in memory, its answer.
    Operation,
    /// A command to a spindle.
    Command,
    /// The messages of a network. An array has none; a driver may add them.
    Network,
    /// Placing the blocks of a consistency point, and changing the metadata that records where.
    Allocation,
    /// Freeing blocks.
    Frees,
    /// Computing parity.
    Parity,
    /// Background scans of blocks in memory.
    Scans,
}
