//! The buffer cache that data and metadata share.

mod list;

use std::ops::Range;

use strewn_base::memory::{filled, prefetch, zeroed_words};

use list::{List, PLACES_PER_LINE};

/// No key: the buffer that was here has been used again since, and is elsewhere.
const NONE: u32 = u32::MAX;

/// A block's buffer holds data that no consistency point has taken yet.
const DIRTY: u32 = 1;
/// The consistency point in progress is writing the buffer.
const FLUSHING: u32 = 2;
/// The block was used more than once.
const PROTECTED: u32 = 4;
/// An operation needs the buffer as it is; the bits from this one up count how many do.
const HOLD: u32 = 8;
/// Dirty, flushing and held buffers are in no list: they cannot be evicted.
const PINNED: u32 = DIRTY | FLUSHING | !(HOLD - 1);

/// The list of blocks used once.
const PROBATION: usize = 0;
/// The list of blocks used more than once.
const PROTECTION: usize = 1;

/// The block evicted to keep to the capacity, if any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Evicted(pub Option<u32>);

/// Blocks in memory, least recently used out first, in two segments (segmented LRU, Karedla et al., 1994): a block
/// that is used again moves to the protected segment, so that a stream of blocks used once does not push out the
/// indirect blocks that every operation needs.
///
/// For each host operation, 2.8 blocks are inserted and as many evicted. That costs instructions and memory latency:
///
/// - Buffers lie in the order of their last uses. A block that is used again moves to the end and leaves an empty place
///   behind. The next blocks to evict are therefore adjacent, and what their eviction changes can be prefetched. In a
///   linked list, each element locates the next, so nothing can be prefetched: eviction took a third of all time.
/// - Blocks are found through chains, which a buffer enters, leaves and moves within in a dozen instructions. A table
///   with linear probing must close holes: an insertion with its eviction took 500 instructions, and takes 130 now.
/// - The heads of the chains lie in one array with the links between buffers, so that there is one kind of link.
///   Metadata, of which there is little and which every operation needs, has a chain for each block.
#[derive(Debug)]
pub(crate) struct BufferCache {
    capacity: usize,
    protected_capacity: usize,
    /// First the heads of the chains, each the place of its first buffer: a power of two of them for data, then one for
    /// each key from `first_direct` on. Then, by a buffer's place, the place of the next one in its chain, or of the
    /// next free one.
    links: Vec<u32>,
    chain_mask: u32,
    first_direct: u32,
    /// The first place of a buffer: first those of the lists, then those of buffers that are pinned.
    first_place: u32,
    first_pinned: u32,
    /// The key of the buffer at each place.
    keys: Vec<u32>,
    /// Flags of pinned buffers. The state of the others follows from their list.
    flags: Vec<u32>,
    /// The first place for pinned buffers that is free; 0 for none.
    free: u32,
    lists: [List; 2],
    blocks: usize,
    /// One bit for each key: most lookups miss, and these few megabytes answer them.
    resident: Vec<u64>,
    /// Buffers in the protected list.
    protected: usize,
    dirty: u32,
    unread: Unread,
}

/// Blocks that were read ahead and that no host has asked for yet. Their first use is what another block was read for:
/// it protects them as little.
#[derive(Debug, Default)]
struct Unread {
    /// One bit for each key; none if nothing is ever read ahead.
    bits: Vec<u64>,
    blocks: u32,
    /// Those that were dropped without a use, since the cache was created.
    dropped: u64,
}

impl BufferCache {
    /// A cache of `capacity` blocks for keys below `keys.end`, of which at most `protected_capacity` are protected.
    /// Those from `keys.start` on are metadata.
    pub(crate) fn new(keys: Range<u32>, capacity: u32, protected_capacity: u32) -> Self {
        let chains = (2 * capacity).next_power_of_two().max(8);
        let (capacity, protected_capacity) = (capacity as usize, protected_capacity as usize);
        let first_place = chains + keys.len() as u32;
        // Beside the buffers that there may be, and one for a moment, there is room for uses that are out of date:
        // blocks that were used once leave few, others one a use. Ranks are closed the more seldom.
        let probation = List::new(first_place, capacity + capacity / 2 + 2);
        let protection = List::new(probation.end(), 3 * protected_capacity.min(capacity) + 2);
        let first_pinned = protection.end();
        Self {
            capacity,
            protected_capacity,
            links: filled(0, first_pinned as usize),
            chain_mask: chains - 1,
            first_direct: keys.start,
            first_place,
            first_pinned,
            keys: filled(NONE, (first_pinned - first_place) as usize),
            flags: Vec::new(),
            free: 0,
            lists: [probation, protection],
            blocks: 0,
            resident: zeroed_words(keys.end.div_ceil(64) as usize),
            protected: 0,
            dirty: 0,
            unread: Unread::default(),
        }
    }

    /// From now on, blocks may be [`mark_unread`](Self::mark_unread)ed.
    pub(crate) fn read_ahead(&mut self) {
        self.unread.bits = zeroed_words(self.resident.len());
    }

    /// Notes that `key`, which is here, was read ahead.
    pub(crate) fn mark_unread(&mut self, key: u32) {
        debug_assert!(self.contains(key));
        let word = &mut self.unread.bits[(key / 64) as usize];
        self.unread.blocks += u32::from(*word & 1 << (key % 64) == 0);
        *word |= 1 << (key % 64);
    }

    /// Uses `key` if it is here, was read ahead, and has not been used; whether it was.
    #[inline(always)]
    pub(crate) fn use_unread(&mut self, key: u32) -> bool {
        self.unread.blocks != 0 && self.no_longer_unread(key)
    }

    fn no_longer_unread(&mut self, key: u32) -> bool {
        let word = &mut self.unread.bits[(key / 64) as usize];
        let was_unread = *word >> (key % 64) & 1 == 1;
        *word &= !(1 << (key % 64));
        self.unread.blocks -= u32::from(was_unread);
        was_unread
    }

    /// Blocks that were read ahead and dropped without a use.
    #[inline]
    pub(crate) fn dropped_unread(&self) -> u64 {
        self.unread.dropped
    }

    /// Blocks that were read ahead are not wanted any more as they come.
    pub(crate) fn count_dropped_unread(&mut self, blocks: u32) {
        self.unread.dropped += u64::from(blocks);
    }

    /// `key` is dropped or overwritten.
    #[inline(always)]
    fn drop_unread(&mut self, key: u32) {
        if self.unread.blocks != 0 {
            self.unread.dropped += u64::from(self.no_longer_unread(key));
        }
    }

    /// Blocks that are here.
    pub(crate) fn blocks(&self) -> usize {
        self.blocks
    }

    /// Blocks that are dirty and not yet part of a consistency point.
    pub(crate) fn dirty_blocks(&self) -> u32 {
        self.dirty
    }

    /// The lists and the pinned buffers hold each block that is here, and no other. Costs a pass over all places.
    ///
    /// # Panics
    /// If they do not.
    pub(crate) fn assert_invariants(&self) {
        let in_list = |list: &List| self.keys_in(list).count();
        let [probation, protected] =
            [in_list(&self.lists[PROBATION]), in_list(&self.lists[PROTECTION])];
        let pinned = self.flags.iter().filter(|flags| **flags & PINNED != 0).count();
        let dirty = self.flags.iter().filter(|flags| **flags & DIRTY != 0).count();
        assert_eq!(protected, self.protected, "protected blocks");
        assert_eq!(probation + protected + pinned, self.blocks, "blocks in the lists and pinned");
        assert_eq!(dirty, self.dirty as usize, "dirty blocks");
        let resident: u32 = self.resident.iter().map(|word| word.count_ones()).sum();
        assert_eq!(resident as usize, self.blocks, "blocks by the bits of what is here");
    }

    /// Announces that it will be asked whether `key` is here.
    #[inline]
    pub(crate) fn prefetch_resident(&self, key: u32) {
        prefetch(&self.resident, (key / 64) as usize);
    }

    /// Announces a use or a change of `key`.
    #[inline]
    pub(crate) fn prefetch_buffer(&self, key: u32) {
        prefetch(&self.links, self.chain_of(key) as usize);
    }

    /// Announces the same once more, nearer to it: the first buffer of the chain, which is here by now, and which is
    /// that of `key` three times in four.
    #[inline]
    pub(crate) fn prefetch_buffer_found(&self, key: u32) {
        self.prefetch_place(self.links[self.chain_of(key) as usize]);
    }

    /// Announces a change of the buffer at `at`, which may be none.
    #[inline]
    fn prefetch_place(&self, at: u32) {
        prefetch(&self.links, at as usize);
        prefetch(&self.keys, at.wrapping_sub(self.first_place) as usize);
        prefetch(&self.flags, at.wrapping_sub(self.first_pinned) as usize);
    }

    /// Whether `key` is here, without using it.
    #[inline]
    pub(crate) fn contains(&self, key: u32) -> bool {
        self.resident[(key / 64) as usize] >> (key % 64) & 1 == 1
    }

    /// Whether `key` is here; if so it is the most recently used now.
    #[inline(always)]
    pub(crate) fn touch(&mut self, key: u32) -> bool {
        let here = self.contains(key);
        if here {
            self.touch_here(key);
        }
        here
    }

    /// Puts a block in that was just read, or touches it if it is here.
    pub(crate) fn insert(&mut self, key: u32) -> Evicted {
        if self.touch(key) {
            return Evicted(None);
        }
        let evicted = self.make_room();
        self.put_in(key, false);
        Evicted(evicted)
    }

    /// Puts `blocks` blocks from `first` on in that were just read, but for those that are here already. With `hold`,
    /// an operation needs them all to stay until it lets go. `done` is told of each that is new, and of what had to be
    /// dropped for it.
    #[inline(always)]
    pub(crate) fn insert_run(
        &mut self,
        first: u32,
        blocks: u32,
        hold: bool,
        mut done: impl FnMut(u32, Evicted),
    ) {
        for key in first..first + blocks {
            if !self.contains(key) {
                let evicted = self.make_room();
                self.put_in(key, hold);
                done(key, Evicted(evicted));
            } else if hold {
                self.hold(key);
            }
        }
    }

    #[inline(always)]
    fn put_in(&mut self, key: u32, hold: bool) {
        self.note_new(key);
        if hold {
            self.add_pinned(key, HOLD);
        } else {
            let chain = self.chain_of(key);
            self.put_newest(PROBATION, key, chain, self.links[chain as usize]);
        }
    }

    /// Marks `key` dirty, putting it in if it is not here; whether it was clean (or absent, or flushing) before.
    #[inline(always)]
    pub(crate) fn write(&mut self, key: u32) -> (bool, Evicted) {
        if !self.contains(key) {
            let evicted = self.make_room();
            self.note_new(key);
            self.add_pinned(key, DIRTY);
            self.dirty += 1;
            return (true, Evicted(evicted));
        }
        self.drop_unread(key);
        let (link, at) = self.find(key);
        if at < self.first_pinned {
            self.pin(key, link, at, DIRTY);
        } else {
            let flags = self.flags_at(at);
            if *flags & DIRTY != 0 {
                return (false, Evicted(None));
            }
            *flags |= DIRTY;
        }
        self.dirty += 1;
        (true, Evicted(None))
    }

    /// A consistency point takes the dirty block `key`.
    #[inline(always)]
    pub(crate) fn begin_flush(&mut self, key: u32) {
        let (_, at) = self.find(key);
        let flags = self.flags_at(at);
        debug_assert_eq!(*flags & (DIRTY | FLUSHING), DIRTY);
        *flags ^= DIRTY | FLUSHING;
        self.dirty -= 1;
    }

    /// The consistency point has written `key`: clean, unless it was written to meanwhile.
    #[inline(always)]
    pub(crate) fn end_flush(&mut self, key: u32) -> Evicted {
        self.unpin(key, FLUSHING)
    }

    /// An operation needs `key`, which is here, to stay until it lets go.
    #[inline(always)]
    pub(crate) fn hold(&mut self, key: u32) {
        let (link, at) = self.find(key);
        if at < self.first_pinned {
            self.pin(key, link, at, HOLD);
        } else {
            *self.flags_at(at) += HOLD;
        }
    }

    /// The operation that held `key` needs it no longer.
    #[inline(always)]
    pub(crate) fn release(&mut self, key: u32) -> Evicted {
        self.unpin(key, HOLD)
    }

    /// Drops `key`, which is here, as clean. Returns false if it is still needed: a consistency point is writing it, or
    /// an operation holds it.
    pub(crate) fn discard(&mut self, key: u32) -> bool {
        let (link, at) = self.find(key);
        if at >= self.first_pinned {
            let flags = self.flags_at(at);
            let was_dirty = *flags & DIRTY != 0;
            *flags &= !DIRTY;
            let is_pinned = *flags & PINNED != 0;
            self.dirty -= u32::from(was_dirty);
            if is_pinned {
                return false;
            }
            self.links[link as usize] = std::mem::replace(&mut self.links[at as usize], self.free);
            self.free = at;
        } else {
            self.protected -= usize::from(at >= self.lists[PROTECTION].first);
            self.links[link as usize] = self.behind(key, at);
            self.keys[(at - self.first_place) as usize] = NONE;
        }
        self.note_gone(key);
        true
    }

    /// The blocks in a list, the oldest first.
    fn keys_in(&self, list: &List) -> impl Iterator<Item = u32> {
        let keys = &self.keys[(list.first - self.first_place) as usize..][..list.mask as usize + 1];
        let turns = list.next.wrapping_sub(list.oldest);
        let (oldest, mask) = (list.oldest, list.mask);
        let places = (0..turns).map(move |turn| oldest.wrapping_add(turn) & mask);
        places.map(|place| keys[place as usize]).filter(|key| *key != NONE)
    }

    /// Drops all blocks that are clean and that nothing needs. Returns them.
    pub(crate) fn discard_clean(&mut self) -> Vec<u32> {
        let keys: Vec<u32> = self.lists.iter().flat_map(|list| self.keys_in(list)).collect();
        for key in &keys {
            let is_gone = self.discard(*key);
            assert!(is_gone, "block {key} is in a list, so nothing needs it");
        }
        keys
    }

    /// Whether a consistency point is writing `key`.
    pub(crate) fn is_flushing(&self, key: u32) -> bool {
        if !self.contains(key) {
            return false;
        }
        let (_, at) = self.find(key);
        at >= self.first_pinned && self.flags[(at - self.first_pinned) as usize] & FLUSHING != 0
    }

    /// The chain that `key` is in: keys in a row are in chains in a row, so that the blocks of an operation, which come
    /// and go together, are found in one or two cache lines. However keys are chosen, a chain is no longer than there
    /// are times as many keys as chains.
    #[inline]
    fn chain_of(&self, key: u32) -> u32 {
        if key < self.first_direct {
            key & self.chain_mask
        } else {
            (self.chain_mask + 1).wrapping_add(key - self.first_direct)
        }
    }

    /// The link to the buffer of `key`, which is here, and its place.
    #[inline(always)]
    fn find(&self, key: u32) -> (u32, u32) {
        let mut link = self.chain_of(key);
        if key >= self.first_direct {
            // The only one of its chain: the key, which lies anywhere in a list, is not looked at.
            return (link, self.links[link as usize]);
        }
        loop {
            let at = self.links[link as usize];
            debug_assert_ne!(at, 0, "the resident bit of {key} is wrong");
            if self.keys[(at - self.first_place) as usize] == key {
                return (link, at);
            }
            link = at;
        }
    }

    /// The link to the buffer at `at`, of `key`: without a look at other keys.
    #[inline(always)]
    fn link_to(&self, key: u32, at: u32) -> u32 {
        let mut link = self.chain_of(key);
        while self.links[link as usize] != at {
            link = self.links[link as usize];
        }
        link
    }

    /// What comes behind the buffer of `key` in its chain. Of metadata nothing does, known without a look.
    #[inline(always)]
    fn behind(&self, key: u32, at: u32) -> u32 {
        if key < self.first_direct { self.links[at as usize] } else { 0 }
    }

    #[inline]
    fn flags_at(&mut self, at: u32) -> &mut u32 {
        &mut self.flags[(at - self.first_pinned) as usize]
    }

    #[inline(always)]
    fn touch_here(&mut self, key: u32) {
        let (link, at) = self.find(key);
        if at >= self.first_pinned {
            *self.flags_at(at) |= PROTECTED;
            return;
        }
        let newly_protected = at < self.lists[PROTECTION].first;
        self.keys[(at - self.first_place) as usize] = NONE;
        self.put_newest(PROTECTION, key, link, self.behind(key, at));
        if newly_protected {
            self.protected += 1;
            self.spill();
        }
    }

    /// Pins a buffer that is in a list.
    #[inline(always)]
    fn pin(&mut self, key: u32, link: u32, at: u32, reason: u32) {
        self.keys[(at - self.first_place) as usize] = NONE;
        let was_protected = at >= self.lists[PROTECTION].first;
        self.protected -= usize::from(was_protected);
        let flags = reason | if was_protected { PROTECTED } else { 0 };
        self.put_pinned(key, flags, link, self.behind(key, at));
    }

    /// Takes a reason to stay away. If it was the last, the buffer is the newest of its list. Pinned blocks may have
    /// exceeded the capacity: one less can.
    #[inline(always)]
    fn unpin(&mut self, key: u32, reason: u32) -> Evicted {
        let (link, at) = self.find(key);
        let flags = self.flags_at(at);
        debug_assert!(*flags >= reason);
        *flags -= reason;
        let flags = *flags;
        if flags & PINNED != 0 {
            return Evicted(None);
        }
        let next = std::mem::replace(&mut self.links[at as usize], self.free);
        self.free = at;
        if flags & PROTECTED != 0 {
            self.put_newest(PROTECTION, key, link, next);
            self.protected += 1;
            self.spill();
        } else {
            self.put_newest(PROBATION, key, link, next);
        }
        Evicted(if self.blocks > self.capacity { self.evict() } else { None })
    }

    /// If the protected list is too long, its oldest buffer becomes the newest of the other.
    #[inline(always)]
    fn spill(&mut self) {
        if self.protected > self.protected_capacity
            && let Some((at, key)) = self.take_oldest(PROTECTION)
        {
            self.protected -= 1;
            self.put_newest(PROBATION, key, self.link_to(key, at), self.links[at as usize]);
        }
    }

    /// Puts a buffer at the new end of a list, and between `link` and `next` in its chain.
    #[inline(always)]
    fn put_newest(&mut self, list: usize, key: u32, link: u32, next: u32) {
        let ring = &mut self.lists[list];
        let at = ring.place(ring.next);
        ring.next = ring.next.wrapping_add(1);
        let is_full = ring.is_full();
        self.keys[(at - self.first_place) as usize] = key;
        self.links[at as usize] = next;
        self.links[link as usize] = at;
        if is_full {
            self.close_ranks(list);
        }
    }

    /// Moves the buffers of a list over the empty places between them. It is done seldom enough to cost less than the
    /// uses did.
    #[cold]
    fn close_ranks(&mut self, list: usize) {
        let List { oldest, next, .. } = self.lists[list];
        let mut kept = oldest;
        for turn in 0..next.wrapping_sub(oldest) {
            let turn = oldest.wrapping_add(turn);
            if turn.is_multiple_of(PLACES_PER_LINE) {
                self.announce(list, turn);
            }
            let (from, to) = (self.lists[list].place(turn), self.lists[list].place(kept));
            let key = self.keys[(from - self.first_place) as usize];
            if key == NONE {
                continue;
            }
            kept = kept.wrapping_add(1);
            if from != to {
                let link = self.link_to(key, from);
                self.keys[(to - self.first_place) as usize] = key;
                self.links[to as usize] = self.links[from as usize];
                self.links[link as usize] = to;
            }
        }
        self.lists[list].next = kept;
    }

    /// Has fetched what changes of the buffers need that come in the lines of places behind that of `turn`, which
    /// begins one: of the second their chains, of the first, whose chains are here by now, the first buffers of these.
    /// In every fourth chain that is another buffer, which is looked at on the way. A line at a time that costs least.
    #[inline]
    fn announce(&self, list: usize, turn: u32) {
        let ring = &self.lists[list];
        let line = |ahead: u32| {
            let first = ring.place(turn.wrapping_add(ahead * PLACES_PER_LINE)) - self.first_place;
            &self.keys[first as usize..][..PLACES_PER_LINE as usize]
        };
        // As if all were data: chains of metadata are few, and are near by themselves.
        for key in line(1) {
            prefetch(&self.links, self.links[(key & self.chain_mask) as usize] as usize);
        }
        for key in line(2) {
            prefetch(&self.links, (key & self.chain_mask) as usize);
            self.prefetch_resident(*key);
        }
        // The processor sees too little of the list at a time to know that it is read in order.
        let later = ring.place(turn.wrapping_add(6 * PLACES_PER_LINE));
        prefetch(&self.keys, (later - self.first_place) as usize);
        prefetch(&self.links, later as usize);
    }

    /// Takes the least recently used buffer out of a list, but not out of its chain: its place and its key.
    #[inline(always)]
    fn take_oldest(&mut self, list: usize) -> Option<(u32, u32)> {
        loop {
            let ring = &mut self.lists[list];
            let turn = ring.oldest;
            if turn == ring.next {
                return None;
            }
            ring.oldest = turn.wrapping_add(1);
            let at = ring.place(turn);
            if turn.is_multiple_of(PLACES_PER_LINE) {
                self.announce(list, turn);
            }
            let key = self.keys[(at - self.first_place) as usize];
            if key != NONE {
                return Some((at, key));
            }
        }
    }

    /// Evicts a block if the cache is full; pinned blocks may exceed the capacity.
    #[inline(always)]
    fn make_room(&mut self) -> Option<u32> {
        if self.blocks < self.capacity { None } else { self.evict() }
    }

    /// Drops the least recently used block that is not pinned.
    #[inline(always)]
    fn evict(&mut self) -> Option<u32> {
        let (at, key) = match self.take_oldest(PROBATION) {
            Some(oldest) => oldest,
            None => {
                let oldest = self.take_oldest(PROTECTION)?;
                self.protected -= 1;
                oldest
            }
        };
        let link = self.link_to(key, at);
        self.links[link as usize] = self.links[at as usize];
        self.note_gone(key);
        Some(key)
    }

    #[inline]
    fn note_gone(&mut self, key: u32) {
        self.drop_unread(key);
        self.blocks -= 1;
        self.resident[(key / 64) as usize] &= !(1 << (key % 64));
    }

    #[inline]
    fn note_new(&mut self, key: u32) {
        self.blocks += 1;
        self.resident[(key / 64) as usize] |= 1 << (key % 64);
    }

    #[inline(always)]
    fn add_pinned(&mut self, key: u32, flags: u32) {
        let chain = self.chain_of(key);
        self.put_pinned(key, flags, chain, self.links[chain as usize]);
    }

    /// Puts a buffer among the pinned ones, and between `link` and `next` in its chain.
    #[inline(always)]
    fn put_pinned(&mut self, key: u32, flags: u32, link: u32, next: u32) {
        if self.free == 0 {
            self.free = self.links.len() as u32;
            self.links.push(0);
            self.keys.push(NONE);
            self.flags.push(0);
        }
        let at = self.free;
        *self.flags_at(at) = flags;
        self.keys[(at - self.first_place) as usize] = key;
        self.free = std::mem::replace(&mut self.links[at as usize], next);
        self.links[link as usize] = at;
        // The next to be pinned takes the place that is free then.
        self.prefetch_place(self.free);
    }
}

strewn_base::saved_state! {
    impl for BufferCache {
        parts: lists, resident, unread;
        values: links, keys, flags, free, blocks, protected, dirty;
        built: capacity, protected_capacity, chain_mask, first_direct, first_place, first_pinned;
    }
}

strewn_base::saved_state! {
    impl for Unread {
        parts: bits;
        values: blocks, dropped;
        built:;
    }
}

#[cfg(test)]
mod tests;
