//! Which spindles are those of which group, in an array that numbers its spindles group after group.

use strewn_alloc::GroupIndex;
use strewn_raid::SpindleIndex;

/// The first spindle of each group of an array: of each parity group of an aggregate, or each disk group of an in-place
/// array.
// Each operation looks here, so it is no list elsewhere in memory.
#[derive(Debug, Clone, Copy)]
pub struct FirstSpindles([u16; Self::MOST]);

impl FirstSpindles {
    /// Most groups of an array.
    pub const MOST: usize = 8;

    /// Those of groups with so many spindles each. An array has at most eight groups.
    #[must_use]
    pub fn of(spindles: impl IntoIterator<Item = u16>) -> Self {
        // A group that does not exist begins behind all spindles.
        let mut first = [u16::MAX; Self::MOST];
        let mut next = 0;
        for (first, spindles) in first.iter_mut().zip(spindles) {
            *first = next;
            next += spindles;
        }
        Self(first)
    }

    /// The number in the array of a spindle of `group`.
    #[inline(always)]
    #[must_use]
    pub fn in_array(&self, group: GroupIndex, spindle: SpindleIndex) -> SpindleIndex {
        SpindleIndex(self.0[group.index() % Self::MOST] + spindle.0)
    }

    /// The group of a spindle of the array, and its number there.
    #[must_use]
    pub fn in_group(&self, spindle: SpindleIndex) -> (GroupIndex, SpindleIndex) {
        let group = self.0.partition_point(|first| *first <= spindle.0) - 1;
        (GroupIndex(group as u16), SpindleIndex(spindle.0 - self.0[group]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spindle_has_one_number_in_the_array_and_one_in_its_group() {
        let first = FirstSpindles::of([5, 2, 10]);
        let expected = (0..5).map(|one| (0, one)).chain((0..2).map(|one| (1, one)));
        let expected = expected.chain((0..10).map(|one| (2, one)));
        for (in_array, (group, spindle)) in (0..17).map(SpindleIndex).zip(expected) {
            let (group, spindle) = (GroupIndex(group), SpindleIndex(spindle));
            assert_eq!(first.in_group(in_array), (group, spindle));
            assert_eq!(first.in_array(group, spindle), in_array);
        }
    }
}
