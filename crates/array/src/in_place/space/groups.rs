//! One of each for every disk group of an array.

use std::ops::{Index, IndexMut};

use strewn_alloc::GroupIndex;
use strewn_base::state::SavedState;

/// One of each for every disk group, in the order of their spindles.
// Nearly every array has one, which costs no look-up here.
pub(crate) struct Groups<T> {
    first: T,
    further: Vec<T>,
}

impl<T> Groups<T> {
    /// `None` if there are no groups.
    pub(crate) fn new(mut all: impl Iterator<Item = T>) -> Option<Self> {
        Some(Self { first: all.next()?, further: all.collect() })
    }

    /// What goes with each group.
    pub(crate) fn map<U>(&self, mut of: impl FnMut(&T) -> U) -> Groups<U> {
        Groups { first: of(&self.first), further: self.further.iter().map(of).collect() }
    }

    #[inline(always)]
    pub(crate) fn get(&self, group: GroupIndex) -> Option<&T> {
        match group.index() {
            0 => Some(&self.first),
            further => self.further.get(further - 1),
        }
    }

    pub(crate) fn has_several(&self) -> bool {
        !self.further.is_empty()
    }

    #[inline(always)]
    pub(crate) fn indices(&self) -> impl Iterator<Item = GroupIndex> + use<T> {
        (0..=self.further.len() as u16).map(GroupIndex)
    }

    #[inline(always)]
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        std::iter::once(&self.first).chain(&self.further)
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        std::iter::once(&mut self.first).chain(&mut self.further)
    }

    /// Adds up a number of each group.
    #[inline(always)]
    pub(crate) fn sum(&self, of: impl Fn(&T) -> u64) -> u64 {
        self.further.iter().fold(of(&self.first), |sum, group| sum + of(group))
    }
}

impl<T> Index<GroupIndex> for Groups<T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, group: GroupIndex) -> &T {
        match group.index() {
            0 => &self.first,
            further => &self.further[further - 1],
        }
    }
}

impl<T> IndexMut<GroupIndex> for Groups<T> {
    #[inline(always)]
    fn index_mut(&mut self, group: GroupIndex) -> &mut T {
        match group.index() {
            0 => &mut self.first,
            further => &mut self.further[further - 1],
        }
    }
}

strewn_base::saved_state! {
    impl [T: SavedState] for Groups<T> {
        parts: first, further;
        values:;
        built:;
    }
}
