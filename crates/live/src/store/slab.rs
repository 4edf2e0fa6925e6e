//! Things by number, with numbers used again.

use std::ops::{Index, IndexMut};

/// Things of one kind. A number is used again once its thing is removed.
#[derive(Debug)]
pub(super) struct Slab<T> {
    slots: Vec<Option<T>>,
    free: Vec<usize>,
}

impl<T> Slab<T> {
    pub(super) fn new() -> Self {
        Self { slots: Vec::new(), free: Vec::new() }
    }

    pub(super) fn insert(&mut self, thing: T) -> usize {
        match self.free.pop() {
            Some(id) => {
                self.slots[id] = Some(thing);
                id
            }
            None => {
                self.slots.push(Some(thing));
                self.slots.len() - 1
            }
        }
    }

    pub(super) fn get(&self, id: usize) -> Option<&T> {
        self.slots.get(id).and_then(Option::as_ref)
    }

    pub(super) fn get_mut(&mut self, id: usize) -> Option<&mut T> {
        self.slots.get_mut(id).and_then(Option::as_mut)
    }

    pub(super) fn remove(&mut self, id: usize) -> Option<T> {
        let thing = self.slots.get_mut(id).and_then(Option::take);
        if thing.is_some() {
            self.free.push(id);
        }
        thing
    }

    pub(super) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// All things with their numbers.
    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, &T)> {
        self.slots.iter().enumerate().filter_map(|(id, slot)| Some((id, slot.as_ref()?)))
    }
}

impl<T> Index<usize> for Slab<T> {
    type Output = T;

    fn index(&self, id: usize) -> &T {
        self.get(id).expect("who has a number has the thing")
    }
}

impl<T> IndexMut<usize> for Slab<T> {
    fn index_mut(&mut self, id: usize) -> &mut T {
        self.get_mut(id).expect("who has a number has the thing")
    }
}
