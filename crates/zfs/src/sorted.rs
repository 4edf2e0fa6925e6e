//! Elements in ascending order, for queues of drives.

use std::collections::VecDeque;

use strewn_base::state::SavedValue;

/// Distinct elements in ascending order.
///
/// A queue of a drive has tens of elements, which come behind most others and leave from the front. Moving what is on
/// the shorter side costs less then than a tree.
#[derive(Debug, Clone, SavedValue)]
pub struct Sorted<T> {
    elements: VecDeque<T>,
}

impl<T> Default for Sorted<T> {
    fn default() -> Self {
        Self { elements: VecDeque::new() }
    }
}

impl<T: Ord + Copy> Sorted<T> {
    /// Elements.
    #[inline]
    pub fn len(&self) -> usize {
        self.elements.len()
    }

    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.elements.is_empty()
    }

    /// The least one.
    #[inline]
    pub fn first(&self) -> Option<T> {
        self.elements.front().copied()
    }

    /// The one at a position.
    #[inline]
    pub fn get(&self, position: usize) -> Option<T> {
        self.elements.get(position).copied()
    }

    /// All.
    pub fn iter(&self) -> impl Iterator<Item = T> + '_ {
        self.elements.iter().copied()
    }

    /// The position of the first that is not less than `element`, which need not be there.
    #[inline]
    pub fn position(&self, element: T) -> usize {
        match self.elements.front() {
            Some(first) if *first < element => {
                self.elements.partition_point(|other| *other < element)
            }
            _ => 0,
        }
    }

    /// Adds an element.
    #[inline]
    pub fn insert(&mut self, element: T) {
        match self.elements.back() {
            Some(last) if *last > element => {
                self.elements.insert(self.position(element), element);
            }
            _ => self.elements.push_back(element),
        }
    }

    /// Removes an element, which is there.
    #[inline]
    pub fn remove(&mut self, element: T) {
        let position = self.position(element);
        let removed = self.elements.remove(position);
        debug_assert!(removed == Some(element), "it is there");
    }

    /// Removes the one at a position.
    #[inline]
    pub fn remove_at(&mut self, position: usize) -> Option<T> {
        self.elements.remove(position)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use strewn_base::Rng;

    use super::*;

    #[test]
    fn elements_are_those_of_a_tree_in_its_order() {
        for seed in 0..50 {
            let mut rng = Rng::new(seed);
            let (mut sorted, mut tree) = (Sorted::default(), BTreeSet::new());
            for _ in 0..300 {
                let element = rng.below(40);
                match tree.insert(element) {
                    true => sorted.insert(element),
                    false => {
                        tree.remove(&element);
                        sorted.remove(element);
                    }
                }
                assert!(sorted.iter().eq(tree.iter().copied()), "seed {seed}");
                assert_eq!(sorted.first(), tree.first().copied(), "seed {seed}");
                let from = rng.below(40);
                let next = sorted.get(sorted.position(from));
                assert_eq!(next, tree.range(from..).next().copied(), "seed {seed}");
            }
        }
    }
}
