//! Sizes that the whole workspace agrees on.

/// Bytes in a sector, the unit in which hosts and drives address.
pub const SECTOR_BYTES: u64 = 512;

/// Bytes in a block of an array: 4 KiB. WAFL never writes a fragment of one.
pub const BLOCK_BYTES: u64 = 4096;

/// Sectors in a block.
pub const BLOCK_SECTORS: u64 = BLOCK_BYTES / SECTOR_BYTES;

/// Stripes in a row: as many as a word of a free map has bits, and as many as a tetris holds.
pub const ROW_STRIPES: u64 = u64::BITS as u64;
