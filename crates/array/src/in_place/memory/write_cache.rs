//! The mirrored write-back cache, sector by sector.
//!
//! The disk groups of an array share its capacity. Each has the sectors of its own LUNs, and its own elevator.

use std::ops::Range;

use strewn_alloc::SummaryBitmap;

/// The sectors of a disk group's LUNs that are newer in the cache than on the spindles.
///
/// A sector is *dirty* from its write until a destage takes it, then *in flight* until the destage has written it.
/// A sector written again while dirty takes no more room (coalescing); written again while in flight it is both.
#[derive(Debug)]
pub(crate) struct WriteCache {
    dirty: SummaryBitmap,
    in_flight: SummaryBitmap,
    /// The elevator's position. The next destage begins at the first dirty sector from here on.
    sweep: u64,
}

impl WriteCache {
    pub(crate) fn new(lun_sectors: u64) -> Self {
        Self {
            dirty: SummaryBitmap::new(lun_sectors),
            in_flight: SummaryBitmap::new(lun_sectors),
            sweep: 0,
        }
    }

    pub(crate) fn dirty_sectors(&self) -> u64 {
        self.dirty.count()
    }

    pub(crate) fn sectors_in_flight(&self) -> u64 {
        self.in_flight.count()
    }

    /// The room that they take.
    pub(crate) fn sectors(&self) -> u64 {
        self.dirty.count() + self.in_flight.count()
    }

    /// Whether the spindles are up to date.
    pub(crate) fn is_empty(&self) -> bool {
        self.dirty.is_empty() && self.in_flight.is_empty()
    }

    /// The number of dirty sectors among these.
    #[inline]
    pub(crate) fn dirty_within(&self, sectors: Range<u64>) -> u64 {
        self.dirty.count_range(sectors)
    }

    /// Adds a write that there is room for.
    pub(crate) fn write(&mut self, sectors: Range<u64>) {
        self.dirty.insert_range(sectors);
    }

    /// The runs of dirty sectors.
    pub(crate) fn dirty_runs(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        let mut at = 0;
        std::iter::from_fn(move || {
            let start = self.dirty.next_member(at)?;
            at = self.dirty.run_end(start, self.dirty.len());
            Some(start..at)
        })
    }

    /// The runs of dirty sectors within `sectors`.
    pub(crate) fn dirty_runs_within(
        &self,
        sectors: Range<u64>,
    ) -> impl Iterator<Item = Range<u64>> + '_ {
        let mut at = sectors.start;
        std::iter::from_fn(move || {
            let start = self.dirty.next_member(at).filter(|start| *start < sectors.end)?;
            at = self.dirty.run_end(start, sectors.end);
            Some(start..at)
        })
    }

    /// Prefetches the bits of `sector`.
    #[inline]
    pub(crate) fn prefetch(&self, sector: u64) {
        self.dirty.prefetch(sector);
        self.in_flight.prefetch(sector);
    }

    /// Prefetches what says, mostly, that `sector` is not in the cache.
    #[inline]
    pub(crate) fn prefetch_summary(&self, sector: u64) {
        self.dirty.prefetch_summary(sector);
        self.in_flight.prefetch_summary(sector);
    }

    /// Prefetches what a write changes: the bits of `sector`.
    #[inline]
    pub(crate) fn prefetch_dirty(&self, sector: u64) {
        self.dirty.prefetch(sector);
        self.dirty.prefetch_summary(sector);
    }

    /// Prefetches what the elevator will come to next.
    #[inline]
    pub(crate) fn prefetch_next_dirty(&self) {
        self.prefetch(self.dirty.next_member_is_near(self.sweep));
    }

    /// Whether all of `sectors` are in the cache.
    #[inline(always)]
    pub(crate) fn holds_all(&self, sectors: Range<u64>) -> bool {
        self.dirty.covers_with(&self.in_flight, sectors)
    }

    /// Whether some of `sectors` are in the cache.
    pub(crate) fn holds_any(&self, sectors: Range<u64>) -> bool {
        let end = sectors.end.min(self.dirty.len());
        let sectors = sectors.start.min(end)..end;
        self.dirty.count_range(sectors.clone()) + self.in_flight.count_range(sectors) > 0
    }

    /// The runs of `sectors` that are in the cache.
    pub(crate) fn held(&self, sectors: Range<u64>) -> impl Iterator<Item = Range<u64>> + '_ {
        let mut at = sectors.start;
        std::iter::from_fn(move || {
            let start = (at..sectors.end).find(|sector| self.holds(*sector))?;
            let end = (start..sectors.end).find(|sector| !self.holds(*sector));
            at = end.unwrap_or(sectors.end);
            Some(start..at)
        })
    }

    /// The first dirty sector from the elevator's position on, wrapping at the end of the LUN.
    #[inline]
    pub(crate) fn next_dirty(&self) -> Option<u64> {
        if self.dirty.is_empty() {
            // Others' sectors are to be destaged.
            return None;
        }
        self.dirty.next_member(self.sweep).or_else(|| self.dirty.next_member(0))
    }

    /// The end of the dirty run that begins at `first`, at most `limit`.
    pub(crate) fn dirty_run_end(&self, first: u64, limit: u64) -> u64 {
        self.dirty.run_end(first, limit)
    }

    /// Moves the elevator to `sector`.
    pub(crate) fn sweep_on_to(&mut self, sector: u64) {
        self.sweep = sector;
    }

    /// A destage takes `sectors`, all of them dirty.
    pub(crate) fn begin_destage(&mut self, sectors: Range<u64>) {
        self.dirty.remove_range(sectors.clone());
        self.in_flight.insert_range(sectors.clone());
        self.sweep = sectors.end;
    }

    /// A destage could not write `sectors`: they are dirty again.
    pub(crate) fn put_back(&mut self, sectors: Range<u64>) {
        self.in_flight.remove_range(sectors.clone());
        self.dirty.insert_range(sectors);
    }

    /// A destage has written `sectors`.
    pub(crate) fn end_destage(&mut self, sectors: Range<u64>) {
        self.in_flight.remove_range(sectors);
    }

    /// Whether `sector` is no longer in the cache.
    pub(crate) fn is_gone(&self, sector: u64) -> bool {
        !self.holds(sector)
    }

    #[inline]
    fn holds(&self, sector: u64) -> bool {
        self.dirty.contains(sector) || self.in_flight.contains(sector)
    }
}

strewn_base::saved_state! {
    impl for WriteCache {
        parts: dirty, in_flight;
        values: sweep;
        built:;
    }
}

#[cfg(test)]
mod tests {
    use strewn_base::Rng;

    use super::*;

    /// A list of sectors, each of them dirty or not, and in flight or not.
    struct Model {
        dirty: Vec<bool>,
        in_flight: Vec<bool>,
        sweep: usize,
    }

    impl Model {
        fn set(flags: &mut [bool], sectors: &Range<u64>, to: bool) {
            flags[sectors.start as usize..sectors.end as usize].fill(to);
        }

        fn next_dirty(&self) -> Option<u64> {
            let dirty = |from: usize| (from..self.dirty.len()).find(|at| self.dirty[*at]);
            dirty(self.sweep).or_else(|| dirty(0)).map(|at| at as u64)
        }

        fn holds(&self, sector: u64) -> bool {
            self.dirty[sector as usize] || self.in_flight[sector as usize]
        }

        fn assert_is(&self, cache: &WriteCache, sectors: &Range<u64>, context: &str) {
            let count = |flags: &[bool]| flags.iter().filter(|flag| **flag).count() as u64;
            assert_eq!(cache.dirty_sectors(), count(&self.dirty), "{context}");
            assert_eq!(cache.sectors_in_flight(), count(&self.in_flight), "{context}");
            assert_eq!(cache.next_dirty(), self.next_dirty(), "{context}");
            let held: Vec<u64> = sectors.clone().filter(|sector| self.holds(*sector)).collect();
            let all = held.len() as u64 == sectors.end - sectors.start;
            assert_eq!(cache.holds_all(sectors.clone()), all, "{context}");
            assert_eq!(cache.holds_any(sectors.clone()), !held.is_empty(), "{context}");
            let found: Vec<u64> = cache.held(sectors.clone()).flatten().collect();
            assert_eq!(found, held, "{context}");
            let dirty: Vec<u64> =
                sectors.clone().filter(|sector| self.dirty[*sector as usize]).collect();
            let found: Vec<u64> = cache.dirty_runs_within(sectors.clone()).flatten().collect();
            assert_eq!(found, dirty, "{context}");
            assert_eq!(cache.dirty_within(sectors.clone()), dirty.len() as u64, "{context}");
        }
    }

    #[test]
    fn sectors_are_dirty_and_in_flight_as_a_list_of_them_says() {
        for seed in strewn_testing::seeds(40, 4_000) {
            let mut rng = Rng::new(seed);
            let lun_sectors = rng.within(1..1_200);
            let mut cache = WriteCache::new(lun_sectors);
            let flags = vec![false; lun_sectors as usize];
            let mut model = Model { dirty: flags.clone(), in_flight: flags, sweep: 0 };
            let mut destages: Vec<Range<u64>> = Vec::new();
            for step in 0..100 {
                let start = rng.below(lun_sectors);
                let sectors = start..(start + rng.within(1..80)).min(lun_sectors);
                match rng.below(4) {
                    0 | 1 => {
                        cache.write(sectors.clone());
                        Model::set(&mut model.dirty, &sectors, true);
                    }
                    2 => {
                        let Some(first) = cache.next_dirty() else { continue };
                        let end = cache.dirty_run_end(first, (first + 20).min(lun_sectors));
                        if (first..end).any(|sector| model.in_flight[sector as usize]) {
                            cache.sweep_on_to(end);
                        } else {
                            cache.begin_destage(first..end);
                            Model::set(&mut model.dirty, &(first..end), false);
                            Model::set(&mut model.in_flight, &(first..end), true);
                            destages.push(first..end);
                        }
                        model.sweep = end as usize;
                    }
                    _ => {
                        let Some(taken) = destages.pop() else { continue };
                        Model::set(&mut model.in_flight, &taken, false);
                        if rng.one_in(3) {
                            cache.put_back(taken.clone());
                            Model::set(&mut model.dirty, &taken, true);
                        } else {
                            cache.end_destage(taken);
                        }
                    }
                }
                model.assert_is(&cache, &sectors, &format!("seed {seed}, step {step}"));
            }
        }
    }
}
