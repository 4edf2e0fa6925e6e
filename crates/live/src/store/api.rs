//! What a store is asked and what it answers.

use strewn_raid::SpindleIndex;

use crate::format::{BadEntry, BlockTag};

/// What whoever asks calls a request; given back when it is finished. Requests under way have different ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Token(pub u64);

/// Something that is finished.
#[derive(Debug)]
pub enum StoreEvent {
    /// A read.
    Read {
        /// Its name.
        token: Token,
        /// What was read, with the blocks that are bad; an error only where the spindle is gone.
        result: Result<ReadOutcome, StoreError>,
    },
    /// A look at what is kept beside blocks.
    ChecksumsRead {
        /// Its name.
        token: Token,
        /// What is known of each block, as if its bytes were what their checksum says; an error only where the spindle is gone.
        result: Result<Vec<BlockState>, StoreError>,
    },
    /// A write: its data and their checksums are written. Safe from a loss of power with the next flush.
    Write {
        /// Its name.
        token: Token,
        /// Whether it was done. Where not, any part of it may be; blocks of which a part is are bad.
        result: Result<(), StoreError>,
    },
    /// A flush of all spindles that are present.
    Flush {
        /// Its name.
        token: Token,
        /// Whether it was done. Spindles that were lost meanwhile are no failure: they are [`StoreEvent::SpindleLost`].
        result: Result<(), StoreError>,
    },
    /// A superblock is safe on all spindles that are present.
    Superblock {
        /// Its name.
        token: Token,
        /// Whether it is; an error where one of the spindles had no room for it, or none is left.
        result: Result<(), StoreError>,
    },
    /// A spindle no longer answers, said once. Everything under way on it fails with [`StoreError::SpindleLost`], and whatever it
    /// is asked, until [`Store::admit_spindle`](super::Store::admit_spindle).
    SpindleLost(SpindleIndex),
}

/// Why something was not done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// No room is left under the device.
    #[error("no space is left under the device")]
    NoSpace,
    /// The spindle is lost.
    #[error("the spindle is gone")]
    SpindleLost,
    /// The device did not take what it was to write, and is there nonetheless.
    #[error("the device does not write these blocks")]
    Refused,
    /// A write of a part of a block, and the rest of the block is bad. Nothing was written. `bad` says so of each block
    /// that the write touches: they are to be computed and written as a whole.
    #[error("a block that is written in part is bad")]
    BadBlocks {
        /// One for each block that the write touches.
        bad: Vec<bool>,
    },
}

/// What a read gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadOutcome {
    /// 512 bytes for each sector; zeros for those of blocks that are bad or were never written.
    pub bytes: Vec<u8>,
    /// What is known of each block of 4 KiB that was touched.
    pub blocks: Vec<BlockState>,
}

impl ReadOutcome {
    /// Whether any block is bad.
    #[must_use]
    pub fn any_bad(&self) -> bool {
        self.blocks.iter().any(BlockState::is_bad)
    }

    /// For each block whether it is bad, as [`Array::blocks_failed`](strewn_array::Array::blocks_failed) wants it.
    #[must_use]
    pub fn bad(&self) -> Vec<bool> {
        self.blocks.iter().map(BlockState::is_bad).collect()
    }
}

/// What is known of a block that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockState {
    /// It was never written since the spindle was blank, and reads as zeros.
    NeverWritten,
    /// It is what was written.
    Good {
        /// What is kept beside it.
        block_tag: BlockTag,
        /// The consistency point that it was written with.
        checkpoint: u64,
        /// CRC-32C of its 4096 bytes.
        crc: u32,
    },
    /// It is not to be used.
    Bad(BadBlock),
}

impl BlockState {
    /// Whether it is not to be used.
    #[must_use]
    pub fn is_bad(&self) -> bool {
        matches!(self, Self::Bad(_))
    }
}

/// Why a block is bad.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadBlock {
    /// The device cannot read it.
    #[error("the block cannot be read")]
    Unreadable,
    /// The device cannot read its checksum block.
    #[error("the block's checksum cannot be read")]
    ChecksumUnreadable,
    /// Its bytes are not those that were written.
    #[error("the block's bytes have CRC-32C {found:08x}, and were written with {written:08x}")]
    WrongChecksum {
        /// CRC-32C of the bytes.
        found: u32,
        /// CRC-32C of what was written.
        written: u32,
    },
    /// It is right by itself, and not what the rest of its stripe says that was written here last.
    #[error(
        "the block is stale: it has CRC-32C {found:08x}, and the rest of its stripe is of another"
    )]
    Stale {
        /// CRC-32C of what is here.
        found: u32,
    },
    /// What belongs here is lost for good, as whoever wrote it says.
    #[error("what belongs here is lost for good")]
    Gone,
    /// Its checksum entry does not vouch for it.
    #[error(transparent)]
    BadEntry(#[from] BadEntry),
}
