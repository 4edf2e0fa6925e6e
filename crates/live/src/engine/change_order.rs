//! The order of changes that overlap: each is carried out after those that were submitted before it.
//!
//! The array alone does not ensure this. It issues a large request piece by piece, and a write of part of a block waits
//! for the rest of the block, while a later write of the whole block needs nothing.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use strewn_array::LunId;
use strewn_base::overlap;

/// The changes whose place in the order is not settled yet: those with pieces that the array has not placed behind all
/// earlier ones.
#[derive(Default)]
pub(super) struct ChangeOrder {
    /// By key, in the order of submission.
    unsettled: BTreeMap<u64, Change>,
    /// Those that wait for no other any more, and have not begun.
    ready: VecDeque<u64>,
}

struct Change {
    lun: LunId,
    sectors: Range<u64>,
    /// How many earlier changes it waits for.
    awaited: usize,
    /// The later changes that wait for it.
    followers: Vec<u64>,
}

impl ChangeOrder {
    /// Adds a change. Returns whether it may begin at once: no unsettled change overlaps it.
    pub(super) fn add(&mut self, key: u64, lun: LunId, sectors: Range<u64>) -> bool {
        let mut awaited = 0;
        for earlier in self.unsettled.values_mut() {
            if earlier.lun == lun && overlap(&earlier.sectors, &sectors) {
                earlier.followers.push(key);
                awaited += 1;
            }
        }
        self.unsettled.insert(key, Change { lun, sectors, awaited, followers: Vec::new() });
        awaited == 0
    }

    /// Removes a change whose pieces are all placed: others may be [ready](Self::next_ready) then. Any other key has no
    /// effect.
    pub(super) fn settle(&mut self, key: u64) {
        let Some(settled) = self.unsettled.remove(&key) else { return };
        for follower in settled.followers {
            // One that was given up is here no more.
            if let Some(change) = self.unsettled.get_mut(&follower) {
                change.awaited -= 1;
                if change.awaited == 0 {
                    self.ready.push_back(follower);
                }
            }
        }
    }

    /// Returns a change that has waited, and may begin now.
    pub(super) fn next_ready(&mut self) -> Option<u64> {
        self.ready.pop_front()
    }

    /// Forgets all changes.
    pub(super) fn clear(&mut self) {
        self.ready.clear();
        self.unsettled.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settled(order: &mut ChangeOrder, key: u64) -> Vec<u64> {
        order.settle(key);
        std::iter::from_fn(|| order.next_ready()).collect()
    }

    #[test]
    fn a_change_waits_for_all_earlier_ones_that_overlap_it_and_for_no_other() {
        let mut order = ChangeOrder::default();
        assert!(order.add(1, LunId(0), 0..8));
        assert!(order.add(2, LunId(0), 8..16), "they only touch");
        assert!(order.add(3, LunId(1), 0..16), "another LUN");
        assert!(!order.add(4, LunId(0), 7..9));
        assert!(!order.add(5, LunId(0), 8..9), "behind 2, and behind 4, which waits itself");
        assert!(settled(&mut order, 2).is_empty());
        assert_eq!(settled(&mut order, 1), [4]);
        assert!(settled(&mut order, 1).is_empty());
        assert_eq!(settled(&mut order, 4), [5]);
        assert!(order.add(6, LunId(0), 0..8));
    }

    #[test]
    fn a_change_that_is_given_up_holds_up_nothing() {
        let mut order = ChangeOrder::default();
        assert!(order.add(1, LunId(0), 0..8));
        assert!(!order.add(2, LunId(0), 4..12));
        assert!(!order.add(3, LunId(0), 8..16));
        assert_eq!(settled(&mut order, 2), [3]);
        assert!(settled(&mut order, 1).is_empty());
    }
}
