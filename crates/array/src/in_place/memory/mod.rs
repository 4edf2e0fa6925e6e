//! What an in-place array has in memory: the mirrored write cache, what has been read and is kept, and the contents of
//! both.

mod read_cache;
mod write_cache;

use std::collections::VecDeque;
use std::ops::Range;

use strewn_alloc::GroupIndex;

use crate::driver::HostOperation;
use crate::payload::Payload;

use super::space::{Groups, Space};
pub(crate) use read_cache::{ReadCache, Source};
pub(crate) use write_cache::WriteCache;

/// What an array has in memory. The disk groups share the room in the write cache.
pub(crate) struct Memory<P: Payload> {
    pub(crate) groups: Groups<GroupMemory<P>>,
    write_cache_sectors: u64,
    /// Writes that wait for room in the write cache or in the log, in order.
    pub(crate) waiting_for_room: VecDeque<HostOperation<P>>,
    /// Whether the half of the log in use has records.
    pub(crate) log_has_records: bool,
}

/// What is in memory of a disk group.
pub(crate) struct GroupMemory<P: Payload> {
    pub(crate) cache: WriteCache,
    /// The data of the sectors in the write cache.
    pub(crate) contents: P::Contents,
    /// `None` if the array neither reads ahead nor keeps what it has read.
    pub(crate) read_cache: Option<Box<ReadCache<P>>>,
}

impl<P: Payload> Memory<P> {
    /// Nothing cached.
    pub(crate) fn new(space: &Space) -> Self {
        Self {
            groups: space.groups.map(|group| GroupMemory::new(group.end_sector)),
            write_cache_sectors: space.config.write_cache_sectors,
            waiting_for_room: VecDeque::new(),
            log_has_records: false,
        }
    }

    /// The number of a write's sectors that are dirty already; `None` if the cache has no room for the write.
    #[inline(always)]
    pub(crate) fn room_for(&self, group: GroupIndex, sectors: Range<u64>) -> Option<u64> {
        let asked = sectors.end - sectors.start;
        let used = self.groups.sum(|group| group.cache.sectors());
        let coalesced = self.groups[group].cache.dirty_within(sectors);
        // An empty cache takes a write that is larger than itself, which could otherwise never be taken.
        let has_room = used == 0 || used + asked - coalesced <= self.write_cache_sectors;
        has_room.then_some(coalesced)
    }

    /// Whether everything acknowledged is on the spindles, no write waits, and the log is empty.
    pub(crate) fn is_clean(&self) -> bool {
        self.groups.iter().all(|group| group.cache.is_empty())
            && self.waiting_for_room.is_empty()
            && !self.log_has_records
    }

    /// Drops all that the spindles have too.
    pub(crate) fn forget_reads(&mut self) {
        for group in self.groups.iter_mut() {
            if let Some(cache) = &mut group.read_cache {
                cache.clear();
            }
        }
    }

    /// Blocks that were read ahead and dropped without a use.
    pub(crate) fn dropped_unread(&self) -> u64 {
        let of_group = |group: &GroupMemory<P>| {
            group.read_cache.as_ref().map_or(0, |cache| cache.dropped_unread())
        };
        self.groups.sum(of_group)
    }

    pub(crate) fn assert_invariants(&self) {
        for cache in self.groups.iter().filter_map(|group| group.read_cache.as_ref()) {
            cache.assert_invariants();
        }
    }
}

impl<P: Payload> GroupMemory<P> {
    /// Nothing cached of a group whose LUNs end at `end_sector`.
    pub(crate) fn new(end_sector: u64) -> Self {
        Self {
            cache: WriteCache::new(end_sector),
            contents: P::Contents::default(),
            read_cache: None,
        }
    }

    /// Whether the read cache is to have `sectors` once they have been read. Where the write cache has newer ones, no.
    #[inline(always)]
    pub(crate) fn is_to_be_kept(&self, sectors: &Range<u64>) -> bool {
        let keeps_reads = |cache: &ReadCache<P>| cache.keeps_reads();
        self.read_cache.as_deref().is_some_and(keeps_reads)
            && !self.cache.holds_any(sectors.clone())
    }
}

strewn_base::saved_state! {
    impl for Memory<()> {
        parts: groups;
        values: waiting_for_room, log_has_records;
        built: write_cache_sectors;
    }
}

strewn_base::saved_state! {
    impl for GroupMemory<()> {
        parts: cache, read_cache;
        values:;
        built: contents;
    }
}
