//! How many blocks a write-anywhere array needs.

use strewn_alloc::REGION_BLOCKS;

use super::WriteAnywhereLayout;

/// Pointers in a block of pointers, and entries of the container map in a block, as `strewn-array` has them.
const POINTERS: u64 = 510;
const CONTAINER_ENTRIES: u64 = 1024;

/// Both copies of what an aggregate begins with.
const SUPERBLOCK_BLOCKS: u64 = 2;

/// Blocks of a LUN and of all metadata of an array with bytes: what the highest key of its blocks is counted from.
pub(super) fn keyed_blocks(lun_blocks: u64, volume_blocks: u64, aggregate_blocks: u64) -> u64 {
    let regions = volume_blocks.div_ceil(REGION_BLOCKS).max(1);
    let container = regions * (REGION_BLOCKS / CONTAINER_ENTRIES);
    let bitmaps = regions + aggregate_blocks.div_ceil(REGION_BLOCKS);
    let without_inode = container + bitmaps;
    // The inode is the directory's to lead to.
    lun_blocks + tree(lun_blocks) + 1 + without_inode + tree(without_inode + 1).max(1)
}

/// Blocks that an array needs so that its LUN can be overwritten for ever: everything once, two generations of what is
/// dirty, and what is held back.
pub(super) fn needed_blocks(
    layout: &WriteAnywhereLayout,
    lun_blocks: u64,
    cache_blocks: u64,
    aggregate_blocks: u64,
) -> u64 {
    SUPERBLOCK_BLOCKS
        + keyed_blocks(lun_blocks, layout.volume_blocks, aggregate_blocks)
        + 2 * cache_blocks
        + layout.delayed_free_blocks
}

/// Blocks of pointers above `leaves` blocks, level on level, up to one.
fn tree(leaves: u64) -> u64 {
    let (mut below, mut sum) = (leaves, 0);
    while below > 1 {
        below = below.div_ceil(POINTERS);
        sum += below;
    }
    sum
}
