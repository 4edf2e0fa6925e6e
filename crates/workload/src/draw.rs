//! Numbers out of a generator, the same on every machine.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// xoshiro256++, its state filled from a seed by SplitMix64.
#[derive(Clone, Debug)]
pub(crate) struct Draw(Xoshiro256PlusPlus);

impl Draw {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// A number from 0 to `bound - 1`: the upper half of a product, without rejection.
    #[inline]
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.0.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// True `percent` times in a hundred; nothing is drawn where there is no choice.
    #[inline]
    pub(crate) fn happens(&mut self, percent: u8) -> bool {
        match percent {
            0 => false,
            100 => true,
            _ => self.below(100) < u64::from(percent),
        }
    }

    /// A number from 0 up to, not including, 1: the 53 bits that a double holds.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }
}
