//! Prefetching what operations and consistency points will look up.
//!
//! The block map, the buffer table and the bitmaps of a 100 GiB file are 200 MB, and each operation looks up its own
//! places in them: a simulation spent half of its time waiting for memory. Prefetched in time, they cost next to
//! nothing. Nothing here changes a result.

use strewn_base::Direction;

use crate::payload::Payload;
use crate::units::BLOCK_SECTORS;

use super::WriteAnywhere;
use super::tag::{Owner, TagFields};

/// Blocks that a consistency point prefetches ahead of the present one.
pub(super) const BLOCKS_AHEAD: usize = 12;

/// Most blocks of an operation or command to prefetch. The largest operations of common mixes have 64 KiB.
const MOST_BLOCKS: u32 = 20;

impl<P: Payload> WriteAnywhere<P> {
    /// For an operation that will be issued within microseconds: its indirect block's buffer, and whether its blocks
    /// are cached and where they lie.
    #[inline]
    pub(super) fn prefetch_for_operation(
        &self,
        direction: Direction,
        first_sector: u64,
        sectors: u32,
    ) {
        let first = (first_sector / u64::from(BLOCK_SECTORS)) as u32;
        let last = ((first_sector + u64::from(sectors) - 1) / u64::from(BLOCK_SECTORS)) as u32;
        let last = last.min(first + MOST_BLOCKS);
        self.cache.prefetch(self.keys.indirect_of(first));
        self.cache.prefetch(first);
        self.map.prefetch(first);
        self.map.prefetch(last);
        if direction == Direction::Write {
            self.dirty.prefetch(u64::from(first));
        }
    }

    /// For a command that will complete next: the buffers that its blocks will take.
    #[inline]
    pub(super) fn prefetch_for_completion(&self, fields: TagFields) {
        if fields.owner == Owner::HostOperation {
            self.cache.prefetch(fields.first_key);
        }
    }

    /// For the block `BLOCKS_AHEAD` after `data[index]`, its buffer.
    #[inline]
    pub(super) fn prefetch_buffer_ahead(&self, data: &[u32], index: usize) {
        if let Some(&key) = data.get(index + BLOCKS_AHEAD) {
            self.cache.prefetch(key);
        }
    }

    /// For the block `BLOCKS_AHEAD` after `data[index]`, its place; for a nearer one, its region's delayed frees.
    #[inline]
    pub(super) fn prefetch_place_ahead(&self, data: &[u32], index: usize) {
        if let Some(&key) = data.get(index + BLOCKS_AHEAD) {
            self.map.prefetch(key);
            strewn_base::memory::prefetch(&self.regions, key as usize);
            if let Some(snapshots) = &self.snapshots {
                snapshots.prefetch(key);
            }
        }
        if let Some(&key) = data.get(index + BLOCKS_AHEAD / 2) {
            self.volumes.prefetch_held_back(self.regions[key as usize]);
        }
    }

    /// For the metadata block that a consistency point comes to next.
    #[inline]
    pub(super) fn prefetch_metadata(&self, key: u32) {
        self.cache.prefetch(key);
        self.map.prefetch(key);
    }
}
