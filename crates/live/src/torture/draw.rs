//! Draws of a schedule, the same on every machine.

use std::ops::Range;

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A stream of draws.
#[derive(Debug, Clone)]
pub(super) struct Draw(Xoshiro256PlusPlus);

impl Draw {
    /// A stream of its own for each purpose.
    pub(super) fn new(seed: u64, purpose: u64) -> Self {
        let spread = (purpose + 1).wrapping_mul(0xd1b5_4a32_d192_ed03);
        Self(Xoshiro256PlusPlus::seed_from_u64(seed ^ spread))
    }

    pub(super) fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Evenly from `range`; its start where it is empty.
    pub(super) fn from(&mut self, range: Range<u64>) -> u64 {
        let count = range.end.saturating_sub(range.start);
        range.start + ((u128::from(self.bits()) * u128::from(count)) >> 64) as u64
    }

    /// From `range`, each order of magnitude as often as any other.
    pub(super) fn spread(&mut self, range: Range<u64>) -> u64 {
        let (low, high) = (range.start.max(1).ilog2(), range.end.max(1).ilog2());
        let magnitude = self.from(low.into()..u64::from(high) + 1);
        let drawn = self.from(1 << magnitude..2 << magnitude);
        drawn.clamp(range.start, range.end.saturating_sub(1).max(range.start))
    }

    pub(super) fn one_in(&mut self, count: u64) -> bool {
        self.from(0..count) == 0
    }

    pub(super) fn of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.from(0..all.len() as u64) as usize]
    }
}
