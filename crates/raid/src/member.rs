//! The members of a stripe: its blocks by role.

use crate::small_set::small_set;
use std::fmt;

use strewn_base::state::SavedValue;

/// A block of a stripe, by its role and not by its spindle: data blocks are 0 to `n - 1`, row
/// parity is `n` and diagonal parity `n + 1`.
///
/// In a RAID-4 or RAID-DP group, member `i` lies on spindle `i`. If parity rotates, the two differ:
/// [`Stripe`](crate::Stripe) gives the spindle of each member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, SavedValue)]
pub struct Member(pub u8);

impl Member {
    /// The same number as an index into a slice with one entry per member.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for Member {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "block {}", self.0)
    }
}

small_set! {
    /// A set of the blocks of one stripe: bit `i` stands for member `i`, of at most 64.
    ///
    /// ```
    /// use strewn_raid::{Member, MemberSet};
    ///
    /// let set = MemberSet::first(3).with(Member(9));
    /// assert_eq!(set.len(), 4);
    /// assert_eq!(set.to_string(), "{0, 1, 2, 9}");
    /// ```
    MemberSet,
    /// The members of a [`MemberSet`] in ascending order.
    Members,
    Member(u8), "member", "members"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_counts_up_to_its_capacity() {
        for count in 0..=MemberSet::CAPACITY {
            let set = MemberSet::first(count);
            assert_eq!(set.len(), count);
            assert!(set.iter().map(|member| u16::from(member.0)).eq(0..count));
            assert!(!set.contains(Member(count as u8)));
        }
    }

    #[test]
    fn algebra() {
        let low = MemberSet::first(4);
        let pair: MemberSet = [Member(3), Member(63)].into_iter().collect();
        assert_eq!(low.union(pair).len(), 5);
        assert_eq!(low.intersection(pair), MemberSet::single(Member(3)));
        assert_eq!(low.difference(pair), MemberSet::first(3));
        assert!(!pair.is_subset(low) && MemberSet::EMPTY.is_subset(low));
        assert!(!low.contains(Member(u8::MAX)));
    }
}
