//! The buffer cache that data and metadata share.

use hashbrown::HashTable;

/// No slot: the end of a list.
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

#[derive(Debug, Clone, Copy)]
struct Slot {
    key: u32,
    previous: u32,
    next: u32,
    flags: u32,
}

impl Slot {
    fn is_pinned(&self) -> bool {
        self.flags & PINNED != 0
    }
}

/// Most recently used first.
#[derive(Debug, Clone, Copy)]
struct List {
    head: u32,
    tail: u32,
    len: u32,
}

/// What had to be dropped to keep to the capacity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Evicted(pub Option<u32>);

/// Blocks in memory, least recently used out first, in two segments (segmented LRU, Karedla et al., 1994): a block
/// that is used again moves to the protected segment, so that a stream of blocks used once does not push out the
/// indirect blocks that every operation needs.
#[derive(Debug)]
pub(crate) struct BufferCache {
    capacity: u32,
    protected_capacity: u32,
    slots: Vec<Slot>,
    free: Vec<u32>,
    index: HashTable<u32>,
    /// One bit a key: most lookups miss, and this answers them from a few megabytes.
    resident: Vec<u64>,
    probation: List,
    protected: List,
    dirty: u32,
}

impl BufferCache {
    /// A cache of `capacity` blocks for keys below `keys`, of which at most `protected_capacity` are protected.
    pub(crate) fn new(keys: u64, capacity: u32, protected_capacity: u32) -> Self {
        let empty = List { head: NONE, tail: NONE, len: 0 };
        Self {
            capacity,
            protected_capacity,
            slots: Vec::with_capacity(capacity as usize),
            free: Vec::new(),
            index: HashTable::with_capacity(capacity as usize),
            resident: vec![0; keys.div_ceil(64) as usize],
            probation: empty,
            protected: empty,
            dirty: 0,
        }
    }

    /// Blocks that are dirty and not yet part of a consistency point.
    pub(crate) fn dirty_blocks(&self) -> u32 {
        self.dirty
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
        let slot = self.find(key);
        self.touch_slot(slot);
        true
    }

    /// Puts a block in that was just read, or touches it if it is here.
    pub(crate) fn insert(&mut self, key: u32) -> Evicted {
        if self.touch(key) {
            return Evicted(None);
        }
        let evicted = self.make_room();
        let slot = self.add(key, 0);
        self.push_front(slot);
        Evicted(evicted)
    }

    /// Marks `key` dirty, putting it in if it is not here; whether it was clean (or absent, or flushing) before.
    pub(crate) fn write(&mut self, key: u32) -> (bool, Evicted) {
        if self.contains(key) {
            let slot = self.find(key);
            if self.slots[slot as usize].flags & DIRTY != 0 {
                return (false, Evicted(None));
            }
            if !self.slots[slot as usize].is_pinned() {
                self.unlink(slot);
            }
            self.slots[slot as usize].flags |= DIRTY;
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
        let slot = self.find(key) as usize;
        debug_assert_eq!(self.slots[slot].flags & (DIRTY | FLUSHING), DIRTY);
        self.slots[slot].flags ^= DIRTY | FLUSHING;
        self.dirty -= 1;
    }

    /// The consistency point has written `key`: clean, unless it was written to meanwhile.
    pub(crate) fn end_flush(&mut self, key: u32) -> Evicted {
        let slot = self.find(key);
        self.slots[slot as usize].flags &= !FLUSHING;
        self.unpinned(slot)
    }

    /// An operation needs `key`, which is here, to stay until it lets go.
    pub(crate) fn hold(&mut self, key: u32) {
        let slot = self.find(key);
        if !self.slots[slot as usize].is_pinned() {
            self.unlink(slot);
        }
        self.slots[slot as usize].flags += HOLD;
    }

    /// The operation that held `key` needs it no longer.
    pub(crate) fn let_go(&mut self, key: u32) -> Evicted {
        let slot = self.find(key);
        debug_assert!(self.slots[slot as usize].flags >= HOLD);
        self.slots[slot as usize].flags -= HOLD;
        self.unpinned(slot)
    }

    /// Whether a consistency point is writing `key`.
    pub(crate) fn is_flushing(&self, key: u32) -> bool {
        self.contains(key) && self.slots[self.find(key) as usize].flags & FLUSHING != 0
    }

    #[inline]
    fn find(&self, key: u32) -> u32 {
        let found = self.index.find(hash(key), |slot| self.slots[*slot as usize].key == key);
        // The resident bit is set only while the index has the key.
        *found.unwrap_or(&NONE)
    }

    fn touch_slot(&mut self, slot: u32) {
        if self.slots[slot as usize].is_pinned() {
            self.slots[slot as usize].flags |= PROTECTED;
            return;
        }
        self.unlink(slot);
        self.slots[slot as usize].flags |= PROTECTED;
        self.push_front(slot);
    }

    /// Puts an unpinned slot in front of the list its flags name; the protected list spills into probation.
    fn push_front(&mut self, slot: u32) {
        let protected = self.slots[slot as usize].flags & PROTECTED != 0;
        let list = if protected { &mut self.protected } else { &mut self.probation };
        link_front(&mut self.slots, list, slot);
        if protected && self.protected.len > self.protected_capacity {
            let spilled = self.protected.tail;
            self.unlink(spilled);
            self.slots[spilled as usize].flags &= !PROTECTED;
            link_front(&mut self.slots, &mut self.probation, spilled);
        }
    }

    fn unlink(&mut self, slot: u32) {
        let Slot { previous, next, flags, .. } = self.slots[slot as usize];
        let list = if flags & PROTECTED != 0 { &mut self.protected } else { &mut self.probation };
        list.len -= 1;
        match previous {
            NONE => list.head = next,
            before => self.slots[before as usize].next = next,
        }
        match next {
            NONE => list.tail = previous,
            after => self.slots[after as usize].previous = previous,
        }
    }

    /// A reason to pin `slot` is gone. Pinned blocks may have exceeded the capacity: one less can.
    fn unpinned(&mut self, slot: u32) -> Evicted {
        if self.slots[slot as usize].is_pinned() {
            return Evicted(None);
        }
        self.push_front(slot);
        let over = self.blocks() > self.capacity as usize;
        Evicted(if over { self.evict() } else { None })
    }

    /// Evicts a block if the cache is full; pinned blocks may exceed the capacity.
    fn make_room(&mut self) -> Option<u32> {
        if self.blocks() < self.capacity as usize { None } else { self.evict() }
    }

    fn blocks(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Drops the least recently used block that is not pinned.
    fn evict(&mut self) -> Option<u32> {
        let victim = match (self.probation.tail, self.protected.tail) {
            (NONE, NONE) => return None,
            (NONE, protected) => protected,
            (probation, _) => probation,
        };
        self.unlink(victim);
        let key = self.slots[victim as usize].key;
        if let Ok(entry) = self.index.find_entry(hash(key), |slot| *slot == victim) {
            entry.remove();
        }
        self.resident[(key / 64) as usize] &= !(1 << (key % 64));
        self.free.push(victim);
        Some(key)
    }

    fn add(&mut self, key: u32, flags: u32) -> u32 {
        let new = Slot { key, previous: NONE, next: NONE, flags };
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = new;
                slot
            }
            None => {
                self.slots.push(new);
                self.slots.len() as u32 - 1
            }
        };
        let slots = &self.slots;
        self.index.insert_unique(hash(key), slot, |slot| hash(slots[*slot as usize].key));
        self.resident[(key / 64) as usize] |= 1 << (key % 64);
        slot
    }
}

fn link_front(slots: &mut [Slot], list: &mut List, slot: u32) {
    slots[slot as usize].previous = NONE;
    slots[slot as usize].next = list.head;
    match list.head {
        NONE => list.tail = slot,
        head => slots[head as usize].previous = slot,
    }
    list.head = slot;
    list.len += 1;
}

/// Fibonacci hashing: keys are block numbers, distinct and without a pattern to defend against.
#[inline]
fn hash(key: u32) -> u64 {
    (u64::from(key) ^ (u64::from(key) << 32)).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, VecDeque};

    const KEYS: u32 = 24;

    #[test]
    fn blocks_used_twice_stay_while_a_stream_of_blocks_used_once_passes() {
        let mut cache = BufferCache::new(10_000, 100, 50);
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
        let mut cache = BufferCache::new(10_000, 100, 50);
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
        let mut cache = BufferCache::new(100, 4, 2);
        for key in 0..20 {
            cache.write(key);
            cache.begin_flush(key);
        }
        assert_eq!(cache.blocks(), 20);
        for key in 0..20 {
            cache.end_flush(key);
        }
        assert_eq!(cache.blocks(), 4);
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
            steps in prop::collection::vec((prop_oneof![
                Just(Step::Touch), Just(Step::Insert), Just(Step::Write), Just(Step::BeginFlush),
                Just(Step::EndFlush), Just(Step::Hold), Just(Step::LetGo),
            ], 0..KEYS), 1..400),
        ) {
            let mut cache = BufferCache::new(KEYS.into(), capacity as u32, protected_capacity as u32);
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
                prop_assert_eq!(cache.blocks(), model.blocks.len());
                for key in 0..KEYS {
                    let block = model.blocks.get(&key);
                    prop_assert_eq!(cache.contains(key), block.is_some());
                    prop_assert_eq!(cache.is_flushing(key), block.is_some_and(|block| block.flushing));
                }
            }
        }
    }
}
