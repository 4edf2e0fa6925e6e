//! The parity groups or disk groups of arrays that have several, as text.

use crate::columns::Columns;
use strewn_results::words::fixed;
use strewn_results::{GroupFigures, Results};

/// A group in a segment.
struct GroupRow {
    array: String,
    segment: u32,
    /// Counted from 1.
    group: usize,
    figures: GroupFigures,
}

/// Returns what each group did in each segment. Empty if no array has several.
#[must_use]
pub fn groups_table(results: &Results) -> String {
    let mut rows = Vec::new();
    for array in &results.arrays {
        for segment in &array.segments {
            rows.extend((1..).zip(&segment.groups).map(|(group, figures)| GroupRow {
                array: array.name.clone(),
                segment: segment.index,
                group,
                figures: *figures,
            }));
        }
    }
    if rows.is_empty() {
        return String::new();
    }
    let percent =
        |share: Option<f64>| share.map_or_else(|| "-".to_owned(), |share| fixed(share, 1));
    let busy = move |share: Option<f64>| percent(share.map(|share| 100.0 * share));
    Columns::<GroupRow>::new()
        .words("array", |row| row.array.clone())
        .number("segment", |row| row.segment.to_string())
        .number("group", |row| row.group.to_string())
        .number("data\nspindles\nbusy %", move |row| busy(row.figures.spindles))
        .number("parity\nspindles\nbusy %", move |row| busy(row.figures.parity_spindles))
        .number("reads", |row| row.figures.reads.to_string())
        .number("writes", |row| row.figures.writes.to_string())
        .number("free %", move |row| percent(row.figures.free_percent))
        .render(&rows)
}
