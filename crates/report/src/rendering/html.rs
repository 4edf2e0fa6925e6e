//! `report.html`: everything about a run in one file that is opened from disk and asks nothing of a network.
//!
//! The same results give the same bytes: what differs from run to run, the wall time, is not in it.

mod page;
mod sections;
mod table;

use crate::data::json::ResultsError;
use crate::data::layout_map::LayoutMap;
use crate::data::results::Results;
use crate::rendering::chart::ChartError;

/// What a report is made of.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    /// The results.
    pub results: &'a Results,
    /// The map of the same run, if there is one.
    pub map: Option<&'a LayoutMap>,
    /// The text of the scenario, if it is known.
    pub scenario: Option<&'a str>,
}

/// Why a report could not be made.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// A chart of it cannot be drawn.
    #[error(transparent)]
    Chart(#[from] ChartError),
    /// Results or map cannot be written.
    #[error(transparent)]
    Results(#[from] ResultsError),
}

impl Report<'_> {
    /// The text of `report.html`.
    ///
    /// # Errors
    ///
    /// If a chart cannot be drawn, or a figure is infinite or not a number.
    pub fn to_html(&self) -> Result<String, ReportError> {
        page::page(self)
    }
}
