//! Volumes of an array in a segment. Only results of a scenario that describes volumes have this.

use serde::{Deserialize, Serialize};

/// What a volume had when a segment ended, in blocks of 4 KiB.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VolumeFigures {
    /// Its name; empty for that of the LUNs that name none.
    pub name: String,
    /// Blocks of its LUNs and their metadata.
    pub used_blocks: u64,
    /// Free blocks that are kept for it.
    pub reserved_blocks: u64,
    /// Snapshots kept.
    pub snapshots: u32,
    /// Blocks that only its snapshots held, including snapshots being deleted.
    pub held_blocks: u64,
}
