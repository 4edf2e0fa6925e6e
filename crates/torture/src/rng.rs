//! The random numbers of a schedule: a stream for each purpose, and draws by order of magnitude.

use std::ops::Range;

use strewn_base::Rng;

/// Returns the random stream of a schedule's seed for one purpose, so that an extra draw for one purpose changes no
/// other.
pub(crate) fn stream(seed: u64, purpose: u64) -> Rng {
    let spread = (purpose + 1).wrapping_mul(0xd1b5_4a32_d192_ed03);
    Rng::new(seed ^ spread)
}

/// Draws that favour no order of magnitude.
pub(crate) trait SpreadDraws {
    /// Draws a number from `range`: each power of two is as likely as any other.
    fn spread(&mut self, range: Range<u64>) -> u64;
}

impl SpreadDraws for Rng {
    fn spread(&mut self, range: Range<u64>) -> u64 {
        let (low, high) = (range.start.max(1).ilog2(), range.end.max(1).ilog2());
        let magnitude = self.within(low.into()..u64::from(high) + 1);
        let drawn = self.within(1 << magnitude..2 << magnitude);
        drawn.clamp(range.start, range.end.saturating_sub(1).max(range.start))
    }
}
