//! Requests of a host, and their progress.

use std::ops::Range;
use std::sync::Arc;

use strewn_array::{LunId, Payload};
use strewn_base::{BLOCK_SECTORS, SECTOR_BYTES};

use crate::data::Data;
use crate::device::BLOCK_BYTES;
use crate::format::LogLayout;

/// The caller's identifier of a request, returned with the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestId(pub u64);

/// Something that a host can work on: a LUN, by its persistent file number, or a LUN as it is in a snapshot, by a
/// number that is given out while the array runs.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub struct TargetId(pub u32);

impl TargetId {
    /// The first LUN of an array.
    pub const FIRST_LUN: Self = Self(1);
    /// The first number for LUNs in snapshots. LUNs have smaller ones.
    pub const FIRST_IN_SNAPSHOT: Self = Self(1 << 31);
}

/// What the engine knows of a target.
#[derive(Debug, Clone, Copy)]
pub(super) struct Target {
    pub(super) lun: LunId,
    pub(super) sectors: u64,
    pub(super) is_read_only: bool,
}

/// A host request. Sectors have 512 bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostRequest {
    /// Reads sectors.
    Read(Range<u64>),
    /// Writes whole sectors. Answered when they are durable.
    Write {
        /// First sector of the LUN to write.
        first_sector: u64,
        /// The data: a multiple of 512 bytes.
        data: Vec<u8>,
    },
    /// Discards sectors. Blocks that they cover fully are unmapped, if the array can.
    Unmap(Range<u64>),
    /// Makes sectors read as zeros, by unmapping pieces of whole blocks, if the array can.
    Zero(Range<u64>),
    /// Makes everything that was answered durable; it already is.
    Flush,
    /// Asks which of these sectors are allocated.
    Allocation(Range<u64>),
}

impl HostRequest {
    /// Returns whether it changes its target.
    #[must_use]
    pub fn changes_lun(&self) -> bool {
        match self {
            Self::Write { .. } | Self::Unmap(_) | Self::Zero(_) => true,
            Self::Read(_) | Self::Flush | Self::Allocation(_) => false,
        }
    }

    /// Returns the sectors that it names, or `None` for a flush.
    #[must_use]
    pub fn sectors(&self) -> Option<Range<u64>> {
        match self {
            Self::Read(sectors)
            | Self::Unmap(sectors)
            | Self::Zero(sectors)
            | Self::Allocation(sectors) => Some(sectors.clone()),
            Self::Write { first_sector, data } => {
                let sectors = data.len() as u64 / SECTOR_BYTES;
                Some(*first_sector..first_sector.saturating_add(sectors))
            }
            Self::Flush => None,
        }
    }
}

/// The answer to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The request is done.
    Done,
    /// The data that was read.
    Bytes(Vec<u8>),
    /// Runs of sectors: their lengths, and whether they are allocated. Unallocated sectors read as zeros.
    Allocation(Vec<(u64, bool)>),
}

/// Why a request failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// There is no such target, or no longer.
    #[error("the LUN does not exist, or no longer")]
    NoSuchTarget,
    /// A LUN in a snapshot cannot be changed.
    #[error("the LUN is in a snapshot, and cannot be changed; change a clone of the snapshot")]
    ReadOnly,
    /// The range is empty, or exceeds the LUN.
    #[error("sectors {first} to {end} are not all of the LUN, which has {lun_sectors}")]
    OutOfRange {
        /// First sector of the range.
        first: u64,
        /// The sector after the last.
        end: u64,
        /// Size of the LUN, in sectors.
        lun_sectors: u64,
    },
    /// Blocks that the request needs can be neither read nor recomputed.
    #[error("blocks can be neither read nor computed from the rest of their stripes")]
    BlocksGone,
    /// There is no space under a device: a sparse file on a full file system. A request that was being carried out may
    /// be done in part, piece by piece.
    #[error("there is no space left under the devices; make room on their file systems")]
    NoSpace,
    /// The array has no free blocks for a write.
    #[error("the array has no room for it; unmap blocks, or delete a snapshot")]
    ArrayFull,
    /// The request was given up before it was done, because nobody waits for it.
    #[error("the request was given up")]
    GivenUp,
    /// The array has stopped, for this reason.
    #[error("the array has stopped: {0}")]
    Stopped(String),
}

/// A piece of a request, as issued to the array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    Read(Range<u64>),
    Write(Range<u64>),
    /// Whole blocks.
    Unmap(Range<u64>),
}

/// The largest piece, in sectors: 1 MiB.
const MOST_PIECE_SECTORS: u64 = 2_048;

/// Returns the size of pieces in sectors, if an empty half of the log has `room` accounted bytes. It is a power of
/// two, so that pieces end at multiples of it. A half has room for at least one block.
pub(super) fn piece_sectors(room: u64) -> u64 {
    let blocks = room.saturating_sub(LogLayout::ACCOUNTED_RECORD_BYTES) / BLOCK_BYTES as u64;
    let most = blocks.max(1) * BLOCK_SECTORS;
    1 << most.min(MOST_PIECE_SECTORS).ilog2()
}

/// A request in progress.
pub(super) struct PendingRequest {
    pub(super) id: RequestId,
    pub(super) lun: LunId,
    request: HostRequest,
    /// The data of a write.
    data: Arc<Vec<u8>>,
    /// The first sector without a piece.
    next: u64,
    end: u64,
    piece_sectors: u64,
    pub(super) in_flight: usize,
    /// How many of those in flight the array has not placed: it may still carry out others before them.
    pub(super) unplaced: usize,
    pub(super) failed: Option<RequestError>,
    /// Whether it was answered while pieces are in flight.
    pub(super) is_answered: bool,
    /// The data that a read has collected so far.
    pub(super) bytes: Vec<u8>,
}

impl PendingRequest {
    pub(super) fn new(
        id: RequestId,
        lun: LunId,
        mut request: HostRequest,
        sectors: Range<u64>,
        piece_sectors: u64,
    ) -> Self {
        let data = match &mut request {
            HostRequest::Write { data, .. } => Arc::new(std::mem::take(data)),
            _ => Arc::default(),
        };
        let Range { start: next, end } = sectors;
        Self {
            id,
            lun,
            request,
            data,
            next,
            end,
            piece_sectors,
            in_flight: 0,
            unplaced: 0,
            failed: None,
            is_answered: false,
            bytes: Vec::new(),
        }
    }

    /// Returns whether it changes the LUN.
    pub(super) fn changes_lun(&self) -> bool {
        self.request.changes_lun()
    }

    /// Returns how many pieces may be in flight: enough to keep the spindles busy, few enough that a huge request
    /// does not take all memory.
    pub(super) fn max_in_flight(&self) -> usize {
        match self.request {
            HostRequest::Read(_) | HostRequest::Write { .. } => 64,
            _ => 4,
        }
    }

    /// Returns the data of a piece of a write.
    pub(super) fn data_of(&self, sectors: &Range<u64>) -> Data {
        let bytes = (sectors.end - sectors.start) as usize * SECTOR_BYTES as usize;
        match &self.request {
            HostRequest::Write { first_sector, .. } => {
                let from = (sectors.start - first_sector) as usize * SECTOR_BYTES as usize;
                Data::part(&self.data, from..from + bytes)
            }
            _ => Data::from_bytes(vec![0; bytes]),
        }
    }

    /// Adds the data of a piece of a read.
    pub(super) fn add_read_data(&mut self, sectors: &Range<u64>, data: Data) {
        let HostRequest::Read(all) = &self.request else { return };
        if sectors == all {
            self.bytes = data.into_bytes();
            return;
        }
        self.bytes.resize((all.end - all.start) as usize * SECTOR_BYTES as usize, 0);
        let from = (sectors.start - all.start) as usize * SECTOR_BYTES as usize;
        self.bytes[from..][..data.bytes().len()].copy_from_slice(data.bytes());
    }

    /// Returns the next piece, or `None` if there are no more.
    pub(super) fn next_piece(&mut self, supports_unmap: bool) -> Option<Piece> {
        loop {
            if self.next >= self.end {
                return None;
            }
            let start = self.next;
            let end = ((start / self.piece_sectors + 1) * self.piece_sectors).min(self.end);
            let (blocks_start, blocks_end) =
                (start.next_multiple_of(BLOCK_SECTORS), end / BLOCK_SECTORS * BLOCK_SECTORS);
            let (piece, next) = match &self.request {
                HostRequest::Read(_) => (Some(Piece::Read(start..end)), end),
                HostRequest::Write { .. } => (Some(Piece::Write(start..end)), end),
                HostRequest::Unmap(_) if !supports_unmap || blocks_start >= blocks_end => {
                    (None, end)
                }
                HostRequest::Unmap(_) => (Some(Piece::Unmap(blocks_start..blocks_end)), end),
                HostRequest::Zero(_)
                    if supports_unmap && (start, end) == (blocks_start, blocks_end) =>
                {
                    (Some(Piece::Unmap(start..end)), end)
                }
                // One record of the log makes a piece atomic, so a piece with a partial block is written in full.
                HostRequest::Zero(_) => (Some(Piece::Write(start..end)), end),
                HostRequest::Flush | HostRequest::Allocation(_) => (None, self.end),
            };
            self.next = next;
            if piece.is_some() {
                return piece;
            }
        }
    }

    /// Returns whether every piece was issued.
    pub(super) fn is_issued(&self) -> bool {
        self.next >= self.end
    }

    /// Returns whether every later change will be carried out after it.
    pub(super) fn is_settled(&self) -> bool {
        self.unplaced == 0 && (self.is_issued() || self.failed.is_some())
    }

    /// Returns whether nothing is left to do.
    pub(super) fn is_done(&self) -> bool {
        self.in_flight == 0 && (self.is_issued() || self.failed.is_some())
    }

    pub(super) fn answer(self) -> Result<Answer, RequestError> {
        match (self.failed, self.request) {
            (Some(error), _) => Err(error),
            (None, HostRequest::Read(_)) => Ok(Answer::Bytes(self.bytes)),
            (None, _) => Ok(Answer::Done),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(request: HostRequest, sectors: Range<u64>, supports_unmap: bool) -> Vec<Piece> {
        let mut pending =
            PendingRequest::new(RequestId(0), LunId(0), request, sectors, MOST_PIECE_SECTORS);
        std::iter::from_fn(|| pending.next_piece(supports_unmap)).collect()
    }

    #[test]
    fn a_piece_fits_a_half_of_the_log() {
        for half_bytes in [64 << 10, 100 << 10, 1 << 20, 64 << 20] {
            let sectors = piece_sectors(half_bytes);
            assert!(sectors.is_multiple_of(BLOCK_SECTORS) && sectors <= MOST_PIECE_SECTORS);
            assert!(
                LogLayout::accounted_bytes(sectors * SECTOR_BYTES) <= half_bytes,
                "{half_bytes}"
            );
        }
        assert_eq!(piece_sectors(64 << 20), MOST_PIECE_SECTORS);
    }

    #[test]
    fn pieces_of_zeros_with_a_partial_block_are_written_and_others_unmapped() {
        let zero = HostRequest::Zero(3..4_100);
        assert_eq!(
            pieces(zero.clone(), 3..4_100, true),
            [Piece::Write(3..2_048), Piece::Unmap(2_048..4_096), Piece::Write(4_096..4_100),]
        );
        assert_eq!(
            pieces(zero, 3..4_100, false),
            [Piece::Write(3..2_048), Piece::Write(2_048..4_096), Piece::Write(4_096..4_100)]
        );
        let back = HostRequest::Unmap(3..20);
        assert_eq!(pieces(back.clone(), 3..20, true), [Piece::Unmap(8..16)]);
        assert_eq!(pieces(back, 3..20, false), []);
    }

    #[test]
    fn a_piece_is_no_larger_than_what_a_half_of_the_log_takes() {
        assert_eq!(piece_sectors(16 << 20), 2_048);
        assert_eq!(piece_sectors(1 << 20), 1_024);
        assert_eq!(piece_sectors((1 << 20) + LogLayout::ACCOUNTED_RECORD_BYTES), 2_048);
        assert_eq!(piece_sectors(3 * 4_096), 8);
        for half_blocks in 3..600 {
            let room = half_blocks * 4_096;
            assert!(LogLayout::accounted_bytes(piece_sectors(room) * SECTOR_BYTES) <= room);
        }
    }
}
