//! Sets of spindles, one bit a spindle.

use crate::SpindleIndex;
use crate::small_set::small_set;

small_set! {
    /// A set of the first 64 spindles of a group: bit `i` stands for spindle `i`.
    ///
    /// ```
    /// use strewn_raid::{SpindleIndex, SpindleSet};
    ///
    /// let set = SpindleSet::first(3).with(SpindleIndex(9));
    /// assert_eq!(set.len(), 4);
    /// assert_eq!(set.to_string(), "{0, 1, 2, 9}");
    /// ```
    SpindleSet,
    /// The spindles of a [`SpindleSet`] in ascending order.
    Spindles,
    SpindleIndex(u16), "spindle", "spindles"
}

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
