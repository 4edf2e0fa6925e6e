//! A persistent tree: a copy of its root is a copy of all of it.

use std::sync::Arc;

use super::names::{NodeId, StoredAs};

/// Entries of a node. A block of 4 KiB would hold 512; in memory small nodes copy less: when one block in 200 at random
/// has changed since a snapshot, 92 of 100 nodes of 512 entries have been copied, and 27 of 100 nodes of 64.
pub(crate) const FANOUT: u64 = 64;
pub(crate) const FANOUT_BITS: u32 = FANOUT.trailing_zeros();

/// A sparse map from 64-bit indexes, copied on write (Driscoll, Sarnak, Sleator and Tarjan, "Making Data Structures
/// Persistent", 1989; the tree of blocks that Hitz, Lau and Malcolm describe for WAFL, USENIX 1994).
///
/// A clone shares every node; a change copies the shared nodes on its path. The height follows from the highest index:
/// O(log₆₄) for everything that takes an index. Empty nodes are dropped.
#[derive(Debug)]
pub(crate) struct Tree<V> {
    root: Option<Arc<Node<V>>>,
    /// Levels of nodes, the leaves one of them.
    levels: u32,
}

#[expect(
    clippy::large_enum_variant,
    reason = "values are as large as pointers: all nodes are the same size"
)]
#[derive(Debug, Clone)]
pub(crate) enum Node<V> {
    Leaf(Slots<V>),
    Inner(Slots<Arc<Node<V>>>),
}

#[derive(Debug, Clone)]
pub(crate) struct Slots<T> {
    used: u16,
    pub(crate) stored_as: StoredAs,
    pub(crate) slots: [Option<T>; FANOUT as usize],
}

impl<T> Slots<T> {
    fn empty() -> Self {
        let stored_as = StoredAs::default();
        Self { used: 0, stored_as, slots: [const { None }; FANOUT as usize] }
    }

    fn put(&mut self, slot: usize, value: T) -> Option<T> {
        let before = self.slots[slot].replace(value);
        self.used += u16::from(before.is_none());
        before
    }

    fn take(&mut self, slot: usize) -> Option<T> {
        let before = self.slots[slot].take();
        self.used -= u16::from(before.is_some());
        before
    }

    /// Slots as read from storage.
    pub(crate) fn stored(id: NodeId, slots: [Option<T>; FANOUT as usize]) -> Self {
        let used = slots.iter().flatten().count() as u16;
        Self { used, stored_as: StoredAs::from(id), slots }
    }

    /// What the slots hold.
    pub(crate) fn into_values(self) -> impl Iterator<Item = T> {
        self.slots.into_iter().flatten()
    }
}

impl<V> Node<V> {
    pub(crate) fn stored_as(&self) -> &StoredAs {
        match self {
            Self::Leaf(leaf) => &leaf.stored_as,
            Self::Inner(inner) => &inner.stored_as,
        }
    }
}

impl<V> Clone for Tree<V> {
    /// O(1): the clone shares every node.
    fn clone(&self) -> Self {
        Self { root: self.root.clone(), levels: self.levels }
    }
}

impl<V> Default for Tree<V> {
    fn default() -> Self {
        Self { root: None, levels: 0 }
    }
}

/// The slot of `index` in a node with `level` levels below it.
fn slot_at(index: u64, level: u32) -> usize {
    (index >> (FANOUT_BITS * level)) as usize % FANOUT as usize
}

impl<V> Tree<V> {
    /// A tree as read from storage.
    pub(crate) fn from_root(root: Arc<Node<V>>, levels: u32) -> Self {
        Self { root: Some(root), levels }
    }

    pub(crate) fn root(&self) -> Option<&Arc<Node<V>>> {
        self.root.as_ref()
    }

    /// Levels of nodes, the leaves one of them.
    pub(crate) fn levels(&self) -> u32 {
        self.levels
    }

    /// The root, for taking the tree apart.
    pub(crate) fn into_root(self) -> Option<Arc<Node<V>>> {
        self.root
    }

    fn covers(&self, index: u64) -> bool {
        let bits = FANOUT_BITS * self.levels;
        self.root.is_some() && (bits >= u64::BITS || index >> bits == 0)
    }

    pub(crate) fn get(&self, index: u64) -> Option<&V> {
        if !self.covers(index) {
            return None;
        }
        let mut node = self.root.as_deref()?;
        for level in (0..self.levels).rev() {
            match node {
                Node::Leaf(leaf) => return leaf.slots[slot_at(index, 0)].as_ref(),
                Node::Inner(inner) => node = inner.slots[slot_at(index, level)].as_deref()?,
            }
        }
        None
    }

    /// The first entry from `index` on.
    pub(crate) fn next_from(&self, index: u64) -> Option<(u64, &V)> {
        if !self.covers(index) {
            return None;
        }
        next_from(self.root.as_deref()?, self.levels - 1, index)
    }

    /// The entries from `index` on, in ascending order.
    pub(crate) fn iter_from(&self, index: u64) -> impl Iterator<Item = (u64, &V)> {
        let mut from = Some(index);
        std::iter::from_fn(move || {
            let (index, value) = self.next_from(from?)?;
            from = index.checked_add(1);
            Some((index, value))
        })
    }
}

fn next_from<V>(node: &Node<V>, level: u32, from: u64) -> Option<(u64, &V)> {
    let first = slot_at(from, level);
    match node {
        Node::Leaf(leaf) => leaf.slots[first..]
            .iter()
            .zip(first as u64..)
            .find_map(|(value, slot)| value.as_ref().map(|value| (slot, value))),
        Node::Inner(inner) => {
            let bits = FANOUT_BITS * level;
            for (child, slot) in inner.slots[first..].iter().zip(first as u64..) {
                let Some(child) = child else { continue };
                let within = if slot == first as u64 { from & ((1 << bits) - 1) } else { 0 };
                if let Some((index, value)) = next_from(child, level - 1, within) {
                    return Some((slot << bits | index, value));
                }
            }
            None
        }
    }
}

impl<V: Clone> Tree<V> {
    /// The entry at `index`, to be changed in place; what is shared on the way is copied.
    pub(crate) fn get_mut(&mut self, index: u64) -> Option<&mut V> {
        self.get(index)?;
        let mut node = self.root.as_mut()?;
        for level in (0..self.levels).rev() {
            match Arc::make_mut(node) {
                Node::Leaf(leaf) => return leaf.slots[slot_at(index, 0)].as_mut(),
                Node::Inner(inner) => node = inner.slots[slot_at(index, level)].as_mut()?,
            }
        }
        None
    }

    /// Puts `value` at `index`; returns what was there.
    pub(crate) fn replace(&mut self, index: u64, value: V) -> Option<V> {
        while !self.covers(index) {
            let above = match self.root.take() {
                None => {
                    let bits = (u64::BITS - index.leading_zeros()).max(1);
                    self.levels = bits.div_ceil(FANOUT_BITS);
                    new_node(self.levels - 1)
                }
                Some(root) => {
                    let mut slots = Slots::empty();
                    slots.put(0, root);
                    self.levels += 1;
                    Node::Inner(slots)
                }
            };
            self.root = Some(Arc::new(above));
        }
        put(self.root.as_mut()?, self.levels - 1, index, value)
    }

    /// Takes away what is at `index`; nothing is copied if there is nothing.
    pub(crate) fn remove(&mut self, index: u64) -> Option<V> {
        self.get(index)?;
        let (removed, is_empty) = take(self.root.as_mut()?, self.levels - 1, index);
        if is_empty {
            *self = Self::default();
        }
        removed
    }
}

fn new_node<V>(level: u32) -> Node<V> {
    if level == 0 { Node::Leaf(Slots::empty()) } else { Node::Inner(Slots::empty()) }
}

fn put<V: Clone>(node: &mut Arc<Node<V>>, level: u32, index: u64, value: V) -> Option<V> {
    let slot = slot_at(index, level);
    match Arc::make_mut(node) {
        Node::Leaf(leaf) => leaf.put(slot, value),
        Node::Inner(inner) => {
            inner.used += u16::from(inner.slots[slot].is_none());
            let child = inner.slots[slot].get_or_insert_with(|| Arc::new(new_node(level - 1)));
            put(child, level - 1, index, value)
        }
    }
}

/// What was taken, and whether the node is empty now.
fn take<V: Clone>(node: &mut Arc<Node<V>>, level: u32, index: u64) -> (Option<V>, bool) {
    let slot = slot_at(index, level);
    match Arc::make_mut(node) {
        Node::Leaf(leaf) => (leaf.take(slot), leaf.used == 0),
        Node::Inner(inner) => {
            let Some(child) = inner.slots[slot].as_mut() else { return (None, false) };
            let (removed, child_is_empty) = take(child, level - 1, index);
            if child_is_empty {
                inner.take(slot);
            }
            (removed, inner.used == 0)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use proptest::prelude::*;

    /// Indexes that fall together, apart, and to the very end.
    fn any_index() -> impl Strategy<Value = u64> {
        prop_oneof![
            4 => 0..40u64,
            2 => 500..530u64,
            2 => 0..1_000_000u64,
            1 => any::<u64>(),
            1 => Just(u64::MAX),
        ]
    }

    proptest! {
        #[test]
        fn a_tree_and_its_copies_are_maps(
            steps in prop::collection::vec((any_index(), prop::option::weighted(0.6, any::<u16>())), 1..120),
            copies in prop::collection::vec(any::<prop::sample::Index>(), 3),
            probe in any_index(),
        ) {
            let (mut tree, mut map) = (Tree::default(), BTreeMap::new());
            let copies: Vec<_> = copies.iter().map(|index| index.index(steps.len())).collect();
            let mut kept = Vec::new();
            for (step, (index, value)) in steps.iter().enumerate() {
                match value {
                    Some(value) => prop_assert_eq!(tree.replace(*index, *value), map.insert(*index, *value)),
                    None => prop_assert_eq!(tree.remove(*index), map.remove(index)),
                }
                if let Some(value) = tree.get_mut(probe) {
                    *value = value.wrapping_add(1);
                    map.entry(probe).and_modify(|value| *value = value.wrapping_add(1));
                }
                prop_assert_eq!(tree.get(*index), map.get(index));
                if copies.contains(&step) {
                    kept.push((tree.clone(), map.clone()));
                }
            }
            kept.push((tree, map));
            for (tree, map) in kept {
                prop_assert!(tree.iter_from(0).eq(map.iter().map(|(index, value)| (*index, value))));
                prop_assert!(tree.iter_from(probe).eq(map.range(probe..).map(|(index, value)| (*index, value))));
                prop_assert_eq!(tree.root.is_none(), map.is_empty());
            }
        }
    }
}
