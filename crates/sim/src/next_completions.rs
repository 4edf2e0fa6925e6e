//! When each spindle completes its command in service.

use std::hint::select_unpredictable;

/// The spindles, in a knock-out tournament for the one that completes first.
///
/// Each change walks from a spindle's leaf to the root: five comparisons for 20 spindles, nine for 320, without a
/// branch on their outcome. A sorted array costs a search, whose branches are mispredicted, and a move. At equal times
/// the lower spindle wins, so that a run repeats exactly. Times and spindle numbers are kept apart: combined in 128
/// bits, they are compared by branches, four of which were mispredicted for each operation.
///
/// ```
/// use strewn_sim::NextCompletions;
///
/// let mut next = NextCompletions::new(20);
/// next.set(7, 5_000);
/// next.set(3, 2_000);
/// assert_eq!((next.earliest(), next.earliest_ns()), (Some(3), 2_000));
/// next.set(3, u64::MAX);
/// assert_eq!(next.earliest(), Some(7));
/// ```
#[derive(Debug)]
pub struct NextCompletions {
    /// Node 1 is the root, the children of node `n` are `2n` and `2n + 1`, and the leaves are the upper half. Each node
    /// has the completion time of the winner below it.
    times_ns: Vec<u64>,
    /// The winner below each node, if it is busy.
    winners: Vec<u16>,
}

impl NextCompletions {
    /// Creates a tournament of `spindles` idle spindles.
    pub fn new(spindles: usize) -> Self {
        let nodes = 2 * spindles.next_power_of_two();
        Self { times_ns: vec![u64::MAX; nodes], winners: vec![0; nodes] }
    }

    /// Returns when the first spindle completes; `u64::MAX` if all are idle.
    #[inline]
    pub fn earliest_ns(&self) -> u64 {
        self.times_ns[1]
    }

    /// Returns the spindle that completes first, if any is busy.
    #[inline]
    pub fn earliest(&self) -> Option<u16> {
        (self.earliest_ns() != u64::MAX).then_some(self.winners[1])
    }

    /// Sets a spindle's completion time; `u64::MAX` if it is idle.
    #[inline]
    pub fn set(&mut self, spindle: u16, at_ns: u64) {
        // Slices of equal length, so that one bounds check serves both.
        let nodes = self.times_ns.len();
        let (times_ns, winners) = (&mut self.times_ns[..nodes], &mut self.winners[..nodes]);
        let (mut first_ns, mut first) = (at_ns, spindle);
        let mut node = nodes / 2 + usize::from(spindle);
        while node > 1 {
            (times_ns[node], winners[node]) = (first_ns, first);
            let (other_ns, other) = (times_ns[node ^ 1], winners[node ^ 1]);
            // The sibling of an odd node has the lower spindles, and wins at equal times too.
            let other_wins = other_ns < first_ns.saturating_add(node as u64 & 1);
            first_ns = select_unpredictable(other_wins, other_ns, first_ns);
            first = select_unpredictable(other_wins, other, first);
            node /= 2;
        }
        (times_ns[1], winners[1]) = (first_ns, first);
    }
}

#[cfg(feature = "state")]
strewn_base::saved_state! {
    impl for NextCompletions {
        parts: times_ns, winners;
        values:;
        built:;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_comes_first_and_ties_go_to_the_lower_spindle() {
        let mut next = NextCompletions::new(11);
        assert_eq!((next.earliest(), next.earliest_ns()), (None, u64::MAX));
        for (at_ns, spindle) in [(50, 3), (20, 9), (50, 1), (70, 0), (20, 2)] {
            next.set(spindle, at_ns);
        }
        let order: Vec<_> = std::iter::from_fn(|| {
            let first = (next.earliest_ns(), next.earliest()?);
            next.set(first.1, u64::MAX);
            Some(first)
        })
        .collect();
        assert_eq!(order, [(20, 2), (20, 9), (50, 1), (50, 3), (70, 0)]);
        next.set(10, 5);
        next.set(4, 20);
        next.set(10, 4);
        assert_eq!((next.earliest(), next.earliest_ns()), (Some(10), 4));
    }

    #[test]
    fn one_spindle_is_its_own_tournament() {
        let mut next = NextCompletions::new(1);
        assert_eq!(next.earliest(), None);
        next.set(0, 7);
        assert_eq!((next.earliest(), next.earliest_ns()), (Some(0), 7));
    }
}
