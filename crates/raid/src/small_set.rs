//! Sets of few things that are counted from 0: spindles of a group, blocks of a stripe.

/// Makes a set of up to 64 `$index`, a newtype of an unsigned number, as one bit each of its public `u64`; and the
/// iterator over it. `$one` and `$many` are their names in words.
macro_rules! small_set {
    (
        $(#[$set_attribute:meta])* $set:ident,
        $(#[$iterator_attribute:meta])* $iterator:ident,
        $index:ident($number:ty), $one:literal, $many:literal
    ) => {
        $(#[$set_attribute])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, strewn_base::state::SavedValue)]
        pub struct $set(pub u64);

        impl $set {
            #[doc = concat!("The set of no ", $many, ".")]
            pub const EMPTY: Self = Self(0);

            #[doc = concat!("How many ", $many, " a set can tell apart.")]
            pub const CAPACITY: u16 = 64;

            #[doc = concat!("The set of one ", $one, ".")]
            ///
            /// # Panics
            ///
            /// If its number is 64 or above.
            #[inline]
            pub const fn single(one: $index) -> Self {
                assert!(
                    (one.0 as u16) < Self::CAPACITY,
                    concat!("a set of ", $many, " holds ", $many, " 0 to 63")
                );
                Self(1 << one.0)
            }

            #[doc = concat!("The ", $many, " 0 to `count - 1`.")]
            ///
            /// # Panics
            ///
            /// If `count` is above 64.
            #[inline]
            pub const fn first(count: u16) -> Self {
                assert!(count <= Self::CAPACITY, concat!("a set of ", $many, " holds 64 of them"));
                match count {
                    0 => Self::EMPTY,
                    _ => Self(u64::MAX >> (Self::CAPACITY - count)),
                }
            }

            #[doc = concat!("This set and one ", $one, " more.")]
            ///
            /// # Panics
            ///
            /// If its number is 64 or above.
            #[inline]
            #[must_use]
            pub const fn with(self, one: $index) -> Self {
                self.union(Self::single(one))
            }

            #[doc = concat!("Adds one ", $one, ".")]
            ///
            /// # Panics
            ///
            /// If its number is 64 or above.
            #[inline]
            pub const fn insert(&mut self, one: $index) {
                *self = self.with(one);
            }

            #[doc = concat!("Whether this ", $one, " is in the set.")]
            #[inline]
            pub const fn contains(self, one: $index) -> bool {
                (one.0 as u16) < Self::CAPACITY && self.0 >> one.0 & 1 == 1
            }

            #[doc = concat!("The number of ", $many, " in the set.")]
            #[inline]
            pub const fn len(self) -> u16 {
                self.0.count_ones() as u16
            }

            #[doc = concat!("Whether no ", $one, " is in the set.")]
            #[inline]
            pub const fn is_empty(self) -> bool {
                self.0 == 0
            }

            #[doc = concat!("The ", $many, " in either set.")]
            #[inline]
            #[must_use]
            pub const fn union(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }

            #[doc = concat!("The ", $many, " in both sets.")]
            #[inline]
            #[must_use]
            pub const fn intersection(self, other: Self) -> Self {
                Self(self.0 & other.0)
            }

            #[doc = concat!("The ", $many, " in this set and not in `other`.")]
            #[inline]
            #[must_use]
            pub const fn difference(self, other: Self) -> Self {
                Self(self.0 & !other.0)
            }

            #[doc = concat!("Whether every ", $one, " of this set is in `other`.")]
            #[inline]
            pub const fn is_subset(self, other: Self) -> bool {
                self.difference(other).is_empty()
            }

            #[doc = concat!("The ", $many, " of the set in ascending order.")]
            #[inline]
            pub const fn iter(self) -> $iterator {
                $iterator(self.0)
            }
        }

        impl IntoIterator for $set {
            type Item = $index;
            type IntoIter = $iterator;

            #[inline]
            fn into_iter(self) -> $iterator {
                self.iter()
            }
        }

        impl FromIterator<$index> for $set {
            /// # Panics
            ///
            /// If a number is 64 or above.
            fn from_iter<I: IntoIterator<Item = $index>>(all: I) -> Self {
                all.into_iter().fold(Self::EMPTY, Self::with)
            }
        }

        impl std::fmt::Display for $set {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.debug_set().entries(self.iter().map(|one| one.0)).finish()
            }
        }

        $(#[$iterator_attribute])*
        #[derive(Clone, Debug)]
        pub struct $iterator(u64);

        impl Iterator for $iterator {
            type Item = $index;

            #[inline]
            fn next(&mut self) -> Option<$index> {
                if self.0 == 0 {
                    return None;
                }
                let lowest = $index(self.0.trailing_zeros() as $number);
                self.0 &= self.0 - 1;
                Some(lowest)
            }

            #[inline]
            fn size_hint(&self) -> (usize, Option<usize>) {
                let left = self.0.count_ones() as usize;
                (left, Some(left))
            }
        }

        impl ExactSizeIterator for $iterator {}
    };
}

pub(crate) use small_set;
