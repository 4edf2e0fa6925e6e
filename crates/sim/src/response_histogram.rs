//! How many operations had which response time.

use std::ops::{Deref, DerefMut};

use hdrhistogram::Histogram;
use strewn_base::state::{SavedValue, StateError, StateReader, StateWriter};

/// Longest response time that the histogram distinguishes: half an hour.
const LONGEST_NS: u64 = 1_800_000_000_000;

/// Response times in nanoseconds, within 0.1 %. All have the same bounds, so that none is too small for another.
#[derive(Debug, Clone)]
pub struct ResponseHistogram(Histogram<u64>);

impl Default for ResponseHistogram {
    fn default() -> Self {
        let histogram = Histogram::new_with_bounds(1_000, LONGEST_NS, 3);
        // The bounds are constants that the histogram accepts.
        Self(histogram.unwrap_or_else(|error| unreachable!("{error}")))
    }
}

impl Deref for ResponseHistogram {
    type Target = Histogram<u64>;

    fn deref(&self) -> &Histogram<u64> {
        &self.0
    }
}

impl DerefMut for ResponseHistogram {
    fn deref_mut(&mut self) -> &mut Histogram<u64> {
        &mut self.0
    }
}

/// As the values in it and how often each occurs.
impl SavedValue for ResponseHistogram {
    fn write(&self, to: &mut StateWriter<'_>) -> Result<(), StateError> {
        let recorded = self.0.iter_recorded();
        let counts = recorded.map(|value| (value.value_iterated_to(), value.count_at_value()));
        to.value(&counts.collect::<Vec<(u64, u64)>>())
    }

    fn read(from: &mut StateReader<'_>) -> Result<Self, StateError> {
        let mut histogram = Self::default();
        for (value, count) in from.value::<Vec<(u64, u64)>>()? {
            let recorded = histogram.record_n(value, count);
            recorded.map_err(|error| StateError::inconsistent(error.to_string()))?;
        }
        Ok(histogram)
    }
}
