//! Names of blocks that last: file, level and index.

use std::fmt;

use strewn_base::state::SavedValue;

use crate::payload::BlockContents;

/// Pointers in an indirect block: 8 bytes each, less a header.
pub const POINTERS: u32 = 510;

/// A block of a volume, named so that the name lasts: keys are given anew when LUNs come or go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, SavedValue)]
pub struct BlockAddress {
    /// The number of a LUN's file; [`METADATA`](Self::METADATA) for a block of no LUN.
    pub file: u32,
    /// 0 for data, then the levels of indirect blocks.
    pub level: u8,
    /// The block's number in its level.
    pub index: u32,
}

impl BlockAddress {
    /// The file of blocks that belong to no LUN.
    pub const METADATA: u32 = 0;

    /// The level of inodes, in this file. Those of the directory are above.
    pub(super) const INODES: u8 = 15;

    /// The contents of the block, as its checksum entry records them; the number of a metadata block is not told.
    #[must_use]
    pub fn holds(self) -> BlockContents {
        match self.level {
            0 => BlockContents::Lun { file: self.file, block: self.index.into() },
            _ => BlockContents::Metadata(0),
        }
    }

    /// The inode of a volume.
    #[must_use]
    pub fn inode() -> Self {
        Self { file: Self::METADATA, level: Self::INODES, index: 0 }
    }

    /// A block of the directory.
    pub(super) fn of_directory(level: usize, index: u32) -> Self {
        Self { file: Self::METADATA, level: Self::INODES + 1 + level as u8, index }
    }

    /// The blocks that an indirect block can point to.
    pub(crate) fn children(self) -> impl Iterator<Item = Self> {
        let below = (self.file != Self::METADATA).then(|| self.level.checked_sub(1)).flatten();
        let first = self.index.saturating_mul(POINTERS);
        below.into_iter().flat_map(move |level| {
            (first..first.saturating_add(POINTERS)).map(move |index| Self { level, index, ..self })
        })
    }
}

impl fmt::Display for BlockAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}:{}", self.file, self.level, self.index)
    }
}
