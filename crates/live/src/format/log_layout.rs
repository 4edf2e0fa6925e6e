//! The layout of the log device.

use strewn_array::LogSize;
use strewn_base::{ROW_STRIPES, SECTOR_BYTES};

use super::{RecordHeader, redo_data_bytes};
use crate::device::BLOCK_BYTES;

/// Block 0 has the label, block 1 is reserved.
const FIRST_AREA_BLOCK: u64 = 2;

/// The last block in use has the label's second copy.
const SECOND_LABEL_BLOCKS: u64 = 1;

/// The sizes of a log device's areas, in blocks of 4 KiB: two halves for redo records, then two for host records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogLayout {
    /// Blocks of each half of the redo area.
    pub redo_half_blocks: u64,
    /// Blocks of each half for host records.
    pub half_blocks: u64,
}

impl LogLayout {
    /// Bytes that every record is accounted with, beyond its data rounded up to 512: see [`Self::accounted_bytes`].
    pub const ACCOUNTED_RECORD_BYTES: u64 = 4160;

    /// Returns the accounted size of a record with `data_bytes`, which counts against the capacity of a half.
    #[must_use]
    pub fn accounted_bytes(data_bytes: u64) -> u64 {
        Self::ACCOUNTED_RECORD_BYTES + data_bytes.next_multiple_of(SECTOR_BYTES)
    }

    /// Returns a layout for `spindles` spindles whose halves each take records of `half_bytes` accounted bytes in
    /// total, however the records are grouped.
    ///
    /// A half of `half_bytes`, in whole blocks, suffices. Let a half have groups g = 1..G, of records with data d. A
    /// record takes 64 + d bytes (d, rounded up to 512, is a multiple of 64), and a group is padded to 4096, which
    /// adds at most 4096 - 64 bytes because all records are multiples of 64. No group is empty, so there are at most
    /// as many groups as records, and the half uses at most the sum over its records of 64 + d + 4032, which is less
    /// than the sum of 4160 + d, their accounted size. This holds after every group, thus also for the last.
    ///
    /// A half of the redo area takes four of the largest redo records: a tetris of 64 stripes on all spindles.
    #[must_use]
    pub fn new(half_bytes: u64, spindles: u16) -> Self {
        let largest = RecordHeader::record_bytes(redo_data_bytes(
            ROW_STRIPES as usize * usize::from(spindles),
        ));
        Self {
            redo_half_blocks: 4 * largest.div_ceil(BLOCK_BYTES) as u64,
            half_blocks: half_bytes.div_ceil(BLOCK_BYTES as u64),
        }
    }

    /// Returns the most spindles of a parity group whose largest redo record a half of the redo area takes.
    #[must_use]
    pub fn most_spindles_of_group(&self) -> u16 {
        let half_bytes = self.redo_half_blocks * BLOCK_BYTES as u64;
        let fits = |spindles: &u16| {
            let blocks = ROW_STRIPES as usize * usize::from(*spindles);
            RecordHeader::record_bytes(redo_data_bytes(blocks)).next_multiple_of(BLOCK_BYTES) as u64
                <= half_bytes
        };
        (1..=u16::MAX).take_while(fits).last().unwrap_or(0)
    }

    /// Returns the number of blocks in use on the device, including both copies of the label.
    #[must_use]
    pub fn device_blocks(&self) -> u64 {
        FIRST_AREA_BLOCK + 2 * (self.redo_half_blocks + self.half_blocks) + SECOND_LABEL_BLOCKS
    }

    /// Returns the capacity of a half, in accounted bytes.
    #[must_use]
    pub fn half_bytes(&self) -> u64 {
        self.half_blocks * BLOCK_BYTES as u64
    }

    /// Returns how much the log takes, for the array's own account of it.
    #[must_use]
    pub fn size(&self) -> LogSize {
        LogSize { half_bytes: self.half_bytes(), record_header_bytes: Self::ACCOUNTED_RECORD_BYTES }
    }

    /// Returns the first byte of each half for host records.
    #[must_use]
    pub fn halves(&self) -> [u64; 2] {
        let first = FIRST_AREA_BLOCK + 2 * self.redo_half_blocks;
        [first, first + self.half_blocks].map(|block| block * BLOCK_BYTES as u64)
    }

    /// Returns the first byte of each half of the redo area.
    #[must_use]
    pub fn redo_halves(&self) -> [u64; 2] {
        [FIRST_AREA_BLOCK, FIRST_AREA_BLOCK + self.redo_half_blocks]
            .map(|block| block * BLOCK_BYTES as u64)
    }
}
