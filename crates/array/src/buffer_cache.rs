//! The buffer cache that data and metadata share.

mod list;
mod states;

use std::collections::BTreeMap;

use strewn_base::memory::zeroed_words;
use strewn_base::state::{SavedState, StateError, StateReader, StateWriter};

use list::List;
use states::{ABSENT, PLACE_BITS, States};

/// The state of a block in a list is that of its list and of its last use there, that of a pinned block this and its
/// flags.
const IN_PROBATION: u16 = 1 << PLACE_BITS;
const IN_PROTECTION: u16 = 2 << PLACE_BITS;
const IS_PINNED: u16 = 3 << PLACE_BITS;

/// A block's buffer holds data that no consistency point has taken yet.
const DIRTY: u16 = 1;
/// The consistency point in progress is writing the buffer.
const FLUSHING: u16 = 2;
/// The block was used more than once.
const PROTECTED: u16 = 4;
/// An operation needs the buffer as it is; the bits from this one up count how many do.
const HOLD: u16 = 8;
/// As many holds as a state can count.
const MOST_HOLDS: u16 = !IS_PINNED & !(HOLD - 1);
/// Dirty, flushing and held buffers are in no list: they cannot be evicted.
const PINNED: u16 = DIRTY | FLUSHING | MOST_HOLDS;

/// The block evicted to keep to the capacity, if any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Evicted(pub Option<u32>);

/// Blocks in memory, least recently used out first, in two segments (segmented LRU, Karedla et al., 1994): a block
/// that is used again moves to the protected segment, so that a stream of blocks used once does not push out the
/// indirect blocks that every operation needs.
///
/// For each host operation, 2.8 blocks are inserted and as many evicted. That costs instructions and memory latency:
///
/// - A list is the uses of its blocks in their order. A block that is used again leaves its last use behind, out of
///   date. The next blocks to evict are therefore adjacent, and what their eviction changes can be prefetched. In a
///   linked list, each element locates the next, so nothing can be prefetched: eviction took a third of all time.
/// - A state of 16 bits for each key says whether its block is here, and where its last use is. The chains of a hash
///   table take less memory, but other blocks' buffers are looked at on the way: as many instructions again.
#[derive(Debug)]
pub(crate) struct BufferCache {
    capacity: usize,
    protected_capacity: usize,
    states: States,
    /// Holds that a state cannot count, by key.
    more_holds: BTreeMap<u32, u32>,
    /// The blocks used once.
    probation: List,
    /// The blocks used more than once.
    protection: List,
    blocks: usize,
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
    /// A cache of `capacity` blocks for keys below `keys`, of which at most `protected_capacity` are protected.
    pub(crate) fn new(keys: u32, capacity: u32, protected_capacity: u32) -> Self {
        let (capacity, protected_capacity) = (capacity as usize, protected_capacity as usize);
        // Beside the buffers that there may be, and one for a moment, there is room for uses that are out of date:
        // blocks that were used once leave few, others one a use. Ranks are closed the more seldom.
        let probation = capacity + capacity / 2 + 2;
        let protection = 3 * protected_capacity.min(capacity) + 2;
        Self {
            capacity,
            protected_capacity,
            states: States::new(keys),
            more_holds: BTreeMap::new(),
            probation: List::new(IN_PROBATION, probation),
            protection: List::new(IN_PROTECTION, protection),
            blocks: 0,
            protected: 0,
            dirty: 0,
            unread: Unread::default(),
        }
    }

    /// From now on, blocks may be [`mark_unread`](Self::mark_unread)ed.
    pub(crate) fn read_ahead(&mut self) {
        self.unread.bits = zeroed_words(self.states.keys().div_ceil(64) as usize);
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

    /// The lists and the pinned buffers hold each block that is here, and no other. Costs a pass over all states and
    /// uses.
    ///
    /// # Panics
    /// If they do not.
    pub(crate) fn assert_invariants(&self) {
        let in_list = |list: &List| list.blocks(&self.states).count();
        let (mut here, mut pinned, mut dirty) = (0, 0, 0);
        for (_, state) in self.states.iter() {
            let is_pinned = state >= IS_PINNED;
            here += 1;
            pinned += usize::from(is_pinned);
            dirty += u32::from(is_pinned && state & DIRTY != 0);
        }
        let (probation, protected) = (in_list(&self.probation), in_list(&self.protection));
        assert_eq!(protected, self.protected, "protected blocks");
        assert_eq!(probation + protected + pinned, self.blocks, "blocks in the lists and pinned");
        assert_eq!(dirty, self.dirty, "dirty blocks");
        assert_eq!(here, self.blocks, "blocks by the states of what is here");
    }

    /// Announces that `key` will be asked for, used or changed.
    #[inline(always)]
    pub(crate) fn prefetch(&self, key: u32) {
        self.states.prefetch(key);
    }

    /// Whether `key` is here, without using it.
    #[inline(always)]
    pub(crate) fn contains(&self, key: u32) -> bool {
        self.states.get(key) != ABSENT
    }

    /// Whether `key` is here; if so it is the most recently used now.
    #[inline(always)]
    pub(crate) fn touch(&mut self, key: u32) -> bool {
        let state = self.states.get(key);
        if state == ABSENT {
            return false;
        }
        if state >= IS_PINNED {
            *self.states.of(key) = state | PROTECTED;
            return true;
        }
        self.leave_newest(key, state);
        self.protection.push(key, &mut self.states);
        if state < IN_PROTECTION {
            self.protected += 1;
            self.spill();
        }
        true
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
        self.blocks += 1;
        *self.states.of_new(key) = IS_PINNED | HOLD;
        if !hold {
            self.probation.push(key, &mut self.states);
        }
    }

    /// Marks `key` dirty, putting it in if it is not here; whether it was clean (or absent, or flushing) before.
    #[inline(always)]
    pub(crate) fn write(&mut self, key: u32) -> (bool, Evicted) {
        if !self.contains(key) {
            let evicted = self.make_room();
            self.blocks += 1;
            *self.states.of_new(key) = IS_PINNED | DIRTY;
            self.dirty += 1;
            return (true, Evicted(evicted));
        }
        self.drop_unread(key);
        let state = self.pinned_state(key);
        let newly_dirty = *state & DIRTY == 0;
        *state |= DIRTY;
        self.dirty += u32::from(newly_dirty);
        (newly_dirty, Evicted(None))
    }

    /// A consistency point takes the dirty block `key`.
    #[inline(always)]
    pub(crate) fn begin_flush(&mut self, key: u32) {
        let state = self.states.of(key);
        debug_assert!(*state >= IS_PINNED && *state & (DIRTY | FLUSHING) == DIRTY);
        *state ^= DIRTY | FLUSHING;
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
        let state = self.pinned_state(key);
        if *state & MOST_HOLDS == MOST_HOLDS {
            return self.hold_once_more(key);
        }
        *state += HOLD;
    }

    #[cold]
    fn hold_once_more(&mut self, key: u32) {
        *self.more_holds.entry(key).or_default() += 1;
    }

    /// The operation that held `key` needs it no longer.
    #[inline(always)]
    pub(crate) fn release(&mut self, key: u32) -> Evicted {
        if !self.more_holds.is_empty() && self.release_once(key) {
            return Evicted(None);
        }
        self.unpin(key, HOLD)
    }

    /// Takes one of the holds that the state does not count, if there are any.
    #[cold]
    fn release_once(&mut self, key: u32) -> bool {
        let Some(more) = self.more_holds.get_mut(&key) else { return false };
        *more -= 1;
        if *more == 0 {
            self.more_holds.remove(&key);
        }
        true
    }

    /// Drops `key`, which is here, as clean. Returns false if it is still needed: a consistency point is writing it, or
    /// an operation holds it.
    pub(crate) fn discard(&mut self, key: u32) -> bool {
        let state = self.states.of(key);
        if *state >= IS_PINNED {
            self.dirty -= u32::from(*state & DIRTY != 0);
            *state &= !DIRTY;
            if *state & PINNED != 0 {
                return false;
            }
        } else {
            let state = *state;
            self.protected -= usize::from(state >= IN_PROTECTION);
            self.leave_newest(key, state);
        }
        self.drop(key);
        true
    }

    /// Drops all blocks that are clean and that nothing needs. Returns them.
    pub(crate) fn discard_clean(&mut self) -> Vec<u32> {
        let lists = [&self.probation, &self.protection].into_iter();
        let keys: Vec<u32> = lists.flat_map(|list| list.blocks(&self.states)).collect();
        for key in &keys {
            let is_gone = self.discard(*key);
            assert!(is_gone, "block {key} is in a list, so nothing needs it");
        }
        keys
    }

    /// Whether a consistency point is writing `key`.
    pub(crate) fn is_flushing(&self, key: u32) -> bool {
        let state = self.states.get(key);
        state >= IS_PINNED && state & FLUSHING != 0
    }

    /// The last use of `key`, in a list, is out of date from now on: it does not stay where uses are added.
    #[inline(always)]
    fn leave_newest(&mut self, key: u32, state: u16) {
        if state == self.protection.newest() {
            self.protection.forget(key);
        } else if state == self.probation.newest() {
            self.probation.forget(key);
        }
    }

    /// The state of `key`, which is here, and is pinned from now on.
    #[inline(always)]
    fn pinned_state(&mut self, key: u32) -> &mut u16 {
        let state = *self.states.of(key);
        if state < IS_PINNED {
            let was_protected = state >= IN_PROTECTION;
            self.protected -= usize::from(was_protected);
            self.leave_newest(key, state);
            *self.states.of(key) = IS_PINNED | if was_protected { PROTECTED } else { 0 };
        }
        self.states.of(key)
    }

    /// Takes a reason to stay away. If it was the last, the buffer is the newest of its list. Pinned blocks may have
    /// exceeded the capacity: one less can.
    #[inline(always)]
    fn unpin(&mut self, key: u32, reason: u16) -> Evicted {
        let state = self.states.of(key);
        debug_assert!(*state >= IS_PINNED | reason);
        *state -= reason;
        let state = *state;
        if state & PINNED != 0 {
            return Evicted(None);
        }
        if state & PROTECTED != 0 {
            self.protection.push(key, &mut self.states);
            self.protected += 1;
            self.spill();
        } else {
            self.probation.push(key, &mut self.states);
        }
        Evicted(if self.blocks > self.capacity { self.evict() } else { None })
    }

    /// If the protected list is too long, its oldest buffer becomes the newest of the other.
    #[inline(always)]
    fn spill(&mut self) {
        if self.protected > self.protected_capacity
            && let Some(key) = self.protection.pop(&self.states)
        {
            self.protected -= 1;
            self.probation.push(key, &mut self.states);
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
        let key = match self.probation.pop(&self.states) {
            Some(oldest) => oldest,
            None => {
                let oldest = self.protection.pop(&self.states)?;
                self.protected -= 1;
                oldest
            }
        };
        self.drop(key);
        Some(key)
    }

    #[inline(always)]
    fn drop(&mut self, key: u32) {
        self.drop_unread(key);
        self.blocks -= 1;
        self.states.clear(key);
    }
}

/// As the blocks of each list in the order of their last uses, and the pinned ones: uses that are out of date, and
/// where the others lie, change nothing.
impl SavedState for BufferCache {
    fn save(&self, to: &mut StateWriter<'_>) -> Result<(), StateError> {
        strewn_base::state::where_there_are_files()?;
        for list in [&self.probation, &self.protection] {
            to.value(&list.blocks(&self.states).collect::<Vec<u32>>())?;
        }
        let pinned = self.states.iter().filter(|(_, state)| *state >= IS_PINNED);
        to.value(&pinned.map(|(key, state)| (key, state & !IS_PINNED)).collect::<Vec<_>>())?;
        to.value(&self.more_holds)?;
        self.unread.save(to)
    }

    fn restore(&mut self, from: &mut StateReader<'_>) -> Result<(), StateError> {
        strewn_base::state::where_there_are_files()?;
        self.states = States::new(self.states.keys());
        self.probation.clear();
        self.protection.clear();
        (self.blocks, self.protected, self.dirty) = (0, 0, 0);
        for key in from.value::<Vec<u32>>()? {
            self.check_new(key, self.blocks < self.capacity)?;
            self.put_in(key, false);
        }
        for key in from.value::<Vec<u32>>()? {
            let has_room = self.protected < self.protected_capacity.min(self.capacity);
            self.check_new(key, has_room)?;
            self.put_in(key, true);
            self.protected += 1;
            self.protection.push(key, &mut self.states);
        }
        for (key, flags) in from.value::<Vec<(u32, u16)>>()? {
            self.check_new(key, true)?;
            if flags & IS_PINNED != 0 || flags & PINNED == 0 {
                return Err(StateError::inconsistent("a block that nothing needs is pinned"));
            }
            self.blocks += 1;
            self.dirty += u32::from(flags & DIRTY);
            *self.states.of_new(key) = IS_PINNED | flags;
        }
        self.more_holds = from.value()?;
        if self.more_holds.iter().any(|(key, holds)| !self.counts_no_more(*key) || *holds == 0) {
            return Err(StateError::inconsistent("holds that a state could have counted"));
        }
        self.unread.restore(from).map_err(|error| error.within("unread"))
    }
}

impl BufferCache {
    /// A block that was saved has a key, is there once, and has room.
    fn check_new(&self, key: u32, has_room: bool) -> Result<(), StateError> {
        match key < self.states.keys() && !self.contains(key) && has_room {
            true => Ok(()),
            false => Err(StateError::inconsistent(format!("block {key} cannot be in the cache"))),
        }
    }

    /// Whether the state of `key` counts as many holds as it can.
    fn counts_no_more(&self, key: u32) -> bool {
        let state = self.states.get(key);
        state >= IS_PINNED && state & MOST_HOLDS == MOST_HOLDS
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
