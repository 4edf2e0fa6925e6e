//! A volume: the blocks of a LUN, and the indirect blocks that lead to them.

use strewn_base::memory;
use strewn_base::state::SavedValue;

use crate::allocation_class::Contents;
use crate::block::{Block, BlockWrite, Stage};
use crate::dva::NoRoom;
use crate::order::AllocationOrder;
use crate::pool::Pool;
use crate::snapshots::Snapshots;

/// Pointers in an indirect block of 128 KiB.
pub const POINTERS: u32 = 1_024;

/// Bytes of an indirect block on disk without pointers. Indirect blocks are compressed; this and the next were measured
/// on OpenZFS 2.3.2 (docs/zfs.md).
const INDIRECT_BYTES: u64 = 942;

/// Bytes of a pointer that was written in order with its neighbours.
const POINTER_BYTES: u64 = 40;

/// What a pointer grows by with each overwrite of its block, as neighbours differ more and more, in quarters of a byte,
const GROWTH_QUARTERS: u64 = 11;

/// and at most, in quarters of a byte.
const MOST_GROWTH_QUARTERS: u64 = 28;

/// Levels of the tree that holds a volume's own description (the meta-dnode), each one block, below its root.
const DESCRIPTION_LEVELS: usize = 6;

/// Bytes of each of these blocks.
const DESCRIPTION_BYTES: u64 = 4_096;

/// The level of these blocks where one stands for them all.
const DESCRIPTION_LEVEL: u8 = u8::MAX;

/// Blocks whose memory is announced before a transaction group comes to them.
pub(crate) const AHEAD: usize = 16;

/// Copies of metadata (`redundant_metadata=all`).
pub(crate) const METADATA_COPIES: usize = 2;

/// A volume's size, and that of its blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, SavedValue)]
pub struct VolumeShape {
    /// Blocks.
    pub blocks: u32,
    /// Bytes of a block (`volblocksize`), a power of two.
    pub block_bytes: u32,
    /// Bytes that a block takes after compression.
    pub stored_bytes: u32,
}

/// An indirect block: its copies, and its bytes on disk, which change with the pointers that it has.
#[derive(Debug, Clone, Copy, SavedValue)]
struct IndirectBlock {
    copies: [Block; METADATA_COPIES],
    bytes: u32,
    /// The transaction group in which it was written.
    birth: u32,
}

/// A volume.
#[derive(Debug, Clone, SavedValue)]
pub struct Volume {
    shape: VolumeShape,
    blocks: Vec<Block>,
    /// The transaction group in which each block was written.
    births: Vec<u32>,
    /// The indirect blocks, by level from 1 on.
    indirect: Vec<Vec<IndirectBlock>>,
    /// How many pointers each indirect block of level 1 has.
    filled: Vec<u16>,
    /// How many of them have been overwritten, counted again for each time.
    overwritten: Vec<u32>,
    description: Vec<[Block; METADATA_COPIES]>,
    /// The transaction group in which all of that was written.
    description_birth: u32,
    snapshots: Snapshots,
    levels_dirty: Vec<Vec<u32>>,
}

impl Volume {
    /// A volume without data.
    #[must_use]
    pub fn new(shape: VolumeShape) -> Self {
        let mut indirect = Vec::new();
        let mut below = shape.blocks as usize;
        while below > 1 || indirect.is_empty() {
            below = below.div_ceil(POINTERS as usize);
            indirect.push(vec![
                IndirectBlock {
                    copies: [Block::HOLE; METADATA_COPIES],
                    bytes: 0,
                    birth: 0
                };
                below
            ]);
        }
        let levels = indirect.len();
        Self {
            shape,
            blocks: memory::filled(Block::HOLE, shape.blocks as usize),
            births: memory::filled(0, shape.blocks as usize),
            filled: vec![0; indirect[0].len()],
            overwritten: vec![0; indirect[0].len()],
            indirect,
            description: vec![[Block::HOLE; METADATA_COPIES]; DESCRIPTION_LEVELS + 1],
            description_birth: 0,
            snapshots: Snapshots::new(shape.stored_bytes),
            levels_dirty: vec![Vec::new(); levels],
        }
    }

    /// A clone of the volume as the last transaction group of `pool` has left it (`dsl_dataset_create_sync_dd`): it has
    /// the same blocks, until either writes them.
    ///
    /// # Panics
    /// If the volume has snapshots, or is a clone.
    pub fn clone_of(&mut self, pool: &Pool) -> Self {
        let snapshots = self.snapshots.of_clone(pool.txg() as u32 - 1);
        Self { snapshots, ..self.clone() }
    }

    /// The transaction group in which a block of a level was written; 0 for one that never was.
    pub(crate) fn birth_of(&self, level: u8, number: u32) -> u32 {
        match level {
            0 => self.birth(number),
            level => self.indirect[usize::from(level) - 1][number as usize].birth,
        }
    }

    /// Its shape.
    #[must_use]
    pub fn shape(&self) -> VolumeShape {
        self.shape
    }

    /// Announces that a block will be asked for.
    #[inline]
    pub(crate) fn announce(&self, number: u32) {
        memory::prefetch(&self.blocks, number as usize);
    }

    /// Where a block lies.
    #[must_use]
    pub fn block(&self, number: u32) -> Block {
        self.blocks[number as usize]
    }

    /// All blocks in order.
    #[must_use]
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// Says that its blocks lie elsewhere, without freeing or allocating anything.
    pub(crate) fn set_blocks(&mut self, blocks: Vec<Block>) {
        assert_eq!(blocks.len(), self.blocks.len(), "a place for each block");
        self.blocks = blocks;
    }

    /// The transaction group in which a block was written; 0 for one that never was.
    #[must_use]
    pub fn birth(&self, number: u32) -> u32 {
        self.births[number as usize]
    }

    /// Its snapshots.
    #[must_use]
    pub fn snapshots(&self) -> &Snapshots {
        &self.snapshots
    }

    /// The same, to be deleted.
    pub fn snapshots_mut(&mut self) -> &mut Snapshots {
        &mut self.snapshots
    }

    /// Takes a snapshot of the volume as the transaction group that `pool` is syncing leaves it, after its blocks are
    /// placed. Returns what it is known by.
    pub fn take_snapshot(&mut self, pool: &Pool) -> u32 {
        self.snapshots.take(pool.txg() as u32)
    }

    /// Blocks of data that no snapshot has.
    #[must_use]
    pub fn unshared_blocks(&self) -> u64 {
        let latest = self.snapshots.latest_txg();
        self.births.iter().filter(|birth| **birth > latest).count() as u64
    }

    /// Levels of indirect blocks.
    #[must_use]
    pub fn levels(&self) -> usize {
        self.indirect.len()
    }

    /// Bytes that each transaction group with any of its blocks writes, all copies: its description, and an indirect
    /// block of each level above the first.
    pub(crate) fn bytes_of_every_group(&self) -> u64 {
        let description = self.description.len() as u64 * DESCRIPTION_BYTES;
        let pointers = u64::from(POINTERS) * (POINTER_BYTES + MOST_GROWTH_QUARTERS / 4);
        let above = (self.indirect.len() as u64 - 1) * (INDIRECT_BYTES + pointers);
        METADATA_COPIES as u64 * (description + above)
    }

    /// Indirect blocks of all levels.
    pub(crate) fn indirect_count(&self) -> u64 {
        self.indirect.iter().map(|level| level.len() as u64).sum()
    }

    /// The level and number of each indirect block that is written, the lowest level first.
    pub fn indirect_blocks(&self) -> impl Iterator<Item = (u8, u32)> + '_ {
        (1u8..).zip(&self.indirect).flat_map(|(level, blocks)| {
            let written = (0u32..).zip(blocks).filter(|(_, block)| block.bytes > 0);
            written.map(move |(number, _)| (level, number))
        })
    }

    /// The first copy of an indirect block of a level from 1 on, and its bytes on disk.
    #[must_use]
    pub fn indirect(&self, level: usize, number: u32) -> (Block, u32) {
        let IndirectBlock { copies, bytes, .. } = self.indirect[level - 1][number as usize];
        (copies[0], bytes)
    }

    /// Tells the level, number, place and bytes of each block that is written, copies of metadata included.
    pub fn for_each_written(&self, mut tell: impl FnMut(u8, u32, Block, u32)) {
        let mut tell = |level, number, block: Block, bytes| {
            if !block.is_hole() {
                tell(level, number, block, bytes);
            }
        };
        for (number, block) in (0..).zip(&self.blocks) {
            tell(0, number, *block, self.shape.stored_bytes);
        }
        for (level, blocks) in (1..).zip(&self.indirect) {
            for (number, block) in (0..).zip(blocks) {
                block.copies.iter().for_each(|copy| tell(level, number, *copy, block.bytes));
            }
        }
        for (number, copies) in (0..).zip(&self.description) {
            let bytes = DESCRIPTION_BYTES as u32;
            copies.iter().for_each(|copy| tell(DESCRIPTION_LEVEL, number, *copy, bytes));
        }
    }

    /// The copies of a block that [`for_each_written`](Self::for_each_written) told, and its bytes.
    #[must_use]
    pub fn copies_of(&self, level: u8, number: u32) -> (&[Block], u32) {
        let number = number as usize;
        match level {
            0 => (std::slice::from_ref(&self.blocks[number]), self.shape.stored_bytes),
            DESCRIPTION_LEVEL => (&self.description[number], DESCRIPTION_BYTES as u32),
            level => {
                let block = &self.indirect[usize::from(level) - 1][number];
                (&block.copies, block.bytes)
            }
        }
    }

    fn indirect_bytes(&self, level: usize, number: u32) -> u64 {
        let (pointers, overwritten) = if level == 1 {
            let at = number as usize;
            (u64::from(self.filled[at]), u64::from(self.overwritten[at]))
        } else {
            let below = self.indirect[level - 2].len() as u64;
            let pointers = below - u64::from(number) * u64::from(POINTERS);
            (pointers.min(u64::from(POINTERS)), 0)
        };
        let growth = (overwritten * GROWTH_QUARTERS).min(pointers * MOST_GROWTH_QUARTERS) / 4;
        INDIRECT_BYTES + pointers * POINTER_BYTES + growth
    }

    /// A block gets another place in the transaction group that `pool` is syncing. Returns where it was, and since
    /// when.
    fn note_written(&mut self, pool: &Pool, number: u32) -> (&mut Block, u32) {
        let block = &mut self.blocks[number as usize];
        let above = number / POINTERS;
        if block.is_hole() {
            self.filled[above as usize] += 1;
        } else {
            let overwritten = &mut self.overwritten[above as usize];
            *overwritten = overwritten.saturating_add(1);
        }
        self.levels_dirty[0].push(above);
        let birth = std::mem::replace(&mut self.births[number as usize], pool.txg() as u32);
        (block, birth)
    }

    /// A dirty block has been written before its transaction group is (`dr_override_state`).
    pub fn set_written(&mut self, pool: &mut Pool, number: u32, at: Block) {
        let bytes = u64::from(self.shape.stored_bytes);
        let (block, birth) = self.note_written(pool, number);
        let old = std::mem::replace(block, at);
        self.snapshots.kill(pool, old, (bytes, true), birth);
    }

    /// Writes `dirty` blocks, in the order in which hosts wrote them, and all metadata that these and those that
    /// [were written](Self::set_written) change.
    ///
    /// # Errors
    /// If the pool has no room.
    pub fn sync(
        &mut self,
        pool: &mut Pool,
        mut dirty: Vec<u32>,
        order: &mut AllocationOrder,
        writes: &mut Vec<BlockWrite>,
    ) -> Result<(), NoRoom> {
        if dirty.is_empty() && self.levels_dirty[0].is_empty() {
            return Ok(());
        }
        order.apply(&mut dirty, POINTERS);
        let bytes = u64::from(self.shape.stored_bytes);
        for (position, number) in dirty.iter().enumerate() {
            if let Some(later) = dirty.get(position + AHEAD) {
                memory::prefetch(&self.blocks, *later as usize);
                memory::prefetch(&self.births, *later as usize);
            }
            let (block, birth) = self.note_written(pool, *number);
            let mut copies = [*block];
            let snapshots = &mut self.snapshots;
            Block::replace_all(
                Contents::Data,
                &mut copies,
                pool,
                bytes,
                Stage::Data,
                writes,
                |pool, old| {
                    snapshots.kill(pool, old, (bytes, true), birth);
                },
            )?;
            [self.blocks[*number as usize]] = copies;
        }
        for level in 1..=self.indirect.len() {
            let mut changed = std::mem::take(&mut self.levels_dirty[level - 1]);
            changed.sort_unstable();
            changed.dedup();
            for number in &changed {
                let bytes = self.indirect_bytes(level, *number);
                let block = &mut self.indirect[level - 1][*number as usize];
                let old = u64::from(std::mem::replace(&mut block.bytes, bytes as u32));
                let birth = std::mem::replace(&mut block.birth, pool.txg() as u32);
                let (copies, snapshots) = (&mut block.copies, &mut self.snapshots);
                Block::replace_all(
                    Contents::Metadata,
                    copies,
                    pool,
                    bytes,
                    Stage::Data,
                    writes,
                    |pool, gone| {
                        snapshots.kill(pool, gone, (old, false), birth);
                    },
                )?;
                if let Some(above) = self.levels_dirty.get_mut(level) {
                    above.push(*number / POINTERS);
                }
            }
            changed.clear();
            self.levels_dirty[level - 1] = changed;
        }
        let birth = std::mem::replace(&mut self.description_birth, pool.txg() as u32);
        let snapshots = &mut self.snapshots;
        for copies in &mut self.description {
            Block::replace_all(
                Contents::Metadata,
                copies,
                pool,
                DESCRIPTION_BYTES,
                Stage::Data,
                writes,
                |pool, old| {
                    snapshots.kill(pool, old, (DESCRIPTION_BYTES, false), birth);
                },
            )?;
        }
        Ok(())
    }
}
