//! The number of a parity group in an aggregate.

use strewn_base::state::SavedValue;

/// A parity group of an aggregate, numbered from 0 in the order of addition.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, SavedValue)]
pub struct GroupIndex(pub u16);

impl GroupIndex {
    /// The same number as an index into a slice with one entry per group.
    #[must_use]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}
