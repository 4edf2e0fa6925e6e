//! Random bits for scattering blocks and choosing samples.

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): a seed gives the same numbers everywhere.
///
/// The rest of Strewn draws from `strewn_base::Rng`. This crate has a generator of its own because it needs no other
/// dependency for one, and because [`set_aside_at_random`](crate::Aggregate::set_aside_at_random) must give the same
/// blocks for a seed in every version.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    #[inline]
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// 64 bits, each set with probability `share`, in runs of `run` (a power of two, at most 64).
    ///
    /// Each step halves the distance to the share: from its lowest binary digit up, a random word is joined where the
    /// digit is 1 and cut with where it is 0. Sixteen digits decide all bits of a word at once.
    pub(crate) fn bits_in_runs(&mut self, share: f64, run: u32) -> u64 {
        const DIGITS: u32 = 16;
        let share = (share * f64::from(1 << DIGITS)).round() as u32;
        if share == 1 << DIGITS {
            return u64::MAX;
        }
        let mut set = 0;
        // Digits below the lowest 1 change nothing.
        for digit in share.trailing_zeros().min(DIGITS)..DIGITS {
            let random = self.next();
            set = if share >> digit & 1 == 1 { set | random } else { set & random };
        }
        spread(set, run)
    }
}

/// Every `run`-th bit of `set`, `run` times over.
fn spread(set: u64, run: u32) -> u64 {
    if run == 1 {
        return set;
    }
    let run_mask = if run == 64 { u64::MAX } else { (1 << run) - 1 };
    let runs = (0..64 / run).filter(|index| set >> (index * run) & 1 == 1);
    runs.fold(0, |spread, index| spread | run_mask << (index * run))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_come_in_the_share_asked_for() {
        for run in [1, 8, 64] {
            for share in [0.0, 0.05, 0.5, 0.98, 1.0] {
                let mut random = Random::new(7);
                let words = 200_000;
                let set: u64 = (0..words)
                    .map(|_| u64::from(random.bits_in_runs(share, run).count_ones()))
                    .sum();
                let found = set as f64 / (words as f64 * 64.0);
                assert!((found - share).abs() < 0.005, "{found} where {share} was asked for");
            }
        }
    }

    #[test]
    fn runs_are_whole() {
        assert_eq!(spread(0b1_0000_0001, 8), 0xffff);
        assert_eq!(spread(1, 64), u64::MAX);
    }
}
