//! What a ZFS pool did in a segment that no other array does, as far as it did any of it.

use serde::{Deserialize, Serialize};

/// Figures of a ZFS pool. A count of what did not happen is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PoolFigures {
    /// Blocks of metadata that found special vdevs full, and went to normal ones.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub spilled_metadata_blocks: u64,
    /// Blocks of data that were meant for special vdevs and went to normal ones: the rest of special vdevs is kept for
    /// metadata.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub spilled_data_blocks: u64,
    /// Both kinds since the pool was created, those of volumes that were filled before the run included.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub spilled_in_all_blocks: u64,
}

impl PoolFigures {
    /// Returns whether blocks have spilled from special vdevs, before the segment or in it.
    #[must_use]
    pub const fn has_spilled(&self) -> bool {
        self.spilled_in_all_blocks > 0
    }
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}
