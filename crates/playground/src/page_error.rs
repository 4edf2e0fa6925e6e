//! Why a page cannot be made.

use strewn_report::ReportError;
use strewn_scenario::{ScenarioError, SetError};
use thiserror::Error;

/// Why the page cannot be made.
#[derive(Debug, Error)]
pub enum PageError {
    /// A scenario is not valid.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// A scenario of a study cannot be taken from its published figures.
    #[error(transparent)]
    Set(#[from] SetError),
    /// A scenario of a study cannot be read.
    #[error(transparent)]
    Study(#[from] strewn_sweep::StudyError),
    /// The template cannot be filled in.
    #[error(transparent)]
    Page(#[from] ReportError),
    /// The module cannot be compressed.
    #[error(transparent)]
    Compress(#[from] std::io::Error),
}
