//! What leads to everything that an array committed.

use strewn_raid::Vbn;

/// Most blocks of the catalog.
pub const CATALOG_BLOCKS: u32 = 16;

/// Leads to everything that a consistency point committed. The driver stores it in a superblock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Root {
    /// Blocks still marked as in use because their frees are delayed.
    pub held_back_blocks: u64,
    /// The root block: its VBN and the CRC-32C of its bytes. `None` for an in-place array, whose layout places every
    /// block.
    pub block: Option<(Vbn, u32)>,
    /// The blocks of the catalog, from the first on: VBN and CRC-32C. None as long as the array has only what it was
    /// created with.
    pub catalog: [Option<(Vbn, u32)>; CATALOG_BLOCKS as usize],
    /// How many parity groups the aggregate has; 0 for an in-place array.
    pub groups: u16,
}
