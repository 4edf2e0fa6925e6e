//! The free space of a metaslab as segments, by place and by size.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use strewn_base::state::SavedValue;

use crate::fragmentation::Histogram;

/// Segments below 16 KiB are not sorted by size until no larger one is left (`metaslab_by_size_min_shift`).
const LEAST_SORTED_SHIFT: u8 = 14;

/// A search that begins at the cursor tries at least so many segments (`metaslab_min_search_count`), and
const LEAST_TRIES: u32 = 100;

/// goes at least so far (`metaslab_df_max_search`), in bytes.
const FARTHEST: u64 = 16 << 20;

/// Free segments in sectors, relative to the start of the metaslab.
#[derive(Debug, Clone, SavedValue)]
pub struct FreeSegments {
    /// The start of each segment, by its end: what is taken from its front, or added there, leaves it in its place.
    by_end: BTreeMap<u32, u32>,
    /// Length and start of each segment of at least `least_sorted` sectors.
    by_size: BTreeSet<(u32, u32)>,
    least_sorted: u32,
    farthest: u32,
    free: u32,
    histogram: Histogram,
}

impl FreeSegments {
    /// Free space of `sectors` sectors of `1 << ashift` bytes from `first` on.
    pub fn new(first: u32, sectors: u32, ashift: u8) -> Self {
        let mut new = Self {
            by_end: BTreeMap::new(),
            by_size: BTreeSet::new(),
            least_sorted: 1 << LEAST_SORTED_SHIFT.saturating_sub(ashift),
            farthest: (FARTHEST >> ashift) as u32,
            free: 0,
            histogram: [0; 32],
        };
        new.insert(first, first + sectors);
        new.free = sectors;
        new
    }

    /// Free sectors.
    pub fn free(&self) -> u32 {
        self.free
    }

    /// Segments by the binary logarithm of their sectors.
    pub fn histogram(&self) -> &Histogram {
        &self.histogram
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.by_end.len() as u64
    }

    /// Segments in the order of their places: first sector and the one after the last.
    pub fn segments(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.by_end.iter().map(|(end, start)| (*start, *end))
    }

    /// Whether a sector is free.
    pub fn contains(&self, sector: u32) -> bool {
        self.has(sector, sector + 1)
    }

    /// Whether a range is free.
    pub fn has(&self, start: u32, end: u32) -> bool {
        self.first_that_ends_after(start).is_some_and(|of| of.start <= start && of.end >= end)
    }

    /// The segment with a sector, or the next one.
    fn first_that_ends_after(&self, sector: u32) -> Option<Range<u32>> {
        self.by_end.range(sector + 1..).next().map(|(end, start)| *start..*end)
    }

    fn insert(&mut self, start: u32, end: u32) {
        self.by_end.insert(end, start);
        self.count_in(start, end);
    }

    /// A segment begins here now, or has come.
    fn count_in(&mut self, start: u32, end: u32) {
        let length = end - start;
        self.histogram[length.ilog2() as usize] += 1;
        if length >= self.least_sorted {
            self.by_size.insert((length, start));
        }
    }

    /// A segment no longer begins here, or has gone.
    fn count_out(&mut self, start: u32, end: u32) {
        let length = end - start;
        self.histogram[length.ilog2() as usize] -= 1;
        if length >= self.least_sorted {
            self.by_size.remove(&(length, start));
        }
    }

    /// Takes `sectors` from the front of the segment that begins at `start`.
    ///
    /// # Panics
    /// If there is none, or if it is shorter.
    pub fn take(&mut self, start: u32, sectors: u32) {
        let segment = self.by_end.range_mut(start + 1..).next();
        let segment = segment.filter(|(end, first)| **first == start && **end - start >= sectors);
        let Some((&end, first)) = segment else { panic!("an allocation within one free segment") };
        *first += sectors;
        self.count_out(start, end);
        match start + sectors < end {
            true => self.count_in(start + sectors, end),
            false => _ = self.by_end.remove(&end),
        }
        self.free -= sectors;
    }

    /// Adds free space, joined with its neighbours.
    ///
    /// # Panics
    /// If a sector of it is free already.
    pub fn add(&mut self, start: u32, sectors: u32) {
        let (mut first, last) = (start, start + sectors);
        let after = self.first_that_ends_after(start);
        let is_free = after.as_ref().is_none_or(|after| after.start >= last);
        assert!(is_free, "sectors {start} to {last} are freed twice");
        if let Some(before) = self.by_end.remove(&start) {
            self.count_out(before, start);
            first = before;
        }
        match after.filter(|after| after.start == last) {
            Some(after) => {
                self.count_out(after.start, after.end);
                self.insert(first, after.end);
            }
            None => self.insert(first, last),
        }
        self.free += sectors;
    }

    /// Sectors of the largest segment.
    pub fn largest(&mut self) -> u32 {
        self.sort_all_if_none();
        self.by_size.last().map_or(0, |(length, _)| *length)
    }

    /// Once no large segment is left, small ones are sorted too, and stay so.
    fn sort_all_if_none(&mut self) {
        if self.by_size.is_empty() {
            self.least_sorted = 0;
            self.by_size = self.segments().map(|(start, end)| (end - start, start)).collect();
        }
    }

    /// The first segment of at least `sectors`, from the one at `cursor` on and not too far. Returns its start.
    pub fn first_fit(&self, cursor: u32, sectors: u32) -> Option<u32> {
        let (mut tried, mut first) = (0, None);
        // One that overlaps the block if it lay at the cursor is found too.
        for (&end, &start) in self.by_end.range(cursor + 1..) {
            if start - *first.get_or_insert(start) > self.farthest && tried >= LEAST_TRIES {
                return None;
            }
            if end - start >= sectors {
                return Some(start);
            }
            tried += 1;
        }
        None
    }

    /// The smallest segment of at least `sectors`, of several the first. Returns its start.
    pub fn best_fit(&mut self, sectors: u32) -> Option<u32> {
        self.sort_all_if_none();
        self.by_size.range((sectors, 0)..).next().map(|(_, start)| *start)
    }
}

#[cfg(test)]
mod tests {
    use strewn_base::Rng;

    use super::*;

    /// Against a vector of sectors, at random.
    #[test]
    fn segments_are_those_of_a_plain_map() {
        for seed in 0..50 {
            let mut rng = Rng::new(seed);
            let mut segments = FreeSegments::new(0, 400, 12);
            let mut free = vec![true; 400];
            let mut taken: Vec<(u32, u32)> = Vec::new();
            for _ in 0..2_000 {
                let sectors = 1 + rng.below(6) as u32;
                if rng.below(2) == 0 {
                    let cursor = rng.below(400) as u32;
                    let start = if rng.below(2) == 0 {
                        segments.first_fit(cursor, sectors)
                    } else {
                        segments.best_fit(sectors)
                    };
                    let Some(start) = start else { continue };
                    segments.take(start, sectors);
                    for sector in start..start + sectors {
                        assert!(
                            std::mem::replace(&mut free[sector as usize], false),
                            "seed {seed}"
                        );
                    }
                    taken.push((start, sectors));
                } else if !taken.is_empty() {
                    let (start, sectors) =
                        taken.swap_remove(rng.below(taken.len() as u64) as usize);
                    segments.add(start, sectors);
                    free[start as usize..(start + sectors) as usize].fill(true);
                }
            }
            let runs: Vec<(u32, u32)> = runs(&free);
            assert_eq!(segments.segments().collect::<Vec<_>>(), runs, "seed {seed}");
            let largest = runs.iter().map(|(start, end)| end - start).max().unwrap_or(0);
            assert_eq!(segments.largest(), largest, "seed {seed}");
            assert_eq!(segments.free() as usize, free.iter().filter(|free| **free).count());
            let mut histogram = [0; 32];
            runs.iter().for_each(|(start, end)| histogram[(end - start).ilog2() as usize] += 1);
            assert_eq!(*segments.histogram(), histogram, "seed {seed}");
        }
    }

    fn runs(free: &[bool]) -> Vec<(u32, u32)> {
        let mut runs: Vec<(u32, u32)> = Vec::new();
        for (sector, _) in free.iter().enumerate().filter(|(_, free)| **free) {
            match runs.last_mut() {
                Some(last) if last.1 == sector as u32 => last.1 += 1,
                _ => runs.push((sector as u32, sector as u32 + 1)),
            }
        }
        runs
    }

    /// Until no segment of 16 KiB is left, best fit does not see smaller ones.
    #[test]
    fn small_segments_are_sorted_by_size_only_when_no_large_one_is_left() {
        let mut segments = FreeSegments::new(0, 100, 12);
        segments.take(0, 100);
        segments.add(10, 2);
        segments.add(50, 20);
        assert_eq!(segments.best_fit(2), Some(50));
        segments.take(50, 20);
        assert_eq!(segments.best_fit(2), Some(10));
    }
}
