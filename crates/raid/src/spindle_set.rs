//! Sets of spindles, one bit a spindle.

use crate::SpindleIndex;
use std::fmt;

/// A set of the first 64 spindles of a group: bit `i` stands for spindle `i`.
///
/// ```
/// use strewn_raid::{SpindleIndex, SpindleSet};
///
/// let set = SpindleSet::first(3).with(SpindleIndex(9));
/// assert_eq!(set.len(), 4);
/// assert_eq!(set.to_string(), "{0, 1, 2, 9}");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SpindleSet(pub u64);

impl SpindleSet {
    /// The set of no spindles.
    pub const EMPTY: Self = Self(0);

    /// How many spindles a set can tell apart.
    pub const CAPACITY: u16 = 64;

    /// The set of one spindle.
    ///
    /// # Panics
    ///
    /// If `spindle` is 64 or above.
    #[inline]
    pub const fn single(spindle: SpindleIndex) -> Self {
        assert!(spindle.0 < Self::CAPACITY, "a spindle set holds spindles 0 to 63");
        Self(1 << spindle.0)
    }

    /// Spindles 0 to `count - 1`.
    ///
    /// # Panics
    ///
    /// If `count` is above 64.
    #[inline]
    pub const fn first(count: u16) -> Self {
        assert!(count <= Self::CAPACITY, "a spindle set holds 64 spindles");
        match count {
            0 => Self::EMPTY,
            _ => Self(u64::MAX >> (Self::CAPACITY - count)),
        }
    }

    /// This set and `spindle`.
    ///
    /// # Panics
    ///
    /// If `spindle` is 64 or above.
    #[inline]
    #[must_use]
    pub const fn with(self, spindle: SpindleIndex) -> Self {
        self.union(Self::single(spindle))
    }

    /// Adds `spindle`.
    ///
    /// # Panics
    ///
    /// If `spindle` is 64 or above.
    #[inline]
    pub fn insert(&mut self, spindle: SpindleIndex) {
        *self = self.with(spindle);
    }

    /// Whether `spindle` is in the set.
    #[inline]
    pub const fn contains(self, spindle: SpindleIndex) -> bool {
        spindle.0 < Self::CAPACITY && self.0 >> spindle.0 & 1 == 1
    }

    /// The number of spindles in the set.
    #[inline]
    pub const fn len(self) -> u16 {
        self.0.count_ones() as u16
    }

    /// Whether no spindle is in the set.
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Spindles in either set.
    #[inline]
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Spindles in both sets.
    #[inline]
    #[must_use]
    pub const fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Spindles in this set and not in `other`.
    #[inline]
    #[must_use]
    pub const fn difference(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether every spindle of this set is in `other`.
    #[inline]
    pub const fn is_subset(self, other: Self) -> bool {
        self.difference(other).is_empty()
    }

    /// The spindles of the set in ascending order.
    #[inline]
    pub const fn iter(self) -> Spindles {
        Spindles(self.0)
    }
}

impl IntoIterator for SpindleSet {
    type Item = SpindleIndex;
    type IntoIter = Spindles;

    #[inline]
    fn into_iter(self) -> Spindles {
        self.iter()
    }
}

impl FromIterator<SpindleIndex> for SpindleSet {
    /// # Panics
    ///
    /// If a spindle is 64 or above.
    fn from_iter<I: IntoIterator<Item = SpindleIndex>>(spindles: I) -> Self {
        spindles.into_iter().fold(Self::EMPTY, Self::with)
    }
}

impl fmt::Display for SpindleSet {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("{")?;
        for (position, spindle) in self.iter().enumerate() {
            if position > 0 {
                formatter.write_str(", ")?;
            }
            write!(formatter, "{}", spindle.0)?;
        }
        formatter.write_str("}")
    }
}

/// The spindles of a [`SpindleSet`] in ascending order.
#[derive(Clone, Debug)]
pub struct Spindles(u64);

impl Iterator for Spindles {
    type Item = SpindleIndex;

    #[inline]
    fn next(&mut self) -> Option<SpindleIndex> {
        if self.0 == 0 {
            return None;
        }
        let spindle = SpindleIndex(self.0.trailing_zeros() as u16);
        self.0 &= self.0 - 1;
        Some(spindle)
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.0.count_ones() as usize;
        (left, Some(left))
    }
}

impl ExactSizeIterator for Spindles {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_counts_up_to_its_capacity() {
        for count in 0..=SpindleSet::CAPACITY {
            let set = SpindleSet::first(count);
            assert_eq!(set.len(), count);
            assert!(set.iter().map(|spindle| spindle.0).eq(0..count));
            assert!(!set.contains(SpindleIndex(count)));
        }
    }

    #[test]
    fn algebra() {
        let low = SpindleSet::first(4);
        let pair: SpindleSet = [SpindleIndex(3), SpindleIndex(63)].into_iter().collect();
        assert_eq!(low.union(pair).len(), 5);
        assert_eq!(low.intersection(pair), SpindleSet::single(SpindleIndex(3)));
        assert_eq!(low.difference(pair), SpindleSet::first(3));
        assert!(!pair.is_subset(low) && SpindleSet::EMPTY.is_subset(low));
        assert!(!low.contains(SpindleIndex(u16::MAX)));
        assert_eq!(pair.iter().len(), 2);
    }

    #[test]
    #[should_panic(expected = "spindles 0 to 63")]
    fn spindle_64_does_not_fit() {
        let _ = SpindleSet::single(SpindleIndex(64));
    }
}
