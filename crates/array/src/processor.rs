//! The costs of a controller's processor.

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
    /// The share of the processor that write-back (a consistency point, or destaging) has while host operations wait for
    /// it too, in percent: its commands need not queue behind all host operations admitted before them. 0 serves all
    /// work in order of arrival.
    pub write_back_percent: u8,
}

impl ProcessorCosts {
    /// The cost of a host operation of `sectors`, in nanoseconds.
    #[inline]
    #[must_use]
    pub fn of_operation(&self, sectors: u32) -> u64 {
        self.host_operation_ns + u64::from(sectors) * self.per_sector_ps / PS_PER_NS
    }

    /// The cost of a spindle command of `sectors`, in nanoseconds.
    #[inline]
    #[must_use]
    pub fn of_command(&self, sectors: u32) -> u64 {
        self.spindle_command_ns + u64::from(sectors) * self.per_sector_ps / PS_PER_NS
    }
}

/// What a controller's processor works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "state", derive(serde::Serialize, serde::Deserialize))]
pub enum ProcessorWork {
    /// A host operation: its admission, its data in memory, its answer.
    Operation,
    /// A command to a spindle.
    Command,
    /// The messages of a network. An array has none; a driver may add them.
    Network,
}
