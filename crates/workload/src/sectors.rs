//! Bytes as sectors.

use strewn_base::SECTOR_BYTES;

/// Returns the whole sectors in `bytes`.
pub(crate) fn sectors_in(bytes: u32) -> u32 {
    bytes / SECTOR_BYTES as u32
}
