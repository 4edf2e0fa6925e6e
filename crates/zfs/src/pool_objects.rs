//! The pool's own objects (the MOS): what each transaction group changes of them.
//!
//! Measured on OpenZFS 2.3.2 by logging each allocation (docs/zfs.md). In the first sync pass, what describes volumes
//! is written. In the second, the space maps: a log of what this transaction group has allocated and freed, and the
//! space map of one metaslab, after which older logs are not needed any more. This changes descriptions again, which
//! are written where they are, in this pass and the third. All is stored in three copies.

use std::collections::VecDeque;

use strewn_base::state::SavedValue;

use crate::block::{Block, BlockWrite, Stage};
use crate::dva::NoRoom;
use crate::pool::Pool;

/// Copies of the pool's own objects.
const COPIES: usize = 3;

/// Bytes of a block that describes objects.
const BLOCK_BYTES: u64 = 4_096;

/// Blocks of the first pass: descriptions of objects, the block that points to them, and the root.
const FIRST_PASS: usize = 4;

/// Blocks of the second beside the space maps: which metaslabs are flushed, which logs there are, the count of space
/// maps, and descriptions of what is new.
const SECOND_PASS: usize = 5;

/// Blocks of the first pass that the third writes again, beside the log.
const THIRD_PASS: usize = 4;

/// Bytes of a space map, or of a log of space maps, without segments,
const SPACE_MAP_BYTES: u64 = 512;

/// and for each segment, compressed.
const SEGMENT_BYTES: u64 = 6;

/// Bytes of a block of such a log.
const LOG_BLOCK_BYTES: u64 = 128 << 10;

/// Blocks in several copies, and their bytes.
#[derive(Debug, Clone, Copy, SavedValue)]
struct Object {
    copies: [Block; COPIES],
    bytes: u64,
}

impl Object {
    const NONE: Self = Self { copies: [Block::HOLE; COPIES], bytes: 0 };

    fn rewrite(
        &mut self,
        pool: &mut Pool,
        bytes: u64,
        stage: Stage,
        writes: &mut Vec<BlockWrite>,
    ) -> Result<(), NoRoom> {
        let old = std::mem::replace(&mut self.bytes, bytes);
        Block::rewrite_all(&mut self.copies, pool, (old, bytes), stage, writes)
    }

    fn write_again(&self, stage: Stage, writes: &mut Vec<BlockWrite>) {
        Block::write_again(&self.copies, self.bytes, stage, writes);
    }
}

/// The pool's own objects.
#[derive(Debug, Clone, SavedValue)]
pub struct PoolObjects {
    fixed: Vec<Object>,
    space_maps: Vec<Object>,
    next_flushed: usize,
    /// The logs that are still needed, by transaction group.
    logs: VecDeque<Vec<Object>>,
}

impl PoolObjects {
    /// Those of a pool with so many metaslabs.
    #[must_use]
    pub fn new(metaslabs: usize) -> Self {
        Self {
            fixed: vec![Object::NONE; FIRST_PASS + SECOND_PASS],
            space_maps: vec![Object::NONE; metaslabs],
            next_flushed: 0,
            logs: VecDeque::new(),
        }
    }

    /// The pool gets so many metaslabs more.
    pub(crate) fn add_metaslabs(&mut self, metaslabs: usize) {
        self.space_maps.resize(self.space_maps.len() + metaslabs, Object::NONE);
    }

    /// The place and bytes of each copy of a block that is written.
    pub fn written(&self) -> impl Iterator<Item = (Block, u32)> + '_ {
        let objects = self.fixed.iter().chain(&self.space_maps);
        let all = objects.chain(self.logs.iter().flatten());
        let copies =
            all.flat_map(|object| object.copies.iter().map(|copy| (*copy, object.bytes as u32)));
        copies.filter(|(block, _)| !block.is_hole())
    }

    /// The most bytes that a transaction group writes of them, all copies, if it frees so many segments.
    pub(crate) fn most_bytes(&self, pool: &Pool, freed_segments: u64) -> u64 {
        let segments = pool.most_free_segments() + freed_segments;
        let blocks = (FIRST_PASS + SECOND_PASS) as u64;
        COPIES as u64 * (blocks * BLOCK_BYTES + 2 * SPACE_MAP_BYTES + segments * SEGMENT_BYTES)
    }

    /// Writes what a transaction group changes that has freed so many segments.
    ///
    /// # Errors
    /// If the pool has no room.
    pub fn sync(
        &mut self,
        pool: &mut Pool,
        freed_segments: u64,
        writes: &mut Vec<BlockWrite>,
    ) -> Result<(), NoRoom> {
        let (first, second) = self.fixed.split_at_mut(FIRST_PASS);
        for object in &mut *first {
            object.rewrite(pool, BLOCK_BYTES, Stage::Pool, writes)?;
        }
        pool.sync_pass();
        let segments = pool.free_segments_of(self.next_flushed);
        let bytes = SPACE_MAP_BYTES + segments * SEGMENT_BYTES;
        self.space_maps[self.next_flushed].rewrite(pool, bytes, Stage::SpaceMaps, writes)?;
        self.next_flushed = (self.next_flushed + 1) % self.space_maps.len();
        let mut log = Vec::new();
        let mut left = SPACE_MAP_BYTES + freed_segments * SEGMENT_BYTES;
        while left > 0 {
            let mut block = Object::NONE;
            block.rewrite(pool, left.min(LOG_BLOCK_BYTES), Stage::SpaceMaps, writes)?;
            left -= block.bytes;
            log.push(block);
        }
        for object in second {
            object.rewrite(pool, BLOCK_BYTES, Stage::SpaceMaps, writes)?;
        }
        first.iter().for_each(|object| object.write_again(Stage::SpaceMaps, writes));
        // Each metaslab has been flushed since the oldest log.
        self.logs.push_back(log);
        if self.logs.len() > self.space_maps.len()
            && let Some(oldest) = self.logs.pop_front()
        {
            let copies =
                oldest.iter().flat_map(|block| block.copies.map(|copy| (copy, block.bytes)));
            copies.for_each(|(copy, bytes)| copy.free(pool, bytes));
        }
        pool.sync_pass();
        let again = self.logs.back().into_iter().flatten().chain(&first[..THIRD_PASS]);
        again.for_each(|object| object.write_again(Stage::LastPass, writes));
        Ok(())
    }
}
