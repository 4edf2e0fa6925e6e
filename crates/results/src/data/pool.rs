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
    /// What the L2ARC did; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub l2arc: Option<L2arcFigures>,
    /// What was trimmed; absent if nothing was freed, or the pool trims nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trimmed: Option<TrimFigures>,
}

/// What the L2ARC of a ZFS pool did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct L2arcFigures {
    /// Blocks, of data and of metadata, that the ARC lacked.
    pub lookups: u64,
    /// Those of them that were read from the L2ARC, percent; none if there were none.
    pub hit_percent: Option<f64>,
    /// What was written to it, MiB/s.
    pub written_mib_per_s: f64,
    /// What it held when the segment ended, GiB.
    pub held_gib: f64,
    /// Memory for the headers of those of its blocks that were not in the ARC, MiB.
    pub header_mib: f64,
}

/// What a ZFS pool trimmed of its drives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TrimFigures {
    /// Commands.
    pub ranges: u64,
    /// What they trimmed, GiB of drives, mirrored and parity included.
    pub gib: f64,
    /// What was freed in ranges that are too short to trim, GiB of drives.
    pub skipped_gib: f64,
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
