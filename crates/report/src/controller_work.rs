//! What the controllers did besides serving hosts: read-ahead, relocation, whole stripes written back, housekeeping.

use crate::columns::{Columns, SegmentRow, declared};
use strewn_results::words::grouped;
use strewn_results::{ArrayResults, Column, Group, Results, Table, Unit};

/// The title of the section.
pub(crate) const CONTROLLER_WORK_HEADING: &str = "What the controller did besides serving hosts";

const GROUPS: [Group; 7] = [
    Group::ReadAhead,
    Group::StripeDestages,
    Group::Relocation,
    Group::Spills,
    Group::L2arc,
    Group::Trim,
    Group::Housekeeping,
];

fn all() -> impl Iterator<Item = &'static Column> {
    Column::of_table(Table::OfGroup).filter(|column| GROUPS.contains(&column.group))
}

/// Returns the columns that are not zero in some segment of an array.
pub(crate) fn work_columns<'a>() -> Columns<'a, SegmentRow<'a>> {
    all().fold(Columns::new().all(declared!["segment", "phase"]), |columns, column| {
        columns.number((column.short_heading(), column.heading()), |row: &SegmentRow<'_>| {
            row.figure(column).filter(|figure| figure.value != 0.0)
        })
    })
}

/// Returns the segments in which an array's controller did any of this.
pub(crate) fn work_rows<'a>(results: &'a Results, array: &'a ArrayResults) -> Vec<SegmentRow<'a>> {
    let is_any = |row: &SegmentRow<'_>| {
        all().any(|column| row.figure(column).is_some_and(|figure| figure.value != 0.0))
    };
    SegmentRow::of(results, array).filter(is_any).collect()
}

/// Longest line of text, for a terminal and a log.
const LONGEST_LINE: usize = 118;

/// Returns lines for each array whose controller did any of this, with the sums over all segments. Empty if none did.
pub(crate) fn controller_work_lines(results: &Results) -> String {
    let mut text = String::new();
    for array in &results.arrays {
        let sum = |column: &Column| {
            let figures = SegmentRow::of(results, array).filter_map(|row| row.figure(column));
            figures.map(|figure| figure.value).sum::<f64>()
        };
        let counts = all().filter(|column| column.unit == Unit::Count);
        let sums = counts.map(|column| (column.heading(), sum(column)));
        let mut line = format!(" {}:", array.name);
        for (name, sum) in sums.filter(|(_, sum)| *sum != 0.0) {
            let words = format!(" {name} {};", grouped(sum, false));
            if line.len() + words.len() > LONGEST_LINE {
                text.push_str(&line);
                text.push('\n');
                line = "  ".to_owned();
            }
            line.push_str(&words);
        }
        if line.ends_with(';') {
            line.pop();
            text.push_str(&line);
            text.push('\n');
        }
    }
    text
}
