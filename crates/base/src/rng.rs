//! Random numbers that a seed repeats on every machine and in every version.

use std::ops::Range;

use rand_core::{Rng as _, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::state::{SavedValue, StateError, StateReader, StateWriter};

/// xoshiro256++ (Blackman and Vigna), seeded by SplitMix64. A seed gives the same numbers on every machine and in every
/// version.
///
/// A number below `n` is the upper half of the 128-bit product of `n` and a 64-bit draw. Nothing is rejected, so each
/// number takes one draw, with a bias below `n / 2^64`.
///
/// ```
/// use strewn_base::Rng;
///
/// let mut rng = Rng::new(7);
/// assert!(rng.below(10) < 10);
/// assert_eq!(Rng::new(7).bits(), Rng::new(7).bits());
/// ```
#[derive(Clone, Debug)]
pub struct Rng(Xoshiro256PlusPlus);

impl Rng {
    /// The stream of `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number from 0 to `bound - 1`; 0 if `bound` is 0.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// A number from `range`; its start if the range is empty.
    #[inline]
    pub fn within(&mut self, range: Range<u64>) -> u64 {
        range.start + self.below(range.end.saturating_sub(range.start))
    }

    /// A number from 0 (included) to 1 (excluded), in the 53 bits that a double holds.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// True with probability `1 / count`; always if `count` is 0 or 1.
    #[inline]
    pub fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }

    /// True with probability `parts / whole`. A certain outcome draws nothing: a probability of 0 or 1 does not change
    /// the numbers that follow.
    #[inline]
    pub fn chance(&mut self, parts: u64, whole: u64) -> bool {
        match parts {
            0 => false,
            _ if parts >= whole => true,
            _ => self.below(whole) < parts,
        }
    }

    /// One item of `all`, each as likely as the others.
    ///
    /// # Panics
    /// If `all` is empty.
    pub fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len() as u64) as usize]
    }

    /// Fills `bytes` with random bits.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        self.0.fill_bytes(bytes);
    }
}

impl SavedValue for Rng {
    fn write(&self, to: &mut StateWriter<'_>) -> Result<(), StateError> {
        let state = self.0.state();
        let (words, _) = state.as_chunks();
        words.iter().try_for_each(|word| to.value(&u64::from_le_bytes(*word)))
    }

    fn read(from: &mut StateReader<'_>) -> Result<Self, StateError> {
        let mut state = [0; 32];
        let (words, _) = state.as_chunks_mut();
        for word in words {
            *word = from.value::<u64>()?.to_le_bytes();
        }
        Ok(Self(Xoshiro256PlusPlus::from_seed(state)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_means_the_same_numbers_in_every_version() {
        // From the reference implementations of SplitMix64 and xoshiro256++ at prng.di.unimi.it, seeded with 1.
        let mut rng = Rng::new(1);
        let bits: Vec<u64> = (0..3).map(|_| rng.bits()).collect();
        assert_eq!(bits, [0xcfc5_d07f_6f03_c29b, 0xbf42_4132_963f_e08d, 0x19a3_7d57_57aa_f520]);
    }

    #[test]
    fn certain_outcomes_draw_nothing() {
        let mut rng = Rng::new(3);
        assert!(!rng.chance(0, 100));
        assert!(rng.chance(100, 100));
        assert_eq!(rng.bits(), Rng::new(3).bits());
    }

    #[test]
    fn empty_ranges_give_their_start() {
        let mut rng = Rng::new(3);
        assert_eq!(rng.below(0), 0);
        assert_eq!(rng.within(9..9), 9);
    }
}
