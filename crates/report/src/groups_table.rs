//! The parity groups or disk groups of arrays that have several.

use crate::columns::{Columns, Figure, SegmentRow};
use strewn_results::{GroupFigures, Results};

/// A group in a segment, with its position.
pub(crate) struct GroupRow<'a> {
    segment: SegmentRow<'a>,
    position: usize,
    figures: &'a GroupFigures,
}

/// Returns what each group did in each segment. Empty if no array has several.
#[must_use]
pub fn groups_table(results: &Results) -> String {
    group_columns().render_any(&group_rows(results))
}

pub(crate) fn group_rows(results: &Results) -> Vec<GroupRow<'_>> {
    let rows = SegmentRow::all(results).flat_map(|segment| {
        let groups = segment.segment.groups.iter().enumerate();
        groups.map(move |(position, figures)| GroupRow { segment, position, figures })
    });
    rows.collect()
}

pub(crate) fn group_columns<'a>() -> Columns<'a, GroupRow<'a>> {
    let at = |row: &GroupRow<'_>, figure: Figure, field: &str| {
        figure.at(row.segment.path(&format!("groups/{}/{field}", row.position)))
    };
    Columns::new()
        .words("array", |row: &GroupRow<'_>| row.segment.array.name.clone())
        .number("segment", |row| row.segment.segment.index.to_string())
        .number("group", |row| (row.position + 1).to_string())
        .number(("data\nspindles\nbusy %", "data spindles busy"), move |row| {
            row.figures.spindles.map(|share| at(row, Figure::share(share), "spindles"))
        })
        .number(("parity\nspindles\nbusy %", "parity spindles busy"), move |row| {
            let share = row.figures.parity_spindles?;
            Some(at(row, Figure::share(share), "parity_spindles"))
        })
        .number(("reads", "read commands"), move |row| {
            at(row, Figure::count(row.figures.reads), "reads")
        })
        .number(("writes", "write commands"), move |row| {
            at(row, Figure::count(row.figures.writes), "writes")
        })
        .number("free %", move |row| {
            row.figures.free_percent.map(|free| at(row, Figure::new(free, 1), "free_percent"))
        })
}
