//! Operations in progress, and the part that each has in a row of blocks.

use strewn_base::{BLOCK_SECTORS, SECTOR_BYTES};
use strewn_raid::{Dbn, SpindleIndex};

use super::api::{BlockState, SpindleWriteError, Token};
use super::rows::RowId;
use crate::device::{BLOCK_BYTES, Buffer};
use crate::format::{BlockTag, ENTRY_BYTES};

/// Bytes of a sector.
pub(super) const SECTOR: usize = SECTOR_BYTES as usize;

/// Sectors of a spindle, and the blocks that they touch.
#[derive(Debug, Clone, Copy)]
pub(super) struct Extent {
    pub(super) spindle: SpindleIndex,
    pub(super) first_sector: u64,
    pub(super) sectors: u64,
}

impl Extent {
    pub(super) fn first_block(self) -> Dbn {
        Dbn(self.first_sector / BLOCK_SECTORS)
    }

    pub(super) fn blocks(self) -> usize {
        let end = (self.first_sector + self.sectors).div_ceil(BLOCK_SECTORS);
        (end - self.first_block().0) as usize
    }

    /// Returns the bytes of the first block before the first sector.
    pub(super) fn lead(self) -> usize {
        (self.first_sector % BLOCK_SECTORS) as usize * SECTOR
    }

    pub(super) fn bytes(self) -> usize {
        self.sectors as usize * SECTOR
    }

    /// Returns whether it covers its block number `block` in full.
    pub(super) fn has_whole(self, block: usize) -> bool {
        let start = block * BLOCK_BYTES;
        start >= self.lead() && start + BLOCK_BYTES <= self.lead() + self.bytes()
    }
}

/// A request in progress.
#[derive(Debug)]
pub(super) struct Operation {
    pub(super) token: Token,
    pub(super) kind: OperationKind,
    /// Parts, or I/Os of a flush or superblock, that are not done.
    pub(super) remaining: usize,
    pub(super) failure: Option<SpindleWriteError>,
}

#[derive(Debug)]
pub(super) enum OperationKind {
    Read {
        extent: Extent,
        bytes: Vec<u8>,
        blocks: Vec<BlockState>,
    },
    /// A write whose edge blocks are being read, because it covers them in part.
    ReadModifyWrite {
        extent: Extent,
        /// Whole blocks.
        bytes: Vec<u8>,
        block_tag: Vec<BlockTag>,
        consistency_point: u64,
        bad: Vec<bool>,
    },
    Write {
        spindle: SpindleIndex,
    },
    /// A write that waits until its zones are initialized.
    Deferred(DeferredWrite),
    ReadChecksums {
        spindle: SpindleIndex,
        blocks: Vec<BlockState>,
    },
    /// A step of initializing zones.
    Initialize(InitializationStep),
    Flush,
    /// A superblock, and how many spindles have it.
    Superblock {
        written: usize,
    },
}

impl OperationKind {
    pub(super) fn spindle(&self) -> Option<SpindleIndex> {
        match self {
            Self::Read { extent, .. } | Self::ReadModifyWrite { extent, .. } => {
                Some(extent.spindle)
            }
            Self::Deferred(write) => Some(write.extent.spindle),
            Self::Write { spindle } | Self::ReadChecksums { spindle, .. } => Some(*spindle),
            Self::Initialize(_) | Self::Flush | Self::Superblock { .. } => None,
        }
    }
}

/// A write of whole blocks.
#[derive(Debug)]
pub(super) struct DeferredWrite {
    pub(super) extent: Extent,
    pub(super) bytes: Vec<u8>,
    pub(super) block_tags: Vec<BlockTag>,
    pub(super) consistency_point: u64,
}

/// A zone, and the number of the parity group that it is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ZoneId {
    pub(super) group: usize,
    pub(super) zone: u64,
}

/// What is done on all spindles of a parity group to initialize a zone, in this order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum InitializationStep {
    /// Its checksum blocks are written.
    WriteChecksums(ZoneId),
    /// They are flushed.
    Flush(ZoneId),
    /// The group's map is written, with the bits of these zones.
    WriteMap(usize, Vec<u64>),
}

/// The part of an operation in one row.
#[derive(Debug)]
pub(super) struct RowPart {
    pub(super) operation: usize,
    pub(super) row: RowId,
    /// The first block within the row.
    pub(super) first: usize,
    /// How many blocks.
    pub(super) count: usize,
    pub(super) work: PartWork,
}

impl RowPart {
    /// Returns a mask of its blocks, one bit each.
    pub(super) fn mask(&self) -> u64 {
        mask(self.first, self.count)
    }
}

/// Returns a mask of `count` blocks from `first` on.
pub(super) fn mask(first: usize, count: usize) -> u64 {
    (u64::MAX >> (64 - count)) << first
}

#[derive(Debug)]
pub(super) enum PartWork {
    Read(ReadPart),
    Write(WritePart),
    /// Reads only checksum entries. The field is its first block within the operation.
    ReadChecksums(usize),
}

#[derive(Debug)]
pub(super) struct ReadPart {
    /// The first block within the operation.
    pub(super) at: usize,
    pub(super) state: ReadState,
    /// Blocks whose writes began since the read was sent: the data may be older than its checksum, or a mixture.
    pub(super) overlapped: u64,
    /// Whether it is read without the checksum block that follows it.
    pub(super) alone: bool,
}

#[derive(Debug)]
pub(super) enum ReadState {
    /// Not sent yet, because one of its blocks is being written.
    Waiting,
    /// In flight.
    Sent,
    /// Read, and waiting for the checksums. `None` if it is unreadable.
    Arrived(Option<Buffer>),
}

#[derive(Debug)]
pub(super) struct WritePart {
    /// Whether the device has written the data.
    pub(super) data_done: bool,
    /// The checksum entries of its blocks, until they are in the checksum block.
    pub(super) entries: Vec<[u8; ENTRY_BYTES]>,
    /// The first version of the checksum block that contains them.
    pub(super) version: Option<u64>,
}

/// The purpose of an I/O.
#[derive(Debug)]
pub(super) enum IoPurpose {
    /// The data of a part.
    ReadData(usize),
    /// The data of a part and the checksum block that follows it.
    ReadDataAndChecksums(usize),
    ReadChecksums(RowId),
    WriteData(usize),
    WriteChecksums(RowId),
    /// Whole rows: data and checksum blocks of these parts.
    WriteRows(Vec<usize>),
    /// A flush, a superblock, or a step of initializing zones.
    AllSpindles(usize),
}

/// An I/O in flight, or about to be.
#[derive(Debug)]
pub(super) struct SentIo {
    pub(super) spindle: SpindleIndex,
    pub(super) purpose: IoPurpose,
}
