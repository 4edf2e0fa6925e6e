//! What a write-anywhere array is made of.

use strewn_alloc::{
    AggregateError, AllocationShape, PolicyName, REGION_BLOCKS, TooManyBlocks, VolumeTooLarge,
};
use strewn_base::{BLOCK_BYTES, SECTOR_BYTES};
use strewn_raid::ParityGroup;
use thiserror::Error;

use crate::processor::ProcessorCosts;

use super::block_keys::BlockKeys;

/// A write-anywhere controller: one aggregate of one parity group, one volume with one LUN, in which one file is
/// mapped from the lowest LBA on.
#[derive(Debug, Clone)]
pub struct WriteAnywhereConfig {
    /// The spindles.
    pub group: ParityGroup,
    /// Sizes of allocation area, tetris and chunk.
    pub shape: AllocationShape,
    /// Where the next blocks go.
    pub policy: PolicyName,
    /// What else the aggregate holds, beside the file and its metadata.
    pub other_data: Option<OtherData>,
    /// Blocks of the volume that holds the LUN.
    pub volume_blocks: u64,
    /// Blocks of the LUN that hold data from the start: the file the host works on.
    pub file_blocks: u32,
    /// One half of the NVRAM log, in bytes.
    pub log_half_bytes: u64,
    /// What a log record takes beside its data, in bytes.
    pub log_record_header_bytes: u64,
    /// A consistency point begins at the latest this long after the one before began, in nanoseconds.
    pub checkpoint_interval_ns: u64,
    /// The buffer cache, in blocks.
    pub cache_blocks: u32,
    /// How much of the cache blocks that were used more than once may hold.
    pub protected_blocks: u32,
    /// More dirty blocks than this begin a consistency point.
    pub dirty_limit_blocks: u32,
    /// Tetrises on their way to the spindles at once.
    pub tetrises_in_flight: u32,
    /// Blocks the volume has freed that may be held back from the aggregate.
    pub delayed_free_blocks: u64,
    /// What the buffer cache holds at the start.
    pub cache_start: CacheStart,
    /// The controller's processor.
    pub processor: ProcessorCosts,
}

/// Data of others, that nobody reads or writes: it takes up room among the blocks that the file leaves free.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OtherData {
    /// Blocks in use once it is there, the file's and its metadata's among them.
    pub full_to_blocks: u64,
    /// Blocks that lie one behind the other on a spindle: a power of two, at most 64.
    pub run_blocks: u32,
    /// Where it lies is drawn from this seed.
    pub seed: u64,
}

/// What a buffer cache holds at the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CacheStart {
    /// Nothing.
    Empty,
    /// What laying the file out has just left in a cache that protects blocks used more than once: all metadata that
    /// was changed again and again, and no data.
    #[default]
    Metadata,
}

impl WriteAnywhereConfig {
    /// Both copies of what an aggregate begins with. They are in use, and no root leads to them.
    pub const SUPERBLOCK_BLOCKS: u64 = 2;

    /// Blocks of a volume in which a LUN of `lun_blocks` can be overwritten for ever: beside the LUN there are its
    /// metadata, the frees held back, and two generations of dirty blocks, which the buffer cache bounds.
    #[must_use]
    pub fn volume_blocks_for(lun_blocks: u64, delayed_free_blocks: u64, cache_blocks: u32) -> u64 {
        // Of metadata an indirect block to 510 blocks is most; a hundredth is five times that.
        let metadata_blocks = lun_blocks / 100 + 2 * REGION_BLOCKS;
        lun_blocks + metadata_blocks + delayed_free_blocks + 2 * u64::from(cache_blocks)
    }

    /// The numbering of the blocks of such an array with bytes.
    #[must_use]
    pub fn block_keys(&self) -> BlockKeys {
        self.keys_without_directory().with_directory()
    }

    /// That of one without.
    pub(super) fn keys_without_directory(&self) -> BlockKeys {
        let regions = self.volume_blocks.div_ceil(REGION_BLOCKS).max(1);
        let regions = u32::try_from(regions).unwrap_or(u32::MAX);
        BlockKeys::new(self.file_blocks, regions, self.group.total_blocks())
    }

    /// Blocks of the aggregate that an array with bytes needs, so that its LUN can be overwritten for ever: both copies of
    /// what an aggregate begins with, everything once, what a consistency point writes anew, and what is held back.
    ///
    /// A consistency point writes what one half of the log has made dirty, and the metadata that this changes. Twice the
    /// cache, which is more in most arrays, is asked for as well: fuller aggregates are slow.
    #[must_use]
    pub fn needed_blocks(&self) -> u64 {
        let end = u64::from(self.block_keys().end());
        let metadata = end - u64::from(self.file_blocks);
        let written_anew = self.most_dirty_blocks() + metadata;
        Self::SUPERBLOCK_BLOCKS
            + end
            + written_anew.max(2 * u64::from(self.cache_blocks))
            + self.delayed_free_blocks
    }

    /// Blocks of the LUN that one half of the log can make dirty, which is all that is dirty when a consistency point
    /// begins: the cache is no bound while the one before is in progress.
    #[must_use]
    pub fn most_dirty_blocks(&self) -> u64 {
        // Two sectors on both sides of a block's end make most of a record: two blocks. Where a header takes more than the
        // blocks between, it is a record without end.
        let pair_bytes = (self.log_record_header_bytes + 2 * SECTOR_BYTES) / 2;
        let bytes_per_block = pair_bytes.clamp(1, BLOCK_BYTES);
        self.log_half_bytes.div_ceil(bytes_per_block).min(self.file_blocks.into())
    }
}

/// Why a write-anywhere array cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum WriteAnywhereError {
    /// The allocator refused its sizes.
    #[error(transparent)]
    Aggregate(#[from] AggregateError),
    /// The aggregate is too large for the block map.
    #[error(transparent)]
    BlockMap(#[from] TooManyBlocks),
    /// The volume is too large.
    #[error(transparent)]
    Volume(#[from] VolumeTooLarge),
    /// The file and what describes it do not fit.
    #[error(
        "a file of {file_blocks} blocks and its metadata do not fit an aggregate of {aggregate_blocks} blocks"
    )]
    FileDoesNotFit {
        /// Blocks of the file.
        file_blocks: u64,
        /// Data blocks of the aggregate.
        aggregate_blocks: u64,
    },
    /// The file and its metadata have more blocks than the volume has numbers.
    #[error(
        "a file of {file_blocks} blocks and its metadata do not fit a volume of {volume_blocks} blocks"
    )]
    VolumeTooSmall {
        /// Blocks of the volume.
        volume_blocks: u64,
        /// Blocks of the file.
        file_blocks: u64,
    },
    /// Other data leaves too little room for what is overwritten.
    #[error(
        "other data leaves {free} of the aggregate's blocks free; what is overwritten and freed takes up to {needed}"
    )]
    TooFull {
        /// Blocks left free.
        free: u64,
        /// Metadata, two generations of dirty blocks and the frees that may be held back.
        needed: u64,
    },
    /// The file alone fills more than the other data is to fill with it.
    #[error(
        "the file and its metadata take {used} blocks: with other data the aggregate cannot be only {asked} blocks full"
    )]
    FullerAlready {
        /// Blocks that the file, its metadata and the superblock take.
        used: u64,
        /// Blocks in use that were asked for.
        asked: u64,
    },
    /// A size that must be at least one is zero.
    #[error("{0} is zero: it must be at least 1")]
    Zero(&'static str),
}
