//! The data that arrays move: bytes on real spindles, nothing in a simulation.

use strewn_base::state::SavedValue;

use crate::units::BLOCK_SECTORS;

/// What the array stores in a block of a spindle. The store keeps it beside the bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, SavedValue)]
pub enum BlockContents {
    /// Nothing that is referred to.
    #[default]
    Nothing,
    /// A block of a LUN.
    Lun {
        /// The number of the LUN's file. All LUNs of an in-place array are one file.
        file: u32,
        /// The block's number in it, in blocks of 4 KiB.
        block: u64,
    },
    /// A metadata block, by the key that it had when it was written.
    Metadata(u32),
    /// Parity. Its place determines what it protects.
    Parity,
    /// Nothing valid: the contents are lost. The store reports the block as bad until it is rewritten in full. A
    /// partial write marks the whole block.
    Gone,
}

impl BlockContents {
    /// The file number of an array's first LUN.
    pub const FIRST_FILE: u32 = 1;

    /// A block of the first LUN.
    #[must_use]
    pub fn lun(block: u64) -> Self {
        Self::Lun { file: Self::FIRST_FILE, block }
    }

    /// Whether a block that was written with these contents may be the one that is expected. Keys of metadata change
    /// when LUNs come and go, and a block that a clone shares has the file of the LUN that wrote it.
    #[must_use]
    pub fn may_be(self, expected: Self) -> bool {
        match (self, expected) {
            (Self::Metadata(_), Self::Metadata(_)) => true,
            (Self::Lun { block, .. }, Self::Lun { block: expected, .. }) => block == expected,
            _ => self == expected,
        }
    }
}

/// The data that operations and commands carry.
///
/// Arrays move payloads, slice them, and lay one over another, always in whole sectors. If a payload carries data, they
/// compute parity from its bytes. The simulator's payload is `()`, for which all of this compiles to nothing.
pub trait Payload: Default {
    /// The sectors that an array keeps in memory, by number.
    type Contents: Contents<Self>;

    /// Whether the payload carries data. If not, an array need not determine which block goes where.
    const CARRIES_DATA: bool;

    /// Overwrites this payload with `part` from sector `at_sector` on, growing it if needed.
    fn splice(&mut self, at_sector: u32, part: &Self);

    /// Copies `sectors` sectors, starting at `from_sector`.
    #[must_use]
    fn slice(&self, from_sector: u32, sectors: u32) -> Self;

    /// The bytes, 512 for each sector; empty if it carries no data.
    fn bytes(&self) -> &[u8];

    /// A payload of these bytes, 512 for each sector.
    #[must_use]
    fn from_bytes(bytes: Vec<u8>) -> Self;

    /// A payload of consecutive 4 KiB blocks, each with its contents. An implementation that can keep the blocks apart
    /// saves a copy.
    #[must_use]
    fn of_blocks(blocks: Vec<(Self, BlockContents)>) -> Self {
        let bytes: Vec<&[u8]> = blocks.iter().map(|(block, _)| block.bytes()).collect();
        let mut together = Self::from_bytes(bytes.concat());
        for (at_sector, (_, holds)) in (0..).step_by(BLOCK_SECTORS as usize).zip(&blocks) {
            together.describe(at_sector, *holds);
        }
        together
    }

    /// Records the contents of the 4 KiB block that contains sector `at_sector` of a write.
    fn describe(&mut self, at_sector: u32, holds: BlockContents) {
        let _ = (at_sector, holds);
    }
}

/// The sectors that an array keeps in memory, by number.
pub trait Contents<P>: Default {
    /// Stores `payload` as `sectors` sectors from `first_sector` on, replacing what is there.
    fn store(&mut self, first_sector: u64, sectors: u32, payload: &P);

    /// Loads `sectors` sectors from `first_sector` on. All must be present.
    fn load(&self, first_sector: u64, sectors: u32) -> P;

    /// Drops `sectors` sectors from `first_sector` on.
    fn forget(&mut self, first_sector: u64, sectors: u32);
}

impl Payload for () {
    type Contents = ();

    const CARRIES_DATA: bool = false;

    #[inline]
    fn splice(&mut self, _at_sector: u32, _part: &Self) {}

    #[inline]
    fn slice(&self, _from_sector: u32, _sectors: u32) -> Self {}

    #[inline]
    fn bytes(&self) -> &[u8] {
        &[]
    }

    #[inline]
    fn from_bytes(_bytes: Vec<u8>) -> Self {}
}

impl Contents<()> for () {
    #[inline]
    fn store(&mut self, _first_sector: u64, _sectors: u32, _payload: &()) {}

    #[inline]
    fn load(&self, _first_sector: u64, _sectors: u32) {}

    #[inline]
    fn forget(&mut self, _first_sector: u64, _sectors: u32) {}
}
