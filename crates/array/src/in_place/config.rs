//! What an in-place array is made of.

use thiserror::Error;

use super::LunLayout;
use crate::processor::ProcessorCosts;

/// An in-place controller: one LUN on VRAID-5 or RAID-5 behind a mirrored write-back cache.
#[derive(Debug, Clone)]
pub struct InPlaceConfig {
    /// Where the LUN's sectors and their parity lie.
    pub layout: LunLayout,
    /// Sectors of the LUN, at most the layout's.
    pub lun_sectors: u64,
    /// Sectors of the LUN that hold data from the start: the file the host works on.
    pub file_sectors: u64,
    /// Sectors of one spindle, of which the file's span is a share.
    pub spindle_sectors: u64,
    /// The write cache (one copy of the mirror), in sectors.
    pub write_cache_sectors: u64,
    /// With no more dirty sectors than this nothing is written back, unless a write waits for room.
    pub destage_low_sectors: u64,
    /// Extents written back at once.
    pub destages_in_flight: u32,
    /// The controller's processor.
    pub processor: ProcessorCosts,
}

/// Why an in-place array cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum InPlaceError {
    /// The LUN is larger than the layout has room for.
    #[error("a LUN of {lun_sectors} sectors on a layout that holds {layout_sectors}")]
    LunTooLarge {
        /// Sectors of the LUN.
        lun_sectors: u64,
        /// Sectors the layout holds.
        layout_sectors: u64,
    },
    /// A chunk that is not of whole blocks of 4 KiB, of an array that carries data: a block that is bad would be of two
    /// stripes.
    #[error("a chunk of {chunk_bytes} bytes: with data it must be of whole blocks of 4096")]
    ChunkOfParts {
        /// Bytes of a chunk.
        chunk_bytes: u64,
    },
    /// A size that must be at least one is zero.
    #[error("{0} is zero: it must be at least 1")]
    Zero(&'static str),
}
