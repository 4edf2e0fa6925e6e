//! Measures of fragmentation, of files and of free space.
//!
//! Running counters cost next to nothing: [`LayoutCounter`], [`FullStripes`] and the scores of areas. Passes over a
//! file or over the maps are exact, in steps of as many blocks or rows as the caller has time for: [`FilePass`],
//! [`FreeSpacePass`]. Samples read a bounded part and state their error: [`Estimate`].

mod expected;
mod file;
mod free_space;
mod picture;
mod requests;
mod stripes;

use std::collections::BTreeSet;
use std::ops::{Range, RangeInclusive};

use strewn_raid::{ParityGroup, Vbn};

use crate::aggregate::{Aggregate, AggregateLocation};
use crate::block_map::{BlockMap, BlockMapPart};
use crate::group_index::GroupIndex;
use crate::random::Random;

pub use expected::expected_runs;
pub use file::{FileLayout, FilePass, LayoutCounter, SampledLayout};
pub use free_space::{
    FreeRunCounter, FreeSpace, FreeSpacePass, RUN_CLASSES, RunHistogram, SampledFreeSpace,
};
pub use picture::{MAP_LEVELS, MapPicture, SpindleLevels};
pub use requests::{RequestMix, RequestMixError};
pub use stripes::FullStripes;

/// Where the blocks of a file lie: a [`BlockMap`], or a closure from the number of a block within its file.
pub trait FileBlocks {
    /// The VBN of `block` of the file; `None` if it was never written.
    fn vbn(&self, block: u64) -> Option<Vbn>;

    /// The VBNs of `blocks` as a slice, if the file has one, with `u32::MAX` for an unwritten block. It makes a pass
    /// ten times as fast.
    fn vbns(&self, blocks: Range<u64>) -> Option<&[u32]> {
        let _ = blocks;
        None
    }
}

impl<F: Fn(u64) -> Option<Vbn>> FileBlocks for F {
    fn vbn(&self, block: u64) -> Option<Vbn> {
        self(block)
    }
}

impl FileBlocks for BlockMapPart<'_> {
    fn vbn(&self, block: u64) -> Option<Vbn> {
        u32::try_from(block).ok().and_then(|block| self.get(block))
    }

    fn vbns(&self, blocks: Range<u64>) -> Option<&[u32]> {
        let is_in = blocks.end <= self.blocks;
        is_in.then(|| self.map.entries(self.first + blocks.start..self.first + blocks.end))?
    }
}

impl FileBlocks for BlockMap {
    fn vbn(&self, block: u64) -> Option<Vbn> {
        u32::try_from(block).ok().and_then(|block| self.get(block))
    }

    fn vbns(&self, blocks: Range<u64>) -> Option<&[u32]> {
        self.entries(blocks)
    }
}

/// Where VBNs lie: an [`Aggregate`], or a single parity group.
pub trait Geometry {
    /// Where `vbn` lies; `None` if there is no such block.
    fn place(&self, vbn: Vbn) -> Option<AggregateLocation>;

    /// The parity group `group`; `None` if there is no such group.
    fn group(&self, group: GroupIndex) -> Option<&ParityGroup>;

    /// The single parity group, if there is only one, so that its VBNs are those of the whole.
    fn only_group(&self) -> Option<&ParityGroup> {
        None
    }
}

impl Geometry for ParityGroup {
    fn place(&self, vbn: Vbn) -> Option<AggregateLocation> {
        let exists = vbn.0 < self.total_blocks();
        exists.then(|| AggregateLocation { group: GroupIndex(0), location: self.locate(vbn) })
    }

    fn group(&self, group: GroupIndex) -> Option<&ParityGroup> {
        (group.0 == 0).then_some(self)
    }

    fn only_group(&self) -> Option<&ParityGroup> {
        Some(self)
    }
}

impl<T: Copy> Geometry for Aggregate<T> {
    fn place(&self, vbn: Vbn) -> Option<AggregateLocation> {
        self.locate(vbn)
    }

    fn group(&self, group: GroupIndex) -> Option<&ParityGroup> {
        self.free_maps().nth(group.index()).map(|map| map.group())
    }

    fn only_group(&self) -> Option<&ParityGroup> {
        (self.groups() == 1).then(|| self.free_map(GroupIndex(0)).group())
    }
}

/// Whether `next` directly follows `previous` on the same spindle.
fn is_behind(geometry: &impl Geometry, previous: Option<Vbn>, next: Vbn) -> bool {
    // The first block of a spindle follows the last block of the previous spindle in number only.
    previous.is_some_and(|previous| previous.0.checked_add(1) == Some(next.0))
        && geometry.place(next).is_some_and(|place| place.location.dbn.0 != 0)
}

/// An estimate from a sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The estimate.
    pub value: f64,
    /// The largest difference from the exact value in 95 of 100 samples; 0 if everything was read.
    pub error_95: f64,
}

impl Estimate {
    /// An exact value: everything was read.
    #[must_use]
    pub fn exact(value: f64) -> Self {
        Self { value, error_95: 0.0 }
    }

    /// The interval that contains the exact value in 95 of 100 samples.
    #[must_use]
    pub fn interval(&self) -> RangeInclusive<f64> {
        self.value - self.error_95..=self.value + self.error_95
    }

    /// The same estimate in another unit.
    #[must_use]
    fn scaled(self, factor: f64) -> Self {
        Self { value: self.value * factor, error_95: self.error_95 * factor.abs() }
    }

    /// Estimates `sum(part) / sum(whole)` over all `population` units from units drawn without replacement (Cochran,
    /// "Sampling Techniques", third edition, 1977, equation 6.13: a ratio estimate with the error of the normal
    /// distribution).
    ///
    /// If all units drawn are alike, fewer than `3 / units` of the population differ in 95 of 100 samples ("rule of
    /// three", Hanley and Lippman-Hand, 1983). That is then the error; the ratio is assumed to lie between 0 and 1.
    fn of_ratio(units: &[(f64, f64)], population: u64) -> Self {
        let drawn = units.len() as f64;
        let part: f64 = units.iter().map(|(part, _)| part).sum();
        let whole: f64 = units.iter().map(|(_, whole)| whole).sum();
        let ratio = if whole == 0.0 { 0.0 } else { part / whole };
        let squares: f64 = units.iter().map(|(part, whole)| (part - ratio * whole).powi(2)).sum();
        let left_out = 1.0 - drawn / population as f64;
        let variance = left_out * squares / (drawn - 1.0) * drawn / (whole * whole);
        let error_95 = 1.96 * variance.sqrt();
        Self { value: ratio, error_95: if error_95 > 0.0 { error_95 } else { 3.0 / drawn } }
    }
}

/// The smallest sample: the error formula needs some units.
const FEWEST_DRAWN: u64 = 30;

/// `count` different numbers below `bound`, in ascending order, all sets equally likely (Floyd's
/// algorithm: Bentley and Floyd, Communications of the ACM 30:9, 1987).
fn draw(count: u64, bound: u64, seed: u64) -> BTreeSet<u64> {
    let mut random = Random::new(seed);
    let mut drawn = BTreeSet::new();
    for last in bound.saturating_sub(count)..bound {
        let number = random.below(last + 1);
        if !drawn.insert(number) {
            drawn.insert(last);
        }
    }
    drawn
}
