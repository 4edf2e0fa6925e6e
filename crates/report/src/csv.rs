//! The table of segments in files: as comma-separated values, for spreadsheets and plotting tools, and as Markdown.

use crate::columns::{Columns, SegmentRow, segment_columns, with_chosen, write_csv};
use crate::segments_table;
use std::io::Write;
use strewn_results::{Column, Results, ResultsError};

/// Writes one row per array and segment, after a row of column names, which end in the unit. A measurement that an
/// array does not have is an empty field.
///
/// With `chosen`, array and segment are followed by these columns, otherwise by all that the results have.
///
/// # Errors
///
/// [`ResultsError::Write`] if `writer` fails.
pub fn write_segments_csv(
    results: &Results,
    chosen: &[&'static Column],
    writer: impl Write,
) -> Result<(), ResultsError> {
    write_csv(&segment_columns(results, chosen), writer)
}

/// Returns the segments as Markdown: the table of each array that the command prints or, with `chosen`, one table of
/// array, segment and these columns.
#[must_use]
pub fn segments_markdown(results: &Results, chosen: &[&'static Column]) -> String {
    if !chosen.is_empty() {
        let rows: Vec<SegmentRow<'_>> = SegmentRow::all(results).collect();
        return Columns::new().all(&with_chosen(chosen)).markdown(&rows);
    }
    let tables = results.arrays.iter().map(|array| {
        let rows: Vec<SegmentRow<'_>> = SegmentRow::with_warm_up(results, array).collect();
        let columns = segments_table::segment_columns(results, array, None);
        format!("## {}\n\n{}", array.name, columns.markdown(&rows))
    });
    tables.collect::<Vec<_>>().join("\n")
}
