//! The buffer cache that data and metadata share.

use std::collections::VecDeque;
use std::ops::Range;

use strewn_memory::{filled, prefetch, zeroed_words};

/// No key: the place is empty.
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

/// The stamp of a buffer that is in no list.
const UNLISTED: u32 = 0;

/// How many uses ahead of the next eviction buffers are brought near.
const EVICTIONS_AHEAD: usize = 12;

/// A list is cleaned of what is out of date when that is this many times what is not.
const STALE_PER_LISTED: usize = 6;

/// A buffer but for its key.
#[derive(Debug, Clone, Copy)]
struct Buffer {
    flags: u32,
    /// Which of its uses is the last, or [`UNLISTED`].
    stamp: u32,
}

const EMPTY: Buffer = Buffer { flags: 0, stamp: UNLISTED };

impl Buffer {
    #[inline]
    fn is_pinned(&self) -> bool {
        self.flags & PINNED != 0
    }
}

/// Uses of buffers, the least recent first. Only the use that a buffer has the stamp of counts: so a buffer leaves a
/// list, or moves to its end, without a look at its neighbours, which are somewhere else in memory.
#[derive(Debug, Default)]
struct List {
    uses: VecDeque<(u32, u32)>,
    /// Buffers in the list.
    len: usize,
}

/// What had to be dropped to keep to the capacity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Evicted(pub Option<u32>);

/// Blocks in memory, least recently used out first, in two segments (segmented LRU, Karedla et al., 1994): a block
/// that is used again moves to the protected segment, so that a stream of blocks used once does not push out the
/// indirect blocks that every operation needs.
///
/// What it costs is waiting for memory. So the table is searched linearly from where a key belongs, the keys apart from
/// the rest, sixteen in a cache line: a search seldom looks at a second one. Metadata, of which there is little and which
/// every operation needs, is not searched for: each block has a place of its own. And the lists are queues of uses.
#[derive(Debug)]
pub(crate) struct BufferCache {
    capacity: usize,
    protected_capacity: usize,
    /// Keys by place: linear probing, at most half full; a power of two.
    keys: Vec<u32>,
    /// What else there is of the buffer at a place. Behind the places of the table, a place for each key from
    /// `first_direct` on.
    buffers: Vec<Buffer>,
    first_direct: u32,
    blocks: usize,
    /// One bit a key: most lookups miss, and this answers them from a few megabytes.
    resident: Vec<u64>,
    probation: List,
    protected: List,
    last_stamp: u32,
    dirty: u32,
}

impl BufferCache {
    /// A cache of `capacity` blocks for keys below `keys.end`, of which at most `protected_capacity` are protected. Those
    /// from `keys.start` on are metadata.
    pub(crate) fn new(keys: Range<u32>, capacity: u32, protected_capacity: u32) -> Self {
        let capacity = capacity as usize;
        let places = (2 * capacity).next_power_of_two().max(8);
        Self {
            capacity,
            protected_capacity: protected_capacity as usize,
            keys: filled(NONE, places),
            buffers: filled(EMPTY, places + keys.len()),
            first_direct: keys.start,
            blocks: 0,
            resident: zeroed_words(keys.end.div_ceil(64) as usize),
            probation: List::default(),
            protected: List::default(),
            last_stamp: UNLISTED,
            dirty: 0,
        }
    }

    /// Blocks that are dirty and not yet part of a consistency point.
    pub(crate) fn dirty_blocks(&self) -> u32 {
        self.dirty
    }

    /// Announces that it will be asked whether `key` is here.
    #[inline]
    pub(crate) fn prefetch_resident(&self, key: u32) {
        prefetch(&self.resident, (key / 64) as usize);
    }

    /// Announces a use or a change of `key`.
    #[inline]
    pub(crate) fn prefetch_buffer(&self, key: u32) {
        if key >= self.first_direct {
            prefetch(&self.buffers, self.direct(key));
            return;
        }
        let home = self.home(key);
        prefetch(&self.keys, home);
        prefetch(&self.buffers, home);
    }

    /// Whether `key` is here, without using it.
    #[inline]
    pub(crate) fn contains(&self, key: u32) -> bool {
        self.resident[(key / 64) as usize] >> (key % 64) & 1 == 1
    }

    /// Whether `key` is here; if so it is the most recently used now.
    #[inline]
    pub(crate) fn touch(&mut self, key: u32) -> bool {
        if !self.contains(key) {
            return false;
        }
        let at = self.find(key);
        if !self.buffers[at].is_pinned() {
            self.unlist(at);
        }
        self.buffers[at].flags |= PROTECTED;
        if !self.buffers[at].is_pinned() {
            self.list(at);
        }
        true
    }

    /// Puts a block in that was just read, or touches it if it is here.
    pub(crate) fn insert(&mut self, key: u32) -> Evicted {
        if self.touch(key) {
            return Evicted(None);
        }
        let evicted = self.make_room();
        let at = self.add(key, 0);
        self.list(at);
        Evicted(evicted)
    }

    /// Marks `key` dirty, putting it in if it is not here; whether it was clean (or absent, or flushing) before.
    pub(crate) fn write(&mut self, key: u32) -> (bool, Evicted) {
        if self.contains(key) {
            let at = self.find(key);
            if self.buffers[at].flags & DIRTY != 0 {
                return (false, Evicted(None));
            }
            if !self.buffers[at].is_pinned() {
                self.unlist(at);
            }
            self.buffers[at].flags |= DIRTY;
            self.dirty += 1;
            return (true, Evicted(None));
        }
        let evicted = self.make_room();
        self.add(key, DIRTY);
        self.dirty += 1;
        (true, Evicted(evicted))
    }

    /// A consistency point takes the dirty block `key`.
    pub(crate) fn begin_flush(&mut self, key: u32) {
        let at = self.find(key);
        debug_assert_eq!(self.buffers[at].flags & (DIRTY | FLUSHING), DIRTY);
        self.buffers[at].flags ^= DIRTY | FLUSHING;
        self.dirty -= 1;
    }

    /// The consistency point has written `key`: clean, unless it was written to meanwhile.
    pub(crate) fn end_flush(&mut self, key: u32) -> Evicted {
        let at = self.find(key);
        self.buffers[at].flags &= !FLUSHING;
        self.unpinned(at)
    }

    /// An operation needs `key`, which is here, to stay until it lets go.
    pub(crate) fn hold(&mut self, key: u32) {
        let at = self.find(key);
        if !self.buffers[at].is_pinned() {
            self.unlist(at);
        }
        self.buffers[at].flags += HOLD;
    }

    /// The operation that held `key` needs it no longer.
    pub(crate) fn let_go(&mut self, key: u32) -> Evicted {
        let at = self.find(key);
        debug_assert!(self.buffers[at].flags >= HOLD);
        self.buffers[at].flags -= HOLD;
        self.unpinned(at)
    }

    /// Whether a consistency point is writing `key`.
    pub(crate) fn is_flushing(&self, key: u32) -> bool {
        self.contains(key) && self.buffers[self.find(key)].flags & FLUSHING != 0
    }

    /// Where the search for `key` begins. Keys in a row are kept in a row by fours: the blocks of an operation come and
    /// go together.
    #[inline]
    fn home(&self, key: u32) -> usize {
        // Fibonacci hashing: block numbers are distinct and without a pattern to defend against.
        let line = u64::from(key / 4).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let home = (line >> 32) as usize * 4 + key as usize % 4;
        home & (self.keys.len() - 1)
    }

    /// The place of a key that has one of its own.
    #[inline]
    fn direct(&self, key: u32) -> usize {
        self.keys.len() + (key - self.first_direct) as usize
    }

    /// Where `key`, which is here, lies.
    #[inline]
    fn find(&self, key: u32) -> usize {
        if key >= self.first_direct {
            return self.direct(key);
        }
        let mask = self.keys.len() - 1;
        let mut at = self.home(key);
        while self.keys[at] != key {
            debug_assert_ne!(self.keys[at], NONE, "the resident bit of {key} is wrong");
            at = (at + 1) & mask;
        }
        at
    }

    /// Puts the buffer at `at`, which is in no list and not pinned, at the end of the list that its flags name; the
    /// protected list spills into probation.
    #[inline]
    fn list(&mut self, at: usize) {
        let protected = self.buffers[at].flags & PROTECTED != 0;
        self.use_now(at, protected);
        if protected && self.protected.len > self.protected_capacity {
            let Some(spilled) = self.take_oldest(true) else { return };
            self.buffers[spilled].flags &= !PROTECTED;
            self.use_now(spilled, false);
        }
    }

    #[inline]
    fn use_now(&mut self, at: usize, protected: bool) {
        // Stamps come round to old ones after four billion uses; no use stays in a list for as long.
        self.last_stamp = self.last_stamp.wrapping_add(1).max(UNLISTED + 1);
        self.buffers[at].stamp = self.last_stamp;
        let key = self.key_at(at);
        let list = if protected { &mut self.protected } else { &mut self.probation };
        list.len += 1;
        list.uses.push_back((key, self.last_stamp));
        if list.uses.len() > 1_024 + list.len * (1 + STALE_PER_LISTED) {
            self.drop_stale(protected);
        }
    }

    /// Takes the buffer at `at` out of the list that it is in.
    #[inline]
    fn unlist(&mut self, at: usize) {
        let buffer = &mut self.buffers[at];
        buffer.stamp = UNLISTED;
        let protected = buffer.flags & PROTECTED != 0;
        let list = if protected { &mut self.protected } else { &mut self.probation };
        list.len -= 1;
    }

    #[inline]
    fn key_at(&self, at: usize) -> u32 {
        match self.keys.get(at) {
            Some(key) => *key,
            None => self.first_direct + (at - self.keys.len()) as u32,
        }
    }

    /// Takes the least recently used buffer out of a list; where it lies.
    #[inline]
    fn take_oldest(&mut self, protected: bool) -> Option<usize> {
        loop {
            let list = if protected { &mut self.protected } else { &mut self.probation };
            let (key, stamp) = list.uses.pop_front()?;
            if let Some(&(coming, _)) = list.uses.get(EVICTIONS_AHEAD) {
                self.prefetch_buffer(coming);
                self.prefetch_resident(coming);
            }
            if let Some(at) = self.find_used(key, stamp) {
                self.unlist(at);
                return Some(at);
            }
        }
    }

    /// Where `key` lies, if it is here and was used last at `stamp`.
    #[inline]
    fn find_used(&self, key: u32, stamp: u32) -> Option<usize> {
        if key >= self.first_direct {
            // A buffer that is not here has no stamp.
            let at = self.direct(key);
            return (self.buffers[at].stamp == stamp).then_some(at);
        }
        let mask = self.keys.len() - 1;
        let mut at = self.home(key);
        while self.keys[at] != key {
            if self.keys[at] == NONE {
                return None;
            }
            at = (at + 1) & mask;
        }
        (self.buffers[at].stamp == stamp).then_some(at)
    }

    /// Drops the uses of a list that are not the last of their buffers. It is done seldom enough to cost less than the
    /// uses did.
    #[cold]
    fn drop_stale(&mut self, protected: bool) {
        let list = if protected { &mut self.protected } else { &mut self.probation };
        let mut uses = std::mem::take(&mut list.uses);
        for _ in 0..uses.len() {
            if let Some(&(coming, _)) = uses.get(EVICTIONS_AHEAD) {
                self.prefetch_buffer(coming);
            }
            if let Some(one) = uses.pop_front()
                && self.find_used(one.0, one.1).is_some()
            {
                uses.push_back(one);
            }
        }
        let list = if protected { &mut self.protected } else { &mut self.probation };
        list.uses = uses;
    }

    /// A reason to pin the buffer at `at` is gone. Pinned blocks may have exceeded the capacity: one less can.
    #[inline]
    fn unpinned(&mut self, at: usize) -> Evicted {
        if self.buffers[at].is_pinned() {
            return Evicted(None);
        }
        self.list(at);
        Evicted(if self.blocks > self.capacity { self.evict() } else { None })
    }

    /// Evicts a block if the cache is full; pinned blocks may exceed the capacity.
    #[inline]
    fn make_room(&mut self) -> Option<u32> {
        if self.blocks < self.capacity { None } else { self.evict() }
    }

    /// Drops the least recently used block that is not pinned.
    fn evict(&mut self) -> Option<u32> {
        let victim = self.take_oldest(false).or_else(|| self.take_oldest(true))?;
        let key = self.key_at(victim);
        self.remove(victim);
        self.resident[(key / 64) as usize] &= !(1 << (key % 64));
        Some(key)
    }

    fn add(&mut self, key: u32, flags: u32) -> usize {
        if 2 * (self.blocks + 1) > self.keys.len() {
            self.grow();
        }
        self.blocks += 1;
        self.resident[(key / 64) as usize] |= 1 << (key % 64);
        self.place(key, Buffer { flags, stamp: UNLISTED })
    }

    #[inline]
    fn place(&mut self, key: u32, buffer: Buffer) -> usize {
        if key >= self.first_direct {
            let at = self.direct(key);
            self.buffers[at] = buffer;
            return at;
        }
        let mask = self.keys.len() - 1;
        let mut at = self.home(key);
        while self.keys[at] != NONE {
            at = (at + 1) & mask;
        }
        self.keys[at] = key;
        self.buffers[at] = buffer;
        at
    }

    /// Empties the place `hole`, and moves up what lies behind it because it was not empty.
    #[inline]
    fn remove(&mut self, mut hole: usize) {
        self.blocks -= 1;
        if hole >= self.keys.len() {
            self.buffers[hole] = EMPTY;
            return;
        }
        let mask = self.keys.len() - 1;
        let mut at = hole;
        loop {
            at = (at + 1) & mask;
            let key = self.keys[at];
            if key == NONE {
                break;
            }
            // From its home to where it lies: if the hole is on the way, it is found in the hole as well.
            let way = at.wrapping_sub(self.home(key)) & mask;
            if at.wrapping_sub(hole) & mask <= way {
                self.keys[hole] = key;
                self.buffers[hole] = self.buffers[at];
                hole = at;
            }
        }
        self.keys[hole] = NONE;
    }

    #[cold]
    fn grow(&mut self) {
        let (places, direct) = (self.keys.len(), self.buffers.len() - self.keys.len());
        let keys = std::mem::replace(&mut self.keys, filled(NONE, 2 * places));
        let larger = filled(EMPTY, 2 * places + direct);
        let buffers = std::mem::replace(&mut self.buffers, larger);
        self.buffers[2 * places..].copy_from_slice(&buffers[places..]);
        for (key, buffer) in keys.into_iter().zip(buffers) {
            if key != NONE {
                self.place(key, buffer);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, VecDeque};

    const KEYS: u32 = 24;

    #[test]
    fn blocks_used_twice_stay_while_a_stream_of_blocks_used_once_passes() {
        let mut cache = BufferCache::new(10_000..10_000, 100, 50);
        for key in 0..40 {
            cache.insert(key);
            assert!(cache.touch(key));
        }
        for key in 1_000..9_000 {
            cache.insert(key);
        }
        assert!((0..40).all(|key| cache.contains(key)));
        assert!((8_940..9_000).all(|key| cache.contains(key)));
        assert!(!cache.contains(8_939));
    }

    #[test]
    fn a_protected_block_that_is_not_used_again_gives_way_to_others() {
        let mut cache = BufferCache::new(10_000..10_000, 100, 50);
        for key in 0..200 {
            cache.insert(key);
            cache.touch(key);
        }
        assert!((150..200).all(|key| cache.contains(key)));
        for key in 1_000..1_100 {
            cache.insert(key);
        }
        assert!(!cache.contains(149) && cache.contains(150));
    }

    #[test]
    fn regression_a_cache_that_pinned_blocks_overfilled_returns_to_its_capacity() {
        let mut cache = BufferCache::new(100..100, 4, 2);
        for key in 0..20 {
            cache.write(key);
            cache.begin_flush(key);
        }
        assert_eq!(cache.blocks, 20);
        for key in 0..20 {
            cache.end_flush(key);
        }
        assert_eq!(cache.blocks, 4);
    }

    #[test]
    fn uses_that_are_out_of_date_are_dropped_and_the_order_stays() {
        let mut cache = BufferCache::new(150..200, 100, 60);
        for round in 0..100 {
            for key in 100..200 {
                cache.insert((key * 7 + round) % 100 + 100);
            }
        }
        let uses = cache.protected.uses.len() + cache.probation.uses.len();
        assert!(uses < 2 * 1_024 + 100 * (1 + STALE_PER_LISTED), "{uses}");
        // Used last: (199 * 7 + 99) % 100 + 100, and those before it; 40 of them are no longer protected.
        let used: Vec<u32> = (100..200).map(|key| (key * 7 + 99) % 100 + 100).collect();
        for (place, key) in (0..40).enumerate() {
            assert_eq!(cache.insert(key), Evicted(Some(used[place])));
        }
    }

    #[derive(Debug, Clone, Copy)]
    enum Step {
        Touch,
        Insert,
        Write,
        BeginFlush,
        EndFlush,
        Hold,
        LetGo,
    }

    #[derive(Debug, Clone, Copy, Default)]
    struct Block {
        dirty: bool,
        flushing: bool,
        protected: bool,
        holds: u32,
    }

    impl Block {
        fn is_pinned(&self) -> bool {
            self.dirty || self.flushing || self.holds > 0
        }
    }

    /// The same cache in plain lists, most recently used first.
    #[derive(Debug, Default)]
    struct Model {
        capacity: usize,
        protected_capacity: usize,
        blocks: BTreeMap<u32, Block>,
        probation: VecDeque<u32>,
        protected: VecDeque<u32>,
    }

    impl Model {
        fn unlink(&mut self, key: u32) {
            self.probation.retain(|other| *other != key);
            self.protected.retain(|other| *other != key);
        }

        fn link(&mut self, key: u32) {
            if !self.blocks[&key].protected {
                return self.probation.push_front(key);
            }
            self.protected.push_front(key);
            if self.protected.len() > self.protected_capacity {
                let spilled = self.protected.pop_back().unwrap();
                self.blocks.get_mut(&spilled).unwrap().protected = false;
                self.probation.push_front(spilled);
            }
        }

        fn evict(&mut self) -> Option<u32> {
            let victim = self.probation.pop_back().or_else(|| self.protected.pop_back())?;
            self.blocks.remove(&victim);
            Some(victim)
        }

        fn make_room(&mut self) -> Option<u32> {
            if self.blocks.len() < self.capacity { None } else { self.evict() }
        }

        /// Changes a block, which leaves or enters the lists with that.
        fn change(&mut self, key: u32, change: impl FnOnce(&mut Block)) -> Option<u32> {
            self.unlink(key);
            let was_pinned = self.blocks[&key].is_pinned();
            let block = self.blocks.get_mut(&key).unwrap();
            change(block);
            if block.is_pinned() {
                return None;
            }
            self.link(key);
            if was_pinned && self.blocks.len() > self.capacity { self.evict() } else { None }
        }
    }

    proptest! {
        #[test]
        fn behaves_like_two_lists_and_pinned_blocks(
            capacity in 1..10usize,
            protected_capacity in 0..10usize,
            first_direct in 0..=KEYS,
            steps in prop::collection::vec((prop_oneof![
                Just(Step::Touch), Just(Step::Insert), Just(Step::Write), Just(Step::BeginFlush),
                Just(Step::EndFlush), Just(Step::Hold), Just(Step::LetGo),
            ], 0..KEYS), 1..400),
        ) {
            let mut cache = BufferCache::new(first_direct..KEYS, capacity as u32, protected_capacity as u32);
            let mut model = Model { capacity, protected_capacity, ..Model::default() };
            for (step, key) in steps {
                let block = model.blocks.get(&key).copied();
                let is = |what: fn(&Block) -> bool| block.as_ref().is_some_and(what);
                match step {
                    Step::Touch => {
                        prop_assert_eq!(cache.touch(key), block.is_some());
                        if block.is_some() {
                            model.change(key, |block| block.protected = true);
                        }
                    }
                    Step::Insert => {
                        let evicted = cache.insert(key);
                        let expected = if block.is_some() {
                            model.change(key, |block| block.protected = true);
                            None
                        } else {
                            let evicted = model.make_room();
                            model.blocks.insert(key, Block::default());
                            model.link(key);
                            evicted
                        };
                        prop_assert_eq!(evicted, Evicted(expected));
                    }
                    Step::Write => {
                        let (newly_dirty, evicted) = cache.write(key);
                        prop_assert_eq!(newly_dirty, !is(|block| block.dirty));
                        let expected = if block.is_some() { None } else { model.make_room() };
                        prop_assert_eq!(evicted, Evicted(expected));
                        model.unlink(key);
                        model.blocks.entry(key).or_default().dirty = true;
                    }
                    Step::BeginFlush if is(|block| block.dirty && !block.flushing) => {
                        cache.begin_flush(key);
                        model.change(key, |block| (block.dirty, block.flushing) = (false, true));
                    }
                    Step::EndFlush if is(|block| block.flushing) => {
                        let expected = model.change(key, |block| block.flushing = false);
                        prop_assert_eq!(cache.end_flush(key), Evicted(expected));
                    }
                    Step::Hold if block.is_some() => {
                        cache.hold(key);
                        model.change(key, |block| block.holds += 1);
                    }
                    Step::LetGo if is(|block| block.holds > 0) => {
                        let expected = model.change(key, |block| block.holds -= 1);
                        prop_assert_eq!(cache.let_go(key), Evicted(expected));
                    }
                    Step::BeginFlush | Step::EndFlush | Step::Hold | Step::LetGo => {}
                }
                let dirty = model.blocks.values().filter(|block| block.dirty).count();
                prop_assert_eq!(cache.dirty_blocks() as usize, dirty);
                prop_assert_eq!(cache.blocks, model.blocks.len());
                for key in 0..KEYS {
                    let block = model.blocks.get(&key);
                    prop_assert_eq!(cache.contains(key), block.is_some());
                    prop_assert_eq!(cache.is_flushing(key), block.is_some_and(|block| block.flushing));
                }
            }
        }
    }
}
