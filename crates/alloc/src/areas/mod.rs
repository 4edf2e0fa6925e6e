//! Allocation areas: the free blocks of each, and the emptiest.

mod binned;
mod exact;

use strewn_base::state::{SavedState, StateError, StateReader, StateWriter};

use crate::bitmap::SummaryBitmap;
use binned::Binned;
use exact::Tournament;

/// How the areas of a parity group are ordered by free blocks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AreaOrder {
    /// A tournament over all areas: the emptiest is known exactly, in O(log areas) for each area whose score has
    /// changed since the last query. Four bytes an area, in addition to its score.
    #[default]
    Exact,
    /// A histogram of scores in 32 bins and a list of at most 1,024 areas of the best bins (Kesavan, Curtis-Maury and
    /// Bhattacharjee, "Efficient Search for Free Blocks in the WAFL File System", ICPP 2018, call it a histogram-based
    /// partial sort). The area found is within a bin, 1/32 of a whole area, of the emptiest. O(1), except for a scan
    /// of the scores when the list runs out. A byte an area and a fixed 6 KiB, in addition to the scores.
    Binned,
}

/// The allocation areas of one parity group: the exact number of free blocks in each.
#[derive(Debug, Clone)]
pub struct Areas {
    scores: Vec<u32>,
    /// Blocks of a whole area: the highest score.
    largest: u32,
    with_free: SummaryBitmap,
    free_blocks: u64,
    order: Order,
    /// Areas withheld from allocation while they are being emptied: few, in ascending order.
    withheld: Vec<u32>,
    /// Areas whose position in the order is out of date, each once.
    changed: Vec<u32>,
    /// A bit an area: whether it is among these.
    is_changed: Vec<u64>,
}

#[derive(Debug, Clone)]
enum Order {
    Exact(Tournament),
    Binned(Box<Binned>),
}

impl Areas {
    pub(crate) fn new(scores: Vec<u32>, largest: u32, order: AreaOrder) -> Self {
        let count = scores.len() as u64;
        let mut with_free = SummaryBitmap::new(count);
        for (area, _) in scores.iter().enumerate().filter(|(_, score)| **score > 0) {
            with_free.insert(area as u64);
        }
        let order = match order {
            AreaOrder::Exact => Order::Exact(Tournament::new(&scores)),
            AreaOrder::Binned => Order::Binned(Box::new(Binned::new(&scores, largest))),
        };
        Self {
            free_blocks: scores.iter().map(|score| u64::from(*score)).sum(),
            with_free,
            order,
            withheld: Vec::new(),
            changed: Vec::new(),
            is_changed: vec![0; scores.len().div_ceil(u64::BITS as usize)],
            scores,
            largest,
        }
    }

    /// Number of areas.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.scores.len() as u32
    }

    /// Blocks of a whole area. The last area of a group may have fewer.
    #[must_use]
    pub fn area_blocks(&self) -> u32 {
        self.largest
    }

    /// Free blocks in `area`.
    ///
    /// # Panics
    /// If there is no such area.
    #[inline]
    #[must_use]
    pub fn free_blocks_in(&self, area: u32) -> u32 {
        self.scores[area as usize]
    }

    /// Free blocks in all areas.
    #[must_use]
    pub fn free_blocks(&self) -> u64 {
        self.free_blocks
    }

    /// The area with the most free blocks (the lowest on a tie), and how many; with [`AreaOrder::Binned`] an area that
    /// comes close. `None` if no area has any. O(1) once the order is up to date.
    pub fn emptiest(&mut self) -> Option<(u32, u32)> {
        self.update_order();
        let Self { scores, withheld, order, .. } = self;
        let score = |area| offered(scores, withheld, area);
        let (area, free) = match order {
            Order::Exact(tournament) => tournament.winner(score),
            Order::Binned(binned) => binned.best(score),
        };
        (free > 0).then_some((area, free))
    }

    /// The first area at or after `from` that has a free block and is not withheld. O(log areas).
    #[must_use]
    pub fn next_with_free(&self, from: u32) -> Option<u32> {
        let mut from = u64::from(from);
        loop {
            let area = self.with_free.next_member(from)? as u32;
            if !self.is_withheld(area) {
                return Some(area);
            }
            from = u64::from(area) + 1;
        }
    }

    /// Withholds `area` from allocation, so that it can be emptied.
    pub(crate) fn withhold(&mut self, area: u32) {
        assert!(area < self.count(), "there is no area {area}, but {}", self.count());
        if let Err(place) = self.withheld.binary_search(&area) {
            self.withheld.insert(place, area);
            self.mark_changed(area);
        }
    }

    /// Allows allocation from a withheld `area` again.
    pub(crate) fn release(&mut self, area: u32) {
        assert!(area < self.count(), "there is no area {area}, but {}", self.count());
        if let Ok(place) = self.withheld.binary_search(&area) {
            self.withheld.remove(place);
            self.mark_changed(area);
        }
    }

    /// Whether `area` is withheld from allocation.
    #[must_use]
    pub fn is_withheld(&self, area: u32) -> bool {
        self.withheld.binary_search(&area).is_ok()
    }

    /// The areas withheld from allocation while a cleaning empties them, in ascending order: usually none.
    #[must_use]
    pub fn withheld(&self) -> &[u32] {
        &self.withheld
    }

    #[inline(always)]
    pub(crate) fn add(&mut self, area: u32, blocks: u32) {
        let score = &mut self.scores[area as usize];
        if *score == 0 {
            self.with_free.insert(u64::from(area));
        }
        *score += blocks;
        self.free_blocks += u64::from(blocks);
        self.mark_changed(area);
    }

    /// Adds a block to each of `areas`.
    #[inline]
    pub(crate) fn add_each(&mut self, areas: impl Iterator<Item = u32>) {
        let Self { scores, with_free, changed, is_changed, .. } = self;
        let (scores, is_changed) = (&mut scores[..], &mut is_changed[..]);
        let mut blocks = 0;
        for area in areas {
            let score = &mut scores[area as usize];
            if *score == 0 {
                with_free.insert(u64::from(area));
            }
            *score += 1;
            note_changed(changed, is_changed, area);
            blocks += 1;
        }
        self.free_blocks += blocks;
    }

    #[inline]
    pub(crate) fn subtract(&mut self, area: u32, blocks: u32) {
        let score = &mut self.scores[area as usize];
        assert!(blocks <= *score, "area {area}: {blocks} blocks taken, {score} were free");
        *score -= blocks;
        if *score == 0 {
            self.with_free.remove(u64::from(area));
        }
        self.free_blocks -= u64::from(blocks);
        self.mark_changed(area);
    }

    #[inline(always)]
    fn mark_changed(&mut self, area: u32) {
        note_changed(&mut self.changed, &mut self.is_changed, area);
    }

    /// Brings the order up to date with the scores.
    fn update_order(&mut self) {
        let Self { scores, largest, withheld, order, changed, is_changed, .. } = self;
        let score = |area| offered(scores, withheld, area);
        match order {
            Order::Exact(tournament) => tournament.replay(changed, score),
            Order::Binned(binned) => binned.update(changed, score),
        }
        for area in changed.drain(..) {
            let score = scores[area as usize];
            assert!(score <= *largest, "area {area} of {largest} blocks has {score} free ones");
            is_changed[(area / u64::BITS) as usize] &= !(1 << (area % u64::BITS));
        }
    }

    /// Memory in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        let order = match &self.order {
            Order::Exact(tournament) => tournament.bytes(),
            Order::Binned(binned) => binned.bytes(),
        };
        let is_changed = self.is_changed.len() as u64 * 8;
        self.scores.len() as u64 * 4 + self.with_free.bytes() + is_changed + order
    }
}

/// Adds `area` to `changed` if its bit is not set.
#[inline(always)]
fn note_changed(changed: &mut Vec<u32>, is_changed: &mut [u64], area: u32) {
    let (word, bit) = (&mut is_changed[(area / u64::BITS) as usize], 1 << (area % u64::BITS));
    if *word & bit == 0 {
        *word |= bit;
        changed.push(area);
    }
}

/// The score by which `area` is ordered: its free blocks, or 0 while it is withheld.
fn offered(scores: &[u32], withheld: &[u32], area: u32) -> u32 {
    if withheld.binary_search(&area).is_ok() { 0 } else { scores[area as usize] }
}

strewn_base::saved_state! {
    impl for Areas {
        parts: scores, with_free, order, is_changed;
        values: free_blocks, withheld, changed;
        built: largest;
    }
}

impl SavedState for Order {
    fn save(&self, to: &mut StateWriter<'_>) -> Result<(), StateError> {
        match self {
            Self::Exact(tournament) => tournament.save(to),
            Self::Binned(_) => Err(StateError::NotSaved("an approximate order of areas")),
        }
    }

    fn restore(&mut self, from: &mut StateReader<'_>) -> Result<(), StateError> {
        match self {
            Self::Exact(tournament) => tournament.restore(from),
            Self::Binned(_) => Err(StateError::NotSaved("an approximate order of areas")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn history() -> impl Strategy<Value = (Vec<u32>, Vec<(usize, u32, bool)>)> {
        let change = (0usize..3_000, 0u32..=640, prop::bool::weighted(0.1));
        (prop::collection::vec(0u32..=640, 1..3_000), prop::collection::vec(change, 0..200))
    }

    /// Sets `area` to `score` and asks for the emptiest; what the scores then are, zero where withheld.
    fn step(areas: &mut Areas, (area, score, withhold): (usize, u32, bool)) -> Vec<u32> {
        let area = area as u32 % areas.count();
        let before = areas.free_blocks_in(area);
        if withhold {
            if areas.withheld().contains(&area) {
                areas.release(area);
            } else {
                areas.withhold(area);
            }
        } else if score > before {
            areas.add(area, score - before);
        } else {
            areas.subtract(area, before - score);
        }
        let offered =
            |area| if areas.withheld().contains(&area) { 0 } else { areas.scores[area as usize] };
        (0..areas.count()).map(offered).collect()
    }

    proptest! {
        #[test]
        fn the_exact_order_finds_the_lowest_of_the_emptiest((scores, changes) in history()) {
            let mut areas = Areas::new(scores, 640, AreaOrder::Exact);
            for change in changes {
                let offered = step(&mut areas, change);
                let best = *offered.iter().max().unwrap();
                let lowest = offered.iter().position(|score| *score == best).unwrap() as u32;
                prop_assert_eq!(areas.emptiest(), (best > 0).then_some((lowest, best)));
                let first = offered.iter().position(|score| *score > 0).map(|area| area as u32);
                prop_assert_eq!(areas.next_with_free(0), first);
            }
        }

        #[test]
        fn the_binned_order_comes_within_a_bin((scores, changes) in history()) {
            let mut areas = Areas::new(scores, 640, AreaOrder::Binned);
            for change in changes {
                let offered = step(&mut areas, change);
                let best = *offered.iter().max().unwrap();
                match areas.emptiest() {
                    None => prop_assert_eq!(best, 0),
                    Some((area, score)) => {
                        prop_assert_eq!(offered[area as usize], score);
                        prop_assert!(score > 0 && best - score <= 640 / 32, "{} where {} was to be had", score, best);
                    }
                }
            }
        }
    }
}
