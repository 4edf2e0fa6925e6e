//! The sizes of `strewn-base`, in the types in which commands and buffers count.

/// Sectors in a block.
pub(crate) const BLOCK_SECTORS: u32 = strewn_base::BLOCK_SECTORS as u32;

/// Bytes of a block.
pub(crate) const BLOCK_BYTES: usize = strewn_base::BLOCK_BYTES as usize;

/// Bytes of a sector.
pub(crate) const SECTOR_BYTES: usize = strewn_base::SECTOR_BYTES as usize;
