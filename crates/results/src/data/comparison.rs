//! Simulated figures beside published ones, as `results.json` holds them.

use crate::data::band::{ErrorsOverSeeds, FigureBand};
use crate::data::figure::FigureOf;
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

/// A row of a published table beside the simulated figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComparedRow {
    /// Its name.
    pub name: String,
    /// What it is of.
    #[serde(flatten)]
    pub of: FigureOf,
    /// The published figure, in the unit of the metric; none where there is none, or only a range.
    pub published: Option<f64>,
    /// What the words of the source allow, if they give no figure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<[f64; 2]>,
    /// The published peak, which is shown and never scored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published_peak: Option<f64>,
    /// The simulated figure; none if the run did not come to it.
    pub simulated: Option<f64>,
    /// The lowest and the highest figure of runs with several seeds; absent if there was one run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over_seeds: Option<[f64; 2]>,
    /// The highest segment of it, if a peak is published.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulated_peak: Option<f64>,
    /// Simulated less published, percent of published; of a range, from its nearer end, and 0 inside.
    pub error_percent: Option<f64>,
    /// What the simulated figure is.
    pub status: RowStatus,
    /// Why it is not scored, if it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// What the simulated figure of a published row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RowStatus {
    /// A setting was fitted to it.
    Fitted,
    /// Nothing was fitted to it.
    Predicted,
    /// It is shown, and its error counts for nothing.
    NotScored,
}

/// Errors up to this many percent count as close.
pub const CLOSE_PERCENT: f64 = 5.0;

impl ComparedRow {
    /// Returns whether the simulated figure is close to what is published.
    pub fn is_close(&self) -> bool {
        self.error_percent.is_some_and(|error| error.abs() <= CLOSE_PERCENT)
    }
}

impl RowStatus {
    /// Returns the words for it in tables.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Fitted => "fitted",
            Self::Predicted => "predicted",
            Self::NotScored => "not scored",
        }
    }
}

/// A setting that was fitted to published rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FittedSetting {
    /// Its name in the scenario.
    pub parameter: String,
    /// Its value, with its unit.
    pub value: String,
    /// The rows.
    pub rows: Vec<String>,
    /// How far the rows are off on average, percent, if that is too far for a fit: the setting is declared as fitted,
    /// and no fit was made with these settings. Absent if it is fitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub off_percent: Option<f64>,
}
