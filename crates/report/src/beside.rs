//! What is drawn beside the results of a run that goes on.

use serde::{Deserialize, Serialize};
use strewn_results::{Metric, Published, Results};

/// What charts by segment show beside results, where one run follows another and each is seen while it grows.
#[derive(Clone, Copy, Debug, Default)]
pub struct Beside<'a> {
    /// Earlier runs: a faint line for each array that these results have too, solid, dashed, dotted, and both, in turn.
    pub earlier: &'a [Vec<Curve>],
    /// Published figures, also of segments that are yet to come.
    pub published: Option<&'a Published>,
    /// The segments of the whole run, so that the axis does not grow with it; 0 for those that there are.
    pub segments: u32,
}

/// What is kept of an array's results for later charts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// Name of the array.
    pub array: String,
    /// Number of the first segment.
    pub first: u32,
    /// Host operations per second, by segment.
    pub iops: Vec<f64>,
    /// MiB per second, by segment.
    pub mib_per_s: Vec<f64>,
    /// Mean response time by segment, milliseconds.
    pub response_ms: Vec<f64>,
}

impl Curve {
    /// Returns the curve of each array of results.
    #[must_use]
    pub fn all_of(results: &Results) -> Vec<Self> {
        let of_array = results.arrays.iter().map(|array| {
            let rated = || array.rated_segments().iter();
            let all = |metric: Metric| rated().map(|one| metric.of(one)).collect();
            Self {
                array: array.name.clone(),
                first: array.segments.first().map_or(1, |segment| segment.index),
                iops: all(Metric::Iops),
                mib_per_s: all(Metric::MibPerS),
                response_ms: all(Metric::ResponseMs),
            }
        });
        of_array.collect()
    }

    /// Returns the segments and their figures that can be drawn.
    pub(crate) fn points(&self, metric: Metric) -> Vec<(u32, f64)> {
        let figures = match metric {
            Metric::Iops => &self.iops,
            Metric::MibPerS => &self.mib_per_s,
            Metric::ResponseMs => &self.response_ms,
        };
        let points = (self.first..).zip(figures.iter().copied());
        points.filter(|(_, figure)| figure.is_finite() && *figure >= 0.0).collect()
    }
}
