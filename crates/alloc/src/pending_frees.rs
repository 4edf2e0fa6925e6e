//! The blocks that are freed but not yet free, so that none is freed twice.

use strewn_base::memory;
use strewn_base::state::SavedValue;
use strewn_raid::Vbn;

/// Bits of a VBN that a table keeps; those above name the table.
const TABLE_BITS: u32 = 31;
/// 2^64 by the golden ratio: odd, and of no pattern.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
const FEWEST_SLOTS: usize = 512;
const EMPTY: u32 = 0;

/// A set of VBNs, for the one question that every free asks. A consistency point's frees lie anywhere in the map, so a
/// second bitmap would cost a second access to memory for each. A table is small enough for the second-level cache: 8
/// to 16 bytes a block.
///
/// An entry is a whole number and not a guess: a table has four bytes of each, and there is one table for every 2^31
/// blocks of an aggregate.
#[derive(Debug, Clone, Default, SavedValue)]
pub(crate) struct PendingFrees {
    tables: Vec<Table>,
}

/// Open addressing with linear probing, at most half full.
#[derive(Debug, Clone, Default, SavedValue)]
struct Table {
    /// None, or a power of two of at least [`FEWEST_SLOTS`]: one more than the block's number in the table, or
    /// [`EMPTY`].
    slots: Vec<u32>,
    entries: usize,
}

/// The table of `vbn`.
#[inline]
fn table_of(vbn: Vbn) -> usize {
    (vbn.0 >> TABLE_BITS) as usize
}

/// The table of all `vbns`, if it is one.
#[inline]
fn only_table(vbns: &[Vbn]) -> Option<usize> {
    let first = *vbns.first()?;
    let differing = vbns.iter().fold(0, |differing, vbn| differing | (vbn.0 ^ first.0));
    (differing >> TABLE_BITS == 0).then(|| table_of(first))
}

/// The entry of `vbn` in its table.
#[inline]
fn entry_of(vbn: Vbn) -> u32 {
    (vbn.0 & ((1 << TABLE_BITS) - 1)) as u32 + 1
}

impl PendingFrees {
    #[cfg(test)]
    fn contains(&self, vbn: Vbn) -> bool {
        let entry = entry_of(vbn);
        let held = |table: &Table| table.entries > 0 && table.slots[table.find(entry)] == entry;
        self.tables.get(table_of(vbn)).is_some_and(held)
    }

    #[cfg(test)]
    fn blocks(&self) -> usize {
        self.tables.iter().map(|table| table.entries).sum()
    }

    /// Adds `vbn`. Returns whether it was new.
    #[inline]
    pub(crate) fn insert(&mut self, vbn: Vbn) -> bool {
        let entry = std::iter::once(entry_of(vbn));
        self.table_with_room(table_of(vbn), 1).insert_all(entry) == 1
    }

    /// Adds the first of `vbns`, up to one that is in the set. Returns how many.
    #[inline]
    pub(crate) fn insert_all(&mut self, vbns: &[Vbn]) -> usize {
        match only_table(vbns) {
            Some(table) => {
                let entries = vbns.iter().map(|vbn| entry_of(*vbn));
                self.table_with_room(table, vbns.len()).insert_all(entries)
            }
            None => vbns.iter().take_while(|vbn| self.insert(**vbn)).count(),
        }
    }

    /// Announces that `vbns` will be added.
    #[inline]
    pub(crate) fn prefetch_all(&mut self, vbns: &[Vbn]) {
        if let Some(table) = only_table(vbns) {
            let slots = &self.table_with_room(table, vbns.len()).slots[..];
            for vbn in vbns {
                memory::prefetch(slots, home_of(entry_of(*vbn), slots.len()));
            }
        }
    }

    #[inline]
    fn table_with_room(&mut self, table: usize, entries: usize) -> &mut Table {
        if self.tables.get(table).is_none_or(|table| !table.has_room_for(entries)) {
            self.make_room(table, entries);
        }
        &mut self.tables[table]
    }

    #[cold]
    fn make_room(&mut self, table: usize, entries: usize) {
        if table >= self.tables.len() {
            self.tables.resize_with(table + 1, Table::default);
        }
        while !self.tables[table].has_room_for(entries) {
            self.tables[table].grow();
        }
    }

    /// Removes `vbn`.
    ///
    /// # Panics
    /// If it is not in the set.
    pub(crate) fn remove(&mut self, vbn: Vbn) {
        let table = self.tables.get_mut(table_of(vbn));
        let removed = table.is_some_and(|table| table.remove(entry_of(vbn)));
        assert!(removed, "{vbn} is not among the pending frees");
    }

    /// Empties the set. It keeps its memory, unless it had been much larger than it now was.
    pub(crate) fn clear(&mut self) {
        self.tables.iter_mut().for_each(Table::clear);
    }
}

/// Where the search for `entry` begins among so many `slots`. Blocks are often freed at equal distances, which a
/// multiplication alone would keep.
#[inline]
fn home_of(entry: u32, slots: usize) -> usize {
    let product = u64::from(entry ^ entry >> 15).wrapping_mul(SPREAD);
    (product >> 32) as usize & slots.wrapping_sub(1)
}

impl Table {
    /// Whether it stays at most half full with so many more.
    #[inline]
    fn has_room_for(&self, entries: usize) -> bool {
        (self.entries + entries) * 2 <= self.slots.len()
    }

    /// Adds the first of `entries`, for which there is room, up to one that is there. Returns how many.
    #[inline]
    fn insert_all(&mut self, entries: impl Iterator<Item = u32>) -> usize {
        let slots = &mut self.slots[..];
        let mut added = 0;
        'entries: for entry in entries {
            let mut slot = home_of(entry, slots.len());
            // A table is never full, so that the search ends.
            while slots[slot] != EMPTY {
                if slots[slot] == entry {
                    break 'entries;
                }
                slot = (slot + 1) & (slots.len() - 1);
            }
            slots[slot] = entry;
            added += 1;
        }
        self.entries += added;
        added
    }

    /// The slot of `entry`, or the empty one where it belongs.
    fn find(&self, entry: u32) -> usize {
        let mut slot = self.home_of(entry);
        while self.slots[slot] != EMPTY && self.slots[slot] != entry {
            slot = self.behind(slot);
        }
        slot
    }

    #[inline]
    fn home_of(&self, entry: u32) -> usize {
        home_of(entry, self.slots.len())
    }

    #[inline]
    fn behind(&self, slot: usize) -> usize {
        (slot + 1) & (self.slots.len() - 1)
    }

    /// Removes `entry`. Returns whether it was there.
    fn remove(&mut self, entry: u32) -> bool {
        if self.entries == 0 {
            return false;
        }
        let mut gap = self.find(entry);
        if self.slots[gap] == EMPTY {
            return false;
        }
        // What follows moves into the gap, unless its search begins behind it.
        let mut slot = self.behind(gap);
        while self.slots[slot] != EMPTY {
            let distance = |from: usize| slot.wrapping_sub(from) & (self.slots.len() - 1);
            if distance(self.home_of(self.slots[slot])) >= distance(gap) {
                self.slots[gap] = self.slots[slot];
                gap = slot;
            }
            slot = self.behind(slot);
        }
        self.slots[gap] = EMPTY;
        self.entries -= 1;
        true
    }

    fn clear(&mut self) {
        if self.entries * 64 < self.slots.len() {
            self.slots = Vec::new();
        } else {
            self.slots.fill(EMPTY);
        }
        self.entries = 0;
    }

    /// Twice as many slots.
    #[cold]
    fn grow(&mut self) {
        let slots = (self.slots.len() * 2).max(FEWEST_SLOTS);
        let before = std::mem::replace(&mut self.slots, vec![EMPTY; slots]);
        self.entries = 0;
        self.insert_all(before.into_iter().filter(|entry| *entry != EMPTY));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    proptest! {
        #[test]
        fn behaves_like_a_set(
            steps in prop::collection::vec((0u64..1 << 40, 1u64..3_000, 0u64..5, 0u8..8), 1..40),
        ) {
            let (mut set, mut model) = (PendingFrees::default(), HashSet::new());
            for (first, count, stride, step) in steps {
                let first = if step < 3 { first % 4_000 } else { first };
                let vbns = (0..count).map(|at| Vbn((first + at * stride * 4_097) % (1 << 40)));
                match step {
                    0 => {
                        set.clear();
                        model.clear();
                    }
                    1 | 4 => for vbn in vbns {
                        prop_assert_eq!(set.contains(vbn), model.contains(&vbn));
                        if model.remove(&vbn) {
                            set.remove(vbn);
                        }
                    },
                    _ => for vbn in vbns {
                        prop_assert_eq!(set.insert(vbn), model.insert(vbn), "{}", vbn);
                    },
                }
                prop_assert_eq!(set.blocks(), model.len());
                prop_assert!(model.iter().all(|vbn| set.contains(*vbn)));
            }
        }

        #[test]
        fn equal_steps_make_equal_tables(seed in 0u64..1_000) {
            let filled = || {
                let mut set = PendingFrees::default();
                let vbns = (0..20_000u64).map(|at| Vbn((seed + at * at * 4_097) % (1 << 33)));
                vbns.for_each(|vbn| {
                    set.insert(vbn);
                });
                set.tables.into_iter().map(|table| table.slots).collect::<Vec<_>>()
            };
            prop_assert_eq!(filled(), filled());
        }

        /// Searches that begin at one slot, at the end of the table as well, and go on at its beginning.
        #[test]
        fn entries_of_one_slot_follow_it(count in 9usize..200, home in 0usize..FEWEST_SLOTS, seed: u64) {
            let mut set = PendingFrees::default();
            for other in 0..40 {
                set.insert(Vbn(1 << 39 | other));
            }
            let shape = Table { slots: vec![EMPTY; FEWEST_SLOTS], entries: 0 };
            let vbns = (seed % (1 << 30)..).map(Vbn).filter(|vbn| shape.home_of(entry_of(*vbn)) == home);
            let vbns: Vec<Vbn> = vbns.take(count).collect();
            for &vbn in &vbns {
                prop_assert!(!set.contains(vbn));
                prop_assert!(set.insert(vbn) && !set.insert(vbn));
            }
            for &vbn in vbns.iter().step_by(2).chain(vbns.iter().skip(1).step_by(2)) {
                prop_assert!(set.contains(vbn));
                set.remove(vbn);
                prop_assert!(!set.contains(vbn));
                prop_assert!(set.insert(vbn), "it was removed");
                set.remove(vbn);
            }
            prop_assert_eq!(set.blocks(), 40);
        }
    }

    #[test]
    fn blocks_at_equal_distances_are_spread() {
        for distance in
            (0..31).map(|bits| 1u64 << bits).chain([3_728_256, 233_016, 41_472]).chain(1..3_000)
        {
            let mut set = PendingFrees::default();
            let blocks = (1 << TABLE_BITS) / distance;
            (0..blocks.min(20_000)).for_each(|block| {
                set.insert(Vbn(block * distance));
            });
            let table = &set.tables[0];
            let from_home = |(slot, entry): (usize, &u32)| match *entry {
                EMPTY => 0,
                entry => slot.wrapping_sub(table.home_of(entry)) & (table.slots.len() - 1),
            };
            let farthest = table.slots.iter().enumerate().map(from_home).max();
            assert!(farthest < Some(64), "{farthest:?} slots at a distance of {distance} blocks");
        }
    }
}
