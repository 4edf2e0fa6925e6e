//! What a single figure of a run is of: whose it is, what it counts, and how it is taken from the segments.

use crate::data::columns::{COLUMNS, Column, Figure, OverSegments, Place, Unit};
use crate::data::statistic::{Statistic, StatisticUnit};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::sync::LazyLock;

/// What a figure counts: one of the [columns](crate::COLUMNS) that have a name as a figure.
#[derive(Clone, Copy)]
pub struct FigureMetric {
    column: &'static Column,
    figure: &'static Figure,
}

/// A segment by its number, or the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "a segment is a number, from 1, or \"last\"")]
pub enum SegmentChoice {
    /// By its number; the first is 1.
    Number(u32),
    /// The last one.
    Last(Last),
}

impl fmt::Display for SegmentChoice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(formatter),
            Self::Last(_) => formatter.write_str("last"),
        }
    }
}

/// The word for the last segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Last {
    /// `last`.
    Last,
}

/// A figure of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FigureOf {
    /// Name of the array.
    pub array: String,
    /// Only of the segments of this phase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// Only of this segment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segment: Option<SegmentChoice>,
    /// Only of this workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// Of what this link carried toward the array, headers included, instead of what hosts moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// What it counts.
    pub metric: FigureMetric,
    /// How it is taken from several segments.
    #[serde(default, skip_serializing_if = "is_mean")]
    pub statistic: Statistic,
    /// In percent of the same figure of this array.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Option<String>,
    /// In percent of the same figure of this segment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over_segment: Option<SegmentChoice>,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // the signature is serde's
fn is_mean(statistic: &Statistic) -> bool {
    *statistic == Statistic::MEAN
}

impl FigureMetric {
    /// Host operations per second.
    pub const IOPS: Self = Self::of(Column::declared("host_ops_per_s"));
    /// Mean response time, milliseconds.
    pub const RESPONSE_MS: Self = Self::of(Column::declared("response_mean_ms"));

    /// Returns a column as a figure, while the program is compiled.
    const fn of(column: &'static Column) -> Self {
        match &column.figure {
            Some(figure) => Self { column, figure },
            None => panic!("the column is no figure"),
        }
    }

    /// Returns the metric of this name; none if there is none.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::all().find(|metric| metric.as_str() == name)
    }

    fn all() -> impl Iterator<Item = Self> {
        COLUMNS.iter().filter_map(|column| Some(Self { column, figure: column.figure.as_ref()? }))
    }

    /// Returns the word for it in files.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.figure.name
    }

    /// Returns its meaning, for a reader.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        self.column.meaning()
    }

    /// Returns whether a scaled-down run has as much less of it: times and sizes of the whole, not rates, waits or
    /// shares.
    const fn scales(self) -> bool {
        self.figure.scales
    }

    /// Returns the unit of its values.
    #[must_use]
    pub const fn unit(self) -> Unit {
        self.column.unit
    }

    /// Returns whether each workload has one.
    pub(crate) const fn is_of_workloads(self) -> bool {
        self.column.is_of_workloads()
    }

    /// Returns how its value of several segments follows from those of each.
    pub(crate) const fn over_segments(self) -> OverSegments {
        self.figure.over_segments
    }

    /// Returns its value at a place; none if there is none.
    pub(crate) fn value(self, at: &Place<'_>) -> Option<f64> {
        self.column.in_percent(at).or(self.figure.if_absent)
    }

    /// Returns the weight of a place in a mean over several.
    pub(crate) fn weight(self, at: &Place<'_>) -> f64 {
        match self.figure.over_segments {
            OverSegments::MeanOfOperations => {
                at.workload.map_or(at.segment.ops, |of| of.ops()) as f64
            }
            OverSegments::Weighted(weight) => weight(at),
            _ => at.segment.seconds,
        }
    }
}

impl PartialEq for FigureMetric {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl fmt::Debug for FigureMetric {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl Serialize for FigureMetric {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for FigureMetric {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        static NAMES: LazyLock<Vec<&str>> =
            LazyLock::new(|| FigureMetric::all().map(FigureMetric::as_str).collect());
        let name = String::deserialize(deserializer)?;
        Self::named(&name).ok_or_else(|| D::Error::unknown_variant(&name, &NAMES))
    }
}

impl FigureOf {
    /// Returns the unit of its value, for a reader.
    #[must_use]
    pub const fn unit(&self) -> &'static str {
        if self.is_percentage() {
            "%"
        } else if self.is_count() {
            "segments"
        } else {
            self.metric.unit().as_str()
        }
    }

    /// Returns whether a scaled-down run has as much less of it.
    #[must_use]
    pub const fn scales(&self) -> bool {
        self.metric.scales() && !self.is_percentage() && !self.is_count()
    }

    /// Returns whether its value is a number of segments, and not in the unit of its metric.
    pub const fn is_count(&self) -> bool {
        matches!(self.statistic.unit(), StatisticUnit::Segments)
    }

    /// Returns whether its value is a share of something, in percent, and not in the unit of its metric.
    #[must_use]
    pub const fn is_percentage(&self) -> bool {
        self.over.is_some()
            || self.over_segment.is_some()
            || matches!(self.statistic.unit(), StatisticUnit::Percent)
    }
}
