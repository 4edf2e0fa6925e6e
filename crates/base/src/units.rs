//! Sizes that the whole workspace agrees on.

/// Bytes in a sector, the unit of addresses on LUNs and drives.
pub const SECTOR_BYTES: u64 = 512;

/// Bytes in a block of an array: 4 KiB, the smallest unit that WAFL writes.
pub const BLOCK_BYTES: u64 = 4096;

/// Sectors in a block.
pub const BLOCK_SECTORS: u64 = BLOCK_BYTES / SECTOR_BYTES;

/// Stripes in a row: one for each bit of a word of a free map. A tetris holds at most as many.
pub const ROW_STRIPES: u64 = u64::BITS as u64;
