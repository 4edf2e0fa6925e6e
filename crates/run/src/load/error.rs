//! Why a workload from a file cannot be run.

use strewn_formats::FileFormatError;
use thiserror::Error;

/// Why the workload of a file cannot be run: the file, the problem, and the remedy.
#[derive(Debug, Clone, Error)]
#[error("{message}")]
pub struct LoadError {
    message: String,
    help: String,
    /// Whether a larger file would help; if so, the way to get one comes before the rest of the help.
    wants_larger_file: bool,
    /// Further problems of the same file.
    others: Vec<LoadError>,
}

/// How to enlarge the file under load of a scenario.
const OF_A_SCENARIO: &str = "enlarge `file` in [workload] of the scenario";

impl LoadError {
    pub(crate) fn new(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            help: help.into(),
            wants_larger_file: false,
            others: Vec::new(),
        }
    }

    /// Returns the error for a workload that exceeds the file under load. `or` is another remedy, worded to follow
    /// "enlarge the file".
    pub(crate) fn beyond_the_file(message: impl Into<String>, or: impl Into<String>) -> Self {
        Self { wants_larger_file: true, ..Self::new(message, or) }
    }

    /// Returns the first of several problems of one file, with the others below it; none if there are none.
    pub(crate) fn all(problems: Vec<Self>) -> Option<Self> {
        let mut problems = problems.into_iter();
        let mut first = problems.next()?;
        first.others.extend(problems);
        Some(first)
    }

    /// Returns the further problems that were found in the same file.
    #[must_use]
    pub fn others(&self) -> &[Self] {
        &self.others
    }

    /// Returns the remedy, for a workload that runs in a scenario.
    #[must_use]
    pub fn help(&self) -> String {
        self.help_with(OF_A_SCENARIO)
    }

    /// Returns the remedy. `larger_file` says how to enlarge the file under load.
    #[must_use]
    pub fn help_with(&self, larger_file: &str) -> String {
        let before = if self.wants_larger_file { larger_file } else { "" };
        format!("{before}{}", self.help)
    }
}

impl From<FileFormatError> for LoadError {
    fn from(error: FileFormatError) -> Self {
        let others = error.others().iter().cloned().map(Self::from).collect();
        Self { others, ..Self::new(error.problem(), error.help()) }
    }
}
