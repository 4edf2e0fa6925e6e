//! Errors of an aggregate.

use std::error::Error;
use std::fmt;

use strewn_raid::Vbn;

/// Fewer blocks are free than needed. The failed call allocated nothing; earlier allocations of the open consistency
/// point remain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutOfSpace {
    /// Blocks asked for.
    pub needed: u64,
    /// Blocks that can be allocated.
    pub free: u64,
}

impl fmt::Display for OutOfSpace {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "no room: {} blocks are needed, {} are free", self.needed, self.free)
    }
}

impl Error for OutOfSpace {}

/// A consistency point is open: commit or abandon it first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckpointOpen;

impl fmt::Display for CheckpointOpen {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a consistency point is open: commit or abandon it first")
    }
}

impl Error for CheckpointOpen {}

/// A block cannot be freed: it is not in use, or does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotInUse(pub Vbn);

impl fmt::Display for NotInUse {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} is not in use", self.0)
    }
}

impl Error for NotInUse {}

/// A block cannot be set aside: it is in use, or does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotFree(pub Vbn);

impl fmt::Display for NotFree {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} is not free", self.0)
    }
}

impl Error for NotFree {}
