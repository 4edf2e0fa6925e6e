//! Simulated figures beside published ones, as `results.json` holds them.

use crate::data::band::{ErrorsOverSeeds, FigureBand};
use crate::data::segment::Segment;
use serde::{Deserialize, Serialize};

/// A figure that is published per segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Host operations per second.
    Iops,
    /// Host data moved, MiB per second.
    MibPerS,
    /// Mean response time, milliseconds.
    ResponseMs,
}

impl Metric {
    /// All metrics, in the order that reports give them.
    pub const ALL: [Self; 3] = [Self::Iops, Self::MibPerS, Self::ResponseMs];

    /// Returns the word for it in `results.json`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Iops => "iops",
            Self::MibPerS => "mib_per_s",
            Self::ResponseMs => "response_ms",
        }
    }

    /// Returns the unit of its values, for a reader.
    #[must_use]
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Iops => "IOPS",
            Self::MibPerS => "MiB/s",
            Self::ResponseMs => "ms",
        }
    }

    /// Returns the metric's value in a segment, in the metric's unit.
    #[must_use]
    pub const fn of(self, segment: &Segment) -> f64 {
        match self {
            Self::Iops => segment.iops,
            Self::MibPerS => segment.mib_per_s,
            Self::ResponseMs => segment.response_ms.mean,
        }
    }
}

/// One metric of one array over all segments that are both published and simulated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PublishedComparison {
    /// Name of the array.
    pub array: String,
    /// What is compared.
    pub metric: Metric,
    /// Segments that the array's parameters were fitted to. A fit to one metric binds the others,
    /// since in a closed loop each follows from any other.
    pub fitted_segments: Vec<u32>,
    /// Root mean square of the error over the segments that were not fitted, percent; none if all
    /// were fitted.
    pub predicted_rms_error_percent: Option<f64>,
    /// The error of largest magnitude over all segments, fitted ones included, percent, signed.
    pub worst_error_percent: f64,
    /// The segment that has it; the first if several have.
    pub worst_segment: u32,
    /// The segments, ascending.
    pub segments: Vec<ComparedSegment>,
    /// The errors in runs with other seeds; absent if there was one run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over_seeds: Option<ErrorsOverSeeds>,
}

/// One published figure beside the simulated one, both in the unit of the metric.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComparedSegment {
    /// Number of the segment; the first is 1.
    pub index: u32,
    /// The published figure.
    pub published: f64,
    /// The simulated figure.
    pub simulated: f64,
    /// Simulated less published, percent of published.
    pub error_percent: f64,
    /// Whether a parameter was fitted to this segment.
    pub fitted: bool,
}

/// A published ratio of the IOPS of two arrays beside the simulated one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ratio {
    /// Its name in the source.
    pub name: String,
    /// Array in the numerator.
    pub of: String,
    /// Array in the denominator.
    pub over: String,
    /// Segment that both are taken from.
    pub segment: u32,
    /// The published ratio, percent.
    pub published_percent: f64,
    /// The simulated ratio, percent.
    pub simulated_percent: f64,
    /// Whether a parameter of either array was fitted to this segment.
    pub fitted: bool,
    /// How far the simulated ratio may be off; absent if that was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub band: Option<FigureBand>,
}
