//! Locks of stripes: an update of a stripe waits for the one before it.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use strewn_base::state::SavedValue;

/// A stripe: its file, and its number there.
type StripeKey = (u16, u64);

/// How an operation uses a stripe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, SavedValue)]
pub(super) enum StripeUse {
    /// It reads, and others may too.
    Shared,
    /// It writes, and is alone.
    Exclusive,
}

/// The stripes in use, and the operations that wait for them. An operation asks for all of its stripes at once, and
/// they are given in the order in which operations asked, so no two wait for each other.
#[derive(Debug, Default, SavedValue)]
pub(super) struct StripeLocks {
    stripes: BTreeMap<StripeKey, StripeQueue>,
}

/// The operations that use a stripe, and those that wait for it.
#[derive(Debug, Default, SavedValue)]
struct StripeQueue {
    /// In the order in which they asked.
    all: VecDeque<(u32, StripeUse)>,
    /// The first so many have the stripe.
    granted: usize,
}

impl StripeQueue {
    /// Gives the stripe to as many as can have it, and calls `grant` for each that did not.
    fn grant(&mut self, mut grant: impl FnMut(u32)) {
        while let Some(&(operation, use_of_it)) = self.all.get(self.granted) {
            let is_alone = self.granted == 0;
            let all_share =
                self.all.iter().take(self.granted + 1).all(|one| one.1 == StripeUse::Shared);
            if !is_alone && !all_share {
                return;
            }
            self.granted += 1;
            grant(operation);
            if use_of_it == StripeUse::Exclusive {
                return;
            }
        }
    }
}

impl StripeLocks {
    /// An operation asks for stripes of a file. Returns how many of them it has to wait for.
    pub(super) fn ask(
        &mut self,
        operation: u32,
        file: u16,
        stripes: Range<u64>,
        use_of_them: StripeUse,
    ) -> u32 {
        let mut awaited = 0;
        for stripe in stripes {
            let queue = self.stripes.entry((file, stripe)).or_default();
            queue.all.push_back((operation, use_of_them));
            let mut is_granted = false;
            queue.grant(|_| is_granted = true);
            awaited += u32::from(!is_granted);
        }
        awaited
    }

    /// An operation gives its stripes back. `granted` gets the operations that have a stripe more than before.
    pub(super) fn give_back(
        &mut self,
        operation: u32,
        file: u16,
        stripes: Range<u64>,
        granted: &mut Vec<u32>,
    ) {
        for stripe in stripes {
            let Some(queue) = self.stripes.get_mut(&(file, stripe)) else {
                unreachable!("nobody has stripe {stripe} of file {file}")
            };
            let place = queue.all.iter().position(|one| one.0 == operation);
            match place {
                Some(place) if place < queue.granted => _ = queue.all.remove(place),
                _ => unreachable!("operation {operation} does not have stripe {stripe}"),
            }
            queue.granted -= 1;
            queue.grant(|operation| granted.push(operation));
            if queue.all.is_empty() {
                self.stripes.remove(&(file, stripe));
            }
        }
    }

    /// Whether nobody has or awaits a stripe.
    #[cfg(test)]
    fn is_empty(&self) -> bool {
        self.stripes.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_who_write_are_alone_and_served_in_order() {
        use StripeUse::{Exclusive, Shared};
        let mut locks = StripeLocks::default();
        assert_eq!(locks.ask(1, 0, 4..6, Exclusive), 0);
        assert_eq!(locks.ask(2, 0, 5..7, Exclusive), 1);
        assert_eq!(locks.ask(3, 0, 5..6, Shared), 1);
        assert_eq!(locks.ask(4, 0, 5..7, Shared), 2);
        assert_eq!(locks.ask(5, 0, 5..6, Exclusive), 1);
        // Another file's stripe is another stripe.
        assert_eq!(locks.ask(6, 1, 5..6, Exclusive), 0);
        let mut back = |operation, file, stripes| {
            let mut granted = Vec::new();
            locks.give_back(operation, file, stripes, &mut granted);
            granted
        };
        assert_eq!(back(1, 0, 4..6), [2]);
        // Both readers get stripe 5, and one of them stripe 6.
        assert_eq!(back(2, 0, 5..7), [3, 4, 4]);
        assert_eq!(back(4, 0, 5..7), [0; 0]);
        assert_eq!(back(3, 0, 5..6), [5]);
        assert_eq!(back(5, 0, 5..6), [0; 0]);
        assert_eq!(back(6, 1, 5..6), [0; 0]);
        assert!(locks.is_empty());
    }

    #[test]
    fn readers_do_not_overtake_a_writer_that_waits() {
        use StripeUse::{Exclusive, Shared};
        let mut locks = StripeLocks::default();
        assert_eq!(locks.ask(1, 0, 0..1, Shared), 0);
        assert_eq!(locks.ask(2, 0, 0..1, Exclusive), 1);
        assert_eq!(locks.ask(3, 0, 0..1, Shared), 1);
    }
}
