//! Runs side by side, in the form of `comparison.json`.

use crate::data::json::{ResultsError, figures_json};
use crate::data::segment::Utilization;
use serde::{Deserialize, Serialize};

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
    /// 95 of 100 operations were at least as fast, milliseconds.
    #[serde(default)]
    pub p95_ms: f64,
    /// 99 of 100 operations were at least as fast, milliseconds.
    #[serde(default)]
    pub p99_ms: f64,
    /// Spindle commands per host operation.
    pub commands_per_host_op: f64,
    /// Layout score, 0 to 1.
    pub layout_score: f64,
    /// Spindle commands for parity per host operation: reads for its update, and writes.
    #[serde(default)]
    pub parity_commands_per_host_op: f64,
    /// Stripes written whole, percent of stripes written; none if none was written, and for an array without
    /// consistency points.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full_stripe_percent: Option<f64>,
    /// Share of the time that the controller and the spindles were busy.
    #[serde(default)]
    pub utilization: Utilization,
    /// Whether the IOPS differ from the first run's by more than the bands of both explain; absent if there is nothing
    /// to compare, or no band.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iops_beyond_bands: Option<bool>,
    /// The same of the response time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_beyond_bands: Option<bool>,
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
