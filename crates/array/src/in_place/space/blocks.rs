//! Sectors in terms of 4 KiB blocks, sets of blocks, and the exclusive or of bytes.
//!
//! Chunks are whole blocks, so an extent that begins within a block of the LUN begins at the same sector within a block
//! of the data's spindle and of the parity's. An array without bytes uses none of this: its sets stay empty and take no
//! memory.

use std::ops::Range;

use strewn_base::BLOCK_SECTORS;
use strewn_base::state::SavedValue;

use crate::payload::{BlockContents, Payload};

/// The blocks that a range of sectors touches.
#[inline]
pub(crate) fn blocks_of(sectors: &Range<u64>) -> Range<u64> {
    sectors.start / BLOCK_SECTORS..sectors.end.div_ceil(BLOCK_SECTORS)
}

/// Number of blocks that `sectors` sectors from `first_sector` on touch.
pub(crate) fn blocks_touched(first_sector: u64, sectors: u32) -> usize {
    let blocks = blocks_of(&(first_sector..first_sector + u64::from(sectors)));
    (blocks.end - blocks.start) as usize
}

/// The sectors that a range of `sectors` from `first_sector` on has in one of its blocks, both counted from the range's
/// beginning.
pub(crate) fn sectors_of_block(first_sector: u64, sectors: u32, block: usize) -> Range<u32> {
    let within = first_sector % BLOCK_SECTORS;
    let start = (block as u64 * BLOCK_SECTORS).saturating_sub(within);
    let end = ((block as u64 + 1) * BLOCK_SECTORS - within).min(sectors.into());
    start as u32..end as u32
}

/// The bytes of a range of sectors.
pub(crate) fn bytes_of(sectors: &Range<u32>) -> Range<usize> {
    let sector_bytes = crate::units::SECTOR_BYTES;
    sectors.start as usize * sector_bytes..sectors.end as usize * sector_bytes
}

/// Describes the contents of each block that a write from `first_sector` on touches. A block written in part is
/// described at the first of its sectors that are written.
pub(crate) fn describe<P: Payload>(
    payload: &mut P,
    first_sector: u64,
    sectors: u32,
    holds: impl Fn(usize) -> BlockContents,
) {
    for block in 0..blocks_touched(first_sector, sectors) {
        payload.describe(sectors_of_block(first_sector, sectors, block).start, holds(block));
    }
}

/// Adds `bytes` to a sum by exclusive or. An empty sum becomes `bytes`.
pub(crate) fn add(sum: &mut Vec<u8>, bytes: &[u8]) {
    if sum.is_empty() {
        sum.extend_from_slice(bytes);
    } else {
        debug_assert_eq!(sum.len(), bytes.len(), "sums are of equal lengths");
        for (sum, byte) in sum.iter_mut().zip(bytes) {
            *sum ^= byte;
        }
    }
}

/// A set of the blocks that a command touches, counted from its first.
#[derive(Debug, Clone, Default, SavedValue)]
pub(crate) struct BlockSet(Vec<bool>);

impl BlockSet {
    pub(crate) const EMPTY: Self = Self(Vec::new());

    /// The bad blocks of a command. A block without a flag counts as bad.
    pub(crate) fn of_flags(flags: &[bool], blocks: usize) -> Self {
        Self((0..blocks).map(|block| flags.get(block).copied().unwrap_or(true)).collect())
    }

    pub(crate) fn all(blocks: usize) -> Self {
        Self(vec![true; blocks])
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        !self.0.contains(&true)
    }

    pub(crate) fn contains(&self, block: usize) -> bool {
        self.0.get(block).copied().unwrap_or(false)
    }

    pub(crate) fn insert(&mut self, block: usize) {
        if self.0.len() <= block {
            self.0.resize(block + 1, false);
        }
        self.0[block] = true;
    }

    pub(crate) fn remove(&mut self, block: usize) {
        if let Some(flag) = self.0.get_mut(block) {
            *flag = false;
        }
    }

    pub(crate) fn add(&mut self, other: &Self) {
        for block in other.iter() {
            self.insert(block);
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().enumerate().filter(|(_, flag)| **flag).map(|(block, _)| block)
    }

    pub(crate) fn len(&self) -> usize {
        self.iter().count()
    }

    /// The range from the first to the last block.
    pub(crate) fn hull(&self) -> Option<Range<usize>> {
        let first = self.iter().next()?;
        Some(first..self.iter().last()? + 1)
    }

    /// The runs of consecutive blocks.
    pub(crate) fn runs(&self) -> Vec<Range<usize>> {
        let mut runs: Vec<Range<usize>> = Vec::new();
        for block in self.iter() {
            match runs.last_mut() {
                Some(run) if run.end == block => run.end += 1,
                _ => runs.push(block..block + 1),
            }
        }
        runs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_begin_and_end_within_blocks() {
        assert_eq!(blocks_touched(6, 20), 4);
        let parts: Vec<_> = (0..4).map(|block| sectors_of_block(6, 20, block)).collect();
        assert_eq!(parts, [0..2, 2..10, 10..18, 18..20]);
        assert_eq!(blocks_touched(17, 3), 1);
        assert_eq!(sectors_of_block(17, 3, 0), 0..3);
        assert_eq!(blocks_touched(16, 8), 1);
    }

    #[test]
    fn blocks_come_in_runs() {
        let set = BlockSet::of_flags(&[false, true, true, false], 5);
        assert_eq!(set.runs(), [1..3, 4..5]);
        assert_eq!(set.hull(), Some(1..5));
        assert_eq!(set.len(), 3);
        assert!(BlockSet::EMPTY.is_empty() && BlockSet::EMPTY.hull().is_none());
    }
}
