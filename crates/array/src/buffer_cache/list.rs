//! The uses of blocks in their order.

use strewn_base::memory::{filled, prefetch};

use super::states::{PLACE_BITS, States};

/// No key: this use is out of date.
const NONE: u32 = u32::MAX;

/// Keys in a cache line.
const KEYS_PER_LINE: u32 = 16;

/// Uses in the order in which they came: a ring of keys. A use is out of date once its block has been used again, been
/// pinned or been dropped: then the block's state does not name its place.
///
/// A state has too few bits for a place of a large cache, so it names a segment of the ring, and a segment has no key
/// twice. Uses are added to one segment at a time. A use there that is out of date is taken out before its block can be
/// used there again ([`forget`](Self::forget)).
#[derive(Debug)]
pub(super) struct List {
    /// What the state of a block in this list has besides the segment of its last use.
    tag: u16,
    keys: Vec<u32>,
    /// Places less one: a power of two of them.
    mask: u32,
    /// Places of a segment, as a power of two.
    segment_bits: u32,
    /// The turn of the oldest use and of the next one. Turns come round to old ones after four billion uses.
    oldest: u32,
    next: u32,
    /// The state of blocks whose last use is in the segment that uses are added to, and the turn that it ends before.
    newest: u16,
    segment_end: u32,
}

impl List {
    /// A list with at least so many places.
    pub(super) fn new(tag: u16, places: usize) -> Self {
        let places = (places.next_power_of_two() as u32).max(KEYS_PER_LINE);
        let segment_bits = places.trailing_zeros().saturating_sub(PLACE_BITS);
        Self {
            tag,
            keys: filled(NONE, places as usize),
            mask: places - 1,
            segment_bits,
            oldest: 0,
            next: 0,
            newest: tag,
            segment_end: 1 << segment_bits,
        }
    }

    /// Makes segments longer than the list needs, so that few blocks test them.
    #[cfg(test)]
    pub(super) fn set_segment_bits(&mut self, bits: u32) {
        self.segment_bits = bits;
        self.clear();
    }

    /// The state of a block whose last use is that of `turn`.
    #[inline(always)]
    fn state_at(&self, turn: u32) -> u16 {
        self.tag | ((turn & self.mask) >> self.segment_bits) as u16
    }

    /// The state of blocks whose last use is in the segment that uses are added to.
    #[inline(always)]
    pub(super) fn newest(&self) -> u16 {
        self.newest
    }

    /// Adds a use of a block: from now on, its last one. Its state was not [`newest`](Self::newest).
    #[inline(always)]
    pub(super) fn push(&mut self, key: u32, states: &mut States) {
        *states.of(key) = self.newest;
        self.keys[(self.next & self.mask) as usize] = key;
        self.next = self.next.wrapping_add(1);
        if self.next == self.segment_end {
            self.begin_segment(states);
        }
    }

    /// Uses are added to another segment from now on: never to that of the oldest use.
    fn begin_segment(&mut self, states: &mut States) {
        let oldest_segment = self.oldest >> self.segment_bits << self.segment_bits;
        if self.next.wrapping_sub(oldest_segment) > self.mask {
            self.close_ranks(states);
        }
        self.add_from(self.next);
    }

    /// The next use is that of `turn`.
    fn add_from(&mut self, turn: u32) {
        self.next = turn;
        self.newest = self.state_at(turn);
        self.segment_end = (turn >> self.segment_bits).wrapping_add(1) << self.segment_bits;
    }

    /// Takes the last use of a block out, which is in the segment that uses are added to.
    #[cold]
    pub(super) fn forget(&mut self, key: u32) {
        let mut turn = self.next;
        while turn != self.oldest {
            turn = turn.wrapping_sub(1);
            let place = &mut self.keys[(turn & self.mask) as usize];
            if *place == key {
                *place = NONE;
                return;
            }
        }
    }

    /// Takes the least recently used block out. Its state stays.
    #[inline(always)]
    pub(super) fn pop(&mut self, states: &States) -> Option<u32> {
        while self.oldest != self.next {
            let turn = self.oldest;
            self.oldest = turn.wrapping_add(1);
            if turn.is_multiple_of(KEYS_PER_LINE) {
                self.announce(turn, states);
            }
            let key = self.keys[(turn & self.mask) as usize];
            if states.get(key) == self.state_at(turn) {
                return Some(key);
            }
        }
        None
    }

    /// Has no uses any more.
    pub(super) fn clear(&mut self) {
        self.oldest = 0;
        self.add_from(0);
    }

    /// The blocks in the list, the least recently used first.
    pub(super) fn blocks(&self, states: &States) -> impl Iterator<Item = u32> {
        let turns = self.next.wrapping_sub(self.oldest);
        (0..turns).filter_map(|turn| {
            let turn = self.oldest.wrapping_add(turn);
            let key = self.keys[(turn & self.mask) as usize];
            (states.get(key) == self.state_at(turn)).then_some(key)
        })
    }

    /// Drops the uses that are out of date, and moves the others over the places between them. It is done seldom enough
    /// to cost less than the uses did.
    #[cold]
    fn close_ranks(&mut self, states: &mut States) {
        let mut kept = self.oldest;
        for turn in 0..self.next.wrapping_sub(self.oldest) {
            let turn = self.oldest.wrapping_add(turn);
            if turn.is_multiple_of(KEYS_PER_LINE) {
                self.announce(turn, states);
            }
            let key = self.keys[(turn & self.mask) as usize];
            if states.get(key) == self.state_at(turn) {
                *states.of(key) = self.state_at(kept);
                self.keys[(kept & self.mask) as usize] = key;
                kept = kept.wrapping_add(1);
            }
        }
        self.next = kept;
    }

    /// Has the states fetched of the blocks that come two lines behind `turn`, which begins one. A line at a time that
    /// costs least.
    #[inline]
    fn announce(&self, turn: u32, states: &States) {
        let first = turn.wrapping_add(2 * KEYS_PER_LINE) & self.mask;
        for key in &self.keys[first as usize..][..KEYS_PER_LINE as usize] {
            states.prefetch(*key);
        }
        // The processor sees too little of the list at a time to know that it is read in order.
        let later = turn.wrapping_add(6 * KEYS_PER_LINE) & self.mask;
        prefetch(&self.keys, later as usize);
    }
}
