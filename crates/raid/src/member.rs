//! The blocks of a stripe by their part in it.

use std::fmt;

/// A block of a stripe, by its part in it and not by the spindle it lies on: data blocks are 0
/// to `n - 1`, row parity is `n` and diagonal parity `n + 1`.
///
/// In a RAID-4 or RAID-DP group member `i` lies on spindle `i`. Where parity rotates the two
/// differ: [`Stripe`](crate::Stripe) says which spindle holds which member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Member(pub u8);

impl Member {
    /// The same number, to index a slice with one entry a member.
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

/// A set of the blocks of one stripe: bit `i` stands for member `i`, of at most 64.
///
/// ```
/// use strewn_raid::{Member, MemberSet};
///
/// let set = MemberSet::first(3).with(Member(9));
/// assert_eq!(set.len(), 4);
/// assert_eq!(set.to_string(), "{0, 1, 2, 9}");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MemberSet(pub u64);

impl MemberSet {
    /// The set of no members.
    pub const EMPTY: Self = Self(0);

    /// How many members a set can tell apart.
    pub const CAPACITY: u16 = 64;

    /// The set of one member.
    ///
    /// # Panics
    ///
    /// If `member` is 64 or above.
    #[inline]
    pub const fn single(member: Member) -> Self {
        assert!((member.0 as u16) < Self::CAPACITY, "a member set holds members 0 to 63");
        Self(1 << member.0)
    }

    /// Members 0 to `count - 1`.
    ///
    /// # Panics
    ///
    /// If `count` is above 64.
    #[inline]
    pub const fn first(count: u16) -> Self {
        assert!(count <= Self::CAPACITY, "a member set holds 64 members");
        match count {
            0 => Self::EMPTY,
            _ => Self(u64::MAX >> (Self::CAPACITY - count)),
        }
    }

    /// This set and `member`.
    ///
    /// # Panics
    ///
    /// If `member` is 64 or above.
    #[inline]
    #[must_use]
    pub const fn with(self, member: Member) -> Self {
        self.union(Self::single(member))
    }

    /// Whether `member` is in the set.
    #[inline]
    pub const fn contains(self, member: Member) -> bool {
        (member.0 as u16) < Self::CAPACITY && self.0 >> member.0 & 1 == 1
    }

    /// The number of members in the set.
    #[inline]
    pub const fn len(self) -> u16 {
        self.0.count_ones() as u16
    }

    /// Whether no member is in the set.
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Members in either set.
    #[inline]
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Members in both sets.
    #[inline]
    #[must_use]
    pub const fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Members in this set and not in `other`.
    #[inline]
    #[must_use]
    pub const fn difference(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether every member of this set is in `other`.
    #[inline]
    pub const fn is_subset(self, other: Self) -> bool {
        self.difference(other).is_empty()
    }

    /// The members of the set in ascending order.
    #[inline]
    pub fn iter(self) -> impl Iterator<Item = Member> + Clone {
        let mut left = self.0;
        std::iter::from_fn(move || {
            let member = Member(left.trailing_zeros() as u8);
            (left != 0).then(|| {
                left &= left - 1;
                member
            })
        })
    }
}

impl FromIterator<Member> for MemberSet {
    /// # Panics
    ///
    /// If a member is 64 or above.
    fn from_iter<I: IntoIterator<Item = Member>>(members: I) -> Self {
        members.into_iter().fold(Self::EMPTY, Self::with)
    }
}

impl fmt::Display for MemberSet {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("{")?;
        for (position, member) in self.iter().enumerate() {
            if position > 0 {
                formatter.write_str(", ")?;
            }
            write!(formatter, "{}", member.0)?;
        }
        formatter.write_str("}")
    }
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
