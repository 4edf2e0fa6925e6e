//! What a controller's processor spends.

/// Picoseconds in a nanosecond.
const PS_PER_NS: u64 = 1_000;

/// The time a controller's processor takes for what it is asked to do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProcessorCosts {
    /// For each host operation, in nanoseconds.
    pub host_operation_ns: u64,
    /// For each spindle command, in nanoseconds.
    pub spindle_command_ns: u64,
    /// For each sector (512 bytes) that passes between host and memory or between memory and spindle, in
    /// picoseconds.
    pub per_sector_ps: u64,
}

impl ProcessorCosts {
    /// Taking in a host operation of `sectors`, in nanoseconds.
    #[inline]
    #[must_use]
    pub fn of_operation(&self, sectors: u32) -> u64 {
        self.host_operation_ns + u64::from(sectors) * self.per_sector_ps / PS_PER_NS
    }

    /// Making a spindle command of `sectors`, in nanoseconds.
    #[inline]
    #[must_use]
    pub fn of_command(&self, sectors: u32) -> u64 {
        self.spindle_command_ns + u64::from(sectors) * self.per_sector_ps / PS_PER_NS
    }
}
