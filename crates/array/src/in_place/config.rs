//! The configuration of an in-place array.

use std::ops::Range;

use strewn_base::BLOCK_SECTORS;
use strewn_raid::{SpindleIndex, StripedLayout};
use thiserror::Error;

use super::LunLayout;
use crate::format::Format;
use crate::log::LogSize;
use crate::processor::ProcessorCosts;

/// An in-place controller: LUNs on VRAID-5 or RAID-5 behind a write-back cache.
#[derive(Debug, Clone)]
pub struct InPlaceConfig {
    /// The layout of the LUNs' sectors and their parity.
    pub layout: LunLayout,
    /// The LUNs. Each begins with a stripe of its own.
    pub luns: Vec<LunConfig>,
    /// Sectors of one spindle. The file's span is given as a share of them.
    pub spindle_sectors: u64,
    /// The write cache (one copy of the mirror), in sectors.
    pub write_cache_sectors: u64,
    /// Destaging pauses at this many dirty sectors, unless a write waits for room.
    pub destage_low_sectors: u64,
    /// Extents destaged at once.
    pub destages_in_flight: u32,
    /// The on-disk format.
    pub format: Format,
    /// The log that protects what is acknowledged; `None` if the cache does, as a mirrored one.
    pub log: Option<LogSize>,
    /// The controller's processor.
    pub processor: ProcessorCosts,
}

/// A LUN of an in-place array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LunConfig {
    /// Sectors of the LUN.
    pub sectors: u64,
    /// Sectors of the file that hosts work on, which starts at the LUN's first sector.
    pub file_sectors: u64,
}

impl LunConfig {
    /// A LUN of so many sectors, on all of which hosts work.
    #[must_use]
    pub fn whole(sectors: u64) -> Self {
        Self { sectors, file_sectors: sectors }
    }
}

impl InPlaceConfig {
    /// The sectors of each LUN if the sectors of all are numbered through, as the layout places them.
    #[must_use]
    pub fn lun_sectors(&self) -> Vec<Range<u64>> {
        let stripe_sectors = self.stripe_sectors();
        let luns = self.luns.iter().scan(0, |next: &mut u64, lun| {
            let first = next.next_multiple_of(stripe_sectors);
            *next = first.saturating_add(lun.sectors);
            Some(first..*next)
        });
        luns.collect()
    }

    /// One more than the last sector of the last LUN, numbered through.
    #[must_use]
    pub fn end_sector(&self) -> u64 {
        self.lun_sectors().last().map_or(0, |lun| lun.end)
    }

    fn stripe_sectors(&self) -> u64 {
        u64::from(self.layout.shape().data_blocks()) * self.layout.unit_sectors()
    }

    /// Returns how many stripes the LUNs take.
    #[must_use]
    pub fn stripes(&self) -> u64 {
        self.end_sector().div_ceil(self.stripe_sectors())
    }

    /// Returns whether parity covers the loss of these spindles, in every stripe of the LUNs.
    #[must_use]
    pub fn survives(&self, lost: &[SpindleIndex]) -> bool {
        (0..self.stripes()).all(|stripe| {
            let stripe = self.layout.stripe(stripe);
            let members = stripe.units().filter(|(_, unit)| lost.contains(&unit.spindle));
            let lost = members.map(|(member, _)| member).collect();
            self.layout.shape().gone(lost).is_empty()
        })
    }
}

/// Why an in-place array cannot be created.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum InPlaceError {
    /// The LUNs are larger than the layout has room for.
    #[error("LUNs of {lun_sectors} sectors do not fit a layout of {layout_sectors} sectors")]
    LunTooLarge {
        /// Sectors of the LUNs, up to the end of the last.
        lun_sectors: u64,
        /// Sectors the layout holds.
        layout_sectors: u64,
    },
    /// Bytes and the durable format need chunks of whole 4 KiB blocks; otherwise a bad block could belong to two stripes.
    #[error("a chunk of {chunk_bytes} bytes is not a multiple of the block size, 4096 bytes")]
    ChunkOfParts {
        /// Bytes of a chunk.
        chunk_bytes: u64,
    },
    /// The durable format writes whole blocks of 4 KiB, so a LUN consists of them.
    #[error("a LUN of {lun_sectors} sectors is not a multiple of a block of {BLOCK_SECTORS}")]
    LunOfParts {
        /// Sectors of the LUN.
        lun_sectors: u64,
    },
    /// There is no LUN.
    #[error("the array has no LUN: give it one")]
    NoLun,
    /// A size that must be at least one is zero.
    #[error("{0} is zero: it must be at least 1")]
    Zero(&'static str),
}
