//! Runs side by side, in the form of `comparison.json`.

use crate::data::json::ResultsError;
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
    /// The arrays that two runs or more have, in the order of the first run that has them; or the one that each has.
    pub arrays: Vec<ComparedArray>,
    /// Arrays that only one run has, as "run: array".
    pub left_out: Vec<String>,
}

/// Which run it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ComparedRun {
    /// What it is called here.
    pub name: String,
    /// Name of its scenario.
    pub scenario: String,
    /// Its seed.
    pub seed: u64,
    /// The version of Strewn that ran it.
    pub strewn: String,
    /// How many times smaller than full scale; 1 at full scale.
    pub scaled_by: u32,
    /// Whether it was stopped before its last segment, or lost data.
    pub partial: bool,
}

/// One array in several runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComparedArray {
    /// Name of the array; the names in its runs, with commas between, where they are not the same.
    pub name: String,
    /// Its name in each of its runs; absent where all of them call it the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// Runs that have it, by position.
    pub runs: Vec<usize>,
    /// What it was configured with that is not the same in all of them.
    pub parameters: Vec<DifferingParameter>,
    /// The segments that any of them has, ascending.
    pub segments: Vec<SegmentOfRuns>,
}

/// A number that runs were configured with, and not all alike.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DifferingParameter {
    /// Path in the scenario; `layout`, `outstanding`, `spindles`, `workload` and `LUN` too.
    pub name: String,
    /// Its value in each of the array's runs with its unit; none where the run has no such number.
    pub values: Vec<Option<String>>,
}

/// One segment of an array in several runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SegmentOfRuns {
    /// Number of the segment; the first is 1.
    pub index: u32,
    /// Its figures in each of the array's runs; none where the run did not come so far.
    pub figures: Vec<Option<RunFigures>>,
}

/// What is compared of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunFigures {
    /// Host operations completed per second.
    pub iops: f64,
    /// Difference from the first of the runs, percent of that; none in the first.
    pub iops_difference_percent: Option<f64>,
    /// Mean response time, milliseconds.
    pub response_ms: f64,
    /// Difference from the first of the runs, percent of that; none in the first.
    pub response_difference_percent: Option<f64>,
    /// Spindle commands per host operation.
    pub commands_per_host_op: f64,
    /// Layout score, 0 to 1.
    pub layout_score: f64,
}

impl ComparedArray {
    /// What it is called in the run at `position` among its runs.
    #[must_use]
    pub fn name_in(&self, position: usize) -> &str {
        self.names.get(position).unwrap_or(&self.name)
    }
}

impl RunsComparison {
    /// The text of `comparison.json`.
    ///
    /// # Errors
    ///
    /// [`ResultsError::NotFinite`] if a figure is infinite or not a number.
    pub fn to_json_string(&self) -> Result<String, ResultsError> {
        let text = serde_json::to_string_pretty(self)? + "\n";
        match serde_json::from_str::<Self>(&text) {
            Ok(read) if read == *self => Ok(text),
            _ => Err(ResultsError::NotFinite),
        }
    }
}
