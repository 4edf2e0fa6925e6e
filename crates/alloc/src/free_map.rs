//! Which blocks of a parity group are free, and how many in each allocation area.

use std::ops::Range;

use strewn_base::state::SavedValue;
use strewn_raid::{BlockLocation, Dbn, ParityGroup, ROW_STRIPES, SpindleIndex, Vbn};

use crate::areas::{AreaOrder, Areas};
use crate::bitmap::SummaryBitmap;
use crate::free_bits::{FreeBits, WORD_BITS};
use crate::group_index::GroupIndex;
use crate::score_mismatch::ScoreMismatch;

/// A bit for each data block of a parity group, and the exact number of free blocks in every allocation area
/// (consecutive stripes over all data spindles).
///
/// Words are stored in rows: for 64 consecutive stripes, one word for each data spindle, side by side. A tetris
/// therefore reads one contiguous stretch of memory, and so does an allocation area.
#[derive(Debug, Clone)]
pub struct FreeMap {
    group: ParityGroup,
    spindles: u64,
    area_rows: u32,
    /// A little less than 2^64 by the words of an area.
    areas_per_word: u64,
    bits: FreeBits,
    /// Free bits of the map, counted apart from the areas' scores: the two must agree at every consistency point.
    free_bits: u64,
    areas: Areas,
    /// Areas whose saved score has not been compared with the map; `None` if the map was not mounted.
    unchecked: Option<SummaryBitmap>,
}

/// Blocks whose words are announced before the first of them is read. They are scattered over the map, so each read
/// waits for memory; the processor waits for many at once.
pub(crate) const AHEAD: usize = 16;

/// A block by its bit in the free map of its group.
///
/// The group is in the upper 16 bits, word and bit are in the lower 48.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, SavedValue)]
pub struct MapPosition(u64);

impl MapPosition {
    const POSITION_BITS: u32 = 48;

    #[inline]
    pub(crate) fn new(group: GroupIndex, word: u64, bit: u64) -> Self {
        Self((u64::from(group.0) << Self::POSITION_BITS) | (word * WORD_BITS) | bit)
    }

    /// The parity group that the position is in, counted from 0.
    #[inline]
    #[must_use]
    pub fn group(self) -> GroupIndex {
        GroupIndex((self.0 >> Self::POSITION_BITS) as u16)
    }

    /// The word of the group's free map ([`FreeMap::words`]).
    #[inline]
    #[must_use]
    pub fn word(self) -> u64 {
        (self.0 & ((1 << Self::POSITION_BITS) - 1)) / WORD_BITS
    }

    /// The bit of the word, 0 to 63.
    #[inline]
    #[must_use]
    pub fn bit(self) -> u32 {
        (self.0 % WORD_BITS) as u32
    }
}

/// The number of words in the map of a group.
fn words_of(group: &ParityGroup) -> u64 {
    group.stripes().div_ceil(ROW_STRIPES) * u64::from(group.data_spindles())
}

impl FreeMap {
    /// About how much memory a map of `group` takes, in bytes: a bit a block with summaries, and the scores and matches
    /// of areas.
    pub(crate) fn bytes_for(group: &ParityGroup, area_stripes: u64) -> u64 {
        let words = words_of(group);
        let areas = group.stripes().div_ceil(area_stripes);
        8 * (words + words / 32) + 16 * areas
    }

    /// A map of `group` with all blocks free and areas of `area_stripes` stripes (the last may be shorter).
    pub(crate) fn all_free(group: ParityGroup, area_stripes: u64, order: AreaOrder) -> Self {
        let spindles = u64::from(group.data_spindles());
        let stripes = group.stripes();
        let scores = (0..stripes.div_ceil(area_stripes))
            .map(|area| ((stripes - area * area_stripes).min(area_stripes) * spindles) as u32)
            .collect();
        let mut bits = FreeBits::all_free(words_of(&group));
        take_what_does_not_exist(&mut bits, &group);
        Self::assembled(group, area_stripes, order, bits, scores)
    }

    /// A map from saved words (as [`words`](Self::words) returns them: a set bit is a block in use) and saved scores.
    /// Nothing is scanned.
    pub(crate) fn mounted(
        group: ParityGroup,
        area_stripes: u64,
        order: AreaOrder,
        words: Vec<u64>,
        scores: Vec<u32>,
    ) -> Self {
        let mut bits = FreeBits::from_words(words);
        take_what_does_not_exist(&mut bits, &group);
        let mut unchecked = SummaryBitmap::new(scores.len() as u64);
        unchecked.insert_range(0..scores.len() as u64);
        let map = Self::assembled(group, area_stripes, order, bits, scores);
        Self { unchecked: Some(unchecked), ..map }
    }

    fn assembled(
        group: ParityGroup,
        area_stripes: u64,
        order: AreaOrder,
        bits: FreeBits,
        scores: Vec<u32>,
    ) -> Self {
        let spindles = u64::from(group.data_spindles());
        let largest = (area_stripes * spindles) as u32;
        let area_rows = (area_stripes / ROW_STRIPES) as u32;
        let areas = Areas::new(scores, largest, order);
        let area_words = area_rows * group.data_spindles() as u32;
        Self {
            group,
            spindles,
            area_rows,
            areas_per_word: u64::MAX / u64::from(area_words),
            bits,
            free_bits: areas.free_blocks(),
            areas,
            unchecked: None,
        }
    }

    /// Compares the saved score of `area` with the map, once after a mount.
    #[inline]
    pub(crate) fn check_area(&mut self, group: GroupIndex, area: u32) -> Result<(), ScoreMismatch> {
        let Some(unchecked) = &self.unchecked else { return Ok(()) };
        if !unchecked.contains(area.into()) {
            return Ok(());
        }
        let (score, in_map) = (self.areas.free_blocks_in(area), self.count_area(area));
        if score != in_map {
            return Err(ScoreMismatch { group, area, score, in_map });
        }
        if let Some(unchecked) = &mut self.unchecked {
            unchecked.remove(area.into());
        }
        Ok(())
    }

    /// The parity group of the map.
    #[must_use]
    pub fn group(&self) -> &ParityGroup {
        &self.group
    }

    /// Free blocks in the whole group.
    #[must_use]
    pub fn free_blocks(&self) -> u64 {
        self.areas.free_blocks()
    }

    /// How the map is divided into allocation areas.
    #[must_use]
    pub fn areas(&self) -> &Areas {
        &self.areas
    }

    pub(crate) fn areas_mut(&mut self) -> &mut Areas {
        &mut self.areas
    }

    /// Stripes in an area; the last area may have fewer.
    #[must_use]
    pub fn area_stripes(&self) -> u64 {
        u64::from(self.area_rows) * ROW_STRIPES
    }

    /// The stripes of area `area`.
    ///
    /// # Panics
    /// If there is no such area.
    #[must_use]
    pub fn stripes_of_area(&self, area: u32) -> Range<u64> {
        assert!(area < self.areas.count(), "there is no area {area}, but {}", self.areas.count());
        let first = u64::from(area) * self.area_stripes();
        first..(first + self.area_stripes()).min(self.group.stripes())
    }

    /// The area of stripe `stripe`.
    ///
    /// # Panics
    /// If there is no such stripe.
    #[must_use]
    pub fn area_of(&self, stripe: u64) -> u32 {
        assert!(stripe < self.group.stripes(), "there is no stripe {stripe}");
        self.area_of_row(stripe / ROW_STRIPES)
    }

    /// Whether the block at `location` is free.
    ///
    /// # Panics
    /// If there is no such block.
    #[inline]
    #[must_use]
    pub fn is_free(&self, location: BlockLocation) -> bool {
        assert!(location.dbn.0 < self.group.stripes(), "there is no {}", location.dbn);
        let row = location.dbn.0 / ROW_STRIPES;
        self.free_word(location.spindle, row) >> (location.dbn.0 % ROW_STRIPES) & 1 == 1
    }

    /// The free blocks on `spindle` in the 64 stripes from `row * 64`, one bit a stripe.
    ///
    /// # Panics
    /// If `spindle` holds no data, or there is no such row.
    #[inline]
    #[must_use]
    pub fn free_word(&self, spindle: SpindleIndex, row: u64) -> u64 {
        assert!(u64::from(spindle.0) < self.spindles, "{spindle} holds no data");
        self.bits.free(self.word(spindle, row))
    }

    /// The words of `row`, one for each data spindle.
    #[inline]
    pub(crate) fn row(&self, row: u64) -> &[u64] {
        let first = (row * self.spindles) as usize;
        &self.words()[first..first + self.spindles as usize]
    }

    /// The free blocks of `word`, one bit a stripe.
    pub(crate) fn free_in_word(&self, word: u64) -> u64 {
        self.bits.free(word)
    }

    /// The words, row by row (64 stripes), with one word for each data spindle in a row. A set bit is a block in use;
    /// bits past the last stripe are set. [`Aggregate::mount`](crate::Aggregate::mount) takes these words.
    #[must_use]
    pub fn words(&self) -> &[u64] {
        self.bits.words()
    }

    /// The first row in `row..end` with a free block.
    #[inline]
    pub(crate) fn next_row_with_free(&mut self, row: u64, end: u64) -> Option<u64> {
        let word = self.bits.next_with_free(row * self.spindles, end * self.spindles)?;
        Some(word / self.spindles)
    }

    /// Marks the free blocks of `mask`, among the 64 stripes of `row` on `spindle`, as used. The caller must then
    /// update the score of their area: [`blocks_taken`](Self::blocks_taken).
    #[inline]
    pub(crate) fn take_mask(&mut self, spindle: SpindleIndex, row: u64, mask: u64) {
        let word = self.word(spindle, row);
        assert!(
            self.bits.free(word) & mask == mask,
            "{spindle}, row {row}: a used block was allocated again"
        );
        self.bits.take(word, mask);
        self.free_bits -= u64::from(mask.count_ones());
    }

    /// Marks free blocks of `row` as used: those of each spindle's mask in `written`. Tells `taken` the words and their
    /// masks, and returns how many blocks there were. The caller must then update the score of their area.
    pub(crate) fn take_row(
        &mut self,
        row: u64,
        written: &[u64],
        mut taken: impl FnMut(u64, u64),
    ) -> u64 {
        let first = row * self.spindles;
        assert!(self.bits.take_all(first, written), "row {row}: a used block was allocated again");
        for (word, &mask) in (first..).zip(written) {
            if mask != 0 {
                taken(word, mask);
            }
        }
        let blocks = written.iter().map(|mask| u64::from(mask.count_ones())).sum();
        self.free_bits -= blocks;
        blocks
    }

    /// Lowers the score of the area of `row` by `blocks`.
    #[inline]
    pub(crate) fn blocks_taken(&mut self, row: u64, blocks: u32) {
        self.areas.subtract(self.area_of_row(row), blocks);
    }

    /// Makes the used blocks of `mask` in `word` free. Returns how many there were.
    pub(crate) fn release_mask(&mut self, word: u64, mask: u64) -> u32 {
        let released = self.bits.release(word, mask).count_ones();
        self.free_bits += u64::from(released);
        if released > 0 {
            self.areas.add(self.area_of_word(word), released);
        }
        released
    }

    /// Makes the blocks at `places` free, which must be in use.
    pub(crate) fn release_all(&mut self, places: &[MapPosition]) {
        for (index, batch) in places.chunks(AHEAD).enumerate() {
            places
                .iter()
                .skip((index + 1) * AHEAD)
                .take(AHEAD)
                .for_each(|next| self.prefetch(*next));
            let bits = batch.iter().map(|place| (place.word(), place.bit()));
            let all_used = self.bits.release_each::<{ AHEAD + 1 }>(bits);
            assert!(all_used, "a freed block was free before the commit");
            let areas = batch.iter().map(|place| area_of_word(place.word(), self.areas_per_word));
            self.areas.add_each(areas);
        }
        self.free_bits += places.len() as u64;
    }

    /// Whether all blocks at `places` are in use.
    #[inline]
    pub(crate) fn all_used(&self, places: &[MapPosition]) -> bool {
        let words = self.bits.words();
        let all = |all, place: &MapPosition| all & words[place.word() as usize] >> place.bit();
        places.iter().fold(1, all) & 1 == 1
    }

    /// Announces an access to the block at `place`.
    #[inline]
    pub(crate) fn prefetch(&self, place: MapPosition) {
        self.bits.prefetch(place.word());
    }

    /// The bit of the block with number `vbn` of the group, which is number `index`.
    #[inline]
    pub(crate) fn position(&self, index: GroupIndex, vbn: Vbn) -> MapPosition {
        let BlockLocation { spindle, dbn } = self.group.locate(vbn);
        MapPosition::new(index, self.word(spindle, dbn.0 / ROW_STRIPES), dbn.0 % ROW_STRIPES)
    }

    /// The spindle and DBN of the block at `place`.
    pub(crate) fn location(&self, place: MapPosition) -> BlockLocation {
        let (row, spindle) = (place.word() / self.spindles, place.word() % self.spindles);
        let dbn = Dbn(row * ROW_STRIPES + u64::from(place.bit()));
        BlockLocation { spindle: SpindleIndex(spindle as u16), dbn }
    }

    /// The runs of free blocks on one spindle within `stripes`, in ascending order.
    ///
    /// # Panics
    /// If `spindle` holds no data, or `stripes` ends after the last stripe.
    pub fn free_runs(
        &self,
        spindle: SpindleIndex,
        stripes: Range<u64>,
    ) -> impl Iterator<Item = Range<u64>> + '_ {
        let exists = u64::from(spindle.0) < self.spindles && stripes.end <= self.group.stripes();
        assert!(exists, "{spindle}, stripes {stripes:?}: not all of them exist");
        let mut at = stripes.start;
        let end = stripes.end;
        std::iter::from_fn(move || {
            let start = self.next_stripe(spindle, at, end, true)?;
            let stop = self.next_stripe(spindle, start, end, false).unwrap_or(end);
            at = stop;
            Some(start..stop)
        })
    }

    /// The first stripe in `from..end` whose block on `spindle` is free (or, if not `free`, used).
    pub(crate) fn next_stripe(
        &self,
        spindle: SpindleIndex,
        from: u64,
        end: u64,
        free: bool,
    ) -> Option<u64> {
        let mut row = from / ROW_STRIPES;
        let mut mask = u64::MAX << (from % ROW_STRIPES);
        while row * ROW_STRIPES < end {
            let word = self.free_word(spindle, row);
            let hits = if free { word } else { !word } & mask;
            if hits != 0 {
                let stripe = row * ROW_STRIPES + u64::from(hits.trailing_zeros());
                return (stripe < end).then_some(stripe);
            }
            mask = u64::MAX;
            row += 1;
        }
        None
    }

    /// Memory of the map, its summary levels and the areas, in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let unchecked = self.unchecked.as_ref().map_or(0, SummaryBitmap::bytes);
        self.bits.bytes() + self.areas.bytes() + unchecked
    }

    /// Asserts that the free blocks of the map and of the areas, each counted as it changes, agree. O(1).
    pub(crate) fn assert_counts_agree(&self) {
        let (map, areas) = (self.free_bits, self.areas.free_blocks());
        assert!(map == areas, "{map} blocks are free in the map, {areas} in its allocation areas");
    }

    /// The first inconsistency between the map, its levels and the areas' counts, if there is one.
    pub(crate) fn verify(&self) -> Result<(), MapViolation> {
        if let Some(word) = self.bits.wrongly_marked() {
            return Err(MapViolation::MarkedFull { stripe: word / self.spindles * ROW_STRIPES });
        }
        for area in 0..self.areas.count() {
            let (score, in_map) = (self.areas.free_blocks_in(area), self.count_area(area));
            if in_map != score {
                return Err(MapViolation::AreaCount { area, score, in_map });
            }
        }
        let scores = (0..self.areas.count()).map(|area| u64::from(self.areas.free_blocks_in(area)));
        let (in_areas, counted) = (scores.sum(), self.free_blocks());
        if in_areas != counted {
            return Err(MapViolation::Total { counted, in_areas });
        }
        Ok(())
    }

    /// Counts the free blocks of `area` in the map.
    pub(crate) fn count_area(&self, area: u32) -> u32 {
        let rows = u64::from(area) * u64::from(self.area_rows)..;
        let first = (rows.start * self.spindles) as usize;
        let words = self.bits.words();
        let count = (u64::from(self.area_rows) * self.spindles) as usize;
        words[first..(first + count).min(words.len())].iter().map(|word| word.count_zeros()).sum()
    }

    /// The free blocks of `area` on each data spindle.
    pub(crate) fn free_blocks_by_spindle(&self, area: u32) -> Vec<u32> {
        let mut free = vec![0; self.spindles as usize];
        let first = u64::from(area) * u64::from(self.area_rows);
        let rows = self.words().chunks(self.spindles as usize).skip(first as usize);
        for row in rows.take(self.area_rows as usize) {
            for (free, word) in free.iter_mut().zip(row) {
                *free += word.count_zeros();
            }
        }
        free
    }

    /// The word that holds the blocks of `spindle` in `row`.
    #[inline]
    pub(crate) fn word(&self, spindle: SpindleIndex, row: u64) -> u64 {
        row * self.spindles + u64::from(spindle.0)
    }

    #[inline]
    fn area_of_row(&self, row: u64) -> u32 {
        self.area_of_word(row * self.spindles)
    }

    #[inline]
    fn area_of_word(&self, word: u64) -> u32 {
        area_of_word(word, self.areas_per_word)
    }
}

/// `word` by the words of an area, without a division.
///
/// With `m = (2^64 - f) / d` and `1 <= f <= d`, `(n + 1) * m / 2^64` is less than `(n + 1) / d`, by at most `1 / d` as
/// long as `n + 1 <= 2^64 / d`. A group has some 2^34 words at most, an area 2^26.
#[inline]
fn area_of_word(word: u64, areas_per_word: u64) -> u32 {
    ((u128::from(word + 1) * u128::from(areas_per_word)) >> 64) as u32
}

/// Marks bits past the last stripe as used: they stand for no block.
fn take_what_does_not_exist(bits: &mut FreeBits, group: &ParityGroup) {
    let tail = group.stripes() % ROW_STRIPES;
    if tail != 0 {
        let words = words_of(group);
        for word in words - u64::from(group.data_spindles())..words {
            bits.take(word, u64::MAX << tail);
        }
    }
}

/// A violation found in a map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MapViolation {
    /// A summary level says full where there is a free block.
    MarkedFull {
        /// The first stripe of the row, or of the rows below the summary word.
        stripe: u64,
    },
    /// An area's count is not what its map holds.
    AreaCount { area: u32, score: u32, in_map: u32 },
    /// The group's count is not the sum of its areas'.
    Total { counted: u64, in_areas: u64 },
}

strewn_base::saved_state! {
    impl for FreeMap {
        parts: bits, areas, unchecked;
        values: free_bits;
        built: group, spindles, area_rows, areas_per_word;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn areas_are_found_as_by_division(area in 0u64..1 << 26, words in 1u64..=1 << 26, shift in 0..26u32) {
            let words = (words >> shift).max(1);
            let first = (area * words).min((1 << 34) / words * words);
            for word in [first.saturating_sub(1), first, first + words / 2, first + words - 1] {
                prop_assert_eq!(u64::from(area_of_word(word, u64::MAX / words)), word / words);
            }
        }
    }
}
