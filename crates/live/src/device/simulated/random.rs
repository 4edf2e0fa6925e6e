//! Draws, the same on every machine.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

#[derive(Debug, Clone)]
pub(super) struct Random(Xoshiro256PlusPlus);

impl Random {
    /// A stream of its own for each purpose, so that one more draw for a fault leaves the service times alone.
    pub(super) fn new(seed: u64, purpose: u64) -> Self {
        let spread = purpose.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Self(Xoshiro256PlusPlus::seed_from_u64(seed.wrapping_add(spread)))
    }

    pub(super) fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Evenly from 0 to `bound` - 1; 0 if that is empty.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    pub(super) fn happens(&mut self, per_million: u32) -> bool {
        // Nothing is drawn for what never happens: a rate of zero changes no other draw.
        per_million > 0 && self.below(1_000_000) < u64::from(per_million)
    }
}
