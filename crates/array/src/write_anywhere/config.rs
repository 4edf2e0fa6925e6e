//! What a write-anywhere array is made of.

use strewn_alloc::{AggregateError, AllocationShape, TooManyBlocks, VolumeTooLarge};
use strewn_raid::ParityGroup;
use thiserror::Error;

use crate::processor::ProcessorCosts;

/// A write-anywhere controller: one aggregate of one parity group, one volume with one LUN, in which one file is
/// mapped from the lowest LBA on.
#[derive(Debug, Clone)]
pub struct WriteAnywhereConfig {
    /// The spindles.
    pub group: ParityGroup,
    /// Sizes of allocation area, tetris and chunk.
    pub shape: AllocationShape,
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
    /// The controller's processor.
    pub processor: ProcessorCosts,
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
    /// A size that must be at least one is zero.
    #[error("{0} is zero: it must be at least 1")]
    Zero(&'static str),
}
