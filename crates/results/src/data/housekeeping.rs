//! What a controller did in a segment besides serving hosts, as far as a scenario asks for it. Other runs have none of
//! this.

use serde::{Deserialize, Serialize};

/// What consistency points and background work did in a segment. A count of what the scenario does not ask for is
/// absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Housekeeping {
    /// Blocks placed, at a cost.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub allocated_blocks: u64,
    /// Blocks freed in the aggregate, at a cost.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub freed_blocks: u64,
    /// Metadata blocks changed, at a cost.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub changed_metadata_blocks: u64,
    /// KiB XORed into parities, at a cost.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub parity_kib: u64,
    /// Of the data reads: those that went on through holes.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub reads_through_holes: u64,
    /// Blocks that these read and dropped.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub hole_blocks: u64,
    /// Regions whose freed blocks a paced scan reclaimed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub reclaimed_regions: u64,
    /// Map blocks that a background scan read from spindles.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub map_scan_reads: u64,
    /// Map blocks that it found in the cache.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub map_scan_hits: u64,
    /// Milliseconds that consistency points took which ended in the segment, where the scenario charges for any of the
    /// above.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub checkpoint_ms: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}
