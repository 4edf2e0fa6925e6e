//! How far predicted figures may be off: the band around each, and what is in it.
//!
//! All parts of a band, and so the band, are at one level: 95 %.

use crate::data::number::{SIGNIFICANT_DIGITS, rounded};
use serde::{Deserialize, Serialize};

/// The band around a figure: from `low` to `high`, in the figure's own unit.
///
/// Its parts are in percent of what it is around; those of a change in percent of the quotient that the change is of. A
/// part that was not measured is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FigureBand {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// The mean of the runs, which the band is around; absent if it is around the figure of the run itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub centre: Option<f64>,
    /// How far up and down 95 % of single runs, each with another seed, are from what the band is around.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seeds_percent: Option<f64>,
    /// The number of runs, each with its own seed, that this was measured in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seeds: Option<u32>,
    /// How far down the scatter of the fitted published figures takes it: 95 % of each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fitted_rows_percent_down: Option<f64>,
    /// How far up that takes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fitted_rows_percent_up: Option<f64>,
    /// How far down constants take it that nobody published, whose values are listed as the ends of what they may be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unknowns_percent_down: Option<f64>,
    /// How far up these take it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unknowns_percent_up: Option<f64>,
}

/// The bands of one segment.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SegmentBand {
    /// Of the host operations per second.
    pub iops: FigureBand,
    /// Of the mean response time, milliseconds; absent if the host set the pace and only one seed was run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_ms: Option<FigureBand>,
}

/// The lowest and the highest of several figures.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FigureRange {
    /// The lowest.
    pub low: f64,
    /// The highest.
    pub high: f64,
}

/// What the bands of a run contain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bands {
    /// The runs that were made, with the seeds that follow the run's own. All figures are those of the first.
    pub replicates: u32,
    /// Whether some of them were stopped before their last segment.
    #[serde(default, skip_serializing_if = "is_false")]
    pub stopped: bool,
    /// What the effects of constants were measured with; absent if they were not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sensitivity: Option<SensitivityUsed>,
    /// Each array, in the order of the results.
    pub arrays: Vec<ArrayBands>,
}

/// Where the effects of constants come from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SensitivityUsed {
    /// Version of the program that measured them.
    pub strewn: String,
    /// At which part of full scale; 1 for full scale.
    pub scale_down: u32,
}

/// What the bands of one array contain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArrayBands {
    /// Name of the array.
    pub array: String,
    /// Where the seeds' part comes from; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seeds: Option<SeedSource>,
    /// Fitted published figures whose scatter is in the bands.
    pub fitted_rows: u32,
    /// Constants that nobody published and that are in the bands.
    pub unknowns: u32,
    /// Why neither of the two is in the bands; absent if they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seeds_alone: Option<SeedsAlone>,
    /// The segments that these were measured in, from the first; absent if they are all of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured_segments: Option<u32>,
    /// Changes of constants with which the array cannot be fitted. They are in no band.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub excluded: Vec<ExcludedChange>,
    /// How the IOPS of the last segment differ from those of the first like it, in the order of the kinds of phases.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<ChangeBand>,
    /// The segments whose published IOPS are compared with a band.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub published: Vec<u32>,
    /// How far a published figure itself may be off, percent of it: 95 % of what published rows scatter by. It is in no
    /// band, but in the verdict on each published figure; absent if the scatter is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published_percent: Option<f64>,
    /// Those segments whose published IOPS are outside the band by more than they may be off themselves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub published_outside: Vec<u32>,
}

/// Where the effect of seeds was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SeedSource {
    /// In the runs of this command.
    Replicates,
    /// Beside the effects of constants, at their scale.
    Sensitivity,
}

/// Why a band has no part but the seeds'.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SeedsAlone {
    /// There is no file of sensitivities.
    NotMeasured,
    /// The file has other settings than the run, or nothing on the array.
    OtherSettings,
    /// The file is of the scenario's own workload, and the run had another one.
    OtherWorkload,
}

/// A change of a constant with which an array cannot be fitted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExcludedChange {
    /// The change.
    pub name: String,
    /// How far off each fitted segment's IOPS stayed, percent.
    pub errors_percent: Vec<f64>,
}

/// How the IOPS of one segment differ from those of an earlier one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChangeBand {
    /// The workloads of the phases that both are in; absent in a run without phases.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workloads: Vec<String>,
    /// The earlier segment.
    pub from_segment: u32,
    /// The later segment.
    pub to_segment: u32,
    /// Later less earlier, percent of earlier.
    pub percent: f64,
    /// The band around it, percent of earlier.
    pub band: FigureBand,
}

/// The errors of a comparison in each of several runs that differ by their seed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ErrorsOverSeeds {
    /// The number of runs.
    pub seeds: u32,
    /// Root mean square of the error over the segments that were not fitted, percent; absent if all were fitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub predicted_rms_error_percent: Option<FigureRange>,
    /// The error of largest magnitude, percent, signed.
    pub worst_error_percent: FigureRange,
}

impl FigureBand {
    /// Returns how far down and how far up the figure may be off, percent of it: its parts, which are independent,
    /// added in quadrature.
    #[must_use]
    pub fn percent_down_and_up(&self) -> [f64; 2] {
        let seeds = self.seeds_percent.unwrap_or_default();
        let sides = [
            [self.fitted_rows_percent_down, self.unknowns_percent_down],
            [self.fitted_rows_percent_up, self.unknowns_percent_up],
        ];
        sides.map(|parts| {
            let squares = parts.into_iter().flatten().map(|part| part * part);
            (seeds * seeds + squares.sum::<f64>()).sqrt()
        })
    }

    /// Returns the same band with its ends around `figure`, which is the mean of the runs or the figure itself.
    pub(crate) fn around(self, figure: f64) -> Self {
        let [down, up] = self.percent_down_and_up();
        Self {
            // What cannot be negative is not.
            low: rounded((figure * (1.0 - down / 100.0)).max(0.0), SIGNIFICANT_DIGITS),
            high: rounded(figure * (1.0 + up / 100.0), SIGNIFICANT_DIGITS),
            ..self
        }
    }

    /// Returns how far down and how far up the band reaches, in the figure's unit, from what it is around: its centre,
    /// or else `figure`.
    pub(crate) fn down_and_up(&self, figure: f64) -> [f64; 2] {
        let centre = self.centre.unwrap_or(figure);
        [centre - self.low, self.high - centre]
    }

    /// Returns whether a measured figure agrees with the band around `figure`, if the measured one may itself be off by
    /// `off`: both in quadrature, as they are independent.
    pub(crate) fn agrees(&self, figure: f64, measured: f64, off: f64) -> bool {
        let [down, up] = self.down_and_up(figure);
        let difference = measured - self.centre.unwrap_or(figure);
        difference.abs() <= off.hypot(if difference > 0.0 { up } else { down })
    }
}

impl Bands {
    /// Returns what the bands of the array called `name` contain.
    #[must_use]
    pub fn array(&self, name: &str) -> Option<&ArrayBands> {
        self.arrays.iter().find(|array| array.array == name)
    }
}

impl ArrayBands {
    /// Returns whether there is a band at all.
    #[must_use]
    pub const fn is_any(&self) -> bool {
        self.seeds.is_some() || self.seeds_alone.is_none()
    }
}

impl FigureRange {
    /// Returns the range of several figures; none of none.
    pub(crate) fn of(figures: impl IntoIterator<Item = f64>) -> Option<Self> {
        figures.into_iter().map(|figure| Self { low: figure, high: figure }).reduce(|one, other| {
            Self { low: one.low.min(other.low), high: one.high.max(other.high) }
        })
    }
}

#[allow(clippy::trivially_copy_pass_by_ref)] // the signature is serde's
const fn is_false(value: &bool) -> bool {
    !*value
}
