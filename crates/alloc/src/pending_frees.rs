//! The blocks that are freed but not yet free, so that none is freed twice.

use std::collections::HashSet;

use strewn_base::state::SavedValue;
use strewn_raid::Vbn;

/// Bits of a VBN: an aggregate has at most [`MOST_BLOCKS`](crate::MOST_BLOCKS).
const VBN_BITS: u32 = 40;
/// Odd, so that multiplying by it modulo 2^40 maps each VBN to another number; 2^40 by the golden ratio spreads
/// neighbours over the upper bits.
const SPREAD: u64 = 0x9e_3779_b97f;
/// The upper bits of the product name a bucket; what is left must fit 32 bits and differ from [`EMPTY`].
const FEWEST_BUCKET_BITS: u32 = 9;
const SLOTS: usize = 8;
const EMPTY: u32 = u32::MAX;
/// In the last slot of a bucket: some of its entries are kept apart.
const OVERFLOWED: u32 = u32::MAX - 1;
/// Blocks a bucket, on average, before there are twice as many buckets.
const FILL: usize = 3;

/// A set of VBNs, for the one question that every free asks. A consistency point's frees lie anywhere in the map, so a
/// second bitmap would cost a second access to memory for each. This table is small enough for the second-level cache:
/// 32 bytes for every one and a half to three blocks.
///
/// The bucket and the four bytes in it together are the whole number, so that an entry is a block and not a guess. The
/// few that do not fit their bucket are kept apart.
#[derive(Debug, Clone, Default, SavedValue)]
pub(crate) struct PendingFrees {
    /// None, or a power of two of at least `2^FEWEST_BUCKET_BITS`; in each, entries before empty slots.
    buckets: Vec<[u32; SLOTS]>,
    blocks: usize,
    /// By their products.
    overflow: HashSet<u64>,
}

/// What stands for a VBN: another number below 2^40, whose upper bits vary with all bits of the VBN.
#[inline]
fn product_of(vbn: Vbn) -> u64 {
    vbn.0.wrapping_mul(SPREAD) & ((1 << VBN_BITS) - 1)
}

impl PendingFrees {
    fn tag_bits(&self) -> u32 {
        VBN_BITS.saturating_sub(self.buckets.len().trailing_zeros())
    }

    /// The bucket of `product` and its entry there.
    #[inline]
    fn place(&self, product: u64) -> (usize, u32) {
        let tag_bits = self.tag_bits();
        ((product >> tag_bits) as usize, (product & ((1 << tag_bits) - 1)) as u32)
    }

    #[cfg(test)]
    fn contains(&self, vbn: Vbn) -> bool {
        if self.blocks == 0 {
            return false;
        }
        let (bucket, tag) = self.place(product_of(vbn));
        holds(&self.buckets[bucket], tag) || self.overflow.contains(&product_of(vbn))
    }

    /// Adds `vbn`. Returns whether it was new.
    #[inline]
    pub(crate) fn insert(&mut self, vbn: Vbn) -> bool {
        self.insert_product(product_of(vbn))
    }

    #[inline]
    fn insert_product(&mut self, product: u64) -> bool {
        if self.blocks >= self.buckets.len() * FILL {
            self.grow();
        }
        let (bucket, tag) = self.place(product);
        let slots = &mut self.buckets[bucket];
        if holds(slots, tag) {
            return false;
        }
        if slots[SLOTS - 1] != EMPTY {
            return self.insert_beside(product);
        }
        let entries = slots.iter().map(|slot| u32::from(*slot != EMPTY)).sum::<u32>() as usize;
        slots[entries] = tag;
        self.blocks += 1;
        true
    }

    /// The same, for a bucket that is full or marked as overflowed.
    #[cold]
    fn insert_beside(&mut self, product: u64) -> bool {
        let tag_bits = self.tag_bits();
        let (bucket, tag) = self.place(product);
        let slots = &mut self.buckets[bucket];
        let last = slots[SLOTS - 1];
        if last != OVERFLOWED {
            slots[SLOTS - 1] = OVERFLOWED;
            self.overflow.insert((bucket as u64) << tag_bits | u64::from(last));
        }
        if self.overflow.contains(&product) {
            return false;
        }
        match slots.iter_mut().find(|slot| **slot == EMPTY) {
            Some(slot) => *slot = tag,
            None => {
                self.overflow.insert(product);
            }
        }
        self.blocks += 1;
        true
    }

    /// Removes `vbn`, which is in the set.
    pub(crate) fn remove(&mut self, vbn: Vbn) {
        let (bucket, tag) = self.place(product_of(vbn));
        let slots = &mut self.buckets[bucket];
        let entries = slots.iter().position(|slot| *slot >= OVERFLOWED).unwrap_or(SLOTS);
        match slots[..entries].iter().position(|slot| *slot == tag) {
            Some(slot) => {
                slots[slot] = slots[entries - 1];
                slots[entries - 1] = EMPTY;
            }
            None => {
                let removed = self.overflow.remove(&product_of(vbn));
                assert!(removed, "{vbn} is not among the pending frees");
            }
        }
        self.blocks -= 1;
    }

    /// Empties the set. It keeps its memory, unless it had been much larger than it now was.
    pub(crate) fn clear(&mut self) {
        if self.blocks * 32 < self.buckets.len() {
            self.buckets = Vec::new();
        } else {
            self.buckets.fill([EMPTY; SLOTS]);
        }
        self.overflow.clear();
        self.blocks = 0;
    }

    /// Twice as many buckets.
    #[cold]
    fn grow(&mut self) {
        let buckets = (self.buckets.len() * 2).max(1 << FEWEST_BUCKET_BITS);
        let (tag_bits, overflow) = (self.tag_bits(), std::mem::take(&mut self.overflow));
        let before = std::mem::replace(&mut self.buckets, vec![[EMPTY; SLOTS]; buckets]);
        self.blocks = 0;
        for (bucket, slots) in (0u64..).zip(before) {
            for tag in slots.into_iter().filter(|tag| *tag < OVERFLOWED) {
                self.insert_product(bucket << tag_bits | u64::from(tag));
            }
        }
        // In order, so that equal runs have equal tables.
        let mut overflow: Vec<u64> = overflow.into_iter().collect();
        overflow.sort_unstable();
        for product in overflow {
            self.insert_product(product);
        }
    }
}

#[inline]
fn holds(slots: &[u32; SLOTS], tag: u32) -> bool {
    slots.iter().fold(false, |held, slot| held | (*slot == tag))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn behaves_like_a_set(
            steps in prop::collection::vec((0u64..1 << 40, 1u64..3_000, 0u64..5, 0u8..8), 1..40),
        ) {
            let (mut set, mut model) = (PendingFrees::default(), HashSet::new());
            for (first, count, stride, step) in steps {
                let first = if step < 3 { first % 4_000 } else { first };
                let vbns = (0..count).map(|at| Vbn((first + at * stride * 4_097) % (1 << 40)));
                match step {
                    0 => {
                        set.clear();
                        model.clear();
                    }
                    1 | 4 => for vbn in vbns {
                        prop_assert_eq!(set.contains(vbn), model.contains(&vbn));
                        if model.remove(&vbn) {
                            set.remove(vbn);
                        }
                    },
                    _ => for vbn in vbns {
                        prop_assert_eq!(set.insert(vbn), model.insert(vbn), "{}", vbn);
                    },
                }
                prop_assert_eq!(set.blocks, model.len());
                prop_assert!(model.iter().all(|vbn| set.contains(*vbn)));
            }
        }

        #[test]
        fn equal_steps_make_equal_tables(seed in 0u64..1_000) {
            let filled = || {
                let mut set = PendingFrees::default();
                let vbns = (0..20_000u64).map(|at| Vbn((seed + at * at * 4_097) % (1 << 30)));
                vbns.for_each(|vbn| {
                    set.insert(vbn);
                });
                set.buckets
            };
            prop_assert_eq!(filled(), filled());
        }

        #[test]
        fn entries_of_one_bucket_overflow(count in 9usize..200, bits in 9u32..20) {
            // The inverse of the multiplication: products that differ in their lower bits alone.
            let mut inverse = SPREAD;
            for _ in 0..6 {
                inverse = inverse.wrapping_mul(2u64.wrapping_sub(SPREAD.wrapping_mul(inverse)));
            }
            let vbn = |at: usize| Vbn((at as u64).wrapping_mul(inverse) & ((1 << VBN_BITS) - 1));
            let mut set = PendingFrees::default();
            for other in 0..1u64 << bits {
                set.insert(Vbn(other << 20 | 0xf_ffff));
            }
            for at in 0..count {
                prop_assert!(!set.contains(vbn(at)));
                prop_assert!(set.insert(vbn(at)) && !set.insert(vbn(at)));
            }
            for at in (0..count).rev() {
                prop_assert!(set.contains(vbn(at)));
                set.remove(vbn(at));
                prop_assert!(!set.contains(vbn(at)));
            }
            prop_assert_eq!(set.blocks, 1usize << bits);
        }
    }
}
