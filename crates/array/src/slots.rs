//! Numbered places for what is under way.

use std::ops::{Index, IndexMut};

use strewn_base::state::{SavedValue, StateError, StateReader, StateWriter};

/// Elements by the number of their slot. A slot that becomes free is the next to be used.
///
/// As in the crate `slab`, whose free slots cannot be saved: an array that is restored must give out the same numbers.
#[derive(Debug, Clone)]
pub struct Slots<T> {
    slots: Vec<Slot<T>>,
    used: usize,
    /// The next slot to use; that after the last if none is free.
    next: usize,
}

#[derive(Debug, Clone, SavedValue)]
enum Slot<T> {
    Used(T),
    /// With the slot to use after this one.
    Free(usize),
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Slots<T> {
    /// Slots without elements.
    #[must_use]
    pub const fn new() -> Self {
        Self { slots: Vec::new(), used: 0, next: 0 }
    }

    /// Elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.used
    }

    /// Whether there is no element.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// Puts an element into a free slot. Returns its number.
    #[inline(always)]
    pub fn insert(&mut self, element: T) -> usize {
        let slot = self.next;
        self.used += 1;
        if slot == self.slots.len() {
            self.slots.push(Slot::Used(element));
            self.next = slot + 1;
        } else {
            self.next = match self.slots.get(slot) {
                Some(&Slot::Free(next)) => next,
                _ => unreachable!(),
            };
            self.slots[slot] = Slot::Used(element);
        }
        slot
    }

    /// The element in a slot, if there is one.
    #[inline(always)]
    #[must_use]
    pub fn get(&self, slot: usize) -> Option<&T> {
        match self.slots.get(slot) {
            Some(Slot::Used(element)) => Some(element),
            _ => None,
        }
    }

    /// Takes the element out of a slot.
    ///
    /// # Panics
    /// If there is none.
    #[inline(always)]
    pub fn remove(&mut self, slot: usize) -> T {
        if let Some(place) = self.slots.get_mut(slot)
            && let Slot::Used(_) = place
        {
            let element = match std::mem::replace(place, Slot::Free(self.next)) {
                Slot::Used(element) => element,
                Slot::Free(_) => unreachable!(),
            };
            self.used -= 1;
            self.next = slot;
            return element;
        }
        panic_for_free(slot)
    }

    /// Takes out the elements that `is_kept` refuses, from the lowest slot on.
    pub(crate) fn retain(&mut self, mut is_kept: impl FnMut(usize, &mut T) -> bool) {
        for slot in 0..self.slots.len() {
            if let Slot::Used(element) = &mut self.slots[slot]
                && !is_kept(slot, element)
            {
                self.remove(slot);
            }
        }
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::new();
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &T)> {
        self.slots.iter().enumerate().filter_map(|(number, slot)| match slot {
            Slot::Used(element) => Some((number, element)),
            Slot::Free(_) => None,
        })
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.slots.iter_mut().filter_map(|slot| match slot {
            Slot::Used(element) => Some(element),
            Slot::Free(_) => None,
        })
    }
}

/// Apart, so that the number of a slot can stay in a register where one is used.
#[cold]
#[inline(never)]
fn panic_for_free(slot: usize) -> ! {
    panic!("slot {slot} is free")
}

impl<T> Index<usize> for Slots<T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, slot: usize) -> &T {
        match self.slots.get(slot) {
            Some(Slot::Used(element)) => element,
            _ => panic_for_free(slot),
        }
    }
}

impl<T> IndexMut<usize> for Slots<T> {
    #[inline(always)]
    fn index_mut(&mut self, slot: usize) -> &mut T {
        match self.slots.get_mut(slot) {
            Some(Slot::Used(element)) => element,
            _ => panic_for_free(slot),
        }
    }
}

impl<T: SavedValue> SavedValue for Slots<T> {
    fn write(&self, to: &mut StateWriter<'_>) -> Result<(), StateError> {
        let Self { slots, used, next } = self;
        to.value(slots)?;
        to.value(used)?;
        to.value(next)
    }

    /// Reads slots whose free ones are a chain that ends behind the last slot.
    fn read(from: &mut StateReader<'_>) -> Result<Self, StateError> {
        let slots: Vec<Slot<T>> = from.value()?;
        let (used, next) = from.value()?;
        let free = slots.iter().filter(|slot| matches!(slot, Slot::Free(_))).count();
        let mut at = next;
        for _ in 0..free {
            at = match slots.get(at) {
                Some(Slot::Free(next)) => *next,
                _ => return Err(StateError::inconsistent("a free slot leads to none")),
            };
        }
        match at == slots.len() && used == slots.len() - free {
            true => Ok(Self { slots, used, next }),
            false => Err(StateError::inconsistent("free slots are in no order")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slot_that_became_free_last_is_used_first() {
        let mut slots = Slots::new();
        assert_eq!([slots.insert('a'), slots.insert('b'), slots.insert('c')], [0, 1, 2]);
        assert_eq!((slots.remove(0), slots.remove(2)), ('a', 'c'));
        assert_eq!((slots.len(), slots.get(0), slots[1]), (1, None, 'b'));
        assert_eq!([slots.insert('d'), slots.insert('e'), slots.insert('f')], [2, 0, 3]);
        slots.retain(|slot, _| slot != 1);
        assert_eq!(
            slots.iter().map(|(slot, one)| (slot, *one)).collect::<Vec<_>>(),
            [(0, 'e'), (2, 'd'), (3, 'f')]
        );
    }
}
