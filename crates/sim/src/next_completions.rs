//! When each spindle completes its command in service.

/// The spindles, in a knock-out tournament of four at a time for the one that completes first.
///
/// Each change walks from a spindle's leaf to the root: two or three groups of four for 20 spindles, four or five for
/// 320, without a branch on their outcome. A sorted array costs a search, whose branches are mispredicted, and a move.
/// At equal times the lower spindle wins, so that a run repeats exactly. A time and its spindle are one number of 64
/// bits: two numbers are twice the work, and numbers of 128 bits are compared by branches, four of which were
/// mispredicted for each operation. Time therefore ends after 208 days on 1,024 spindles, and after 18 years on 20.
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
    /// Groups of four entries. Entry `n` is the least of group `n + 1`, if there is one; the others are the leaves, one
    /// for each spindle. An entry is a completion time in nanoseconds, and in the lowest `spindle_bits` bits its
    /// spindle; `u64::MAX` if all are idle.
    entries: Vec<u64>,
    first_leaf: usize,
    /// The least of group 0.
    earliest: u64,
    spindle_bits: u32,
}

/// Entries of a group.
const GROUP: usize = 4;

impl NextCompletions {
    /// Creates a tournament of `spindles` idle spindles.
    pub fn new(spindles: usize) -> Self {
        let spindle_bits = spindles.next_power_of_two().trailing_zeros();
        // Each group but the first takes a leaf's place and brings four.
        let groups = spindles.saturating_sub(1).div_ceil(GROUP - 1).max(1);
        Self {
            entries: vec![u64::MAX; GROUP * groups],
            first_leaf: groups - 1,
            earliest: u64::MAX,
            spindle_bits,
        }
    }

    /// Returns when the first spindle completes; `u64::MAX` if all are idle.
    #[inline]
    pub fn earliest_ns(&self) -> u64 {
        match self.earliest {
            u64::MAX => u64::MAX,
            entry => entry >> self.spindle_bits,
        }
    }

    /// Returns the spindle that completes first, if any is busy.
    #[inline]
    pub fn earliest(&self) -> Option<u16> {
        let entry = self.earliest;
        (entry != u64::MAX).then_some((entry & !(u64::MAX << self.spindle_bits)) as u16)
    }

    /// Sets a spindle's completion time; `u64::MAX` if it is idle.
    ///
    /// # Panics
    /// If that is after the end of time.
    #[inline]
    pub fn set(&mut self, spindle: u16, at_ns: u64) {
        let mut entry = match at_ns {
            u64::MAX => u64::MAX,
            at_ns => {
                assert!(
                    at_ns < u64::MAX >> self.spindle_bits,
                    "virtual time ends before {at_ns} ns"
                );
                at_ns << self.spindle_bits | u64::from(spindle)
            }
        };
        let mut at = self.first_leaf + usize::from(spindle);
        // A group at a time, so that one bounds check serves all four.
        let (groups, _) = self.entries.as_chunks_mut::<GROUP>();
        loop {
            let group = at / GROUP;
            let entries = &mut groups[group];
            entries[at % GROUP] = entry;
            let [a, b, c, d] = *entries;
            entry = a.min(b).min(c.min(d));
            if group == 0 {
                break;
            }
            at = group - 1;
        }
        self.earliest = entry;
    }
}

strewn_base::saved_state! {
    impl for NextCompletions {
        parts: entries;
        values: earliest;
        built: first_leaf, spindle_bits;
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
