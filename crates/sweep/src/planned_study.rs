//! A study without its runs.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use strewn_results::{StudyText, SweepAxis, SweepBase, SweepChartSpec, SweepFigure};

/// A study without its runs: what they are of, and how they are shown.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PlannedStudy {
    /// Its name.
    pub name: String,
    /// Its title, for a reader.
    pub title: String,
    /// Version of the program that planned it.
    pub strewn: String,
    /// The study's file, from anywhere; none if it was given as a text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// Runs are at 1/`scale_down` of full scale.
    pub scale_down: u32,
    /// The seeds of each combination.
    pub seeds: Vec<u64>,
    /// What all runs have in common. Plans of earlier versions lack it.
    #[serde(default)]
    pub base: SweepBase,
    /// What runs differ by.
    pub axes: Vec<SweepAxis>,
    /// What is measured.
    pub figures: Vec<SweepFigure>,
    /// The charts that the study asks for.
    pub charts: Vec<SweepChartSpec>,
    /// What it says beside its figures.
    pub text: StudyText,
    /// Each combination: the value of each axis, as an index into its values.
    pub combinations: Vec<Vec<usize>>,
    /// Of each combination, the run with each seed, as an index into the plan's points. Combinations that come to the
    /// same settings share runs.
    pub runs: Vec<Vec<usize>>,
}

impl PlannedStudy {
    /// Returns the number of its runs.
    #[must_use]
    pub fn run_count(&self) -> usize {
        self.runs.iter().flatten().max().map_or(0, |last| last + 1)
    }
}
