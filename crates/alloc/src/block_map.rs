//! The block map of a file: from its blocks to VBNs.

use std::error::Error;
use std::fmt;
use std::ops::Range;

use strewn_base::memory::{filled, prefetch};
use strewn_raid::Vbn;

/// The entry of a block that was never written.
const NOWHERE: u32 = u32::MAX;

/// Maps the blocks of a file, metadata included, to VBNs. Four bytes a block.
#[derive(Debug, Clone)]
pub struct BlockMap {
    entries: Vec<u32>,
}

/// A file whose blocks are consecutive blocks of a [`BlockMap`]: [`BlockMap::part`].
#[derive(Debug, Clone, Copy)]
pub struct BlockMapPart<'m> {
    pub(crate) map: &'m BlockMap,
    pub(crate) first: u64,
    pub(crate) blocks: u64,
}

impl BlockMapPart<'_> {
    /// Where `block` of the part lies; `None` if it was never written or is past its end.
    #[inline]
    #[must_use]
    pub fn get(&self, block: u32) -> Option<Vbn> {
        if u64::from(block) >= self.blocks {
            return None;
        }
        self.map.get(self.first as u32 + block)
    }
}

/// The aggregate has more blocks than a map entry can address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooManyBlocks(pub u64);

impl fmt::Display for TooManyBlocks {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "an aggregate of {} blocks: a block map entry of 32 bits names at most \
            4294967295",
            self.0
        )
    }
}

impl Error for TooManyBlocks {}

impl BlockMap {
    /// A map of `blocks` unwritten blocks, in an aggregate of `aggregate_blocks`.
    ///
    /// # Errors
    /// [`TooManyBlocks`] if the aggregate has more blocks than an entry can address.
    ///
    /// # Panics
    /// If the system does not provide the memory.
    pub fn new(blocks: u64, aggregate_blocks: u64) -> Result<Self, TooManyBlocks> {
        if aggregate_blocks > u64::from(NOWHERE) {
            return Err(TooManyBlocks(aggregate_blocks));
        }
        Ok(Self { entries: filled(NOWHERE, blocks as usize) })
    }

    /// Blocks of the file.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.entries.len() as u64
    }

    /// Whether the file has no blocks.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Where `block` lies; `None` if it was never written or is past the end of the map.
    #[inline]
    #[must_use]
    pub fn get(&self, block: u32) -> Option<Vbn> {
        let entry = *self.entries.get(block as usize)?;
        (entry != NOWHERE).then_some(Vbn(u64::from(entry)))
    }

    /// The raw entries of `blocks`: a VBN each, `u32::MAX` for an unwritten block. `None` if the map does not have all
    /// of them.
    #[must_use]
    pub fn entries(&self, blocks: Range<u64>) -> Option<&[u32]> {
        let index = |block| usize::try_from(block).ok();
        self.entries.get(index(blocks.start)?..index(blocks.end)?)
    }

    /// The part of the map that covers `blocks`: a file of its own.
    #[must_use]
    pub fn part(&self, blocks: Range<u32>) -> BlockMapPart<'_> {
        BlockMapPart { map: self, first: blocks.start.into(), blocks: blocks.len() as u64 }
    }

    /// Announces an access to `block`, which may be any number.
    #[inline]
    pub fn prefetch(&self, block: u32) {
        prefetch(&self.entries, block as usize);
    }

    /// Unmaps `block`. Returns where it lay; `None` if it was never written or is past the end of the map.
    pub fn remove(&mut self, block: u32) -> Option<Vbn> {
        let before = std::mem::replace(self.entries.get_mut(block as usize)?, NOWHERE);
        (before != NOWHERE).then_some(Vbn(u64::from(before)))
    }

    /// Maps `block` to `vbn`. Returns where it lay.
    ///
    /// # Panics
    /// If `block` is past the end of the map, or an entry cannot name `vbn`.
    #[inline]
    pub fn replace(&mut self, block: u32, vbn: Vbn) -> Option<Vbn> {
        assert!(vbn.0 < u64::from(NOWHERE), "{vbn} does not fit an entry of a block map");
        let before = std::mem::replace(&mut self.entries[block as usize], vbn.0 as u32);
        (before != NOWHERE).then_some(Vbn(u64::from(before)))
    }
}

strewn_base::saved_state! {
    impl for BlockMap {
        parts: entries;
        values:;
        built:;
    }
}
