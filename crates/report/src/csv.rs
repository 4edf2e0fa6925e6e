//! Segments as comma-separated values, for spreadsheets and plotting tools.
//!
//! Column names end in the unit. A measurement that an array does not have is an empty field.

use crate::columns::{segment_columns, write_csv};
use std::io::Write;
use strewn_results::{Results, ResultsError};

/// Writes one row per array and segment, after a row of column names.
///
/// # Errors
///
/// [`ResultsError::Write`] if `writer` fails.
pub fn write_segments_csv(results: &Results, writer: impl Write) -> Result<(), ResultsError> {
    write_csv(&segment_columns(results), writer)
}
