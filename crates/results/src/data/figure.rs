//! What a single figure of a run is of: whose it is, what it counts, and how it is taken from the segments.

use serde::{Deserialize, Serialize};
use std::fmt;

/// What a figure counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FigureMetric {
    /// Host operations per second.
    Iops,
    /// Host data moved, MB (1,000,000 bytes) per second.
    MbPerS,
    /// Host data moved, MiB (1,048,576 bytes) per second.
    MibPerS,
    /// Mean response time, milliseconds.
    ResponseMs,
    /// Response time that 95 of 100 operations did not exceed, milliseconds; of several segments, the mean of theirs by
    /// operations.
    P95Ms,
    /// The same of 99 of 100.
    P99Ms,
    /// Mean response time of reads, milliseconds, where the results tell reads and writes apart.
    ReadMs,
    /// Mean response time of writes, milliseconds.
    WriteMs,
    /// Longest response time, milliseconds.
    LongestMs,
    /// Length, seconds: of the whole run, until all workloads have ended.
    Seconds,
    /// Busy share of the controller, percent.
    ControllerPercent,
    /// Busy share of the spindles that hold data, percent.
    SpindlesPercent,
    /// Blocks that host reads found in the controller's memory, percent.
    HitPercent,
    /// Spindle commands for each host operation.
    CommandsPerOp,
    /// Layout score, 0 to 1, when the segment ended.
    LayoutScore,
    /// Cores of the controllers that were busy.
    CoresBusy,
    /// Share of the time in consistency points, percent, where the scenario charges the processor for them.
    CheckpointPercent,
    /// Host operations per second for each spindle to be bought, as `[overhead]` counts them.
    IopsPerSpindle,
    /// Share of stripes that consistency points wrote in full, percent.
    FullStripePercent,
    /// What only snapshots held when the segment ended, GiB.
    SnapshotsGib,
}

/// How a figure is taken from several segments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Statistic {
    /// Over all of them together: what was moved, in all of the time.
    #[default]
    Mean,
    /// The highest segment.
    Peak,
    /// Over those segments alone that reach a tenth of the highest.
    BusyMean,
    /// The share of the time that those segments take, percent.
    BusyPercent,
    /// What the line through them changes from the first to the last, percent of their mean.
    Trend,
    /// The number of the first ones after which the trend of all that follow is not distinguishable from none: its 95 %
    /// interval holds zero. None if that is true of no eight.
    SteadyAfter,
}

/// A segment by its number, or the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
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
    *statistic == Statistic::Mean
}

impl FigureMetric {
    /// Returns the word for it in files.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Iops => "iops",
            Self::MbPerS => "mb_per_s",
            Self::MibPerS => "mib_per_s",
            Self::ResponseMs => "response_ms",
            Self::P95Ms => "p95_ms",
            Self::P99Ms => "p99_ms",
            Self::ReadMs => "read_ms",
            Self::WriteMs => "write_ms",
            Self::LongestMs => "longest_ms",
            Self::Seconds => "seconds",
            Self::ControllerPercent => "controller_percent",
            Self::SpindlesPercent => "spindles_percent",
            Self::HitPercent => "hit_percent",
            Self::CommandsPerOp => "commands_per_op",
            Self::LayoutScore => "layout_score",
            Self::CoresBusy => "cores_busy",
            Self::CheckpointPercent => "checkpoint_percent",
            Self::IopsPerSpindle => "iops_per_spindle",
            Self::FullStripePercent => "full_stripe_percent",
            Self::SnapshotsGib => "snapshots_gib",
        }
    }

    /// Returns whether a scaled-down run has as much less of it: times and sizes of the whole, not rates, waits or
    /// shares.
    #[must_use]
    pub const fn scales(self) -> bool {
        matches!(self, Self::Seconds | Self::SnapshotsGib)
    }

    /// Returns the unit of its values, for a reader.
    #[must_use]
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Iops => "IOPS",
            Self::MbPerS => "MB/s",
            Self::MibPerS => "MiB/s",
            Self::ResponseMs
            | Self::P95Ms
            | Self::P99Ms
            | Self::ReadMs
            | Self::WriteMs
            | Self::LongestMs => "ms",
            Self::Seconds => "s",
            Self::ControllerPercent
            | Self::SpindlesPercent
            | Self::HitPercent
            | Self::CheckpointPercent
            | Self::FullStripePercent => "%",
            Self::CoresBusy => "cores",
            Self::CommandsPerOp => "commands",
            Self::IopsPerSpindle => "IOPS a spindle",
            Self::SnapshotsGib => "GiB",
            Self::LayoutScore => "",
        }
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
            self.metric.unit()
        }
    }

    /// Returns whether a scaled-down run has as much less of it.
    #[must_use]
    pub const fn scales(&self) -> bool {
        self.metric.scales() && !self.is_percentage() && !self.is_count()
    }

    /// Returns whether its value is a number of segments, and not in the unit of its metric.
    pub const fn is_count(&self) -> bool {
        matches!(self.statistic, Statistic::SteadyAfter)
    }

    /// Returns whether its value is a share of something, in percent, and not in the unit of its metric.
    #[must_use]
    pub const fn is_percentage(&self) -> bool {
        self.over.is_some()
            || self.over_segment.is_some()
            || matches!(self.statistic, Statistic::BusyPercent | Statistic::Trend)
    }
}
