//! Prefetching what operations and consistency points will look up.
//!
//! The block map, the buffer table and the bitmaps of a 100 GiB file are 200 MB, and each operation looks up its own
//! places in them: a simulation spent half of its time waiting for memory. Prefetched in time, they cost next to
//! nothing. Nothing here changes a result.

use strewn_base::Direction;

use crate::payload::Payload;
use crate::units::BLOCK_SECTORS;

use super::super::space::Space;
use super::super::tag::{Owner, TagFields};
use super::Memory;

/// Blocks that a consistency point prefetches ahead of the present one.
pub(crate) const BLOCKS_AHEAD: usize = 12;

/// Most blocks of an operation or command to prefetch. The largest operations of common mixes have 64 KiB.
const MOST_BLOCKS: u32 = 20;

impl<P: Payload> Memory<P> {
    /// For an operation that will be issued within microseconds: its indirect block's buffer, and whether its blocks
    /// are cached and where they lie.
    #[inline]
    pub(crate) fn prefetch_for_operation(
        &self,
        space: &Space,
        direction: Direction,
        first_sector: u64,
        sectors: u32,
    ) {
        let first = (first_sector / u64::from(BLOCK_SECTORS)) as u32;
        let last = ((first_sector + u64::from(sectors) - 1) / u64::from(BLOCK_SECTORS)) as u32;
        let last = last.min(first + MOST_BLOCKS);
        self.cache.prefetch(space.keys.indirect_of(first));
        self.cache.prefetch(first);
        space.map.prefetch(first);
        space.map.prefetch(last);
        if direction == Direction::Write {
            self.dirty.prefetch(first);
        }
    }

    /// For a command that will complete next: the buffers that its blocks will take.
    #[inline]
    pub(crate) fn prefetch_for_completion(&self, fields: TagFields) {
        if fields.owner == Owner::HostOperation {
            self.cache.prefetch(fields.first_key);
        }
    }

    /// For the block `BLOCKS_AHEAD` after `data[index]`, its buffer.
    #[inline]
    pub(crate) fn prefetch_buffer_ahead(&self, data: &[u32], index: usize) {
        if let Some(&key) = data.get(index + BLOCKS_AHEAD) {
            self.cache.prefetch(key);
        }
    }

    /// For the metadata block that a consistency point comes to next.
    #[inline]
    pub(crate) fn prefetch_metadata(&self, space: &Space, key: u32) {
        self.cache.prefetch(key);
        space.map.prefetch(key);
    }
}
