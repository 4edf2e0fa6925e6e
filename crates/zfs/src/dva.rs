//! Where blocks lie: data virtual addresses.

use strewn_base::state::SavedValue;

/// Most copies of a block.
pub const MOST_COPIES: usize = 3;

/// Where a copy of a block lies: a data virtual address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, SavedValue)]
pub struct Dva {
    /// Top-level vdev.
    pub vdev: u16,
    /// Bytes from the start of its allocatable space.
    pub offset: u64,
    /// Bytes that the block takes there, parity included.
    pub allocated_bytes: u64,
}

/// The copies of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Copies {
    placed: [Dva; MOST_COPIES],
    count: u8,
}

impl Copies {
    pub(crate) const NONE: Self =
        Self { placed: [Dva { vdev: 0, offset: 0, allocated_bytes: 0 }; MOST_COPIES], count: 0 };

    pub(crate) fn push(&mut self, dva: Dva) {
        self.placed[usize::from(self.count)] = dva;
        self.count += 1;
    }
}

impl std::ops::Deref for Copies {
    type Target = [Dva];

    fn deref(&self) -> &[Dva] {
        &self.placed[..self.count.into()]
    }
}

/// There is no room for a block, not even in pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoRoom {
    /// Bytes of the block on disk.
    pub bytes: u64,
}

impl std::fmt::Display for NoRoom {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            to,
            "the pool is full: there is no room for a block of {} bytes; give smaller LUNs, more vdevs or, for a run that \
             is scaled down, a larger scale",
            self.bytes
        )
    }
}

impl std::error::Error for NoRoom {}

/// A copy of a part of a block in pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, SavedValue)]
pub struct Piece {
    /// Where it lies.
    pub dva: Dva,
    /// Its bytes without parity.
    pub bytes: u64,
    /// Which copy it is: the first is the one that is read.
    pub(crate) copy: u8,
    /// When it is read: a header is known from the one above, data from all of them.
    pub(crate) step: u8,
}

impl Piece {
    pub(crate) fn all(copies: &Copies, bytes: u64, step: u8) -> impl Iterator<Item = Self> + '_ {
        (0..).zip(copies.iter()).map(move |(copy, dva)| Self { dva: *dva, bytes, copy, step })
    }
}
