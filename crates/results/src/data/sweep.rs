//! A sweep: figures of many runs of one scenario, which differ by the values of axes.

use crate::data::figure::FigureOf;
use crate::data::json::{ResultsError, check_schema, figures_json};
use serde::{Deserialize, Serialize};

/// The version of the format that this crate reads and writes.
pub const SWEEP_SCHEMA: u32 = 1;

/// The figures of a sweep. A *combination* is a choice of one value of each axis; it is run once with each seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sweep {
    /// [`SWEEP_SCHEMA`].
    pub schema: u32,
    /// Name of the study.
    pub study: String,
    /// Title of the study, for a reader.
    pub title: String,
    /// Version of the program that ran it.
    pub strewn: String,
    /// It was run at 1/`scale_down` of full scale; 1 for full scale.
    pub scale_down: u32,
    /// The seeds with which each combination was run.
    pub seeds: Vec<u64>,
    /// Share of the intervals that hold the true mean, percent: 95.
    pub confidence_percent: f64,
    /// What all runs have in common. Files of earlier versions lack it.
    #[serde(default, skip_serializing_if = "SweepBase::is_unknown")]
    pub base: SweepBase,
    /// The axes, in the order of the study.
    pub axes: Vec<SweepAxis>,
    /// What is measured of each combination.
    pub figures: Vec<SweepFigure>,
    /// A row for each combination, figure and segment: by combination, then by figure, then by segment.
    pub rows: Vec<SweepRow>,
    /// For each axis and figure, what each value changes beside the first one, all other axes being equal. None for
    /// figures by segment, nor where a combination has no such partner.
    pub differences: Vec<SweepDifference>,
    /// Runs that are not there.
    pub missing: Vec<MissingRun>,
}

impl SweepAxis {
    /// Returns whether all its values are quantities of one unit.
    #[must_use]
    pub fn is_numeric(&self) -> bool {
        !self.values.is_empty() && self.values.iter().all(|value| value.number.is_some())
    }
}

impl Sweep {
    /// Writes the sweep as JSON: indented, ending in a newline, the same bytes for equal figures.
    ///
    /// # Errors
    ///
    /// [`ResultsError::NotFinite`] if a figure is infinite or not a number.
    pub fn to_json_string(&self) -> Result<String, ResultsError> {
        figures_json(self)
    }

    /// Reads the text of a `sweep.json`.
    ///
    /// # Errors
    ///
    /// [`ResultsError::Schema`] for another schema than [`SWEEP_SCHEMA`], [`ResultsError::Json`] for text that is not
    /// JSON or lacks a field.
    pub fn from_json(text: &str) -> Result<Self, ResultsError> {
        check_schema(text, "a sweep", SWEEP_SCHEMA)?;
        Ok(serde_json::from_str(text)?)
    }
}

/// What the runs of a sweep have in common, so far as no axis changes it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SweepBase {
    /// Title of the scenario.
    pub scenario: String,
    /// The arrays that run.
    pub arrays: Vec<String>,
    /// How many segments a run of the first combination has.
    pub segments: u32,
    /// How long each is at full scale, seconds.
    pub segment_seconds: f64,
    /// The settings of every run, by their names, as the study's `[set]` has them.
    pub set: Vec<(String, String)>,
    /// How combinations are made of the values: the word in the study's file.
    pub design: String,
}

impl SweepBase {
    /// Returns whether nothing is known.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        *self == Self::default()
    }
}

/// What the runs of a sweep differ by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepAxis {
    /// Its name, another for each axis.
    pub name: String,
    /// The key of the setting that it changes, of one array or of several; empty if it changes unlike ones.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub setting: String,
    /// The unit of its numbers; empty where they are plain or there are none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unit: String,
    /// Whether its numbers are spaced by a factor.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_logarithmic: bool,
    /// Its values, in the order of the study.
    pub values: Vec<AxisValue>,
}

/// A value of an axis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AxisValue {
    /// For a reader, with its unit.
    pub label: String,
    /// In the axis' unit; none if the values of the axis are no quantities of one unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<f64>,
}

/// A figure that a sweep measures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepFigure {
    /// Its name, another for each figure: `FAS2050: IOPS, last segment`.
    pub name: String,
    /// The same without the array: figures of the same quantity are drawn together.
    pub quantity: String,
    /// The unit of its values, for a reader; empty for a plain number.
    pub unit: String,
    /// What it is of. In a figure by segment, the segment is left out.
    pub of: FigureOf,
    /// Whether it has a row for each segment.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_segment: bool,
}

/// A figure of a combination: what it was with each seed, and their mean.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepRow {
    /// Number of the combination, from 0.
    pub combination: usize,
    /// The value of each axis, as an index into its values.
    pub at: Vec<usize>,
    /// An index into the figures.
    pub figure: usize,
    /// The segment, from 1, of a figure by segment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segment: Option<u32>,
    /// What it was with each seed; none where the run is missing or has no such figure.
    pub samples: Vec<Option<f64>>,
    /// The mean of those that are there; none if none is.
    pub mean: Option<f64>,
    /// The interval that holds the true mean with the sweep's confidence, by Student's t; none for fewer than two
    /// samples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<[f64; 2]>,
}

/// What one value of an axis changes of a figure beside the axis' first value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepDifference {
    /// An index into the axes.
    pub axis: usize,
    /// An index into the figures.
    pub figure: usize,
    /// The combination with the value, and the one with the first value.
    pub combinations: [usize; 2],
    /// The mean of the differences by seed, in the unit of the figure.
    pub mean: f64,
    /// The same in percent of the mean with the first value; none if that is zero.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percent: Option<f64>,
    /// The interval of the mean difference, by Student's t over the differences by seed; none for fewer than two seeds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<[f64; 2]>,
    /// Whether the interval leaves out zero; none for fewer than two seeds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub larger_than_noise: Option<bool>,
}

/// A run that is not there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MissingRun {
    /// Number of its combination, from 0.
    pub combination: usize,
    /// Its seed.
    pub seed: u64,
    /// Why it failed; none if it has not been run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A chart of a sweep that a study asks for, instead of the charts that follow from its axes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SweepChartSpec {
    /// The quantities that it shows ([`SweepFigure::quantity`]).
    pub figures: Vec<String>,
    /// Title, for a reader.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The quantity along x instead of an axis, as response time against IOPS. Points are joined along the axis `x`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<String>,
    /// The axis along x; `segment` for figures by segment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub x: Option<String>,
    /// The axis that lines differ by; in a heat map, the axis along y.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<String>,
    /// The axis that panels differ by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub panels: Option<String>,
    /// How it is drawn; as the axes have it if none is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<SweepChartKind>,
}

/// How a chart of a sweep is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SweepChartKind {
    /// Lines with bands.
    Lines,
    /// Dots with error bars.
    Dots,
    /// A field of colours, by two axes.
    HeatMap,
}
