//! How many operations had which response time.

use strewn_base::state::{SavedValue, StateError, StateReader, StateWriter};

/// The narrowest bins are of 2^9 ns.
const NARROWEST_BITS: u32 = 9;
/// An octave has 2^10 bins, so that each is within 0.1 % of its times.
const OCTAVE_BITS: u32 = 10;
/// Octaves of bins that are twice as wide each, after two of bins that are as wide as the first.
const OCTAVES: usize = 21;
const BINS: usize = (OCTAVES + 2) << OCTAVE_BITS;
/// What is longer than all bins counts as this: half an hour.
const LONGEST_NS: u64 = 1_800_000_000_000;

/// Response times in nanoseconds, within 0.1 % or 0.5 µs. All have the same bins, so that they can be added. These are
/// the bins of an HDR histogram for three digits (Tene, hdrhistogram.org).
#[derive(Debug, Clone)]
pub struct ResponseHistogram {
    counts: Vec<u64>,
}

impl Default for ResponseHistogram {
    fn default() -> Self {
        Self { counts: vec![0; BINS] }
    }
}

/// The bin of a time; none has it if it is no index.
#[inline(always)]
fn bin_of(ns: u64) -> usize {
    let equal_width = (1 << (NARROWEST_BITS + OCTAVE_BITS + 1)) - 1;
    let bits = (ns | equal_width).ilog2() - OCTAVE_BITS;
    let before = u64::from(bits - NARROWEST_BITS) << OCTAVE_BITS;
    (before + (ns >> bits)) as usize
}

/// The longest time in a bin.
fn longest_in(bin: usize) -> u64 {
    let octave = (bin >> OCTAVE_BITS).saturating_sub(1);
    let bits = octave as u32 + NARROWEST_BITS;
    (((bin - (octave << OCTAVE_BITS)) as u64 + 1) << bits) - 1
}

impl ResponseHistogram {
    /// Counts a time.
    #[inline(always)]
    pub fn record(&mut self, ns: u64) {
        self.record_many(ns, 1);
    }

    #[inline(always)]
    fn record_many(&mut self, ns: u64, times: u64) {
        match self.counts.get_mut(bin_of(ns)) {
            Some(count) => *count += times,
            None => self.counts[bin_of(LONGEST_NS)] += times,
        }
    }

    /// Adds the times of another.
    pub fn add(&mut self, other: &Self) {
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
    }

    /// Returns the number of times counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Returns the time that the share `quantile` of all times does not exceed, rounded up to the end of its bin; 0 if
    /// there are none. 0.95 asks for the 95th percentile.
    #[must_use]
    pub fn quantile(&self, quantile: f64) -> u64 {
        let wanted = ((quantile * self.count() as f64).ceil() as u64).max(1);
        let mut counted = 0;
        let reaches = |count: &u64| {
            counted += count;
            counted >= wanted
        };
        self.counts.iter().position(reaches).map_or(0, longest_in)
    }

    /// Returns the bins that are not empty, each with its longest time and its count.
    pub fn bins(&self) -> impl Iterator<Item = (u64, u64)> {
        let bins = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        bins.map(|(bin, count)| (longest_in(bin), *count))
    }
}

/// As the times in it and how often each occurs.
impl SavedValue for ResponseHistogram {
    fn write(&self, to: &mut StateWriter<'_>) -> Result<(), StateError> {
        to.value(&self.bins().collect::<Vec<(u64, u64)>>())
    }

    fn read(from: &mut StateReader<'_>) -> Result<Self, StateError> {
        let mut histogram = Self::default();
        for (ns, count) in from.value::<Vec<(u64, u64)>>()? {
            histogram.record_many(ns, count);
        }
        Ok(histogram)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::Histogram;

    #[test]
    fn it_is_the_hdr_histogram_of_three_digits() {
        let mut expected = Histogram::<u64>::new_with_bounds(1_000, 1_800_000_000_000, 3).unwrap();
        let mut rng = strewn_base::Rng::new(1);
        let mut histogram = ResponseHistogram::default();
        assert_eq!(histogram.quantile(0.5), expected.value_at_quantile(0.5));
        let few = [0, 511, 512, (1 << 20) - 1, 1 << 20, 1_800_000_000_000, (1 << 41) - 1, 1 << 41];
        let many = std::iter::repeat_with(|| rng.bits() >> rng.below(64)).take(20_000);
        for ns in few.into_iter().chain(many) {
            histogram.record(ns);
            expected.saturating_record(ns);
        }
        let bins = expected.iter_recorded();
        let bins = bins.map(|bin| (bin.value_iterated_to(), bin.count_since_last_iteration()));
        assert!(histogram.bins().eq(bins), "the bins differ");
        for quantile in (0..=1_000).map(|part| f64::from(part) / 1_000.0).skip(1) {
            assert_eq!(histogram.quantile(quantile), expected.value_at_quantile(quantile));
        }
    }
}
