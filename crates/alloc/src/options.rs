//! Options of an aggregate: block size, allocation shape, policy, delayed frees.

use std::error::Error;
use std::fmt;

use strewn_base::memory::OutOfMemory;
use strewn_raid::ROW_STRIPES;

use crate::areas::AreaOrder;
use crate::policy::PolicyName;

/// The sizes of allocation area, tetris and chunk, in WAFL's terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AllocationShape {
    /// Stripes in an allocation area: a positive multiple of 64.
    pub area_stripes: u64,
    /// Stripes written together: a power of two, at most 64.
    pub tetris_stripes: u64,
    /// Consecutive blocks on one spindle before the next spindle's turn: a power of two, at most `tetris_stripes`.
    pub chunk_blocks: u64,
}

impl Default for AllocationShape {
    /// 4096 stripes, 64 stripes, 64 blocks.
    fn default() -> Self {
        Self { area_stripes: 4096, tetris_stripes: 64, chunk_blocks: 64 }
    }
}

/// Where the chunks of a consistency point that fills whole tetrises begin.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Chunks {
    /// With a whole chunk: blocks given in file order, in runs that divide a chunk, are not cut by a chunk's end. This
    /// leaves free what the last consistency point left of its chunks, until its area is chosen again. WAFL ends a
    /// chunk where the file block number reaches a boundary (US patent 7,930,475), which has this effect.
    #[default]
    Aligned,
    /// With what the last consistency point left of its chunks.
    Packed,
}

/// The options of an aggregate: those of the default, with what you change.
///
/// ```
/// use strewn_alloc::{AggregateOptions, AllocationShape, BlockSize, PolicyName};
///
/// let options = AggregateOptions::default()
///     .with_block_size(BlockSize::new(8_192)?)
///     .with_policy(PolicyName::FirstFit)
///     .with_shape(AllocationShape::default().with_area_stripes(1_024));
/// assert_eq!(options.shape.area_stripes, 1_024);
/// // The same, as fields. Both compile with options that a later version adds.
/// let fields = AggregateOptions { delayed_frees: 100, ..options };
/// assert_eq!(fields, options.with_delayed_frees(100));
/// # Ok::<(), strewn_alloc::AggregateError>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AggregateOptions {
    /// The size of a block. The allocator counts in blocks; only figures per GiB need the size.
    pub block_size: BlockSize,
    /// The sizes of allocation area, tetris and chunk.
    pub shape: AllocationShape,
    /// Where the chunks of large consistency points begin.
    pub chunks: Chunks,
    /// Which allocation area to fill next.
    pub policy: PolicyName,
    /// How areas are ordered by free blocks.
    pub order: AreaOrder,
    /// Freed blocks whose free may be delayed, so that those of one region of the map (32,768 blocks, one 4 KiB block
    /// of the map) become free together. With 0, all become free with the commit.
    pub delayed_frees: u64,
}

impl AggregateOptions {
    /// Sets the [size of a block](Self::block_size).
    #[must_use]
    pub fn with_block_size(self, block_size: BlockSize) -> Self {
        Self { block_size, ..self }
    }

    /// Sets the sizes of [allocation area, tetris and chunk](Self::shape).
    #[must_use]
    pub fn with_shape(self, shape: AllocationShape) -> Self {
        Self { shape, ..self }
    }

    /// Sets [where chunks begin](Self::chunks).
    #[must_use]
    pub fn with_chunks(self, chunks: Chunks) -> Self {
        Self { chunks, ..self }
    }

    /// Sets [which area is next](Self::policy).
    #[must_use]
    pub fn with_policy(self, policy: PolicyName) -> Self {
        Self { policy, ..self }
    }

    /// Sets [how areas are ordered](Self::order).
    #[must_use]
    pub fn with_order(self, order: AreaOrder) -> Self {
        Self { order, ..self }
    }

    /// Sets [how many frees may be delayed](Self::delayed_frees).
    #[must_use]
    pub fn with_delayed_frees(self, delayed_frees: u64) -> Self {
        Self { delayed_frees, ..self }
    }
}

/// The size of a block: a power of two from 512 B to 64 KiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockSize(u32);

impl BlockSize {
    /// Blocks of `bytes`.
    ///
    /// # Errors
    /// [`AggregateError::BlockSize`] if `bytes` is not a power of two from 512 to 65,536.
    pub fn new(bytes: u32) -> Result<Self, AggregateError> {
        let fits = bytes.is_power_of_two() && (512..=65_536).contains(&bytes);
        fits.then_some(Self(bytes)).ok_or(AggregateError::BlockSize(bytes))
    }

    /// Bytes in a block.
    #[must_use]
    pub fn bytes(self) -> u64 {
        u64::from(self.0)
    }

    /// Blocks in a GiB.
    #[must_use]
    pub fn blocks_per_gib(self) -> u64 {
        (1 << 30) / self.bytes()
    }
}

impl Default for BlockSize {
    /// 4 KiB.
    fn default() -> Self {
        Self(4_096)
    }
}

/// The most blocks an aggregate can have: 2^40, 4 PiB of 4 KiB blocks.
pub const MOST_BLOCKS: u64 = 1 << 40;

/// Why an aggregate cannot be created.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum AggregateError {
    /// A block is not a power of two from 512 to 65,536 bytes.
    BlockSize(u32),
    /// The area is not a positive multiple of 64 stripes.
    AreaStripes(u64),
    /// An area has more blocks than 32 bits can count.
    AreaTooLarge {
        /// Stripes in an area.
        area_stripes: u64,
        /// Data spindles of the group.
        data_spindles: u16,
    },
    /// A group has more areas than 32 bits can count.
    TooManyAreas(u64),
    /// The tetris is not a power of two of at most 64 stripes.
    TetrisStripes(u64),
    /// The chunk is not a power of two, or longer than a tetris.
    ChunkBlocks {
        /// The chunk asked for, in blocks.
        chunk: u64,
        /// The tetris it must fit, in stripes.
        tetris: u64,
    },
    /// There is no parity group.
    NoGroup,
    /// The groups have more blocks than an aggregate can have.
    TooManyBlocks(u64),
    /// There are more groups than 16 bits can number.
    TooManyGroups,
    /// The system does not provide the memory for the maps.
    OutOfMemory(OutOfMemory),
}

impl fmt::Display for AggregateError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BlockSize(bytes) => write!(
                formatter,
                "a block of {bytes} bytes: it takes a power of two from 512 to 65536"
            ),
            Self::AreaStripes(stripes) => write!(
                formatter,
                "an allocation area of {stripes} stripes: it takes a positive multiple \
                of 64"
            ),
            Self::AreaTooLarge { area_stripes, data_spindles } => write!(
                formatter,
                "an allocation area of {area_stripes} stripes over {data_spindles} data \
                spindles: it takes at most 4294967295 blocks"
            ),
            Self::TooManyAreas(areas) => write!(
                formatter,
                "{areas} allocation areas in a group: it takes at most 4294967295; \
                larger areas are fewer"
            ),
            Self::TetrisStripes(stripes) => write!(
                formatter,
                "a tetris of {stripes} stripes: it takes a power of two, at most 64"
            ),
            Self::ChunkBlocks { chunk, tetris } => write!(
                formatter,
                "a chunk of {chunk} blocks: it takes a power of two, at most the \
                {tetris} stripes of a tetris"
            ),
            Self::NoGroup => formatter.write_str("an aggregate needs a parity group"),
            Self::TooManyBlocks(blocks) => {
                write!(formatter, "{blocks} blocks: an aggregate has at most 1099511627776 (2^40)")
            }
            Self::TooManyGroups => {
                formatter.write_str("an aggregate has at most 65535 parity groups")
            }
            Self::OutOfMemory(error) => write!(formatter, "the maps of a parity group: {error}"),
        }
    }
}

impl Error for AggregateError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::OutOfMemory(inner) => Some(inner),
            _ => None,
        }
    }
}

impl AllocationShape {
    /// Sets the [stripes of an area](Self::area_stripes).
    #[must_use]
    pub fn with_area_stripes(self, area_stripes: u64) -> Self {
        Self { area_stripes, ..self }
    }

    /// Sets the [stripes of a tetris](Self::tetris_stripes).
    #[must_use]
    pub fn with_tetris_stripes(self, tetris_stripes: u64) -> Self {
        Self { tetris_stripes, ..self }
    }

    /// Sets the [blocks of a chunk](Self::chunk_blocks).
    #[must_use]
    pub fn with_chunk_blocks(self, chunk_blocks: u64) -> Self {
        Self { chunk_blocks, ..self }
    }

    /// Checks the sizes against their limits.
    ///
    /// # Errors
    /// [`AggregateError`] for the first size that is not as its field says.
    pub fn check(&self) -> Result<(), AggregateError> {
        let Self { area_stripes, tetris_stripes, chunk_blocks } = *self;
        if area_stripes == 0 || !area_stripes.is_multiple_of(ROW_STRIPES) {
            return Err(AggregateError::AreaStripes(area_stripes));
        }
        if !tetris_stripes.is_power_of_two() || tetris_stripes > ROW_STRIPES {
            return Err(AggregateError::TetrisStripes(tetris_stripes));
        }
        if !chunk_blocks.is_power_of_two() || chunk_blocks > tetris_stripes {
            return Err(AggregateError::ChunkBlocks {
                chunk: chunk_blocks,
                tetris: tetris_stripes,
            });
        }
        Ok(())
    }
}
