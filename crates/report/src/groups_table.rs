//! The parity groups, disk groups or top-level vdevs of arrays that have several.

use crate::columns::{Columns, Figure, SegmentRow};
use strewn_results::{GroupFigures, Results, VdevClass};

/// A group in a segment, with its position.
pub(crate) struct GroupRow<'a> {
    segment: SegmentRow<'a>,
    position: usize,
    figures: &'a GroupFigures,
}

impl GroupRow<'_> {
    /// Returns the class of a vdev.
    fn class(&self) -> Option<VdevClass> {
        self.segment.array.parity_groups.get(self.position)?.class
    }
}

/// Returns what each group did in each segment. Empty if no array has several.
#[must_use]
pub fn groups_table(results: &Results) -> String {
    group_columns(results).render_any(&group_rows(results))
}

pub(crate) fn group_rows(results: &Results) -> Vec<GroupRow<'_>> {
    let rows = SegmentRow::all(results).flat_map(|segment| {
        let groups = segment.segment.groups.iter().enumerate();
        groups.map(move |(position, figures)| GroupRow { segment, position, figures })
    });
    rows.collect()
}

/// Vdevs have a class, and no drives that hold parity alone.
pub(crate) fn group_columns<'a>(results: &Results) -> Columns<'a, GroupRow<'a>> {
    let has_vdevs = results.has_vdevs();
    let rows = group_rows(results);
    let has_parity = rows.iter().any(|row| row.figures.parity_spindles.is_some());
    let has_groups = rows.iter().any(|row| row.class().is_none());
    let (number, busy) = match (has_groups, has_vdevs) {
        (_, false) => ("group", ("data\nspindles\nbusy %", "data spindles busy")),
        (false, true) => ("vdev", ("drives\nbusy %", "drives busy")),
        (true, true) => ("group\nor vdev", ("data\nspindles\nbusy %", "data spindles busy")),
    };
    let at = |row: &GroupRow<'_>, figure: Figure, field: &str| {
        figure.at(row.segment.path(&format!("groups/{}/{field}", row.position)))
    };
    Columns::new()
        .words("array", |row: &GroupRow<'_>| row.segment.array.name.clone())
        .number("segment", |row| row.segment.segment.index.to_string())
        .number(number, |row| (row.position + 1).to_string())
        .when(has_vdevs, |columns| {
            columns.words("class", |row| row.class().map_or("-", VdevClass::as_str))
        })
        .number(busy, move |row| {
            row.figures.spindles.map(|share| at(row, Figure::share(share), "spindles"))
        })
        .when(has_parity || !has_vdevs, |columns| {
            columns.number(("parity\nspindles\nbusy %", "parity spindles busy"), move |row| {
                let share = row.figures.parity_spindles?;
                Some(at(row, Figure::share(share), "parity_spindles"))
            })
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
