//! Ranges that overlap.

use std::ops::Range;

/// Returns whether two ranges, neither of them empty, have something in common. Ranges that touch have not.
///
/// ```
/// use strewn_base::overlap;
///
/// assert!(overlap(&(0..8), &(7..9)));
/// assert!(!overlap(&(0..8), &(8..9)));
/// ```
#[inline]
pub fn overlap<T: PartialOrd>(one: &Range<T>, other: &Range<T>) -> bool {
    one.start < other.end && other.start < one.end
}
