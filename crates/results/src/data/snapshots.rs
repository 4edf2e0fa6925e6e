//! Snapshots of an array in a segment. The results of an array without snapshots have none of this.

use serde::{Deserialize, Serialize};

/// What an array's snapshots held when a segment ended, and what became of them in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Snapshots {
    /// Snapshots kept when the segment ended.
    pub kept: u32,
    /// Snapshots taken in the segment.
    pub taken: u64,
    /// Snapshots refused in the segment for lack of space.
    pub refused: u64,
    /// Blocks of 4 KiB that only snapshots held when the segment ended, including snapshots being deleted.
    pub held_blocks: u64,
    /// Blocks that only deleted snapshots had held, and that the segment freed.
    pub freed_blocks: u64,
    /// Part of the aggregate's blocks in use by anything when the segment ended, percent.
    pub aggregate_used_percent: f64,
}

impl Snapshots {
    /// Returns what only snapshots held, in GiB.
    #[must_use]
    pub fn held_gib(&self) -> f64 {
        gib_of(self.held_blocks)
    }
}

/// Returns blocks of 4 KiB in GiB.
pub fn gib_of(blocks: u64) -> f64 {
    blocks as f64 * strewn_base::BLOCK_BYTES as f64 / (1_u64 << 30) as f64
}
