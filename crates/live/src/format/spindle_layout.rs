//! The layout of a spindle's blocks on its device, in blocks of 4 KiB.

use strewn_raid::Dbn;

/// The device block of the first row. Before it are the label, the superblocks and reserved blocks.
pub const FIRST_ROW_BLOCK: u64 = 16;

/// Data blocks in a row; one checksum block has an entry for each.
pub const ROW_DATA_BLOCKS: u64 = 64;

/// Blocks of a row with its checksum block, which follows its data.
pub const ROW_BLOCKS: u64 = ROW_DATA_BLOCKS + 1;

/// The device blocks of the superblock slots.
pub const SUPERBLOCK_SLOTS: [u64; 2] = [1, 2];

/// The last whole block has the label's second copy.
const SECOND_LABEL_BLOCKS: u64 = 1;

/// Returns the device block of a spindle's block.
#[must_use]
pub fn device_block(dbn: Dbn) -> u64 {
    FIRST_ROW_BLOCK + ROW_BLOCKS * (dbn.0 / ROW_DATA_BLOCKS) + dbn.0 % ROW_DATA_BLOCKS
}

/// Returns the device block with the checksums of row `row`: of DBN `64 * row` and the 63 after it.
#[must_use]
pub fn checksum_block(row: u64) -> u64 {
    FIRST_ROW_BLOCK + ROW_BLOCKS * row + ROW_DATA_BLOCKS
}

/// Returns how many blocks a spindle has whose device has `device_blocks`: those of whole rows.
#[must_use]
pub fn data_blocks(device_blocks: u64) -> u64 {
    rows_of(device_blocks) * ROW_DATA_BLOCKS
}

/// The rows of a spindle whose device has `device_blocks`.
#[must_use]
pub fn rows_of(device_blocks: u64) -> u64 {
    device_blocks.saturating_sub(FIRST_ROW_BLOCK + SECOND_LABEL_BLOCKS) / ROW_BLOCKS
}

/// Returns the fewest device blocks for a spindle of at least `data_blocks` blocks, rounded up to whole rows.
#[must_use]
pub fn device_blocks_for(data_blocks: u64) -> u64 {
    FIRST_ROW_BLOCK + data_blocks.div_ceil(ROW_DATA_BLOCKS) * ROW_BLOCKS + SECOND_LABEL_BLOCKS
}
