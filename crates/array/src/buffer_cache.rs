//! The buffer cache that data and metadata share.

use hashbrown::HashTable;

/// No slot: the end of a list.
const NONE: u32 = u32::MAX;

/// A block's buffer holds data that no consistency point has taken yet.
const DIRTY: u8 = 1;
/// The consistency point in progress is writing the buffer.
const FLUSHING: u8 = 2;
/// The block was used more than once.
const PROTECTED: u8 = 4;
/// Dirty and flushing buffers are in no list: they cannot be evicted.
const PINNED: u8 = DIRTY | FLUSHING;

#[derive(Debug, Clone, Copy)]
struct Slot {
    key: u32,
    previous: u32,
    next: u32,
    flags: u8,
}

/// Most recently used first.
#[derive(Debug, Clone, Copy)]
struct List {
    head: u32,
    tail: u32,
    len: u32,
}

/// What [`BufferCache::insert`] had to drop.
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
            let flags = self.slots[slot as usize].flags;
            if flags & DIRTY != 0 {
                return (false, Evicted(None));
            }
            if flags & FLUSHING == 0 {
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
        debug_assert_eq!(self.slots[slot].flags & PINNED, DIRTY);
        self.slots[slot].flags ^= PINNED;
        self.dirty -= 1;
    }

    /// The consistency point has written `key`: clean, unless it was written to meanwhile.
    pub(crate) fn end_flush(&mut self, key: u32) {
        let slot = self.find(key);
        let flags = &mut self.slots[slot as usize].flags;
        *flags &= !FLUSHING;
        if *flags & DIRTY == 0 {
            self.push_front(slot);
        }
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
        if self.slots[slot as usize].flags & PINNED != 0 {
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

    /// Evicts the least recently used clean block if the cache is full; pinned blocks may exceed the capacity.
    fn make_room(&mut self) -> Option<u32> {
        if (self.slots.len() - self.free.len()) < self.capacity as usize {
            return None;
        }
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

    fn add(&mut self, key: u32, flags: u8) -> u32 {
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
