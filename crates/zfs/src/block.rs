//! Places of blocks, and what a transaction group writes.

use strewn_base::SECTOR_BYTES;
use strewn_base::state::SavedValue;

use crate::allocation_class::Contents;
use crate::dva::{Dva, NoRoom};
use crate::pool::Pool;

/// Bits for the sector within a vdev: 2^57 bytes.
const SECTOR_BITS: u32 = 48;

/// Where a copy of a block lies, in eight bytes; or a hole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, SavedValue)]
pub struct Block(u64);

/// When a block of a transaction group may be written: each stage waits for all writes of those before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, SavedValue)]
pub enum Stage {
    /// Data of volumes, and the metadata that leads to them.
    Data,
    /// The pool's own objects, as the data changed them.
    Pool,
    /// Space maps, and what they change.
    SpaceMaps,
    /// What space maps have changed once more, where it is.
    LastPass,
    /// Uberblocks and labels.
    Uberblock,
}

/// A block to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, SavedValue)]
pub struct BlockWrite {
    /// Top-level vdev.
    pub vdev: u16,
    /// Bytes from the start of its allocatable space.
    pub offset: u64,
    /// Bytes without parity.
    pub bytes: u32,
    /// When.
    pub stage: Stage,
}

impl Block {
    /// No block.
    pub const HOLE: Self = Self(u64::MAX);

    /// Whether there is no block.
    #[inline]
    #[must_use]
    pub const fn is_hole(self) -> bool {
        self.0 == Self::HOLE.0
    }

    /// Its top-level vdev and its offset there in bytes. Of a hole it has no meaning.
    #[inline]
    #[must_use]
    pub const fn place(self) -> (u16, u64) {
        ((self.0 >> SECTOR_BITS) as u16, (self.0 & ((1 << SECTOR_BITS) - 1)) * SECTOR_BYTES)
    }

    /// The one that lies there.
    pub(crate) const fn at_place((vdev, offset): (u16, u64)) -> Self {
        Self(((vdev as u64) << SECTOR_BITS) | (offset / SECTOR_BYTES))
    }

    const fn at(dva: Dva) -> Self {
        Self::at_place((dva.vdev, dva.offset))
    }

    /// Frees it in the transaction group that is syncing, if it is one of `bytes`.
    pub fn free(self, pool: &mut Pool, bytes: u64) {
        if !self.is_hole() {
            let (vdev, offset) = self.place();
            pool.free_block(vdev, offset, bytes);
        }
    }

    /// Gives a block of data of `bytes` another place, and frees the one it had.
    ///
    /// # Errors
    /// If the pool has no room.
    pub fn rewrite(
        &mut self,
        pool: &mut Pool,
        bytes: u64,
        stage: Stage,
        writes: &mut Vec<BlockWrite>,
    ) -> Result<(), NoRoom> {
        let copies = std::slice::from_mut(self);
        let release = |pool: &mut Pool, old: Self| old.free(pool, bytes);
        Self::replace_all(Contents::Data, copies, pool, bytes, stage, writes, release)
    }

    /// Writes a block again that this transaction group has placed already, where it is.
    pub fn write_again(copies: &[Self], bytes: u64, stage: Stage, writes: &mut Vec<BlockWrite>) {
        for block in copies {
            let ((vdev, offset), bytes) = (block.place(), bytes as u32);
            writes.push(BlockWrite { vdev, offset, bytes, stage });
        }
    }

    /// The same for all copies of a block of metadata, which had another number of bytes before.
    ///
    /// # Errors
    /// If the pool has no room.
    pub fn rewrite_all(
        copies: &mut [Self],
        pool: &mut Pool,
        (old_bytes, bytes): (u64, u64),
        stage: Stage,
        writes: &mut Vec<BlockWrite>,
    ) -> Result<(), NoRoom> {
        let release = |pool: &mut Pool, old: Self| old.free(pool, old_bytes);
        Self::replace_all(Contents::Metadata, copies, pool, bytes, stage, writes, release)
    }

    /// The same, but what becomes of the places that the copies had is up to `release`.
    ///
    /// # Errors
    /// If the pool has no room.
    pub(crate) fn replace_all(
        contents: Contents,
        copies: &mut [Self],
        pool: &mut Pool,
        bytes: u64,
        stage: Stage,
        writes: &mut Vec<BlockWrite>,
        mut release: impl FnMut(&mut Pool, Self),
    ) -> Result<(), NoRoom> {
        let (placed, is_in_pieces) = pool.place(contents, bytes, copies.len())?;
        // The header takes a sector.
        let bytes = if is_in_pieces { SECTOR_BYTES } else { bytes };
        for (block, dva) in copies.iter_mut().zip(placed.iter()) {
            let old = std::mem::replace(block, Self::at(*dva));
            release(pool, old);
            let write = |dva: &Dva, bytes: u64| {
                let Dva { vdev, offset, .. } = *dva;
                BlockWrite { vdev, offset, bytes: bytes as u32, stage }
            };
            let pieces = pool.pieces(dva.vdev, dva.offset).into_iter().flatten();
            writes.extend(pieces.map(|piece| write(&piece.dva, piece.bytes)));
            writes.push(write(dva, bytes));
        }
        Ok(())
    }
}
