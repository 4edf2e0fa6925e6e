//! Keys: one number for every block of an aggregate and its volumes.

use std::ops::Range;

use strewn_alloc::REGION_BLOCKS;
use strewn_raid::Vbn;
use strewn_volume::{Region, VolumeId};

use crate::lun_id::LunId;
use crate::payload::BlockContents;
use crate::root::CATALOG_BLOCKS;

use super::address::{BlockAddress, POINTERS};
use super::metadata::{self, Pointer};
use super::restore_error::RestoreError;

/// Entries in a block of the container map: 4 bytes each.
const CONTAINER_ENTRIES: u64 = 1_024;
/// Container-map blocks that describe one region.
pub(crate) const CONTAINER_BLOCKS_PER_REGION: u32 = (REGION_BLOCKS / CONTAINER_ENTRIES) as u32;

/// The blocks of all LUNs and all metadata in one numbering, in the order in which a consistency point writes them: the
/// LUNs' data, their indirect blocks level by level, the inodes, the volumes' bitmaps; then what belongs to the
/// aggregate: the container maps and the aggregate's bitmap. An array with bytes also has a directory, which leads to
/// the inodes and to all blocks that no inode leads to. Its top is one block: the root. Behind it lies the catalog,
/// which says what the volumes and LUNs are, and which the superblock itself leads to.
///
/// Each LUN begins at a multiple of an indirect block's pointers, so that one division leads from any data block to its
/// indirect block. The keys between two LUNs name no blocks. An only LUN's FBNs are its keys.
#[derive(Debug, Clone)]
pub struct BlockKeys {
    luns: Vec<LunKeys>,
    /// First LUN of each volume, and one more than the last volume's last.
    volumes: Vec<u16>,
    data: Range<u32>,
    /// First key of the lowest indirect level.
    level_1: u32,
    /// One block for each volume.
    inodes: Range<u32>,
    /// First region of each volume, and one more than the last volume's last.
    regions: Vec<u32>,
    volume_bitmap: Range<u32>,
    container: Range<u32>,
    aggregate_bitmap: Range<u32>,
    /// First key of each level of the directory, from level 1 up, and one more than the root's; empty without one.
    directory: Vec<u32>,
    /// Empty without a directory.
    catalog: Range<u32>,
}

/// The keys of a LUN's blocks.
#[derive(Debug, Clone)]
struct LunKeys {
    volume: VolumeId,
    /// The number of its file, which it keeps for ever.
    file: u32,
    data: Range<u32>,
    /// The keys of each indirect level, from level 1 up. The last level is one block.
    levels: Vec<Range<u32>>,
}

impl BlockKeys {
    /// Most LUNs of a volume: its inode block has a pointer for each.
    pub(crate) const MOST_LUNS_OF_VOLUME: usize = POINTERS as usize;

    /// `volumes` have a number of regions and LUNs of so many blocks; the LUNs have these files, or are numbered from
    /// 1.
    pub(crate) fn new<'l>(
        volumes: impl IntoIterator<Item = (u32, &'l [u32], &'l [u32])>,
        aggregate_blocks: u64,
    ) -> Self {
        let (mut luns, mut first_luns, mut regions) = (Vec::new(), vec![0], vec![0]);
        let mut next = 0u32;
        for (number, (volume_regions, blocks, files)) in (0..).zip(volumes) {
            for (at, &blocks) in blocks.iter().enumerate() {
                let data =
                    behind(next.checked_next_multiple_of(POINTERS).unwrap_or(u32::MAX), blocks);
                next = data.end;
                let file = files.get(at).copied().unwrap_or(luns.len() as u32 + 1);
                luns.push(LunKeys { volume: VolumeId(number), file, data, levels: Vec::new() });
            }
            first_luns.push(luns.len() as u16);
            regions.push(regions[number as usize] + volume_regions);
        }
        let (data, level_1) = (0..next, next);
        // Each LUN has an indirect level, however small: what a pointer of an inode leads to must not depend on the
        // LUNs there are.
        let mut is_open = true;
        while is_open {
            is_open = false;
            for lun in &mut luns {
                let below = lun.levels.last().unwrap_or(&lun.data).len() as u32;
                let first = match lun.levels.is_empty() {
                    true => level_1.saturating_add(lun.data.start / POINTERS),
                    false if below > 1 => next,
                    false => continue,
                };
                let level = behind(first, below.div_ceil(POINTERS).max(1));
                (next, is_open) = (level.end, true);
                lun.levels.push(level);
            }
        }
        let volumes = first_luns.len() as u32 - 1;
        let all_regions = regions[volumes as usize];
        let inodes = behind(next, volumes);
        let volume_bitmap = behind(inodes.end, all_regions);
        let container =
            behind(volume_bitmap.end, all_regions.saturating_mul(CONTAINER_BLOCKS_PER_REGION));
        let bitmap_blocks = aggregate_blocks.div_ceil(REGION_BLOCKS);
        let aggregate_bitmap =
            behind(container.end, u32::try_from(bitmap_blocks).unwrap_or(u32::MAX));
        Self {
            luns,
            volumes: first_luns,
            data,
            level_1,
            inodes,
            regions,
            volume_bitmap,
            container,
            aggregate_bitmap,
            directory: vec![],
            catalog: 0..0,
        }
    }

    /// Adds a directory and a catalog.
    pub(crate) fn with_directory(mut self) -> Self {
        let mut below = self.aggregate_bitmap.end - self.inodes.start;
        let mut next = self.aggregate_bitmap.end;
        self.directory.push(next);
        while below > 1 || self.directory.len() == 1 {
            below = below.div_ceil(POINTERS);
            next = next.saturating_add(below);
            self.directory.push(next);
        }
        self.catalog = behind(next, CATALOG_BLOCKS);
        self
    }

    /// One more than the highest key; `u32::MAX` if the array has too many blocks for keys of 32 bits.
    #[must_use]
    pub fn end(&self) -> u32 {
        if self.directory.is_empty() { self.aggregate_bitmap.end } else { self.catalog.end }
    }

    /// The root, which leads to all other blocks; `None` without a directory.
    #[must_use]
    pub fn root(&self) -> Option<u32> {
        self.directory.last().map(|end| end - 1)
    }

    /// Number of LUNs, of all volumes.
    #[must_use]
    pub fn luns(&self) -> u16 {
        self.luns.len() as u16
    }

    /// The LUNs of `volume`.
    ///
    /// # Panics
    /// If there is no such volume.
    #[must_use]
    pub fn luns_of(&self, volume: VolumeId) -> Range<u16> {
        let volume = volume.0 as usize;
        self.volumes[volume]..self.volumes[volume + 1]
    }

    /// Keys of the blocks of `lun`, in the order of their FBNs.
    ///
    /// # Panics
    /// If there is no such LUN.
    #[inline]
    #[must_use]
    pub fn blocks_of(&self, lun: LunId) -> Range<u32> {
        self.luns[usize::from(lun.0)].data.clone()
    }

    /// The LUN of a data block; `None` for any other key.
    #[must_use]
    pub fn lun_of(&self, key: u32) -> Option<LunId> {
        let lun = self.luns.partition_point(|lun| lun.data.end <= key);
        let found = self.luns.get(lun)?;
        found.data.contains(&key).then_some(LunId(lun as u16))
    }

    /// The file of a data block, and the block's number in it; `None` for any other key.
    pub(crate) fn lun_block(&self, key: u32) -> Option<(u32, u32)> {
        let LunKeys { file, data, .. } = &self.luns[usize::from(self.lun_of(key)?.0)];
        Some((*file, key - data.start))
    }

    /// Keys of data blocks, and of no others.
    #[inline]
    #[must_use]
    pub fn data(&self) -> Range<u32> {
        self.data.clone()
    }

    /// Number of data blocks.
    #[must_use]
    pub fn data_blocks(&self) -> u32 {
        self.luns.iter().map(|lun| lun.data.len() as u32).sum()
    }

    /// Number of metadata blocks, the catalog aside.
    #[must_use]
    pub fn metadata_blocks(&self) -> u32 {
        self.directory.last().copied().unwrap_or(self.aggregate_bitmap.end) - self.data.end
    }

    /// Keys of the catalog's blocks.
    #[must_use]
    pub fn catalog(&self) -> Range<u32> {
        self.catalog.clone()
    }

    /// The number of the file of `lun`.
    ///
    /// # Panics
    /// If there is no such LUN.
    #[must_use]
    pub fn file_of(&self, lun: LunId) -> u32 {
        self.luns[usize::from(lun.0)].file
    }

    /// The LUN with this file.
    #[must_use]
    pub fn lun_with_file(&self, file: u32) -> Option<LunId> {
        let lun = self.luns.iter().position(|lun| lun.file == file)?;
        Some(LunId(lun as u16))
    }

    /// The lowest level of the directory.
    pub(crate) fn directory_leaves(&self) -> Range<u32> {
        match self.directory.as_slice() {
            [first, end, ..] => *first..*end,
            _ => 0..0,
        }
    }

    /// The regions of a volume's numbers.
    pub(crate) fn regions_of(&self, volume: VolumeId) -> Range<u32> {
        let volume = volume.0 as usize;
        self.regions[volume]..self.regions[volume + 1]
    }

    /// The blocks that describe a region: of its volume's bitmap, and of the container map.
    pub(crate) fn blocks_of_region(&self, region: u32) -> impl Iterator<Item = u32> + use<> {
        let first = self.container.start + region * CONTAINER_BLOCKS_PER_REGION;
        let bitmap = self.volume_bitmap.start + region;
        std::iter::once(bitmap).chain(first..first + CONTAINER_BLOCKS_PER_REGION)
    }

    /// The keys of a LUN's blocks by level: its data, then each level of indirect blocks.
    pub(crate) fn levels_of(&self, lun: LunId) -> impl Iterator<Item = Range<u32>> + '_ {
        let lun = &self.luns[usize::from(lun.0)];
        std::iter::once(lun.data.clone()).chain(lun.levels.iter().cloned())
    }

    /// The keys in ascending order that name blocks of volumes, bitmaps aside: data of one volume or another, then
    /// indirect blocks and inodes of all.
    pub(crate) fn of_files(&self) -> Vec<(Option<VolumeId>, Range<u32>)> {
        let data = self.luns.iter().map(|lun| (Some(lun.volume), lun.data.clone()));
        data.chain([(None, self.indirect())]).collect()
    }

    /// The contents of the block with this key, as its checksum entry records them.
    #[must_use]
    pub fn holds(&self, key: u32) -> BlockContents {
        match self.lun_block(key) {
            Some((file, block)) => BlockContents::Lun { file, block: block.into() },
            None => BlockContents::Metadata(key),
        }
    }

    /// The inodes of the volumes, one block each, which lead to all blocks of their LUNs.
    #[must_use]
    pub fn inodes(&self) -> Range<u32> {
        self.inodes.clone()
    }

    /// The inode of `volume`.
    #[must_use]
    pub fn inode_of(&self, volume: VolumeId) -> u32 {
        self.inodes.start + volume.0
    }

    /// The address of a pointer block.
    ///
    /// # Panics
    /// If it is none.
    #[must_use]
    pub fn pointer_address(&self, key: u32) -> BlockAddress {
        self.address_of(key).unwrap_or_else(|| {
            let level = self.directory.partition_point(|first| *first <= key) - 1;
            BlockAddress::of_directory(level, key - self.directory[level])
        })
    }

    /// The address of a block of a LUN, or of an inode; `None` for any other block.
    #[must_use]
    pub fn address_of(&self, key: u32) -> Option<BlockAddress> {
        if self.inodes.contains(&key) {
            return Some(BlockAddress::inode());
        }
        if let Some((file, index)) = self.lun_block(key) {
            return Some(BlockAddress { file, level: 0, index });
        }
        let (lun, level) = self.find_indirect(key)?;
        let index = key - lun.levels[level].start;
        Some(BlockAddress { file: lun.file, level: level as u8 + 1, index })
    }

    /// The key of a block of a LUN, or of the inode of `volume`; `None` if there is no such block.
    #[must_use]
    pub fn key_of(&self, volume: VolumeId, address: BlockAddress) -> Option<u32> {
        if address == BlockAddress::inode() {
            return Some(self.inode_of(volume));
        }
        let lun = self.lun_with_file(address.file)?;
        let level = self.levels_of(lun).nth(address.level.into())?;
        let key = level.start.checked_add(address.index)?;
        level.contains(&key).then_some(key)
    }

    /// Whether `key` is a pointer block: an indirect block, an inode, or a block of the directory.
    #[must_use]
    pub fn has_pointers(&self, key: u32) -> bool {
        let directory = self.aggregate_bitmap.end..self.catalog.start;
        self.indirect().contains(&key) || directory.contains(&key)
    }

    /// The blocks that pointer block `key` points to, in the order of its pointers.
    #[must_use]
    pub fn children(&self, key: u32) -> Vec<u32> {
        let part = |index: u32, whole: &Range<u32>| {
            let first = whole.start + index * POINTERS;
            (first..whole.end.min(first + POINTERS)).collect()
        };
        if self.inodes.contains(&key) {
            let luns = self.luns_of(VolumeId(key - self.inodes.start));
            let luns = &self.luns[usize::from(luns.start)..usize::from(luns.end)];
            return luns.iter().map(|lun| lun.levels.last().unwrap_or(&lun.data).start).collect();
        }
        if key < self.inodes.start {
            let (lun, level) = self.lun_and_level(key);
            let below = level.checked_sub(1).map_or(&lun.data, |below| &lun.levels[below]);
            return part(key - lun.levels[level].start, below);
        }
        let level = self.directory.partition_point(|first| *first <= key) - 1;
        let below = match level {
            0 => self.inodes.start..self.aggregate_bitmap.end,
            _ => self.directory[level - 1]..self.directory[level],
        };
        part(key - self.directory[level], &below)
    }

    /// The blocks that pointer block `key` points to by its bytes, or has no pointer to.
    ///
    /// # Errors
    /// If the bytes are not those of that block.
    pub fn children_in(
        &self,
        key: u32,
        bytes: &[u8],
    ) -> Result<Vec<(u32, Option<Pointer>)>, RestoreError> {
        let pointers = metadata::decode_pointers(self.pointer_address(key), bytes)?;
        let children = self.children(key);
        // A block that was written when its LUN was smaller has fewer pointers.
        let pointers = pointers.into_iter().chain(std::iter::repeat(None));
        Ok(children.into_iter().zip(pointers).collect())
    }

    /// The LUN of indirect block `key`, and its level, counted from 0.
    fn lun_and_level(&self, key: u32) -> (&LunKeys, usize) {
        self.find_indirect(key).unwrap_or_else(|| unreachable!("{key} is no indirect block"))
    }

    /// The same; `None` for any other key.
    fn find_indirect(&self, key: u32) -> Option<(&LunKeys, usize)> {
        let level_of = |lun: &LunKeys| lun.levels.iter().position(|keys| keys.contains(&key));
        self.luns.iter().find_map(|lun| Some((lun, level_of(lun)?)))
    }

    /// The block that points to metadata block `key`; `None` for the root and, without a directory, for inodes and the
    /// blocks that no inode leads to.
    pub(crate) fn parent_of(&self, key: u32) -> Option<u32> {
        if key < self.inodes.start {
            return Some(self.parent_of_indirect(key));
        }
        let first = *self.directory.first()?;
        if key < first {
            return Some(first + (key - self.inodes.start) / POINTERS);
        }
        if self.catalog.contains(&key) {
            return None;
        }
        let level = self.directory.partition_point(|first| *first <= key) - 1;
        let parent = *self.directory.get(level + 1)?;
        (parent < self.catalog.start).then(|| parent + (key - self.directory[level]) / POINTERS)
    }

    /// Keys of the volumes' blocks, which have a number in their volume as well as in the aggregate.
    pub(crate) fn of_volumes(&self) -> Range<u32> {
        0..self.volume_bitmap.end
    }

    /// The volume of one of these blocks.
    #[inline(always)]
    #[must_use]
    pub fn volume_of(&self, key: u32) -> VolumeId {
        if self.inodes.len() == 1 { VolumeId(0) } else { self.volume_among_several(key) }
    }

    #[inline(never)]
    fn volume_among_several(&self, key: u32) -> VolumeId {
        if key < self.data.end {
            let lun = self.luns.partition_point(|lun| lun.data.end <= key);
            self.luns[lun].volume
        } else if key < self.inodes.start {
            self.lun_and_level(key).0.volume
        } else if key < self.inodes.end {
            VolumeId(key - self.inodes.start)
        } else {
            let region = key - self.volume_bitmap.start;
            VolumeId(self.regions.partition_point(|first| *first <= region) as u32 - 1)
        }
    }

    /// Number of metadata blocks of each volume: those that have a number in it.
    pub(crate) fn metadata_of_volumes(&self) -> Vec<u32> {
        let indirect =
            |lun: &LunKeys| lun.levels.iter().map(|level| level.len() as u32).sum::<u32>();
        let volumes = (0..self.inodes.len()).map(|volume| {
            let luns = self.luns.iter().filter(|lun| lun.volume.0 as usize == volume);
            let regions = self.regions[volume + 1] - self.regions[volume];
            luns.map(indirect).sum::<u32>() + 1 + regions
        });
        volumes.collect()
    }

    /// Keys of the LUNs' indirect blocks and of the inodes.
    #[must_use]
    pub fn indirect(&self) -> Range<u32> {
        self.data.end..self.inodes.end
    }

    /// Keys of the aggregate's bitmap: each block has one bit for each of 32,768 VBNs, set if it is in use.
    #[must_use]
    pub fn aggregate_bitmap(&self) -> Range<u32> {
        self.aggregate_bitmap.clone()
    }

    /// Keys of the part of the aggregate's bitmap that covers its first `blocks` blocks.
    pub(crate) fn aggregate_bitmap_below(&self, blocks: u64) -> Range<u32> {
        let Range { start, end } = self.aggregate_bitmap;
        let bitmap_blocks = u32::try_from(blocks.div_ceil(REGION_BLOCKS)).unwrap_or(u32::MAX);
        start..start.saturating_add(bitmap_blocks).min(end)
    }

    /// The level-1 indirect block that points to data block `key`.
    #[inline]
    pub(crate) fn indirect_of(&self, key: u32) -> u32 {
        self.level_1 + key / POINTERS
    }

    /// The block that points to indirect block `key`, one level up.
    fn parent_of_indirect(&self, key: u32) -> u32 {
        let (lun, level) = self.lun_and_level(key);
        match lun.levels.get(level + 1) {
            Some(above) => above.start + (key - lun.levels[level].start) / POINTERS,
            None => self.inode_of(lun.volume),
        }
    }

    /// The bitmap block of a region of a volume.
    #[inline]
    pub(crate) fn volume_bitmap_of(&self, region: Region) -> u32 {
        self.volume_bitmap.start + u32::from(region.0)
    }

    /// The container-map block of the number at `position` in `region`.
    #[inline]
    pub(crate) fn container_of(&self, region: Region, position: u32) -> u32 {
        let within = (u64::from(position) / CONTAINER_ENTRIES) as u32;
        self.container.start
            + u32::from(region.0) * CONTAINER_BLOCKS_PER_REGION
            + within.min(CONTAINER_BLOCKS_PER_REGION - 1)
    }

    /// The aggregate's bitmap block that covers `vbn`.
    #[inline]
    pub(crate) fn aggregate_bitmap_of(&self, vbn: Vbn) -> u32 {
        self.aggregate_bitmap.start + (vbn.0 / REGION_BLOCKS) as u32
    }
}

/// So many keys behind `start`. Keys saturate in an array that is too large for them.
fn behind(start: u32, blocks: u32) -> Range<u32> {
    start..start.saturating_add(blocks)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys_of(volumes: &[(u32, &[u32])]) -> BlockKeys {
        let volumes = volumes.iter().map(|(regions, luns)| (*regions, *luns, [].as_slice()));
        BlockKeys::new(volumes, 800_000)
    }

    fn one_lun(blocks: u32, regions: u32, aggregate_blocks: u64) -> BlockKeys {
        let luns = [blocks];
        BlockKeys::new([(regions, luns.as_slice(), [].as_slice())], aggregate_blocks)
    }

    #[test]
    fn a_file_of_100_gib_has_four_levels() {
        let keys = one_lun(26_214_400, 7_451, 626_688_000);
        // 51,401 level-1 blocks, 101 at level 2, 1 at level 3, the inode.
        assert_eq!(keys.indirect().len(), 51_401 + 101 + 1 + 1);
        assert_eq!(keys.indirect_of(0), 26_214_400);
        assert_eq!(keys.indirect_of(26_214_399), 26_214_400 + 51_400);
        let level_2 = keys.parent_of(keys.indirect_of(26_214_399));
        assert_eq!(level_2, Some(26_214_400 + 51_401 + 100));
        let level_3 = keys.parent_of(level_2.unwrap());
        assert_eq!(level_3, Some(26_214_400 + 51_401 + 101));
        let inode = keys.parent_of(level_3.unwrap());
        assert_eq!(inode, Some(keys.indirect().end - 1));
        assert_eq!(keys.parent_of(inode.unwrap()), None);
    }

    #[test]
    fn a_directory_leads_to_everything() {
        let volumes: [&[(u32, &[u32])]; 5] = [
            &[(1, &[1])],
            &[(12, &[262_144])],
            &[(7_451, &[26_214_400])],
            &[(3, &[1, 510, 511, 300_000, 7])],
            &[(3, &[70_000]), (1, &[]), (9, &[261_000, 1])],
        ];
        for volumes in volumes {
            let keys = keys_of(volumes).with_directory();
            let root = keys.root().unwrap();
            assert_eq!(keys.parent_of(root), None);
            let mut reached = vec![false; keys.end() as usize];
            let mut open = vec![root];
            while let Some(key) = open.pop() {
                assert!(!std::mem::replace(&mut reached[key as usize], true), "{key} twice");
                for child in keys.children(key) {
                    if keys.data().contains(&child) {
                        assert_eq!(keys.indirect_of(child), key);
                    } else {
                        assert_eq!(keys.parent_of(child), Some(key), "of {child}");
                    }
                    if keys.has_pointers(child) {
                        open.push(child);
                    } else {
                        reached[child as usize] = true;
                    }
                }
            }
            for lun in (0..keys.luns()).map(LunId) {
                let mut blocks = keys.blocks_of(lun);
                assert!(blocks.all(|key| std::mem::take(&mut reached[key as usize])), "{lun:?}");
            }
            let mut reached = reached.into_iter().enumerate().filter(|(_, reached)| *reached);
            let metadata = keys.data().end..keys.catalog().start;
            assert!(reached.by_ref().map(|(key, _)| key as u32).eq(metadata));
            assert_eq!(keys.catalog().end, keys.end());
        }
    }

    #[test]
    fn each_block_of_a_volume_is_one_of_its_metadata_or_of_its_luns() {
        let volumes: &[(u32, &[u32])] = &[(3, &[70_000]), (1, &[]), (9, &[261_000, 1])];
        let keys = keys_of(volumes);
        let bitmaps = keys.inodes().end..keys.of_volumes().end;
        let mut counted = vec![0u32; 3];
        for key in keys.of_files().into_iter().flat_map(|(_, keys)| keys).chain(bitmaps) {
            counted[keys.volume_of(key).0 as usize] += 1;
        }
        let metadata = keys.metadata_of_volumes();
        assert_eq!(counted, [metadata[0] + 70_000, metadata[1], metadata[2] + 261_001]);
        assert_eq!(keys.luns_of(VolumeId(2)), 1..3);
    }

    #[test]
    fn a_block_is_found_by_its_address() {
        let keys = keys_of(&[(3, &[70_000]), (1, &[]), (9, &[261_000, 1])]).with_directory();
        for key in (0..keys.inodes().end).step_by(7).chain(keys.indirect()) {
            let Some(address) = keys.address_of(key) else {
                assert!(keys.data().contains(&key), "between two LUNs");
                continue;
            };
            assert_eq!(keys.key_of(keys.volume_of(key), address), Some(key), "{address}");
        }
        let behind = BlockAddress { file: 1, level: 0, index: 70_000 };
        assert_eq!(keys.key_of(VolumeId(0), behind), None);
        assert_eq!(keys.key_of(VolumeId(0), BlockAddress { file: 9, ..behind }), None);
        assert_eq!(keys.file_of(LunId(2)), 3);
    }

    #[test]
    fn a_file_of_one_block_has_the_levels_that_it_has_beside_others() {
        let keys = one_lun(1, 1, 1_000);
        assert_eq!(keys.indirect().len(), 2);
        assert_eq!((keys.indirect_of(0), keys.inodes()), (1, 2..3));
        assert_eq!((keys.children(1), keys.children(2)), (vec![0], vec![1]));
    }
}
