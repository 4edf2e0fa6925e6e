//! Why a study cannot be used.

use std::path::{Path, PathBuf};

use strewn_results::TomlError;
use strewn_scenario::ScenarioError;

/// Why a study cannot be planned.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// Something in the study's file is wrong.
    #[error("{error}")]
    Study {
        /// What is wrong, and where.
        error: Box<TomlError>,
        /// The remedy.
        help: String,
    },
    /// A file cannot be read.
    #[error("{} cannot be read: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The error.
        source: std::io::Error,
    },
    /// A scenario that the study names is not valid by itself.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// Several things are wrong.
    #[error("{}", in_lines(.0))]
    Several(Vec<StudyError>),
}

fn in_lines(errors: &[StudyError]) -> String {
    let lines = errors.iter().map(|error| match error.help() {
        Some(help) => format!("{error}: {help}"),
        None => error.to_string(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

impl StudyError {
    /// Returns the remedy, if the message does not give it already.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Study { help, .. } => Some(help.clone()),
            Self::Unreadable { .. } => Some(
                "give the path of a study's file; `scenario` is a path from its folder".to_owned(),
            ),
            Self::Scenario(error) => error.help().map(str::to_owned),
            Self::Several(_) => None,
        }
    }

    /// Returns the error that `field`, in a line of the study's file, is wrong.
    pub(crate) fn at_line(
        path: &Path,
        line: usize,
        field: &str,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        let (path, field, message) = (path.to_owned(), field.to_owned(), message.into());
        Self::study(TomlError { path, line, field, message }, help)
    }

    /// Returns `Ok` if there are no errors, and all of them otherwise.
    pub(crate) fn all_of(mut errors: Vec<Self>) -> Result<(), Self> {
        match errors.len() {
            0 => Ok(()),
            1 => Err(errors.remove(0)),
            _ => Err(Self::Several(errors)),
        }
    }

    pub(crate) fn study(error: TomlError, help: impl Into<String>) -> Self {
        Self::Study { error: Box::new(error), help: help.into() }
    }
}
