//! A bitmap that finds the next set bit quickly, however sparse it is.

use std::ops::Range;

use strewn_base::memory::{OutOfMemory, check_reservable, prefetch, zeroed_words};

use crate::mask::bits;

/// Bits of one level summarised by one bit of the level above.
const FAN_OUT: u64 = 64;

/// A set of numbers `0..len`, one bit each, with summary levels: a summary bit is set if any of the 64 bits below it is
/// set. Finding the next member reads one word per level, so a sparse set of a hundred million is walked as fast as a
/// dense one. Numbers from `len` on are never members: a range that reaches beyond is cut there.
///
/// Memory: `len / 8` bytes and a sixty-third more. Pages that were never written take none.
#[derive(Debug, Clone)]
pub struct SummaryBitmap {
    len: u64,
    count: u64,
    /// `levels[0]` holds the members, and each further level summarises the previous one; the last has one word.
    levels: Vec<Vec<u64>>,
}

impl SummaryBitmap {
    /// An empty set of numbers below `len`.
    ///
    /// # Panics
    /// If the system does not provide the memory: see [`try_new`](Self::try_new).
    #[must_use]
    pub fn new(len: u64) -> Self {
        Self::try_new(len).unwrap_or_else(|error| panic!("{error}"))
    }

    /// An empty set of numbers below `len`.
    ///
    /// # Errors
    /// If the system does not provide the memory.
    pub fn try_new(len: u64) -> Result<Self, OutOfMemory> {
        let words = || {
            std::iter::successors(Some(len.max(1)), |bits| {
                (*bits > 1).then(|| bits.div_ceil(FAN_OUT))
            })
            .skip(1)
        };
        check_reservable(words().sum::<u64>().saturating_mul(8))?;
        let mut levels: Vec<Vec<u64>> = words().map(|words| zeroed_words(words as usize)).collect();
        if levels.is_empty() {
            levels.push(zeroed_words(1));
        }
        Ok(Self { len, count: 0, levels })
    }

    /// The set holds numbers in `0..len`.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// The number of members.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Memory in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.levels.iter().map(|level| level.len() as u64 * 8).sum()
    }

    /// Whether the set is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether `bit` is in the set.
    #[inline]
    #[must_use]
    pub fn contains(&self, bit: u64) -> bool {
        self.word(bit / FAN_OUT) >> (bit % FAN_OUT) & 1 == 1
    }

    /// Announces an access to `bit`, which may be any number.
    #[inline]
    pub fn prefetch(&self, bit: u64) {
        prefetch(&self.levels[0], (bit / FAN_OUT) as usize);
    }

    /// Announces a look at the summary of `bit`, which may be any number.
    #[inline]
    pub fn prefetch_summary(&self, bit: u64) {
        if let Some(level) = self.levels.get(1) {
            prefetch(level, (bit / (FAN_OUT * FAN_OUT)) as usize);
        }
    }

    /// Adds `bit`. Returns whether it was new.
    ///
    /// # Panics
    /// If `bit` is not below `len`.
    #[inline]
    pub fn insert(&mut self, bit: u64) -> bool {
        assert!(bit < self.len, "{bit} in a set of numbers below {}", self.len);
        self.insert_mask((bit / FAN_OUT) as usize, 1 << (bit % FAN_OUT)) == 1
    }

    /// Removes `bit`. Returns whether it was a member.
    ///
    /// # Panics
    /// If `bit` is not below `len`.
    #[inline]
    pub fn remove(&mut self, bit: u64) -> bool {
        assert!(bit < self.len, "{bit} in a set of numbers below {}", self.len);
        self.remove_mask((bit / FAN_OUT) as usize, 1 << (bit % FAN_OUT)) == 1
    }

    /// Adds every number of `range` that is below `len`. Returns how many were new.
    #[inline]
    pub fn insert_range(&mut self, range: Range<u64>) -> u64 {
        self.words_of(range).map(|(word, mask)| self.insert_mask(word, mask)).sum()
    }

    /// Removes every number of `range`. Returns how many were members.
    #[inline]
    pub fn remove_range(&mut self, range: Range<u64>) -> u64 {
        self.words_of(range).map(|(word, mask)| self.remove_mask(word, mask)).sum()
    }

    /// The words that the numbers of `range` below `len` lie in, each with the mask of their bits.
    #[inline]
    fn words_of(&self, range: Range<u64>) -> impl Iterator<Item = (usize, u64)> + use<> {
        words_of(range.start..range.end.min(self.len)).map(|(word, mask)| (word as usize, mask))
    }

    /// How many numbers of `range` are in the set.
    #[inline]
    #[must_use]
    pub fn count_range(&self, range: Range<u64>) -> u64 {
        let words = self.words_of(range);
        words.map(|(word, mask)| u64::from((self.levels[0][word] & mask).count_ones())).sum()
    }

    /// Whether each number of `range` is in this set or in `other`.
    #[inline]
    #[must_use]
    pub fn covers_with(&self, other: &Self, range: Range<u64>) -> bool {
        let both = |word| self.word_by_summary(word) | other.word_by_summary(word);
        words_of(range).all(|(word, mask)| both(word) & mask == mask)
    }

    /// The same as [`word`](Self::word), by the summary where that says that it has no member: those of a sparse set
    /// are mostly empty, and outside the processor's caches.
    #[inline(always)]
    fn word_by_summary(&self, word: u64) -> u64 {
        match self.levels.get(1).and_then(|level| level.get((word / FAN_OUT) as usize)) {
            Some(marks) if marks >> (word % FAN_OUT) & 1 == 0 => 0,
            _ => self.word(word),
        }
    }

    /// A lower bound, in steps of 64, of the smallest member at or above `from`. It reads only summary words, because
    /// the members of a large set are mostly outside the processor's caches.
    #[must_use]
    pub fn next_member_is_near(&self, from: u64) -> u64 {
        let word = from / FAN_OUT;
        let Some(marks) = self.levels.get(1).and_then(|level| level.get((word / FAN_OUT) as usize))
        else {
            return from;
        };
        let rest = marks >> (word % FAN_OUT);
        if rest == 0 { from } else { (word + u64::from(rest.trailing_zeros())) * FAN_OUT }
    }

    /// The smallest member at or above `from`.
    #[inline]
    #[must_use]
    pub fn next_member(&self, from: u64) -> Option<u64> {
        self.next_in_level(0, from)
    }

    /// The smallest number at or above `from` whose bit in `lowest` is set.
    fn next_in_level(&self, lowest: usize, from: u64) -> Option<u64> {
        let levels = &self.levels[lowest..];
        let (mut word, mut bit) = ((from / FAN_OUT) as usize, from % FAN_OUT);
        for level in 0..levels.len() {
            let rest = match levels[level].get(word) {
                Some(&value) if bit < FAN_OUT => value & (u64::MAX << bit),
                _ => 0,
            };
            if rest != 0 {
                let mut at = word as u64 * FAN_OUT + u64::from(rest.trailing_zeros());
                for below in levels[..level].iter().rev() {
                    let marked = below[at as usize];
                    assert!(marked != 0, "the summary of word {at} says that it has members");
                    at = at * FAN_OUT + u64::from(marked.trailing_zeros());
                }
                return Some(at);
            }
            // Nothing left in this word: look for the next word that has something, one level up.
            bit = word as u64 % FAN_OUT + 1;
            word /= FAN_OUT as usize;
        }
        None
    }

    /// The end of the run of members that starts at `from`: the first number that is not a member, at most `limit`.
    #[must_use]
    pub fn run_end(&self, from: u64, limit: u64) -> u64 {
        let mut at = from;
        while at < limit.min(self.len) {
            let (word, bit) = ((at / FAN_OUT) as usize, at % FAN_OUT);
            let ones =
                u64::from((!(self.levels[0][word] >> bit)).trailing_zeros()).min(FAN_OUT - bit);
            at += ones;
            if ones < FAN_OUT - bit {
                break;
            }
        }
        at.min(limit)
    }

    /// The members in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        let mut from = 0;
        std::iter::from_fn(move || {
            let member = self.next_member(from)?;
            from = member + 1;
            Some(member)
        })
    }

    /// Empties the set. O(members).
    pub fn clear(&mut self) {
        self.drain(|_| {});
    }

    /// Empties the set and calls `member` with each member in ascending order. In a sparse set each member has its own
    /// cache line, which is prefetched while the previous ones are visited.
    pub fn drain(&mut self, mut member: impl FnMut(u64)) {
        /// Words found in the summary before they are visited.
        const AHEAD: usize = 16;
        let mut found = [0; AHEAD];
        let mut from = 0;
        while self.count > 0 {
            let mut count = 0;
            while count < AHEAD
                && let Some(word) = self.next_word(from)
            {
                prefetch(&self.levels[0], word as usize);
                found[count] = word;
                (count, from) = (count + 1, word + 1);
            }
            for &word in &found[..count] {
                for bit in bits(self.levels[0][word as usize]) {
                    member(word * FAN_OUT + u64::from(bit));
                }
                self.remove_mask(word as usize, u64::MAX);
            }
        }
    }

    /// The first non-empty word of members at or after `from`, by the summary if there is one.
    fn next_word(&self, from: u64) -> Option<u64> {
        match self.levels.len() {
            1 => (from == 0).then_some(0),
            _ => self.next_in_level(1, from),
        }
    }

    /// The 64 bits from `word * 64`; zeros past the end.
    #[inline]
    #[must_use]
    pub fn word(&self, word: u64) -> u64 {
        self.levels[0].get(word as usize).copied().unwrap_or(0)
    }

    /// All words of members, for scans of the whole map.
    #[must_use]
    pub fn words(&self) -> &[u64] {
        &self.levels[0]
    }

    #[inline]
    fn insert_mask(&mut self, word: usize, mask: u64) -> u64 {
        let before = self.levels[0][word];
        self.levels[0][word] = before | mask;
        let new = u64::from((mask & !before).count_ones());
        self.count += new;
        if before == 0 && mask != 0 {
            let mut at = word as u64;
            for level in &mut self.levels[1..] {
                let summary = &mut level[(at / FAN_OUT) as usize];
                let was = *summary;
                *summary |= 1 << (at % FAN_OUT);
                if was != 0 {
                    break;
                }
                at /= FAN_OUT;
            }
        }
        new
    }

    #[inline]
    fn remove_mask(&mut self, word: usize, mask: u64) -> u64 {
        let before = self.levels[0][word];
        let after = before & !mask;
        self.levels[0][word] = after;
        let gone = u64::from((before & mask).count_ones());
        self.count -= gone;
        if before != 0 && after == 0 {
            let mut at = word as u64;
            for level in &mut self.levels[1..] {
                let summary = &mut level[(at / FAN_OUT) as usize];
                *summary &= !(1 << (at % FAN_OUT));
                if *summary != 0 {
                    break;
                }
                at /= FAN_OUT;
            }
        }
        gone
    }
}

/// The words that `range` touches, each with the mask of its bits inside the range.
#[inline]
fn words_of(range: Range<u64>) -> impl Iterator<Item = (u64, u64)> {
    let (mut at, end) = (range.start, range.end);
    std::iter::from_fn(move || {
        if at >= end {
            return None;
        }
        let (word, bit) = (at / FAN_OUT, at % FAN_OUT);
        let bits = (FAN_OUT - bit).min(end - at);
        at += bits;
        Some((word, (u64::MAX >> (FAN_OUT - bits)) << bit))
    })
}

strewn_base::saved_state! {
    impl for SummaryBitmap {
        parts: levels;
        values: count;
        built: len;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[derive(Debug, Clone)]
    enum Step {
        Insert(Range<u64>),
        Remove(Range<u64>),
        Clear,
    }

    fn steps(len: u64) -> impl Strategy<Value = Vec<Step>> {
        let range =
            (0..len, 1..200u64).prop_map(move |(start, count)| start..(start + count).min(len));
        let step = prop_oneof![
            10 => range.clone().prop_map(Step::Insert),
            8 => range.prop_map(Step::Remove),
            1 => Just(Step::Clear),
        ];
        prop::collection::vec(step, 1..60)
    }

    proptest! {
        #[test]
        fn behaves_like_an_ordered_set(steps in steps(10_000), probes in prop::collection::vec(0..10_000u64, 20)) {
            let mut bitmap = SummaryBitmap::new(10_000);
            let mut model = BTreeSet::new();
            for step in steps {
                match step {
                    Step::Insert(range) => {
                        let new = range.clone().filter(|bit| model.insert(*bit)).count() as u64;
                        prop_assert_eq!(bitmap.insert_range(range), new);
                    }
                    Step::Remove(range) => {
                        let gone = range.clone().filter(|bit| model.remove(bit)).count() as u64;
                        prop_assert_eq!(bitmap.remove_range(range), gone);
                    }
                    Step::Clear => {
                        model.clear();
                        bitmap.clear();
                    }
                }
            }
            prop_assert_eq!(bitmap.count(), model.len() as u64);
            prop_assert!(bitmap.iter().eq(model.iter().copied()));
            for probe in probes {
                prop_assert_eq!(bitmap.contains(probe), model.contains(&probe));
                let near = bitmap.next_member_is_near(probe) / 64;
                prop_assert!(bitmap.next_member(probe).is_none_or(|member| near <= member / 64));
                prop_assert_eq!(bitmap.next_member(probe), model.range(probe..).next().copied());
                let limit = (probe + 150).min(10_000);
                let end = (probe..limit).find(|bit| !model.contains(bit)).unwrap_or(limit);
                prop_assert_eq!(bitmap.run_end(probe, limit), end);
                prop_assert_eq!(bitmap.count_range(probe..limit), model.range(probe..limit).count() as u64);
            }
            let mut drained = Vec::new();
            bitmap.drain(|bit| drained.push(bit));
            prop_assert!(drained.into_iter().eq(model));
            prop_assert_eq!((bitmap.count(), bitmap.next_member(0)), (0, None));
        }
    }

    /// What lies past the end is no member, and a range that reaches there is cut.
    #[test]
    fn ranges_end_with_the_set() {
        for len in [0, 1, 63, 64, 65, 100, 128, 4_096, 5_000] {
            let mut bitmap = SummaryBitmap::new(len);
            for start in [len, len + 1, len + 28, len + 5_000, u64::MAX] {
                assert_eq!(bitmap.insert_range(start..start.saturating_add(28)), 0);
                assert_eq!(bitmap.insert_range(start..u64::MAX), 0);
            }
            assert_eq!((bitmap.count(), bitmap.next_member(0)), (0, None), "{len}");
            assert_eq!(bitmap.insert_range(0..len + 28), len);
            assert_eq!(bitmap.insert_range(0..u64::MAX), 0);
            assert!(bitmap.iter().eq(0..len));
            assert_eq!((bitmap.run_end(0, u64::MAX), bitmap.run_end(len, len + 9)), (len, len));
            assert_eq!(bitmap.run_end(len + 200, len + 300), len + 200);
            assert_eq!(bitmap.count_range(0..len + 500), len);
            assert!(!bitmap.contains(len) && !bitmap.contains(u64::MAX));
            assert_eq!(bitmap.word(len.div_ceil(64) + 1), 0);
            let other = SummaryBitmap::new(len + 200);
            assert!(bitmap.covers_with(&other, 0..len) && other.covers_with(&bitmap, 0..len));
            assert!(!bitmap.covers_with(&other, 0..len + 1));
            assert!(!bitmap.covers_with(&other, 0..u64::MAX));
            assert_eq!(bitmap.remove_range(0..u64::MAX), len);
            assert_eq!((bitmap.count(), bitmap.next_member(0)), (0, None));
        }
    }

    #[test]
    fn sparse_members_are_found_across_levels() {
        let mut bitmap = SummaryBitmap::new(1 << 30);
        for bit in [0, 63, 64, 4_095, 4_096, 262_144, (1 << 30) - 1] {
            assert!(bitmap.insert(bit));
        }
        assert_eq!(
            bitmap.iter().collect::<Vec<_>>(),
            [0, 63, 64, 4_095, 4_096, 262_144, (1 << 30) - 1]
        );
        assert_eq!(bitmap.next_member(1 << 30), None);
    }
}
