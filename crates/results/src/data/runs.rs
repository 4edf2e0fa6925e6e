//! Runs side by side, in the form of `comparison.json`.

use crate::data::columns::{Column, Place, Table};
use crate::data::json::{ResultsError, figures_json};
use crate::data::number::{SIGNIFICANT_DIGITS, rounded};
use crate::data::segment::Utilization;
use serde::ser::SerializeMap as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;

/// Version of the layout of `comparison.json`.
pub const COMPARISON_SCHEMA: u32 = 1;

/// Runs side by side, in the form of `comparison.json`. The others are compared with the first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunsComparison {
    /// Layout of this file; [`COMPARISON_SCHEMA`].
    pub schema: u32,
    /// The runs, in the order given.
    pub runs: Vec<ComparedRun>,
    /// The settings of all arrays, and the scale, in which runs differ; empty if a run does not say what it was set to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<DifferingParameter>,
    /// The arrays that at least two runs share, in the order of the first run that has them; or the single array of
    /// each run.
    pub arrays: Vec<ComparedArray>,
    /// Arrays that only one run has, as "run: array".
    pub left_out: Vec<String>,
    /// What a reader must know of the runs' bands, in sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// Identifies a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ComparedRun {
    /// Its name here.
    pub name: String,
    /// Name of its scenario.
    pub scenario: String,
    /// Its seed.
    pub seed: u64,
    /// The version of Strewn that ran it.
    pub strewn: String,
    /// The factor by which it is smaller than full scale; 1 at full scale.
    pub scaled_by: u32,
    /// Whether it was stopped before its last segment, or lost data.
    pub partial: bool,
}

/// One array in several runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComparedArray {
    /// Name of the array; if its runs use different names, all of them, separated by commas.
    pub name: String,
    /// Its name in each of its runs; absent if all use the same name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// Runs that have it, by position.
    pub runs: Vec<usize>,
    /// The configured numbers in which its runs differ.
    pub parameters: Vec<DifferingParameter>,
    /// The segments that any of them has, ascending.
    pub segments: Vec<SegmentOfRuns>,
    /// Which run is faster and by how much, in a sentence for each run but the first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub verdicts: Vec<String>,
}

/// A configured number in which runs differ.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DifferingParameter {
    /// Path in the scenario, below the array for one of its settings; also `layout`, `outstanding`, `spindles`,
    /// `workload` and `LUN`.
    pub name: String,
    /// Its value in each of the array's runs with its unit; none where the run has no such number.
    pub values: Vec<Option<String>>,
}

/// One segment of an array in several runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SegmentOfRuns {
    /// Number of the segment; the first is 1.
    pub index: u32,
    /// Its figures in each of the array's runs; none if the run did not get that far.
    pub figures: Vec<Option<RunFigures>>,
}

/// The figures of a segment that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunFigures {
    /// Host operations completed per second.
    pub iops: f64,
    /// Difference from the first run, percent of that; none in the first run, nor if its segment is of a phase with
    /// other workloads.
    pub iops_difference_percent: Option<f64>,
    /// Mean response time, milliseconds.
    pub response_ms: f64,
    /// The same of the response time.
    pub response_difference_percent: Option<f64>,
    /// The figures that are compared beside these.
    #[serde(flatten)]
    pub others: ComparedFigures,
    /// Whether the IOPS differ from the first run's by more than the bands of both explain; absent if there is nothing
    /// to compare, or no band.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iops_beyond_bands: Option<bool>,
    /// The same of the response time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_beyond_bands: Option<bool>,
}

/// A figure for each column of [`Table::Compare`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ComparedFigures([Option<f64>; COMPARED]);

const COMPARED: usize = Column::count_of(Table::Compare);

/// The names in `comparison.json` that are neither a column's key nor its name as a figure.
const OTHER_NAMES: [(&str, &str); 1] = [("spindle_commands_per_host_op", "commands_per_host_op")];

/// The order of the first columns in `comparison.json`. Others follow.
const FIRST: [&str; 6] = [
    "response_p95_ms",
    "response_p99_ms",
    "spindle_commands_per_host_op",
    "layout_score_0_to_1",
    "parity_commands_per_host_op",
    "full_stripe_percent",
];

impl ComparedFigures {
    /// Returns the figures of a segment.
    pub(crate) fn of(at: &Place<'_>) -> Self {
        let mut figures = Self::default();
        for (figure, column) in figures.0.iter_mut().zip(Column::of_table(Table::Compare)) {
            // All that is measured is rounded.
            let round = |value| rounded(value, SIGNIFICANT_DIGITS);
            *figure = column.number(at).map(round);
        }
        figures
    }

    /// Returns the figure of a column; none if the segment has none, or the column is not compared.
    pub fn get(&self, column: &Column) -> Option<f64> {
        let position = Column::of_table(Table::Compare).position(|one| one == column)?;
        self.0[position]
    }

    /// Returns the columns that have a name of their own in `comparison.json`, in its order.
    fn named() -> Vec<(&'static str, &'static Column)> {
        let mut columns: Vec<&Column> = Column::of_table(Table::Compare)
            .filter(|column| !UTILIZATIONS.contains(column))
            .collect();
        columns.sort_by_key(|column| {
            FIRST.iter().position(|key| *key == column.key).unwrap_or(FIRST.len())
        });
        let name = |column: &Column| {
            let other = OTHER_NAMES.iter().find(|(key, _)| *key == column.key);
            other.map(|(_, name)| *name).or(column.figure_name()).unwrap_or(column.key)
        };
        columns.into_iter().map(|column| (name(column), column)).collect()
    }
}

/// What `comparison.json` has as `utilization`.
const UTILIZATIONS: [&Column; 3] = [
    Column::declared("controller_utilization_0_to_1"),
    Column::declared("spindle_utilization_0_to_1"),
    Column::declared("parity_spindle_utilization_0_to_1"),
];

impl Serialize for ComparedFigures {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (name, column) in Self::named() {
            if let Some(figure) = self.get(column) {
                map.serialize_entry(name, &figure)?;
            }
        }
        let [controller, spindles, parity_spindles] = UTILIZATIONS.map(|one| self.get(one));
        let [controller, spindles] = [controller, spindles].map(Option::unwrap_or_default);
        let utilization = Utilization { controller, spindles, parity_spindles };
        map.serialize_entry("utilization", &utilization)?;
        map.end()
    }
}

impl<'de> Deserialize<'de> for ComparedFigures {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Raw {
            #[serde(default)]
            utilization: Utilization,
            #[serde(flatten)]
            named: BTreeMap<String, serde_json::Value>,
        }
        let Raw { utilization: Utilization { controller, spindles, parity_spindles }, named } =
            Raw::deserialize(deserializer)?;
        let named = Self::named()
            .into_iter()
            .map(|(name, column)| (column, named.get(name).and_then(serde_json::Value::as_f64)));
        let utilizations = [Some(controller), Some(spindles), parity_spindles];
        let all: Vec<_> = named.chain(UTILIZATIONS.into_iter().zip(utilizations)).collect();
        let mut figures = Self::default();
        for (figure, column) in figures.0.iter_mut().zip(Column::of_table(Table::Compare)) {
            *figure = all.iter().find(|(one, _)| *one == column).and_then(|found| found.1);
        }
        Ok(figures)
    }
}

impl ComparedArray {
    /// Returns its name in the run at `position` among its runs.
    #[must_use]
    pub fn name_in(&self, position: usize) -> &str {
        self.names.get(position).unwrap_or(&self.name)
    }
}

impl RunsComparison {
    /// Returns the text of `comparison.json`.
    ///
    /// # Errors
    ///
    /// [`ResultsError::NotFinite`] if a figure is infinite or not a number.
    pub fn to_json_string(&self) -> Result<String, ResultsError> {
        figures_json(self)
    }
}
