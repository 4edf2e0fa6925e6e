//! Which blocks of a parity group are free, and how many in each allocation area.

use std::ops::Range;

use strewn_raid::{BlockLocation, Dbn, ParityGroup, SpindleIndex, Vbn};

use crate::emptiest::Emptiest;

/// Stripes covered by one word of a spindle's map.
pub(crate) const WORD_STRIPES: u64 = 64;

/// One bit a data block of a parity group, set where the block is free, and the exact number of free blocks in
/// every allocation area (a number of consecutive stripes over all data spindles).
///
/// Each spindle's map starts at a word of its own, so 64 consecutive stripes are one word a spindle.
#[derive(Debug, Clone)]
pub struct FreeMap {
    group: ParityGroup,
    area_stripes: u64,
    words_per_spindle: u64,
    words: Vec<u64>,
    free_blocks: u64,
    areas: Emptiest,
}

impl FreeMap {
    /// A map of `group` in which every block is free, with areas of `area_stripes` stripes (the last may be
    /// shorter).
    ///
    /// # Panics
    /// If `area_stripes` is not a positive multiple of 64 (`Aggregate::new` returns this as an error).
    #[must_use]
    pub fn all_free(group: ParityGroup, area_stripes: u64) -> Self {
        assert!(area_stripes > 0 && area_stripes.is_multiple_of(WORD_STRIPES));
        let stripes = group.stripes();
        let words_per_spindle = stripes.div_ceil(WORD_STRIPES);
        let spindles = u64::from(group.data_spindles());
        let mut words = vec![u64::MAX; (words_per_spindle * spindles) as usize];
        let tail = stripes % WORD_STRIPES;
        if tail != 0 {
            for spindle in 1..=spindles {
                words[(spindle * words_per_spindle) as usize - 1] = (1 << tail) - 1;
            }
        }
        let areas = (0..stripes.div_ceil(area_stripes))
            .map(|area| ((stripes - area * area_stripes).min(area_stripes) * spindles) as u32);
        Self {
            areas: Emptiest::new(areas),
            free_blocks: stripes * spindles,
            group,
            area_stripes,
            words_per_spindle,
            words,
        }
    }

    /// The parity group the map describes.
    #[must_use]
    pub fn group(&self) -> &ParityGroup {
        &self.group
    }

    /// Free blocks in the whole group.
    #[must_use]
    pub fn free_blocks(&self) -> u64 {
        self.free_blocks
    }

    /// Number of allocation areas.
    #[must_use]
    pub fn areas(&self) -> u32 {
        self.areas.len()
    }

    /// Free blocks in area `area`.
    #[must_use]
    pub fn area_free_blocks(&self, area: u32) -> u32 {
        self.areas.score(area)
    }

    /// The stripes of area `area`.
    #[must_use]
    pub fn area_stripes(&self, area: u32) -> Range<u64> {
        let first = u64::from(area) * self.area_stripes;
        first..(first + self.area_stripes).min(self.group.stripes())
    }

    /// The area with the most free blocks, the lowest of several, and how many it has. O(1).
    #[must_use]
    pub fn emptiest_area(&self) -> (u32, u32) {
        self.areas.emptiest()
    }

    /// Whether the block at `location` is free.
    #[must_use]
    pub fn is_free(&self, location: BlockLocation) -> bool {
        let (word, bit) = self.bit(location.spindle, location.dbn.0);
        self.words[word] >> bit & 1 == 1
    }

    /// The free blocks among the 64 stripes from `word * 64` on `spindle`, one bit a stripe.
    #[inline]
    #[must_use]
    pub fn free_word(&self, spindle: SpindleIndex, word: u64) -> u64 {
        self.words[(u64::from(spindle.0) * self.words_per_spindle + word) as usize]
    }

    /// Takes free blocks: those of `mask` among the 64 stripes from `word * 64` on `spindle`.
    pub(crate) fn take_mask(&mut self, spindle: SpindleIndex, word: u64, mask: u64) {
        let index = (u64::from(spindle.0) * self.words_per_spindle + word) as usize;
        debug_assert_eq!(self.words[index] & mask, mask, "a used block was given again");
        self.words[index] &= !mask;
        let taken = mask.count_ones();
        self.free_blocks -= u64::from(taken);
        self.areas.subtract((word * WORD_STRIPES / self.area_stripes) as u32, taken);
    }

    /// Makes the block at `vbn` free.
    pub(crate) fn release(&mut self, vbn: Vbn) {
        let BlockLocation { spindle, dbn } = self.group.locate(vbn);
        let (word, bit) = self.bit(spindle, dbn.0);
        debug_assert_eq!(self.words[word] >> bit & 1, 0, "a free block was freed again");
        self.words[word] |= 1 << bit;
        self.free_blocks += 1;
        self.areas.add((dbn.0 / self.area_stripes) as u32, 1);
    }

    /// The runs of free blocks of one spindle, in ascending order.
    pub fn free_runs(&self, spindle: SpindleIndex) -> impl Iterator<Item = Range<u64>> + '_ {
        let first = (u64::from(spindle.0) * self.words_per_spindle) as usize;
        let words = &self.words[first..first + self.words_per_spindle as usize];
        let mut at = 0;
        std::iter::from_fn(move || {
            let start = next_bit(words, at, true)?;
            let end = next_bit(words, start, false).unwrap_or(words.len() as u64 * WORD_STRIPES);
            at = end;
            Some(start..end)
        })
    }

    /// The first inconsistency between the map and its counts, if there is one.
    ///
    /// # Errors
    /// Says which count is wrong, what it says and what the map holds.
    pub fn verify(&self) -> Result<(), String> {
        let mut total = 0;
        for area in 0..self.areas() {
            let stripes = self.area_stripes(area);
            let words = stripes.start / WORD_STRIPES..stripes.end.div_ceil(WORD_STRIPES);
            let held: u32 = (0..self.group.data_spindles())
                .flat_map(|spindle| words.clone().map(move |word| (spindle, word)))
                .map(|(spindle, word)| self.free_word(SpindleIndex(spindle), word).count_ones())
                .sum();
            if held != self.area_free_blocks(area) {
                return Err(format!(
                    "allocation area {area} counts {} free blocks, its map holds {held}",
                    self.area_free_blocks(area)
                ));
            }
            total += u64::from(held);
        }
        if total != self.free_blocks {
            return Err(format!("{} free blocks counted, the map holds {total}", self.free_blocks));
        }
        Ok(())
    }

    /// The block of `spindle` at `dbn`, as the group numbers it.
    #[inline]
    pub(crate) fn vbn(&self, spindle: SpindleIndex, dbn: u64) -> Vbn {
        self.group.vbn(spindle, Dbn(dbn))
    }

    #[inline]
    fn bit(&self, spindle: SpindleIndex, dbn: u64) -> (usize, u64) {
        let word = u64::from(spindle.0) * self.words_per_spindle + dbn / WORD_STRIPES;
        (word as usize, dbn % WORD_STRIPES)
    }
}

/// The first bit at or after `from` that is set (or clear).
fn next_bit(words: &[u64], from: u64, set: bool) -> Option<u64> {
    let mut index = (from / WORD_STRIPES) as usize;
    let mut mask = u64::MAX << (from % WORD_STRIPES);
    while let Some(&word) = words.get(index) {
        let hits = if set { word } else { !word } & mask;
        if hits != 0 {
            return Some(index as u64 * WORD_STRIPES + u64::from(hits.trailing_zeros()));
        }
        mask = u64::MAX;
        index += 1;
    }
    None
}
