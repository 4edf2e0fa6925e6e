//! When each spindle will be done with what it is doing.

/// The busy spindles, the one that is done first at the end.
///
/// A sorted array: some twenty entries are moved faster than a heap is sifted, and the only changes are taking the
/// earliest and putting one in. Of equal times the lower spindle comes first, so that a run repeats exactly.
#[derive(Debug, Default)]
pub(crate) struct NextCompletions {
    latest_first: Vec<(u64, u16)>,
}

impl NextCompletions {
    /// When the first spindle is done; `u64::MAX` if all are idle.
    #[inline]
    pub(crate) fn earliest_ns(&self) -> u64 {
        self.latest_first.last().map_or(u64::MAX, |entry| entry.0)
    }

    /// The spindle that is done first.
    #[inline]
    pub(crate) fn earliest(&self) -> Option<u16> {
        self.latest_first.last().map(|entry| entry.1)
    }

    #[inline]
    pub(crate) fn take_earliest(&mut self) -> Option<(u64, u16)> {
        self.latest_first.pop()
    }

    /// A spindle has nothing to do any more.
    pub(crate) fn remove(&mut self, spindle: u16) {
        self.latest_first.retain(|entry| entry.1 != spindle);
    }

    /// A spindle that was idle has something to do until `at_ns`.
    #[inline]
    pub(crate) fn put(&mut self, at_ns: u64, spindle: u16) {
        let entry = (at_ns, spindle);
        let place = self.latest_first.partition_point(|other| *other > entry);
        self.latest_first.insert(place, entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_comes_first_and_ties_go_to_the_lower_spindle() {
        let mut next = NextCompletions::default();
        for (at_ns, spindle) in [(50, 3), (20, 9), (50, 1), (70, 0), (20, 2)] {
            next.put(at_ns, spindle);
        }
        let order: Vec<_> = std::iter::from_fn(|| next.take_earliest()).collect();
        assert_eq!(order, [(20, 2), (20, 9), (50, 1), (50, 3), (70, 0)]);
        assert_eq!(next.earliest_ns(), u64::MAX);
        next.put(10, 4);
        next.put(20, 5);
        next.remove(4);
        assert_eq!(next.take_earliest(), Some((20, 5)));
    }
}
