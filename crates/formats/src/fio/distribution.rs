//! Percentages by range, as in `iodepth_level` and `latency_us`.

use serde::de::Deserializer;
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};

use super::json::in_order;

/// Percentages by range, in fio's order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DistributionPercent(Vec<(String, f64)>);

impl DistributionPercent {
    /// Creates a distribution from the names of ranges and their percentages.
    #[must_use]
    pub fn new(ranges: impl IntoIterator<Item = (String, f64)>) -> Self {
        Self(ranges.into_iter().collect())
    }

    /// Returns the `iodepth_level` of a constant number of accesses outstanding.
    ///
    /// ```
    /// use strewn_formats::fio::DistributionPercent;
    ///
    /// let levels = DistributionPercent::outstanding(150);
    /// assert_eq!(levels.percent(">=64"), Some(100.0));
    /// assert_eq!(DistributionPercent::outstanding(7).percent("4"), Some(100.0));
    /// ```
    #[must_use]
    pub fn outstanding(outstanding: u32) -> Self {
        let labels = ["1", "2", "4", "8", "16", "32", ">=64"];
        let bucket = outstanding.max(1).ilog2().min(6) as usize;
        Self::of_one(&labels, bucket)
    }

    /// Returns the distribution of one submitted or completed at a time: the range up to 4.
    pub(super) fn at_a_time() -> Self {
        Self::of_one(&["0", "4", "8", "16", "32", "64", ">=64"], 1)
    }

    fn of_one(labels: &[&str], bucket: usize) -> Self {
        let percent = |at| if at == bucket { 100.0 } else { 0.0 };
        Self(
            labels.iter().enumerate().map(|(at, &label)| (label.to_owned(), percent(at))).collect(),
        )
    }

    /// Returns the percentage of a range.
    #[must_use]
    pub fn percent(&self, range: &str) -> Option<f64> {
        self.0.iter().find(|(name, _)| name == range).map(|(_, percent)| *percent)
    }

    /// Returns the ranges in order.
    ///
    /// ```
    /// use strewn_formats::fio::DistributionPercent;
    ///
    /// let halves = DistributionPercent::new([("1".to_owned(), 50.0), ("2".to_owned(), 50.0)]);
    /// assert_eq!(halves.ranges().map(|(_, percent)| percent).sum::<f64>(), 100.0);
    /// ```
    pub fn ranges(&self) -> impl Iterator<Item = (&str, f64)> {
        self.0.iter().map(|(name, percent)| (name.as_str(), *percent))
    }
}

impl Serialize for DistributionPercent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.ranges())
    }
}

impl<'de> Deserialize<'de> for DistributionPercent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        in_order(deserializer).map(Self)
    }
}
