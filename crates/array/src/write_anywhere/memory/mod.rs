//! What is in memory: the buffer cache, the contents of its blocks, which of them are dirty, and the reads in flight
//! that may still bring old ones.

pub(super) mod dirty_blocks;
pub(super) mod epochs;
pub(super) mod prefetch;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use strewn_alloc::BlockMap;

use crate::buffer_cache::{BufferCache, Evicted};
use crate::counters::Counters;
use crate::payload::{Contents, Payload};
use crate::units::{BLOCK_BYTES, BLOCK_SECTORS};

use super::space::Space;
use super::tag::{Owner, TagFields};
use dirty_blocks::DirtyBlocks;
use epochs::ReadEpochs;

/// The blocks in memory, data and metadata.
pub(super) struct Memory<P: Payload> {
    pub(super) cache: BufferCache,
    pub(super) contents: P::Contents,
    pub(super) dirty: DirtyBlocks,
    /// For the consistency point in progress, in an array with bytes: the contents, as of its beginning, of blocks
    /// written to since; and the bytes of its metadata.
    pub(super) frozen: BTreeMap<u32, P>,
    pub(super) reads: ReadEpochs,
    /// Keys from here on are those of metadata, whose contents are not kept.
    end_of_data: u32,
}

impl<P: Payload> Memory<P> {
    /// Empty memory for the blocks of `space`.
    pub(super) fn new(space: &Space) -> Self {
        let (keys, config) = (&space.keys, &space.config);
        Self {
            cache: BufferCache::new(keys.end(), config.cache_blocks, config.protected_blocks),
            contents: P::Contents::default(),
            dirty: DirtyBlocks::new(keys.data().end, space.is_durable()),
            frozen: BTreeMap::new(),
            reads: ReadEpochs::default(),
            end_of_data: keys.data().end,
        }
    }

    /// Puts blocks into the cache's protected segment.
    pub(super) fn warm(&mut self, keys: Vec<u32>) {
        for key in keys {
            self.cache.insert(key);
            self.cache.touch(key);
        }
    }

    /// Whether so much has changed that a consistency point begins.
    #[inline(always)]
    pub(super) fn is_much_dirty(&self, limit_blocks: u32) -> bool {
        self.cache.dirty_blocks() > limit_blocks || self.dirty.is_much_unmapped()
    }

    /// Inserts blocks that were just read into the cache. Blocks already there are newer, and stay. With `hold`, the
    /// blocks cannot be evicted until released. `map` says where blocks are now.
    #[inline(always)]
    pub(super) fn fill(
        &mut self,
        first_key: u32,
        blocks: u32,
        payload: &P,
        hold: bool,
        map: &BlockMap,
        counters: &mut Counters,
    ) {
        if self.dirty.unmaps() && self.are_unmapped(first_key, blocks, map) {
            return self.fill_unmapped(first_key, blocks, payload, hold, map, counters);
        }
        self.fill_mapped(first_key, blocks, payload, hold, counters);
    }

    #[inline(always)]
    fn fill_mapped(
        &mut self,
        first_key: u32,
        blocks: u32,
        payload: &P,
        hold: bool,
        counters: &mut Counters,
    ) {
        let end_of_data = self.end_of_data;
        let contents = &mut self.contents;
        self.cache.insert_run(first_key, blocks, hold, |key, evicted| {
            forget(contents, evicted, end_of_data);
            if key < end_of_data {
                let sector = u64::from(key) * u64::from(BLOCK_SECTORS);
                let part = payload.slice((key - first_key) * BLOCK_SECTORS, BLOCK_SECTORS);
                contents.store(sector, BLOCK_SECTORS, &part);
            }
        });
        counters.read_ahead_dropped = self.cache.dropped_unread();
    }

    /// Inserts blocks that were just read into the cache, some of which were unmapped meanwhile. Those are dropped, or
    /// with `hold` contain zeros.
    #[cold]
    fn fill_unmapped(
        &mut self,
        first_key: u32,
        blocks: u32,
        payload: &P,
        hold: bool,
        map: &BlockMap,
        counters: &mut Counters,
    ) {
        for block in 0..blocks {
            let key = first_key + block;
            if !self.are_unmapped(key, 1, map) {
                let one = payload.slice(block * BLOCK_SECTORS, BLOCK_SECTORS);
                self.fill_mapped(key, 1, &one, hold, counters);
            } else if hold {
                self.fill_zeros(key, counters);
            }
        }
    }

    /// Holds a block of zeros in the cache.
    pub(super) fn fill_zeros(&mut self, key: u32, counters: &mut Counters) {
        self.fill_mapped(key, 1, &P::from_bytes(vec![0; BLOCK_BYTES]), true, counters);
    }

    /// Whether some of these blocks have been unmapped since a read of them was sent.
    fn are_unmapped(&self, first_key: u32, blocks: u32, map: &BlockMap) -> bool {
        first_key < self.end_of_data
            && (first_key..first_key + blocks)
                .any(|key| map.get(key).is_none() || self.dirty.is_unmapped(key))
    }

    #[inline(always)]
    pub(super) fn forget(&mut self, evicted: Evicted, counters: &mut Counters) {
        forget(&mut self.contents, evicted, self.end_of_data);
        counters.read_ahead_dropped = self.cache.dropped_unread();
    }

    /// Releases a block that an operation or a consistency point has held.
    #[inline(always)]
    pub(super) fn release(&mut self, key: u32, counters: &mut Counters) {
        let evicted = self.cache.release(key);
        self.forget(evicted, counters);
    }

    /// Drops what is clean and not in use.
    pub(super) fn discard_clean(&mut self, counters: &mut Counters) {
        for key in self.cache.discard_clean() {
            self.forget(Evicted(Some(key)), counters);
        }
    }

    /// A block of data as it is in the cache.
    #[inline(always)]
    pub(super) fn load(&self, key: u32) -> P {
        self.contents.load(u64::from(key) * u64::from(BLOCK_SECTORS), BLOCK_SECTORS)
    }

    /// The contents of `key` that the consistency point in progress writes.
    pub(super) fn take_frozen(&mut self, key: u32) -> P {
        self.frozen.remove(&key).unwrap_or_else(|| self.load(key))
    }

    /// A host writes to block `key` now.
    #[inline(always)]
    pub(super) fn write(&mut self, key: u32, counters: &mut Counters) {
        if P::CARRIES_DATA {
            self.freeze_if_flushing(key);
        }
        let (newly_dirty, evicted) = self.cache.write(key);
        self.forget(evicted, counters);
        self.dirty.on_written(key, newly_dirty);
    }

    /// Saves the contents of a block for the consistency point that is writing it, before they are overwritten.
    fn freeze_if_flushing(&mut self, key: u32) {
        if self.cache.is_flushing(key) && !self.frozen.contains_key(&key) {
            let contents = self.load(key);
            self.frozen.insert(key, contents);
        }
    }

    /// Unmaps blocks: they read as zeros from now on.
    pub(super) fn unmap(&mut self, blocks: RangeInclusive<u32>) {
        for block in blocks {
            self.dirty.on_unmapped(block);
            if !self.cache.contains(block) {
                continue;
            }
            if P::CARRIES_DATA {
                self.freeze_if_flushing(block);
            }
            let sector = u64::from(block) * u64::from(BLOCK_SECTORS);
            if self.cache.discard(block) {
                self.contents.forget(sector, BLOCK_SECTORS);
            } else {
                // A consistency point is writing it, or a write is about to.
                let zeros = P::from_bytes(vec![0; BLOCK_BYTES]);
                self.contents.store(sector, BLOCK_SECTORS, &zeros);
            }
        }
    }

    /// Whether a read for hosts went to the places from before the consistency point in progress.
    pub(super) fn is_of_old_places(&self, fields: TagFields) -> bool {
        fields.owner == Owner::ConsistencyPointRead
            || fields.epoch_parity != self.reads.epoch_parity()
    }

    /// Whether nothing waits for a consistency point.
    pub(super) fn is_clean(&self) -> bool {
        self.dirty.is_clean()
    }

    pub(super) fn assert_invariants(&self) {
        self.cache.assert_invariants();
        let dirty = self.dirty.blocks().count();
        assert_eq!(dirty, u64::from(self.cache.dirty_blocks()), "dirty blocks");
    }
}

/// Drops the contents of an evicted block of data.
#[inline(always)]
fn forget<P>(contents: &mut impl Contents<P>, evicted: Evicted, end_of_data: u32) {
    if let Evicted(Some(key)) = evicted
        && key < end_of_data
    {
        contents.forget(u64::from(key) * u64::from(BLOCK_SECTORS), BLOCK_SECTORS);
    }
}

strewn_base::saved_state! {
    impl for Memory<()> {
        parts: cache, dirty;
        values: frozen, reads;
        built: contents, end_of_data;
    }
}
