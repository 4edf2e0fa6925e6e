//! The L2ARC: which blocks of the ARC are on a cache device too, and where.
//!
//! `arc.c` of OpenZFS: `l2arc_write_size`, `l2arc_evict`, `l2arc_write_buffers`, `l2arc_write_eligible`,
//! `l2arc_hdr_limit_reached`. A hand goes round the device. What lies ahead of it is forgotten before it is written
//! over, and what it writes is taken from the ends of the ARC's lists that are evicted next. A block that leaves the
//! ARC keeps a header in memory for as long as it is on the device.

use std::collections::{HashMap, VecDeque};

use strewn_base::state::SavedValue;

use super::Arc;
use super::blocks::{IN_FLIGHT, State, UNFIT};

/// Memory for a block that is on the device and in no list of the ARC (`HDR_L2ONLY_SIZE`).
const HEADER_BYTES: u64 = 96;

/// Headers may take so much of the ARC, in percent (`l2arc_meta_percent`).
const HEADERS_PERCENT: u64 = 33;

/// What is searched is more by this, in percent, since the ARC holds compressed blocks (`l2arc_headroom_boost`).
const HEADROOM_PERCENT: u64 = 200;

/// A log block, from which the headers are built again after a restart (`l2arc_log_blk_phys_t`). It is compressed in a
/// real pool.
const LOG_BLOCK_BYTES: u64 = 64 << 10;

/// A log block has at most so many entries (`L2ARC_LOG_BLK_MAX_ENTRIES`), fewer on a small device.
const MOST_LOG_ENTRIES: u64 = 1_022;

/// Blocks in a log block are no larger in all than the device: one of so many bytes each (`SPA_MAXBLOCKSIZE`).
const LARGEST_BLOCK_SHIFT: u32 = 24;

/// A smaller device has no log blocks (`l2arc_rebuild_blocks_min_l2size`).
const LEAST_WITH_LOG_BYTES: u64 = 1 << 30;

/// The least block for which `l2arc_log_blk_overhead` makes room in the log.
const LEAST_BLOCK_BYTES: u64 = 512;

/// The lists in the order in which they are searched (`l2arc_sublist_lock`), and whether they are of metadata.
const FEED_ORDER: [(State, bool); 4] =
    [(State::Mfu, true), (State::Mru, true), (State::Mfu, false), (State::Mru, false)];

/// What decides what a cache device gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, SavedValue)]
pub struct L2arcOptions {
    /// Bytes of the device that blocks may have.
    pub bytes: u64,
    /// What the pool is scaled down by, which decides nothing but how often log blocks are written.
    pub scale_down: u32,
    /// Bytes of its sector.
    pub sector_bytes: u64,
    /// The most that is written at a time (`l2arc_write_max`), and as much again until the ARC is warm
    /// (`l2arc_write_boost`), in bytes.
    pub write_max_bytes: u64,
    /// How far lists are searched, in writes (`l2arc_headroom`).
    pub headroom_writes: u64,
    /// Whether blocks that were prefetched, and not used since, are written too (the opposite of `l2arc_noprefetch`).
    pub caches_prefetched: bool,
}

impl L2arcOptions {
    /// A device of so many bytes with sectors of 4 KiB, which gets what OpenZFS 2.3 gives it by default.
    #[must_use]
    pub const fn new(bytes: u64) -> Self {
        Self {
            bytes,
            scale_down: 1,
            sector_bytes: 4 << 10,
            write_max_bytes: 32 << 20,
            headroom_writes: 8,
            caches_prefetched: false,
        }
    }
}

/// A block on the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, SavedValue)]
struct Cached {
    address: u64,
    bytes: u32,
    /// Whether it is being written, so that it cannot be read yet.
    is_writing: bool,
}

/// A part of a cache device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// Its first byte.
    pub address: u64,
    /// Its bytes.
    pub bytes: u32,
}

/// What is to be written to the device.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Feed {
    /// Bytes that there was room for.
    pub wanted_bytes: u64,
    /// Blocks, and log blocks between them: each lies behind the one before.
    pub writes: Vec<Extent>,
}

impl Feed {
    /// Bytes that are written.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.writes.iter().map(|extent| u64::from(extent.bytes)).sum()
    }
}

/// The blocks on a cache device.
#[derive(Debug, Clone, SavedValue)]
pub(super) struct L2arc {
    options: L2arcOptions,
    blocks: HashMap<u64, Cached>,
    /// The address and key of all that was written and is still there, in the order of the hand. Some is no longer
    /// valid.
    ring: VecDeque<(u64, u64)>,
    /// Keys that are being written.
    writing: Vec<u64>,
    /// Where the next block is written.
    hand: u64,
    /// Up to where blocks ahead of the hand are forgotten.
    evicted_to: u64,
    /// Whether the hand has not been round yet: nothing is ahead of it.
    is_first_sweep: bool,
    /// Entries of the log block that is not written yet.
    log_entries: u64,
    held_bytes: u64,
    /// Blocks that are in no list of the ARC.
    headers: u64,
}

impl L2arc {
    fn new(options: L2arcOptions) -> Self {
        Self {
            options,
            blocks: HashMap::new(),
            ring: VecDeque::new(),
            writing: Vec::new(),
            hand: 0,
            evicted_to: 0,
            is_first_sweep: true,
            log_entries: 0,
            held_bytes: 0,
            headers: 0,
        }
    }

    pub(super) fn header_bytes(&self) -> u64 {
        self.headers * HEADER_BYTES
    }

    /// Entries of a log block; `None` without log blocks.
    fn entries_of_log(&self) -> Option<u64> {
        let full = self.options.bytes.saturating_mul(self.options.scale_down.into());
        let entries = (full >> LARGEST_BLOCK_SHIFT).min(MOST_LOG_ENTRIES);
        (full >= LEAST_WITH_LOG_BYTES).then_some(entries)
    }

    /// Bytes to be written next, log blocks included.
    fn write_size(&self, is_warm: bool) -> u64 {
        let blocks = self.options.write_max_bytes * if is_warm { 1 } else { 2 };
        let log_blocks = self
            .entries_of_log()
            .map_or(0, |entries| (blocks / LEAST_BLOCK_BYTES).div_ceil(entries));
        let size = blocks + log_blocks * LOG_BLOCK_BYTES;
        // Of a tiny device, a quarter.
        size.min(self.options.bytes / 4).next_multiple_of(self.options.sector_bytes)
    }

    /// Forgets blocks ahead of the hand, so far that `bytes` can be written. The hand goes back to the start if they do
    /// not fit before the end.
    fn make_room(&mut self, bytes: u64, is_listed: impl Fn(u64) -> bool) {
        let end = self.options.bytes;
        if self.hand + bytes > end {
            if !self.is_first_sweep {
                self.forget_up_to(end, &is_listed);
            }
            (self.hand, self.evicted_to, self.is_first_sweep) = (0, 0, false);
        }
        if !self.is_first_sweep {
            self.evicted_to = self.evicted_to.max(self.hand + bytes);
            self.forget_up_to(self.evicted_to, &is_listed);
        }
        assert!(self.hand + bytes <= end, "a write is at most a quarter of the device");
    }

    fn forget_up_to(&mut self, end: u64, is_listed: impl Fn(u64) -> bool) {
        while let Some((address, key)) = self.ring.front().copied()
            && (self.hand..end).contains(&address)
        {
            self.ring.pop_front();
            if self.blocks.get(&key).is_some_and(|cached| cached.address == address) {
                self.forget(key, is_listed(key));
            }
        }
    }

    /// A block is no longer valid, or is written over.
    pub(super) fn forget(&mut self, key: u64, is_listed: bool) {
        if let Some(cached) = self.blocks.remove(&key) {
            self.held_bytes -= u64::from(cached.bytes);
            self.headers -= u64::from(!is_listed);
        }
    }

    /// A block is in a list of the ARC again, or in none any more.
    pub(super) fn note_listed(&mut self, key: u64, is_listed: bool) {
        if self.blocks.contains_key(&key) {
            match is_listed {
                true => self.headers -= 1,
                false => self.headers += 1,
            }
        }
    }

    /// Writes a block at the hand, and a log block behind it if it is full.
    fn append(&mut self, key: u64, bytes: u64, to: &mut Vec<Extent>) {
        let (address, bytes) = (self.hand, bytes as u32);
        self.blocks.insert(key, Cached { address, bytes, is_writing: true });
        self.ring.push_back((address, key));
        self.writing.push(key);
        self.held_bytes += u64::from(bytes);
        self.advance_hand(bytes, to);
        self.log_entries += 1;
        if self.entries_of_log() == Some(self.log_entries) {
            self.log_entries = 0;
            self.advance_hand(LOG_BLOCK_BYTES as u32, to);
        }
    }

    fn advance_hand(&mut self, bytes: u32, to: &mut Vec<Extent>) {
        to.push(Extent { address: self.hand, bytes });
        self.hand += u64::from(bytes);
    }
}

impl Arc {
    /// The same cache with a device behind it.
    #[must_use]
    pub fn with_l2arc(mut self, options: L2arcOptions) -> Self {
        self.l2arc = Some(Box::new(L2arc::new(options)));
        self
    }

    pub(super) fn caches_prefetched(&self) -> bool {
        self.l2arc.as_ref().is_none_or(|l2arc| l2arc.options.caches_prefetched)
    }

    /// Whether it has a device behind it.
    #[must_use]
    pub fn has_l2arc(&self) -> bool {
        self.l2arc.is_some()
    }

    /// Chooses what the cache device gets, and forgets what that writes over (`l2arc_feed_thread`). What is chosen
    /// cannot be read before [`on_fed`](Self::on_fed). `stored_bytes` tells the bytes of a block on disk.
    ///
    /// Until the ARC has evicted something, the newest blocks of its lists are chosen first, and twice as many.
    ///
    /// # Panics
    /// If what was chosen before is still being written.
    pub fn feed(&mut self, stored_bytes: impl Fn(u64) -> u32) -> Feed {
        let limit = self.options.limit_bytes;
        let Some(l2arc) = &mut self.l2arc else { return Feed::default() };
        assert!(l2arc.writing.is_empty(), "one write at a time");
        if l2arc.header_bytes() > limit * HEADERS_PERCENT / 100 {
            return Feed::default();
        }
        let (blocks, is_warm) = (&self.blocks, self.is_warm);
        let wanted_bytes = l2arc.write_size(is_warm);
        l2arc.make_room(wanted_bytes, |key| blocks.find(key).is_some());
        let headroom = wanted_bytes * l2arc.options.headroom_writes * HEADROOM_PERCENT / 100;
        let mut writes = Vec::new();
        let start = l2arc.hand;
        'lists: for (state, is_metadata) in FEED_ORDER {
            let mut passed = 0;
            let mut next = match is_warm {
                true => blocks.oldest(state, is_metadata),
                false => blocks.newest(state, is_metadata),
            };
            while let Some(at) = next {
                let entry = &blocks[at];
                next = if is_warm { blocks.newer(at) } else { blocks.older(at) };
                passed += u64::from(entry.bytes);
                if passed > headroom {
                    break;
                }
                if entry.is(UNFIT) || l2arc.blocks.contains_key(&entry.key()) {
                    continue;
                }
                let bytes = u64::from(stored_bytes(entry.key()));
                let bytes = bytes.next_multiple_of(l2arc.options.sector_bytes);
                let taken = l2arc.hand - start;
                if taken + bytes + LOG_BLOCK_BYTES > wanted_bytes {
                    break 'lists;
                }
                l2arc.append(entry.key(), bytes, &mut writes);
            }
        }
        Feed { wanted_bytes, writes }
    }

    /// What [`feed`](Self::feed) has chosen is written.
    pub fn on_fed(&mut self) {
        let Some(l2arc) = &mut self.l2arc else { return };
        for key in l2arc.writing.drain(..) {
            if let Some(cached) = l2arc.blocks.get_mut(&key) {
                cached.is_writing = false;
            }
        }
    }

    /// Where a block is on the cache device, if it can be read from there.
    #[must_use]
    pub fn on_device(&self, key: u64) -> Option<Extent> {
        let cached = self.l2arc.as_ref()?.blocks.get(&key)?;
        let Cached { address, bytes, is_writing } = *cached;
        (!is_writing).then_some(Extent { address, bytes })
    }

    /// Whether a block that is being read has left the place that it is read from, because it was written over: it must
    /// be read from the pool then (`HDR_L2_EVICTED`).
    #[must_use]
    pub fn has_left_device(&self, key: u64, address: u64) -> bool {
        let is_awaited = self.blocks.find(key).is_some_and(|at| self.blocks[at].is(IN_FLIGHT));
        is_awaited && self.on_device(key).is_none_or(|extent| extent.address != address)
    }

    /// A block has another place in the pool than before: what the device has is of no use.
    pub fn forget_on_device(&mut self, key: u64) {
        if let Some(l2arc) = &mut self.l2arc {
            l2arc.forget(key, self.blocks.find(key).is_some());
        }
    }

    /// Bytes of blocks on the cache device, and of memory for those of them that are in no list of the ARC.
    #[must_use]
    pub fn l2arc_sizes(&self) -> (u64, u64) {
        self.l2arc.as_ref().map_or((0, 0), |l2arc| (l2arc.held_bytes, l2arc.header_bytes()))
    }
}

#[cfg(test)]
mod tests;
