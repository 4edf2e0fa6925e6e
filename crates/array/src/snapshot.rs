//! Snapshots of simulated arrays: why one is refused, and what they hold.

use strewn_base::state::SavedValue;
use thiserror::Error;

/// Why an array refuses to take a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum SnapshotRefusal {
    /// This kind of array simulates no snapshots.
    #[error("only a simulated write-anywhere array takes snapshots this way")]
    NotSimulated,
    /// The snapshot would leave too little room to overwrite what is reserved.
    #[error(
        "a snapshot would leave too little room to overwrite what is promised: {lacking} more blocks must be free"
    )]
    NoSpace {
        /// Blocks that must become free first.
        lacking: u64,
    },
    /// The array has taken as many as it can count.
    #[error("the array has taken 65534 snapshots and can count no more")]
    TooMany,
}

/// What a volume has, and what it may claim.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, SavedValue)]
pub struct VolumeMeasures {
    /// Blocks of its LUNs and their metadata.
    pub blocks: u64,
    /// Free blocks that it may claim: its reservation, less the blocks that it owns.
    pub claimed: u64,
    /// Its snapshots that are not being deleted.
    pub snapshots: u32,
    /// Blocks that only snapshots of it hold, including snapshots being deleted.
    pub held: u64,
}

/// What an array's snapshots hold.
#[derive(Debug, Clone, Copy, Default, PartialEq, SavedValue)]
pub struct SnapshotMeasures {
    /// Snapshots that are not being deleted.
    pub kept: u32,
    /// Blocks that only snapshots hold, including snapshots being deleted.
    pub blocks: u64,
    /// Share of the aggregate's blocks in use by anything, 0 to 1.
    pub used: f64,
}

impl SnapshotMeasures {
    /// Those of two aggregates together. The share in use is the larger one.
    #[must_use]
    pub fn with(&self, other: &Self) -> Self {
        Self {
            kept: self.kept + other.kept,
            blocks: self.blocks + other.blocks,
            used: self.used.max(other.used),
        }
    }
}
