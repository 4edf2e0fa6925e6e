//! Which parity group of an aggregate.

/// A parity group of an aggregate, counted from 0 in the order in which they were added.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupIndex(pub u16);

impl GroupIndex {
    /// The same number, to index a slice with one entry a group.
    #[must_use]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}
