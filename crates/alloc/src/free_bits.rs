//! Which blocks are in use, one bit each, with summary levels of full words.

/// Bits in a word.
pub(crate) const WORD_BITS: u64 = u64::BITS as u64;

/// Words with one bit a block, set if the block is in use, and summary levels with one bit a word, set if the word
/// below is full.
///
/// A clear summary bit promises nothing: a word is marked full when a search finds it full. So everything starts as
/// zeros, which the kernel supplies without touching memory, and maps read from storage need no scan.
///
/// Memory: a bit a block, and a sixty-third of that for the levels.
#[derive(Debug, Clone)]
pub(crate) struct FreeBits {
    words: Vec<u64>,
    /// The first level has a bit for each of the words, each further level one for each word of the level below.
    marks: Vec<Vec<u64>>,
}

impl FreeBits {
    /// `words` words of 64 free blocks.
    pub(crate) fn all_free(words: u64) -> Self {
        Self::from_words(strewn_base::memory::zeroed_words(words as usize))
    }

    /// From saved words: a set bit is a block in use.
    pub(crate) fn from_words(words: Vec<u64>) -> Self {
        let mut marks = Vec::new();
        let mut below = words.len();
        while below > 1 {
            below = below.div_ceil(WORD_BITS as usize);
            marks.push(vec![0; below]);
        }
        Self { words, marks }
    }

    /// 64 blocks a word, the lowest bit first; a set bit is a block in use.
    pub(crate) fn words(&self) -> &[u64] {
        &self.words
    }

    /// The free blocks of `word`.
    #[inline]
    pub(crate) fn free(&self, word: u64) -> u64 {
        !self.words[word as usize]
    }

    /// Announces an access to `word`.
    #[inline]
    pub(crate) fn prefetch(&self, word: u64) {
        strewn_base::memory::prefetch(&self.words, word as usize);
    }

    /// Marks free blocks as used.
    #[inline]
    pub(crate) fn take(&mut self, word: u64, mask: u64) {
        self.words[word as usize] |= mask;
    }

    /// Marks blocks as used: those of each of `masks`, from word `first` on. Returns whether all were free.
    #[inline]
    pub(crate) fn take_all(&mut self, first: u64, masks: &[u64]) -> bool {
        let words = &mut self.words[first as usize..][..masks.len()];
        let mut used = 0;
        for (word, mask) in words.iter_mut().zip(masks) {
            used |= *word & mask;
            *word |= mask;
        }
        used == 0
    }

    /// Marks used blocks as free. Returns those of `mask` that were in use.
    #[inline]
    pub(crate) fn release(&mut self, word: u64, mask: u64) -> u64 {
        let place = &mut self.words[word as usize];
        let used = *place;
        *place = used & !mask;
        if used == u64::MAX {
            self.no_longer_full(word);
        }
        used & mask
    }

    /// Marks a block as free by each of `bits`, its word and its bit there. There are fewer than `N`. Returns whether
    /// all were in use.
    #[inline]
    pub(crate) fn release_each<const N: usize>(
        &mut self,
        bits: impl Iterator<Item = (u64, u32)>,
    ) -> bool {
        let words = &mut self.words[..];
        let mut all_used = 1;
        let (mut full, mut full_words) = ([0; N], 0);
        for (word, bit) in bits {
            let place = &mut words[word as usize];
            let used = *place;
            *place = used & !(1 << bit);
            all_used &= used >> bit;
            full[full_words] = word;
            full_words += usize::from(used == u64::MAX);
        }
        for &word in &full[..full_words] {
            self.no_longer_full(word);
        }
        all_used == 1
    }

    /// The first word in `from..end` that has a free block.
    ///
    /// Marks the full words on its way as full, so that later searches skip them 64 (4,096, …) words at a time.
    #[inline]
    pub(crate) fn next_with_free(&mut self, from: u64, end: u64) -> Option<u64> {
        let mut word = from;
        while word < end {
            if self.words[word as usize] != u64::MAX {
                return Some(word);
            }
            self.mark_full(word);
            let next = self.next_not_marked(word + 1, end);
            if next > word + 1 {
                // What a mark hides is never looked at again: at both ends, neighbours of words read anyway, it is.
                let skipped = self.words[word as usize + 1] & self.words[next as usize - 1];
                assert!(
                    skipped == u64::MAX,
                    "words {word} to {next}: marked full with free blocks"
                );
            }
            word = next;
        }
        None
    }

    /// The first word in `from..end` that is not marked full.
    fn next_not_marked(&self, from: u64, end: u64) -> u64 {
        let mut at = from;
        let mut level = 1;
        // Up while the rest of a word of marks is full, then down to the first gap.
        while level <= self.marks.len() {
            let marks = &self.marks[level - 1];
            let Some(&word) = marks.get((at / WORD_BITS) as usize) else { return end };
            let gaps = !word & (u64::MAX << (at % WORD_BITS));
            if gaps == 0 {
                at = at / WORD_BITS + 1;
                level += 1;
                continue;
            }
            at = at / WORD_BITS * WORD_BITS + u64::from(gaps.trailing_zeros());
            level -= 1;
            if level == 0 {
                return at.min(end);
            }
            at *= WORD_BITS;
        }
        // Either a single word has no summary, or the top level has no gap.
        if self.marks.is_empty() { at.min(end) } else { end }
    }

    fn mark_full(&mut self, word: u64) {
        let mut at = word;
        for level in &mut self.marks {
            let marks = &mut level[(at / WORD_BITS) as usize];
            *marks |= 1 << (at % WORD_BITS);
            if *marks != u64::MAX {
                break;
            }
            at /= WORD_BITS;
        }
    }

    fn no_longer_full(&mut self, word: u64) {
        let mut at = word;
        for level in &mut self.marks {
            let marks = &mut level[(at / WORD_BITS) as usize];
            let was_full = *marks == u64::MAX;
            *marks &= !(1 << (at % WORD_BITS));
            if !was_full {
                break;
            }
            at /= WORD_BITS;
        }
    }

    /// The first word that is marked full but has a free block, if any.
    pub(crate) fn wrongly_marked(&self) -> Option<u64> {
        let below = std::iter::once(&self.words).chain(&self.marks);
        for (level, (marks, below)) in self.marks.iter().zip(below).enumerate() {
            for (index, word) in below.iter().enumerate() {
                let marked = marks[index / WORD_BITS as usize] >> (index as u64 % WORD_BITS) & 1;
                if marked == 1 && *word != u64::MAX {
                    return Some((index as u64) << (6 * level));
                }
            }
        }
        None
    }

    /// Memory in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        std::iter::once(&self.words).chain(&self.marks).map(|level| level.len() as u64 * 8).sum()
    }
}

strewn_base::saved_state! {
    impl for FreeBits {
        parts: words, marks;
        values:;
        built:;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn words_with_room_are_found_whatever_was_marked(
            words in 1u64..9_000,
            steps in prop::collection::vec((0u64..9_000, 1u64..6_000, any::<bool>(), 0u64..9_000), 1..30),
        ) {
            let mut bits = FreeBits::all_free(words);
            for (first, count, take, probe) in steps {
                for word in first.min(words)..(first + count).min(words) {
                    if take {
                        bits.take(word, u64::MAX);
                    } else {
                        bits.release(word, 1 << (word % 64));
                    }
                }
                let expected = (probe..words).find(|word| bits.words()[*word as usize] != u64::MAX);
                prop_assert_eq!(bits.next_with_free(probe, words), expected);
                prop_assert_eq!(bits.next_with_free(probe, words), expected, "after marking");
                prop_assert_eq!(bits.wrongly_marked(), None);
            }
        }
    }

    #[test]
    fn a_full_map_of_a_billion_blocks_is_skipped_level_by_level() {
        let words = 1 << 24;
        let mut bits = FreeBits::all_free(words);
        for word in 0..words {
            bits.take(word, u64::MAX);
        }
        assert_eq!(bits.next_with_free(0, words), None);
        assert_eq!(bits.release(words - 1, 0b100), 0b100);
        assert_eq!(bits.next_with_free(0, words), Some(words - 1));
    }
}
