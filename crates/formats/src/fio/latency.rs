//! Latencies in fio's bins, and their statistics.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::distribution::DistributionPercent;

/// fio distinguishes latencies by their 7 leading bits: 64 bins between a power of two and the next.
const BITS: u32 = 6;
/// Exclusive upper bound of each bucket of `latency_ns`, `latency_us` and `latency_ms`, in the unit of its map. The
/// last map has one more bucket, for all greater latencies.
const BOUNDS: [u64; 10] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000];
const BUCKETS: usize = 32;

/// A histogram with fio's bins, from which all of fio's latency figures follow.
///
/// A simulation records each latency, or each bin of its own histogram with [`LatencyBins::record_many`].
///
/// ```
/// use strewn_formats::fio::LatencyBins;
///
/// let mut bins = LatencyBins::default();
/// for ns in [100_000, 200_000, 300_000] {
///     bins.record(ns);
/// }
/// let statistics = bins.statistics().with_percentiles(&bins);
/// assert_eq!((statistics.min, statistics.max, statistics.n), (100_000, 300_000, 3));
/// assert_eq!((statistics.mean, statistics.stddev), (200_000.0, 100_000.0));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LatencyBins {
    /// By bin, up to the greatest in use.
    counts: Vec<u64>,
    /// By bucket of the three coarse maps.
    buckets: [u64; BUCKETS],
    count: u64,
    least_ns: u64,
    most_ns: u64,
    sum_ns: u128,
    sum_of_squares: u128,
}

impl LatencyBins {
    /// Counts a latency.
    pub fn record(&mut self, ns: u64) {
        self.record_many(ns, 1);
    }

    /// Counts a latency that occurred `count` times.
    ///
    /// ```
    /// use strewn_formats::fio::LatencyBins;
    ///
    /// let mut bins = LatencyBins::default();
    /// bins.record_many(5_000_000, 1_000);
    /// assert_eq!((bins.count(), bins.statistics().mean), (1_000, 5_000_000.0));
    /// ```
    pub fn record_many(&mut self, ns: u64, count: u64) {
        if count == 0 {
            return;
        }
        let bin = bin_of(ns);
        if self.counts.len() <= bin {
            self.counts.resize(bin + 1, 0);
        }
        self.counts[bin] += count;
        self.buckets[bucket_of(ns)] += count;
        self.least_ns = if self.count == 0 { ns } else { self.least_ns.min(ns) };
        self.most_ns = self.most_ns.max(ns);
        self.count += count;
        let (ns, count) = (u128::from(ns), u128::from(count));
        self.sum_ns = self.sum_ns.saturating_add(ns.saturating_mul(count));
        let squares = (ns * ns).saturating_mul(count);
        self.sum_of_squares = self.sum_of_squares.saturating_add(squares);
    }

    /// Adds the latencies that `other` counted.
    ///
    /// ```
    /// use strewn_formats::fio::LatencyBins;
    ///
    /// let (mut reads, mut writes) = (LatencyBins::default(), LatencyBins::default());
    /// reads.record(7_000);
    /// writes.record(300);
    /// reads.merge(&writes);
    /// assert_eq!((reads.count(), reads.statistics().min), (2, 300));
    /// ```
    pub fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        if self.counts.len() < other.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        self.counts.iter_mut().zip(&other.counts).for_each(|(ours, theirs)| *ours += theirs);
        self.buckets.iter_mut().zip(&other.buckets).for_each(|(ours, theirs)| *ours += theirs);
        self.least_ns =
            if self.count == 0 { other.least_ns } else { self.least_ns.min(other.least_ns) };
        self.most_ns = self.most_ns.max(other.most_ns);
        self.count += other.count;
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        self.sum_of_squares = self.sum_of_squares.saturating_add(other.sum_of_squares);
    }

    /// Returns the number of latencies counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns count, minimum, maximum, mean and deviation, without percentiles and bins.
    #[must_use]
    pub fn statistics(&self) -> LatencyStatistics {
        let count = self.count as f64;
        let mean = if self.count == 0 { 0.0 } else { self.sum_ns as f64 / count };
        LatencyStatistics {
            min: self.least_ns,
            max: self.most_ns,
            mean,
            stddev: self.deviation(mean),
            n: self.count,
            percentile: None,
            bins: None,
        }
    }

    /// Returns the deviation of a sample, whose divisor is the count less one.
    fn deviation(&self, mean: f64) -> f64 {
        if self.count < 2 {
            return 0.0;
        }
        let count = u128::from(self.count);
        let exact =
            count.checked_mul(self.sum_of_squares).zip(self.sum_ns.checked_mul(self.sum_ns));
        let squares = match exact {
            Some((many, few)) => many.saturating_sub(few) as f64 / count as f64,
            None => (self.sum_of_squares as f64 - mean * mean * count as f64).max(0.0),
        };
        (squares / (self.count - 1) as f64).sqrt()
    }

    /// Returns the latency that `percent` of those counted do not exceed, as the middle of its bin; 0 if none were
    /// counted.
    ///
    /// ```
    /// use strewn_formats::fio::LatencyBins;
    ///
    /// let mut bins = LatencyBins::default();
    /// (1..=100).for_each(|ns| bins.record(ns));
    /// assert_eq!(bins.percentile(95.0), 95);
    /// ```
    #[must_use]
    pub fn percentile(&self, percent: f64) -> u64 {
        let wanted = percent / 100.0 * self.count as f64;
        let mut sum = 0;
        for (bin, count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            sum += count;
            if sum as f64 >= wanted {
                return middle_of(bin);
            }
        }
        self.counts.len().checked_sub(1).map_or(0, middle_of)
    }

    pub(super) fn percentiles(&self) -> Vec<(f64, u64)> {
        let list = percentile_list().iter();
        list.map(|percent| (*percent, self.percentile(*percent))).collect()
    }

    pub(super) fn bins(&self) -> BTreeMap<u64, u64> {
        let counted = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        counted.map(|(bin, count)| (middle_of(bin), *count)).collect()
    }

    /// Returns `latency_ns`, `latency_us` and `latency_ms`: the percentage below each bound and not below the previous
    /// one.
    ///
    /// ```
    /// use strewn_formats::fio::LatencyBins;
    ///
    /// let mut bins = LatencyBins::default();
    /// bins.record_many(30_800_000, 3);
    /// bins.record(150_000);
    /// let [_, microseconds, milliseconds] = bins.distribution();
    /// assert_eq!((milliseconds.percent("50"), microseconds.percent("250")), (Some(75.0), Some(25.0)));
    /// ```
    #[must_use]
    pub fn distribution(&self) -> [DistributionPercent; 3] {
        let percent = |bucket: usize| {
            let count = self.buckets[bucket];
            let percent = 100.0 * count as f64 / self.count.max(1) as f64;
            // A bucket that is not empty must not show as zero.
            if count > 0 { percent.max(0.01) } else { 0.0 }
        };
        let map = |first: usize, labels: &[&str]| {
            let labels = labels.iter().enumerate();
            DistributionPercent::new(
                labels.map(|(at, label)| ((*label).to_owned(), percent(first + at))),
            )
        };
        let labels = ["2", "4", "10", "20", "50", "100", "250", "500", "750", "1000"];
        let mut milliseconds = labels.to_vec();
        milliseconds.extend(["2000", ">=2000"]);
        [map(0, &labels), map(10, &labels), map(20, &milliseconds)]
    }
}

/// Returns the latency by which fio's JSON names the bin that `ns` falls into.
///
/// ```
/// use strewn_formats::fio::bin_ns;
///
/// // Exact up to 127, then within 1/128.
/// assert_eq!((bin_ns(127), bin_ns(130), bin_ns(262_143)), (127, 131, 261_120));
/// ```
#[must_use]
pub fn bin_ns(ns: u64) -> u64 {
    middle_of(bin_of(ns))
}

fn bin_of(ns: u64) -> usize {
    let leading = 63_u32.saturating_sub(ns.leading_zeros());
    let dropped_bits = leading.saturating_sub(BITS);
    let in_group = (ns >> dropped_bits) as usize;
    // One group after another. In each but the first, `in_group` still has its leading bit, which adds one group.
    ((dropped_bits as usize) << BITS) + in_group
}

fn middle_of(bin: usize) -> u64 {
    let group = (bin >> BITS).saturating_sub(1);
    if group == 0 {
        return bin as u64;
    }
    let in_group = (bin - (group << BITS)) as u64;
    (in_group << group) + (1 << (group - 1))
}

fn bucket_of(ns: u64) -> usize {
    let below = |value: u64| BOUNDS.iter().position(|bound| value < *bound);
    if let Some(bucket) = below(ns) {
        return bucket;
    }
    if let Some(bucket) = below(ns / 1_000) {
        return 10 + bucket;
    }
    match below(ns / 1_000_000) {
        Some(bucket) => 20 + bucket,
        None if ns < 2_000_000_000 => 30,
        None => 31,
    }
}

/// Latencies in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LatencyStatistics {
    /// Minimum.
    pub min: u64,
    /// Maximum.
    pub max: u64,
    /// Mean.
    pub mean: f64,
    /// Standard deviation.
    pub stddev: f64,
    /// Number of latencies.
    #[serde(rename = "N")]
    pub n: u64,
    /// Percentiles: percentage and latency.
    #[serde(with = "super::json::percentiles", skip_serializing_if = "Option::is_none")]
    pub percentile: Option<Vec<(f64, u64)>>,
    /// Counts by bin; only in `json+`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bins: Option<BTreeMap<u64, u64>>,
}

/// Returns the percentiles that fio gives by default, in percent.
///
/// ```
/// assert_eq!(strewn_formats::fio::percentile_list()[11..13], [95.0, 99.0]);
/// ```
#[must_use]
pub fn percentile_list() -> &'static [f64] {
    &[
        1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9,
        99.95, 99.99,
    ]
}

impl LatencyStatistics {
    /// Adds fio's percentiles of the latencies in `bins`; none if it is empty.
    #[must_use]
    pub fn with_percentiles(mut self, bins: &LatencyBins) -> Self {
        self.percentile = (bins.count() > 0).then(|| bins.percentiles());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bins of a null engine, from `fio --output-format=json+` of 3.33.
    #[test]
    fn bins_are_those_that_fio_prints() {
        let printed = [
            127, 129, 131, 141, 151, 161, 251, 253, 255, 258, 262, 270, 282, 290, 302, 310, 1020,
            1032, 1048, 1064, 2008, 2096, 3984, 4016, 4080, 4128, 4192, 37_120,
        ];
        for ns in printed {
            assert_eq!(bin_ns(ns), ns);
        }
    }

    #[test]
    fn every_latency_is_in_the_bin_that_is_called_nearest() {
        for shift in 0..64 {
            for low in [0, 1, 77] {
                let ns = (1_u64 << shift) | low;
                assert!(bin_ns(ns).abs_diff(ns) <= ns / 128, "{ns}");
                assert_eq!(bin_of(bin_ns(ns)), bin_of(ns), "{ns}");
            }
        }
        assert!(bin_of(u64::MAX) < 60 << BITS);
    }

    #[test]
    fn buckets_end_below_their_labels() {
        let cases = [
            (0, 0),
            (1, 0),
            (2, 1),
            (99, 5),
            (100, 6),
            (249, 6),
            (250, 7),
            (999, 9),
            (1_000, 10),
            (1_999, 10),
            (2_000, 11),
            (999_999, 19),
            (1_000_000, 20),
            (999_999_999, 29),
            (1_000_000_000, 30),
            (2_000_000_000, 31),
        ];
        for (ns, bucket) in cases {
            assert_eq!(bucket_of(ns), bucket, "{ns}");
        }
    }

    #[test]
    fn merging_is_counting_both() {
        let (mut one, mut other, mut both) =
            (LatencyBins::default(), LatencyBins::default(), LatencyBins::default());
        for ns in 0..1000 {
            if ns % 3 == 0 {
                one.record(ns * ns)
            } else {
                other.record(ns * ns)
            }
            both.record(ns * ns);
        }
        one.merge(&LatencyBins::default());
        one.merge(&other);
        assert_eq!(one, both);
        let mut none = LatencyBins::default();
        none.merge(&both);
        assert_eq!(none, both);
        assert_eq!(LatencyBins::default().statistics().n, 0);
        assert_eq!(LatencyBins::default().percentile(50.0), 0);
    }
}
