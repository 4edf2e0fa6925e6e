//! Gaps between random arrivals.

use strewn_base::Rng;
use strewn_base::state::SavedValue;

/// The gaps of a Poisson process, repeatable by a seed.
///
/// ```
/// use strewn_workload::ExponentialGaps;
///
/// let mut gaps = ExponentialGaps::new(1000, 1);
/// let second: u64 = (0..1000).map(|_| gaps.next_ns()).sum();
/// assert!((900_000_000..1_100_000_000).contains(&second));
/// ```
#[derive(Clone, Debug, SavedValue)]
pub struct ExponentialGaps {
    mean_ns: f64,
    rng: Rng,
}

impl ExponentialGaps {
    /// Creates gaps between events, `per_second` on average (at least 1).
    #[must_use]
    pub fn new(per_second: u64, seed: u64) -> Self {
        Self { mean_ns: 1e9 / per_second.max(1) as f64, rng: Rng::new(seed) }
    }

    /// Draws the next gap, in nanoseconds.
    pub fn next_ns(&mut self) -> u64 {
        // The argument is never 0.
        (-libm::log(1.0 - self.rng.unit()) * self.mean_ns) as u64
    }
}
