//! Keys: one number for every block of a volume and its aggregate.

use std::ops::Range;

use strewn_alloc::{REGION_BLOCKS, Region};
use strewn_raid::Vbn;

use crate::payload::BlockContents;

/// Pointers in an indirect block: 8 bytes each, less a header.
const INDIRECT_POINTERS: u32 = 510;
/// Entries in a block of the container map: 4 bytes each.
const CONTAINER_ENTRIES: u64 = 1_024;
/// Container-map blocks that describe one region.
pub(super) const CONTAINER_BLOCKS_PER_REGION: u32 = (REGION_BLOCKS / CONTAINER_ENTRIES) as u32;

/// The file's blocks and all metadata in one numbering, in the order in which a consistency point writes them: the
/// file's data, its indirect blocks level by level, the inode, the volume's bitmap; then what belongs to the aggregate:
/// the container map and the aggregate's bitmap. An array with bytes also has a directory, which leads to the inode and
/// to all blocks that the inode does not lead to. Its top is one block: the root.
///
/// A data block's key is its FBN.
#[derive(Debug, Clone)]
pub struct BlockKeys {
    file_blocks: u32,
    /// First key of each indirect level, from level 1 up; the last entry is the inode's key.
    levels: Vec<u32>,
    volume_bitmap: Range<u32>,
    container: Range<u32>,
    aggregate_bitmap: Range<u32>,
    /// First key of each level of the directory, from level 1 up, and one more than the root's; empty without one.
    directory: Vec<u32>,
}

impl BlockKeys {
    pub(super) fn new(file_blocks: u32, regions: u32, aggregate_blocks: u64) -> Self {
        let mut levels = Vec::new();
        let (mut next, mut below) = (file_blocks, file_blocks);
        loop {
            levels.push(next);
            if below <= 1 {
                break;
            }
            below = below.div_ceil(INDIRECT_POINTERS);
            next = next.saturating_add(below);
        }
        // Keys saturate in an array that is too large for them.
        let behind = |start: u32, blocks: u32| start..start.saturating_add(blocks);
        // The last level pushed stands for the inode, one block.
        let volume_bitmap = behind(next.saturating_add(1), regions);
        let container =
            behind(volume_bitmap.end, regions.saturating_mul(CONTAINER_BLOCKS_PER_REGION));
        let bitmap_blocks = aggregate_blocks.div_ceil(REGION_BLOCKS);
        let aggregate_bitmap =
            behind(container.end, u32::try_from(bitmap_blocks).unwrap_or(u32::MAX));
        Self { file_blocks, levels, volume_bitmap, container, aggregate_bitmap, directory: vec![] }
    }

    /// Adds a directory.
    pub(super) fn with_directory(mut self) -> Self {
        let mut below = self.aggregate_bitmap.end - self.inode();
        let mut next = self.aggregate_bitmap.end;
        self.directory.push(next);
        while below > 1 || self.directory.len() == 1 {
            below = below.div_ceil(INDIRECT_POINTERS);
            next = next.saturating_add(below);
            self.directory.push(next);
        }
        self
    }

    /// One more than the highest key; `u32::MAX` if the array has too many blocks for keys of 32 bits.
    #[must_use]
    pub fn end(&self) -> u32 {
        self.directory.last().copied().unwrap_or(self.aggregate_bitmap.end)
    }

    /// The root, which leads to all other blocks; `None` without a directory.
    #[must_use]
    pub fn root(&self) -> Option<u32> {
        self.directory.last().map(|end| end - 1)
    }

    /// Number of blocks of the file, and of the LUN.
    #[must_use]
    pub fn file_blocks(&self) -> u32 {
        self.file_blocks
    }

    /// The contents of the block with this key, as its checksum entry records them.
    #[must_use]
    pub fn holds(&self, key: u32) -> BlockContents {
        if key < self.file_blocks {
            BlockContents::Lun(key.into())
        } else {
            BlockContents::Metadata(key)
        }
    }

    /// The inode, which leads to all blocks of the file.
    #[must_use]
    pub fn inode(&self) -> u32 {
        self.volume_bitmap.start - 1
    }

    /// Whether `key` is a pointer block: an indirect block, the inode, or a block of the directory.
    #[must_use]
    pub fn has_pointers(&self, key: u32) -> bool {
        self.indirect().contains(&key) || key >= self.aggregate_bitmap.end
    }

    /// The blocks that pointer block `key` points to, in the order of its pointers.
    #[must_use]
    pub fn children(&self, key: u32) -> Range<u32> {
        let (levels, first_child, end_of_children) = if key < self.volume_bitmap.start {
            (&self.levels[..], 0, self.file_blocks)
        } else {
            (&self.directory[..], self.inode(), self.aggregate_bitmap.end)
        };
        let level = levels.partition_point(|first| *first <= key) - 1;
        let (first, end) = match level {
            0 => (first_child, end_of_children),
            _ => (levels[level - 1], levels[level]),
        };
        let child = first + (key - levels[level]) * INDIRECT_POINTERS;
        child..end.min(child + INDIRECT_POINTERS)
    }

    /// The block that points to metadata block `key`; `None` for the root and, without a directory, for blocks that the
    /// inode does not lead to.
    pub(super) fn parent_of(&self, key: u32) -> Option<u32> {
        if key < self.inode() {
            return self.parent_of_indirect(key);
        }
        let first = *self.directory.first()?;
        if key < first {
            return Some(first + (key - self.inode()) / INDIRECT_POINTERS);
        }
        let level = self.directory.partition_point(|first| *first <= key) - 1;
        let parent = *self.directory.get(level + 1)?;
        (parent < self.end()).then(|| parent + (key - self.directory[level]) / INDIRECT_POINTERS)
    }

    /// Keys of the volume's blocks, which have a number in the volume as well as in the aggregate.
    pub(super) fn volume(&self) -> Range<u32> {
        0..self.volume_bitmap.end
    }

    /// Keys of the file's indirect blocks and its inode.
    #[must_use]
    pub fn indirect(&self) -> Range<u32> {
        self.file_blocks..self.volume_bitmap.start
    }

    /// Keys of the aggregate's bitmap: each block has one bit for each of 32,768 VBNs, set if it is in use.
    #[must_use]
    pub fn aggregate_bitmap(&self) -> Range<u32> {
        self.aggregate_bitmap.clone()
    }

    /// Keys of the part of the aggregate's bitmap that covers its first `blocks` blocks.
    pub(super) fn aggregate_bitmap_below(&self, blocks: u64) -> Range<u32> {
        let Range { start, end } = self.aggregate_bitmap;
        let bitmap_blocks = u32::try_from(blocks.div_ceil(REGION_BLOCKS)).unwrap_or(u32::MAX);
        start..start.saturating_add(bitmap_blocks).min(end)
    }

    /// The level-1 indirect block that points to data block `fbn`.
    #[inline]
    pub(super) fn indirect_of(&self, fbn: u32) -> u32 {
        self.levels[0] + fbn / INDIRECT_POINTERS
    }

    /// The block that points to indirect block `key`, one level up; `None` for the inode.
    pub(super) fn parent_of_indirect(&self, key: u32) -> Option<u32> {
        let level = self.levels.partition_point(|first| *first <= key) - 1;
        let parent = *self.levels.get(level + 1)?;
        Some(parent + (key - self.levels[level]) / INDIRECT_POINTERS)
    }

    /// The bitmap block of a region of the volume.
    #[inline]
    pub(super) fn volume_bitmap_of(&self, region: Region) -> u32 {
        self.volume_bitmap.start + u32::from(region.0)
    }

    /// The container-map block of the number at `position` in `region`.
    #[inline]
    pub(super) fn container_of(&self, region: Region, position: u32) -> u32 {
        let within = (u64::from(position) / CONTAINER_ENTRIES) as u32;
        self.container.start
            + u32::from(region.0) * CONTAINER_BLOCKS_PER_REGION
            + within.min(CONTAINER_BLOCKS_PER_REGION - 1)
    }

    /// The aggregate's bitmap block that covers `vbn`.
    #[inline]
    pub(super) fn aggregate_bitmap_of(&self, vbn: Vbn) -> u32 {
        self.aggregate_bitmap.start + (vbn.0 / REGION_BLOCKS) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_100_gib_has_four_levels() {
        let keys = BlockKeys::new(26_214_400, 7_451, 626_688_000);
        // 51,401 level-1 blocks, 101 at level 2, 1 at level 3, the inode.
        assert_eq!(keys.indirect().len(), 51_401 + 101 + 1 + 1);
        assert_eq!(keys.indirect_of(0), 26_214_400);
        assert_eq!(keys.indirect_of(26_214_399), 26_214_400 + 51_400);
        let level_2 = keys.parent_of_indirect(keys.indirect_of(26_214_399));
        assert_eq!(level_2, Some(26_214_400 + 51_401 + 100));
        let level_3 = keys.parent_of_indirect(level_2.unwrap());
        assert_eq!(level_3, Some(26_214_400 + 51_401 + 101));
        let inode = keys.parent_of_indirect(level_3.unwrap());
        assert_eq!(inode, Some(keys.indirect().end - 1));
        assert_eq!(keys.parent_of_indirect(inode.unwrap()), None);
    }

    #[test]
    fn a_directory_leads_to_everything() {
        for (file_blocks, regions, aggregate_blocks) in
            [(1, 1, 1_000), (262_144, 12, 800_000), (26_214_400, 7_451, 626_688_000)]
        {
            let keys = BlockKeys::new(file_blocks, regions, aggregate_blocks).with_directory();
            let root = keys.root().unwrap();
            assert_eq!(keys.parent_of(root), None);
            let mut reached = vec![false; keys.end() as usize];
            let mut open = vec![root];
            while let Some(key) = open.pop() {
                assert!(!std::mem::replace(&mut reached[key as usize], true), "{key} twice");
                for child in keys.children(key) {
                    if child >= file_blocks {
                        assert_eq!(keys.parent_of(child), Some(key), "of {child}");
                    } else {
                        assert_eq!(keys.indirect_of(child), key);
                    }
                    if keys.has_pointers(child) {
                        open.push(child);
                    } else {
                        reached[child as usize] = true;
                    }
                }
            }
            assert!(reached.iter().all(|reached| *reached));
        }
    }

    #[test]
    fn a_file_of_one_block_hangs_from_its_inode() {
        let keys = BlockKeys::new(1, 1, 1_000);
        assert_eq!(keys.indirect().len(), 1);
        assert_eq!(keys.indirect_of(0), 1);
        assert_eq!(keys.parent_of_indirect(1), None);
    }
}
