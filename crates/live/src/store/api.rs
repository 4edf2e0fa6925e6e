//! Requests to a store, and its answers.

use strewn_raid::SpindleIndex;

use crate::format::{BadEntry, BlockTag};

/// The caller's identifier of a request, returned with its result. Requests in flight have different tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Token(pub u64);

/// A completed request, or the loss of a spindle.
#[derive(Debug)]
pub enum StoreEvent {
    /// A read of blocks has completed.
    Read {
        /// Token that the request was given.
        token: Token,
        /// The data, with the state of each block. An error only if the spindle is lost.
        result: Result<ReadOutcome, SpindleWriteError>,
    },
    /// A read of checksum entries.
    ChecksumsRead {
        /// Token that the request was given.
        token: Token,
        /// The state of each block, assuming that its bytes match its checksum. An error only if the spindle is lost.
        result: Result<Vec<BlockState>, SpindleWriteError>,
    },
    /// A write: the data and the checksums are written. The next flush makes both durable.
    Write {
        /// Token that the request was given.
        token: Token,
        /// Whether it was done. If not, any part of it may be; partially written blocks are bad.
        result: Result<(), SpindleWriteError>,
    },
    /// A flush of all spindles that are present.
    Flush {
        /// Token that the request was given.
        token: Token,
        /// Whether it was done. A spindle lost meanwhile is not an error, but is reported as
        /// [`StoreEvent::SpindleLost`].
        result: Result<(), SpindleWriteError>,
    },
    /// A superblock write to all spindles that are present.
    Superblock {
        /// Token that the request was given.
        token: Token,
        /// Whether it is durable. An error if a spindle had no room for it, or no spindle is left.
        result: Result<(), SpindleWriteError>,
    },
    /// A spindle no longer answers; reported once. Everything in flight on it fails with
    /// [`SpindleWriteError::SpindleLost`], and so does every later request, until
    /// [`Store::admit_spindle`](super::Store::admit_spindle).
    SpindleLost(SpindleIndex),
}

/// Why a request failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpindleWriteError {
    /// There is no space left under the device.
    #[error("no space is left under the device")]
    NoSpace,
    /// The spindle is lost.
    #[error("the spindle is gone")]
    SpindleLost,
    /// The device refuses to write these blocks, but otherwise answers.
    #[error("the device does not write these blocks")]
    Refused,
    /// A partial write of a block whose other part is bad. Nothing was written. The blocks that `bad` marks must be
    /// recomputed and written in full.
    #[error("a block that is written in part is bad")]
    BadBlocks {
        /// For each block of the write, whether it is bad.
        bad: Vec<bool>,
    },
}

/// The result of a read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadOutcome {
    /// 512 bytes for each sector: zeros for blocks that are bad or were never written.
    pub bytes: Vec<u8>,
    /// The state of each block of 4 KiB that the read touched.
    pub blocks: Vec<BlockState>,
}

impl ReadOutcome {
    /// Returns whether any block is bad.
    #[must_use]
    pub fn any_bad(&self) -> bool {
        self.blocks.iter().any(BlockState::is_bad)
    }

    /// Returns, for each block, whether it is bad, as [`Durable::blocks_failed`](strewn_array::Durable::blocks_failed)
    /// expects it.
    #[must_use]
    pub fn bad(&self) -> Vec<bool> {
        self.blocks.iter().map(BlockState::is_bad).collect()
    }
}

/// The state of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockState {
    /// It was never written, and reads as zeros.
    NeverWritten,
    /// It has the contents last written.
    Good {
        /// What it is, as its writer described it.
        block_tag: BlockTag,
        /// The consistency point that it was written with.
        consistency_point: u64,
        /// CRC-32C of its 4096 bytes.
        crc: u32,
    },
    /// It must not be used.
    Bad(BadBlock),
}

impl BlockState {
    /// Returns whether it must not be used.
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
    /// Its bytes do not match its checksum.
    #[error("the block's bytes have CRC-32C {found:08x}, and were written with {written:08x}")]
    WrongChecksum {
        /// CRC-32C of its bytes.
        found: u32,
        /// CRC-32C of what was written.
        written: u32,
    },
    #[error(
        "the block is stale: it has CRC-32C {found:08x}, and the rest of its stripe is of another"
    )]
    /// It is consistent in itself, but the rest of its stripe shows that something else was written here last.
    Stale {
        /// CRC-32C of its bytes.
        found: u32,
    },
    /// Its contents are lost for good, as its tag records.
    #[error("what belongs here is lost for good")]
    Gone,
    /// Its checksum entry is zeros in a zone where every entry was written once.
    #[error("the checksum entry was erased")]
    Erased,
    /// Its checksum entry is not valid for it.
    #[error(transparent)]
    BadEntry(#[from] BadEntry),
}
