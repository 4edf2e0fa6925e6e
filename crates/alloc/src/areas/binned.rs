//! A histogram of areas by score, and a short list of the best.

/// Ranges of scores.
const BINS: usize = 32;
/// Areas on the list: as many as fit in a page of 4 KiB.
const LISTED: usize = 1_024;
/// The bin of areas without a free block.
const NONE: u8 = u8::MAX;

/// Areas in [`BINS`] bins by score: how many each holds, and a list of areas of the best bins.
#[derive(Debug, Clone)]
pub(super) struct Binned {
    /// The highest score an area can have.
    largest: u32,
    /// The bin of each area.
    bin_of: Vec<u8>,
    histogram: [u32; BINS],
    /// Areas by bin. An entry is valid only while the area is still in the bin.
    listed: [Vec<u32>; BINS],
    entries: usize,
    /// No area of a bin below this one is put on the list.
    lowest_listed: usize,
}

impl Binned {
    pub(super) fn new(scores: &[u32], largest: u32) -> Self {
        let mut binned = Self {
            largest: largest.max(1),
            bin_of: Vec::new(),
            histogram: [0; BINS],
            listed: [const { Vec::new() }; BINS],
            entries: 0,
            lowest_listed: 0,
        };
        binned.bin_of = scores.iter().map(|score| binned.bin(*score)).collect();
        for &bin in binned.bin_of.iter().filter(|bin| **bin != NONE) {
            binned.histogram[usize::from(bin)] += 1;
        }
        binned.fill();
        binned
    }

    fn bin(&self, score: u32) -> u8 {
        if score == 0 {
            return NONE;
        }
        (u64::from(score) * BINS as u64 / (u64::from(self.largest) + 1)) as u8
    }

    /// Records new scores.
    pub(super) fn update(&mut self, areas: &[u32], score: impl Fn(u32) -> u32) {
        for &area in areas {
            let (was, is) = (self.bin_of[area as usize], self.bin(score(area)));
            if was == is {
                continue;
            }
            self.bin_of[area as usize] = is;
            if was != NONE {
                self.histogram[usize::from(was)] -= 1;
            }
            if is != NONE {
                self.histogram[usize::from(is)] += 1;
                self.list(usize::from(is), area);
            }
        }
    }

    /// An area of the best non-empty bin, and its score; (0, 0) if no area has a free block.
    pub(super) fn best(&mut self, score: impl Fn(u32) -> u32) -> (u32, u32) {
        let Some(bin) = (0..BINS).rev().find(|bin| self.histogram[*bin] > 0) else {
            return (0, 0);
        };
        loop {
            while let Some(&area) = self.listed[bin].last() {
                if usize::from(self.bin_of[area as usize]) == bin {
                    return (area, score(area));
                }
                self.listed[bin].pop();
                self.entries -= 1;
            }
            // The bin has areas that are not on the list: the fill lists at least one.
            self.fill();
        }
    }

    /// Puts `area` on the list of `bin`, if that bin is listed.
    fn list(&mut self, bin: usize, area: u32) {
        if bin < self.lowest_listed {
            return;
        }
        self.listed[bin].push(area);
        self.entries += 1;
        if self.entries <= LISTED {
            return;
        }
        for (bin, areas) in self.listed.iter_mut().enumerate() {
            areas.retain(|area| usize::from(self.bin_of[*area as usize]) == bin);
            areas.sort_unstable_by_key(|area| std::cmp::Reverse(*area));
            areas.dedup();
        }
        self.shorten();
    }

    /// Drops the worst bins until the list is half empty, so that this is rarely needed. A single bin that is too long
    /// is kept in part, since any of its areas will do.
    fn shorten(&mut self) {
        self.entries = self.listed.iter().map(Vec::len).sum();
        while self.entries > LISTED / 2 {
            let worst = (0..BINS).find(|bin| !self.listed[*bin].is_empty()).unwrap_or(0);
            if self.listed[worst].len() == self.entries {
                self.entries = self.entries.min(LISTED / 2);
                self.listed[worst].truncate(self.entries);
                self.lowest_listed = worst;
                break;
            }
            self.entries -= std::mem::take(&mut self.listed[worst]).len();
            self.lowest_listed = worst + 1;
        }
    }

    /// Rebuilds the list in one pass over the areas.
    fn fill(&mut self) {
        self.listed.iter_mut().for_each(Vec::clear);
        // As many of the best bins as fit, but at least one that has anything.
        let mut expected = 0;
        self.lowest_listed = 0;
        for bin in (0..BINS).rev() {
            let areas = self.histogram[bin] as usize;
            if expected > 0 && expected + areas > LISTED {
                self.lowest_listed = bin + 1;
                break;
            }
            expected += areas;
        }
        let mut entries = 0;
        for (area, &bin) in self.bin_of.iter().enumerate() {
            let bin = usize::from(bin);
            if (self.lowest_listed..BINS).contains(&bin) && entries < LISTED {
                self.listed[bin].push(area as u32);
                entries += 1;
            }
        }
        // The lowest area is taken first.
        self.listed.iter_mut().for_each(|areas| areas.reverse());
        self.entries = entries;
    }

    pub(super) fn bytes(&self) -> u64 {
        (self.bin_of.len() + BINS * size_of::<Vec<u32>>() + LISTED * 4) as u64
    }
}
