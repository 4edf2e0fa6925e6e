//! Where the pages of one map lie: a sparse array of pointers, in as few levels as its last page needs.

use std::collections::BTreeMap;

use super::page::{FANOUT, PagePointer};

/// The pointers to the pages of a map (level 0), and to the pages that hold pointers. The top level has one page, which
/// a volume or the root leads to.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct PageArray {
    levels: Vec<BTreeMap<u64, PagePointer>>,
}

/// What leads to an array.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct ArrayRoot {
    pub(crate) levels: u8,
    pub(crate) top: Option<PagePointer>,
}

impl PageArray {
    /// What leads to the array. An array without pages keeps its levels, which are not saved.
    pub(crate) fn root(&self) -> ArrayRoot {
        let top = self.levels.last().and_then(|top| top.get(&0).copied());
        top.map_or_else(ArrayRoot::default, |pointer| ArrayRoot {
            levels: self.levels.len() as u8,
            top: Some(pointer),
        })
    }

    /// Adds levels until `index` has a place. Returns those that were added above the pages of the map.
    pub(crate) fn reach(&mut self, index: u64) -> Vec<u8> {
        let had = self.levels.len();
        let (mut needed, mut rest) = (1, index);
        while rest > 0 {
            rest /= FANOUT;
            needed += 1;
        }
        while self.levels.len() < needed {
            self.levels.push(BTreeMap::new());
        }
        (had.max(1)..self.levels.len()).map(|level| level as u8).collect()
    }

    /// An array of `levels` levels, to be filled.
    pub(crate) fn with_levels(levels: u8) -> Self {
        Self { levels: vec![BTreeMap::new(); usize::from(levels)] }
    }

    /// Removes upper levels that hold nothing.
    pub(crate) fn trim(&mut self) {
        while self.levels.last().is_some_and(BTreeMap::is_empty) {
            self.levels.pop();
        }
    }

    pub(crate) fn top_level(&self) -> u8 {
        (self.levels.len() as u8).saturating_sub(1)
    }

    pub(crate) fn get(&self, level: u8, index: u64) -> Option<PagePointer> {
        self.levels.get(usize::from(level))?.get(&index).copied()
    }

    /// Puts a pointer or removes it. Returns what was there.
    pub(crate) fn set(
        &mut self,
        level: u8,
        index: u64,
        pointer: Option<PagePointer>,
    ) -> Option<PagePointer> {
        let level = self.levels.get_mut(usize::from(level))?;
        match pointer {
            Some(pointer) => level.insert(index, pointer),
            None => level.remove(&index),
        }
    }

    /// The pointers on page `index` of `level`, which is at least 1, each with its place on the page.
    pub(crate) fn pointers_of(
        &self,
        level: u8,
        index: u64,
    ) -> impl Iterator<Item = (u64, PagePointer)> + '_ {
        let first = index * FANOUT;
        let below = self.levels.get(usize::from(level) - 1);
        let below = below.into_iter().flat_map(move |level| level.range(first..first + FANOUT));
        below.map(move |(index, pointer)| (index - first, *pointer))
    }

    /// Pages on all levels.
    pub(crate) fn len(&self) -> u64 {
        self.levels.iter().map(|level| level.len() as u64).sum()
    }

    /// All pages: level, index, pointer.
    pub(crate) fn pages(&self) -> impl Iterator<Item = (u8, u64, PagePointer)> + '_ {
        (0u8..).zip(&self.levels).flat_map(|(level, pages)| {
            pages.iter().map(move |(index, pointer)| (level, *index, *pointer))
        })
    }
}
