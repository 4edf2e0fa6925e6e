//! Snapshots of a volume, and the blocks that only they hold.
//!
//! `dsl_deadlist.c` and `dsl_dataset.c` of OpenZFS. A block that leaves the live volume is freed at once if it was born
//! after the latest snapshot (`dsl_dataset_block_kill`). Else it joins the dead list of the live volume. A snapshot
//! takes that list with it, and the volume begins an empty one. So each list has what the snapshot before it holds, and
//! what it, or the volume, does not. Within a list, blocks are in buckets by the snapshots between which they were born
//! (`dle_mintxg`): whoever deletes a snapshot finds the blocks that only it held in one bucket of the next list, and
//! reads no others (`dsl_destroy_snapshot_sync_impl`, `process_old_deadlist`).
//!
//! A clone begins as a snapshot of its origin, which stays as long as the clone does. What was born up to that snapshot
//! is the origin's: the clone frees none of it.

use strewn_base::state::SavedValue;

use crate::block::Block;
use crate::pool::Pool;

/// Blocks without an owner. Those of data all have the same bytes, so that each takes eight bytes of memory.
#[derive(Debug, Clone, Default, SavedValue)]
struct DeadBlocks {
    data: Vec<Block>,
    metadata: Vec<(Block, u32)>,
}

impl DeadBlocks {
    fn len(&self) -> usize {
        self.data.len() + self.metadata.len()
    }

    fn append(&mut self, mut other: Self) {
        // The shorter into the longer.
        if self.data.len() < other.data.len() {
            std::mem::swap(&mut self.data, &mut other.data);
        }
        self.data.append(&mut other.data);
        self.metadata.append(&mut other.metadata);
    }
}

/// The blocks of a dead list that were born after one snapshot, and not after the next.
#[derive(Debug, Clone, SavedValue)]
struct Bucket {
    /// The transaction group of the earlier one; 0 for none.
    born_after: u32,
    blocks: DeadBlocks,
}

/// What the snapshot before holds, and this one, or the live volume, does not. Buckets are in the order of births.
#[derive(Debug, Clone, Default, SavedValue)]
struct DeadList {
    buckets: Vec<Bucket>,
}

impl DeadList {
    fn bucket(&mut self, born_after: u32) -> &mut DeadBlocks {
        let at = match self.buckets.binary_search_by_key(&born_after, |bucket| bucket.born_after) {
            Ok(at) => at,
            Err(at) => {
                self.buckets.insert(at, Bucket { born_after, blocks: DeadBlocks::default() });
                at
            }
        };
        &mut self.buckets[at].blocks
    }

    fn take(&mut self, born_after: u32) -> DeadBlocks {
        let found = self.buckets.binary_search_by_key(&born_after, |bucket| bucket.born_after);
        found.map_or_else(|_| DeadBlocks::default(), |at| self.buckets.remove(at).blocks)
    }

    /// There is no snapshot of `from` any more: what was born after it was born after the one before
    /// (`dsl_deadlist_remove_key`).
    fn merge_key(&mut self, from: u32, into: u32) {
        let blocks = self.take(from);
        if blocks.len() > 0 {
            self.bucket(into).append(blocks);
        }
    }
}

/// A snapshot of a volume.
#[derive(Debug, Clone, SavedValue)]
struct Snapshot {
    id: u32,
    /// The transaction group with which it was taken, whose blocks it has.
    txg: u32,
    dead: DeadList,
}

/// The snapshots of a volume.
#[derive(Debug, Clone, Default, SavedValue)]
pub struct Snapshots {
    /// In the order in which they were taken.
    kept: Vec<Snapshot>,
    /// The dead list of the live volume.
    dead: DeadList,
    /// What only deleted snapshots held, and is not freed yet.
    freeing: DeadBlocks,
    next_id: u32,
    /// Bytes of a block of data on disk.
    data_bytes: u32,
    held_blocks: u64,
    held_bytes: u64,
    /// The transaction group of the snapshot that clones are made of, of their origin and of the clones; 0 for none.
    origin_txg: u32,
    is_clone: bool,
}

/// What the snapshot that clones are made of is known by. It is never deleted.
const ORIGIN: u32 = u32::MAX;

impl Snapshots {
    /// None yet, of a volume whose blocks of data have so many bytes on disk.
    pub(crate) fn new(data_bytes: u32) -> Self {
        Self { data_bytes, ..Self::default() }
    }

    /// None yet, of a clone of the volume with `self`. The snapshot that it is made of is taken unless there is one,
    /// with the last transaction group, `txg`, before any other snapshot.
    pub(crate) fn of_clone(&mut self, txg: u32) -> Self {
        if self.origin_txg == 0 {
            assert!(
                self.kept.is_empty() && !self.is_clone,
                "clones are made of a volume's first snapshot"
            );
            self.origin_txg = txg;
            self.kept.push(Snapshot { id: ORIGIN, txg, dead: DeadList::default() });
        }
        Self { origin_txg: self.origin_txg, is_clone: true, ..Self::new(self.data_bytes) }
    }

    /// Snapshots that are not deleted, without that of clones.
    #[must_use]
    pub fn count(&self) -> usize {
        self.kept.iter().filter(|snapshot| snapshot.id != ORIGIN).count()
    }

    /// Whether the volume is a clone.
    #[must_use]
    pub fn is_clone(&self) -> bool {
        self.is_clone
    }

    /// The transaction group of the snapshot that clones are made of, of their origin and of the clones; 0 for none.
    #[must_use]
    pub fn origin_txg(&self) -> u32 {
        self.origin_txg
    }

    /// What the next one will be known by.
    #[must_use]
    pub fn next_id(&self) -> u32 {
        self.next_id
    }

    /// Blocks, each copy counted, that the live volume does not have: snapshots hold them, or they wait to be freed.
    #[must_use]
    pub fn held_blocks(&self) -> u64 {
        self.held_blocks
    }

    /// Their bytes on disk without parity.
    #[must_use]
    pub fn held_bytes(&self) -> u64 {
        self.held_bytes
    }

    /// Whether blocks of deleted snapshots wait to be freed.
    #[must_use]
    pub fn is_freeing(&self) -> bool {
        self.freeing.len() > 0
    }

    /// The transaction group of the latest snapshot, that of a clone's origin included: what was born later is the live
    /// volume's alone. 0 for none.
    #[must_use]
    pub fn latest_txg(&self) -> u32 {
        self.kept.last().map_or(self.origin_txg, |snapshot| snapshot.txg)
    }

    /// The live volume does not have this copy of a block any more, which was born in the transaction group `birth`
    /// (`dsl_dataset_block_kill`).
    pub(crate) fn kill(
        &mut self,
        pool: &mut Pool,
        block: Block,
        (bytes, is_data): (u64, bool),
        birth: u32,
    ) {
        if block.is_hole() {
            return;
        }
        if birth > self.latest_txg() {
            block.free(pool, bytes);
            return;
        }
        if self.is_clone && birth <= self.origin_txg {
            return;
        }
        // The latest snapshot that the block was born after.
        let before = self.kept.partition_point(|snapshot| snapshot.txg < birth);
        let born_after = self.txg_before(before);
        let bucket = self.dead.bucket(born_after);
        if is_data {
            debug_assert_eq!(bytes, u64::from(self.data_bytes));
            bucket.data.push(block);
        } else {
            bucket.metadata.push((block, bytes as u32));
        }
        self.held_blocks += 1;
        self.held_bytes += bytes;
    }

    fn txg_before(&self, at: usize) -> u32 {
        at.checked_sub(1).map_or(0, |before| self.kept[before].txg)
    }

    /// Takes a snapshot with the transaction group that has just been placed. Returns what it is known by.
    pub(crate) fn take(&mut self, txg: u32) -> u32 {
        assert!(txg > self.latest_txg(), "one snapshot in a transaction group");
        let id = self.next_id;
        self.next_id += 1;
        self.kept.push(Snapshot { id, txg, dead: std::mem::take(&mut self.dead) });
        id
    }

    /// Deletes a snapshot. What only it held is freed over the next transaction groups. Returns whether there was one.
    pub fn delete(&mut self, id: u32) -> bool {
        let Some(at) = self.kept.iter().position(|snapshot| snapshot.id == id) else {
            return false;
        };
        let before = self.txg_before(at);
        let gone = self.kept.remove(at);
        let later = self.kept[at..].iter_mut().map(|snapshot| &mut snapshot.dead);
        let mut lists = later.chain([&mut self.dead]);
        // Born after the snapshot before, and dead before the one after: nobody else had it.
        if let Some(next) = lists.next() {
            let only_it = next.take(before);
            self.freeing.append(only_it);
            next.merge_key(gone.txg, before);
            for Bucket { born_after, blocks } in gone.dead.buckets {
                next.bucket(born_after).append(blocks);
            }
        }
        lists.for_each(|list| list.merge_key(gone.txg, before));
        true
    }

    /// Frees up to `most` blocks that only deleted snapshots held. Returns how many, and their bytes.
    pub(crate) fn free_some(&mut self, pool: &mut Pool, most: u64) -> (u64, u64) {
        let (mut blocks, mut bytes) = (0, 0);
        while blocks < most {
            let data = self.freeing.data.pop().map(|block| (block, self.data_bytes));
            let Some((block, block_bytes)) = data.or_else(|| self.freeing.metadata.pop()) else {
                break;
            };
            block.free(pool, block_bytes.into());
            blocks += 1;
            bytes += u64::from(block_bytes);
        }
        self.held_blocks -= blocks;
        self.held_bytes -= bytes;
        (blocks, bytes)
    }

    /// Tells each block that the live volume does not have and the pool must not give away, with its bytes on disk.
    pub fn for_each_held(&self, mut tell: impl FnMut(Block, u32)) {
        let lists = self.kept.iter().map(|snapshot| &snapshot.dead).chain([&self.dead]);
        let buckets = lists.flat_map(|list| list.buckets.iter().map(|bucket| &bucket.blocks));
        for DeadBlocks { data, metadata } in buckets.chain([&self.freeing]) {
            data.iter().for_each(|block| tell(*block, self.data_bytes));
            metadata.iter().for_each(|(block, bytes)| tell(*block, *bytes));
        }
    }
}

#[cfg(test)]
mod tests;
