//! Blocks that find no room in one piece: a header, and up to three pieces that it leads to, each of which may be in
//! pieces itself.
//!
//! `zio.c` of OpenZFS: `zio_write_gang_block`, `zio_gang_tree_assemble`.

use std::collections::VecDeque;

use crate::dva::{Copies, Dva, NoRoom, Piece};
use crate::pool::{Pool, Search};

/// Pieces that a header leads to at most (`SPA_GBH_NBLKPTRS`).
const PIECES: u64 = 3;

/// Bytes of a header (`SPA_GANGBLOCKSIZE`).
const HEADER_BYTES: u64 = 512;

/// Lengths of pieces are multiples of this (`SPA_MINBLOCKSIZE`), whatever the sector.
const LEAST_PIECE_BYTES: u64 = 512;

/// A header has so many copies at least, so that it leads to the pieces of data even if one is bad.
const LEAST_HEADERS: usize = 2;

/// The step in which data is read: after all headers.
const DATA_STEP: u8 = u8::MAX;

/// The lengths of the pieces of a block.
fn lengths(bytes: u64) -> impl Iterator<Item = u64> {
    (0..PIECES).scan(bytes, |left, piece| {
        let length = (*left / (PIECES - piece)).next_multiple_of(LEAST_PIECE_BYTES).min(*left);
        *left -= length;
        (length > 0).then_some(length)
    })
}

impl Pool {
    /// Allocates a block in pieces, for which there is no room in one. Returns the copies of its header, two at least;
    /// [`pieces`](Self::pieces) has the rest.
    ///
    /// # Errors
    /// If there is no room for the pieces either. Nothing is allocated then.
    pub(crate) fn allocate_in_pieces(
        &mut self,
        bytes: u64,
        copies: usize,
    ) -> Result<Copies, NoRoom> {
        let headers = self.allocate_header(copies, None)?;
        // Those that the block knows are freed, read and written by themselves.
        let known = &headers[..copies];
        let mut pieces: Vec<Piece> = Piece::all(&headers, HEADER_BYTES, 0).skip(copies).collect();
        if let Err(error) = self.add_pieces(bytes, copies, &headers, &mut pieces) {
            let placed = known.iter().copied().chain(pieces.iter().map(|piece| piece.dva));
            placed.for_each(|dva| self.unallocate(dva));
            return Err(error);
        }
        for dva in known {
            self.gangs.insert((dva.vdev, dva.offset), std::mem::take(&mut pieces));
        }
        Ok(headers)
    }

    /// Each piece takes its turn behind those that wait, as in a queue of work.
    fn add_pieces(
        &mut self,
        bytes: u64,
        copies: usize,
        leader: &[Dva],
        pieces: &mut Vec<Piece>,
    ) -> Result<(), NoRoom> {
        let mut waiting: VecDeque<(u64, u8)> = lengths(bytes).map(|length| (length, 1)).collect();
        while let Some((bytes, step)) = waiting.pop_front() {
            match self.allocate_piece(bytes, copies) {
                Ok(placed) => pieces.extend(Piece::all(&placed, bytes, DATA_STEP)),
                Err(error) if bytes <= self.sector_bytes() => return Err(error),
                Err(_) => {
                    let headers = self.allocate_header(copies, Some(leader))?;
                    pieces.extend(Piece::all(&headers, HEADER_BYTES, step));
                    waiting.extend(lengths(bytes).map(|length| (length, step + 1)));
                }
            }
        }
        Ok(())
    }

    /// Allocates the header of a block of so many copies, or of a piece of a block with a header, beside which it goes
    /// if there is room.
    ///
    /// # Errors
    /// If there is no room.
    pub fn allocate_header(
        &mut self,
        copies: usize,
        leader: Option<&[Dva]>,
    ) -> Result<Copies, NoRoom> {
        let search = Search { beside: leader.unwrap_or_default(), ..Search::HARD };
        self.allocate_normal(HEADER_BYTES, copies.max(LEAST_HEADERS), search)
    }

    /// Allocates a piece.
    ///
    /// # Errors
    /// If there is no room in one piece.
    pub fn allocate_piece(&mut self, bytes: u64, copies: usize) -> Result<Copies, NoRoom> {
        self.allocate_normal(bytes, copies, Search::HARD)
    }

    /// The pieces of a block with a header there; `None` for a block in one piece.
    #[inline]
    pub(crate) fn pieces(&self, vdev: u16, offset: u64) -> Option<&[Piece]> {
        match self.gangs.is_empty() {
            true => None,
            false => self.gangs.get(&(vdev, offset)).map(Vec::as_slice),
        }
    }

    /// What is read after the header there, in order: each step is known when the one before has been read. `None` for
    /// a block in one piece.
    pub(crate) fn steps_after_header(
        &self,
        vdev: u16,
        offset: u64,
    ) -> Option<VecDeque<Vec<Piece>>> {
        let is_read = |piece: &&Piece| piece.copy == 0 && piece.step > 0;
        let mut read: Vec<Piece> =
            self.pieces(vdev, offset)?.iter().filter(is_read).copied().collect();
        read.sort_by_key(|piece| piece.step);
        let steps = read.chunk_by(|one, other| one.step == other.step);
        Some(steps.map(<[Piece]>::to_vec).collect())
    }

    /// Frees a copy of a block of so many bytes, and its pieces with the first.
    pub(crate) fn free_block(&mut self, vdev: u16, offset: u64, bytes: u64) {
        let pieces = match self.gangs.is_empty() {
            true => None,
            false => self.gangs.remove(&(vdev, offset)),
        };
        let bytes = if pieces.is_some() { HEADER_BYTES } else { bytes };
        let allocated_bytes = self.allocated_bytes(vdev, bytes);
        self.free(Dva { vdev, offset, allocated_bytes });
        pieces.into_iter().flatten().for_each(|piece| self.free(piece.dva));
    }

    /// The most bytes that all copies of a block take on vdevs of the normal class, headers and parity included: those
    /// that they take if single sectors are free alone.
    pub(crate) fn most_bytes_in_pieces(&self, bytes: u64, copies: usize) -> u64 {
        let sectors = sectors_in_pieces(bytes, self.sector_bytes(), copies as u64);
        sectors * self.most_allocated_bytes(self.sector_bytes())
    }
}

fn sectors_in_pieces(bytes: u64, sector_bytes: u64, copies: u64) -> u64 {
    if bytes <= sector_bytes {
        return copies;
    }
    let pieces = lengths(bytes).map(|length| sectors_in_pieces(length, sector_bytes, copies));
    copies.max(LEAST_HEADERS as u64) + pieces.sum::<u64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As a real pool divided them: `reference/data/full-mirrors.log.gz`.
    #[test]
    fn lengths_are_multiples_of_half_a_kibibyte() {
        assert_eq!(lengths(45_056).collect::<Vec<_>>(), [15_360, 14_848, 14_848]);
        assert_eq!(lengths(16_384).collect::<Vec<_>>(), [5_632, 5_632, 5_120]);
        assert_eq!(lengths(1_024).collect::<Vec<_>>(), [512, 512]);
    }

    #[test]
    fn at_worst_each_sector_is_a_piece_and_headers_lead_to_them() {
        // 8 KiB: two headers, and pieces of 3072, 2560 and 2560 bytes.
        assert_eq!(sectors_in_pieces(8 << 10, 4 << 10, 1), 2 + 3);
        assert_eq!(sectors_in_pieces(16 << 10, 4 << 10, 1), 2 + 3 * (2 + 3));
        assert_eq!(sectors_in_pieces(4 << 10, 4 << 10, 3), 3);
    }
}
