//! The spindles to be bought for each array, and what they deliver.

use crate::columns::{Columns, Figure, left_out_line};
use strewn_results::words::kind_in_words;
use strewn_results::{OverheadRow, Results};

/// A way to buy an array, with its position.
pub(crate) type OverheadRowAt<'a> = (usize, &'a OverheadRow);

/// Returns the spindles to be bought for each array, and what each of them delivers. The
/// configuration that the other results use has an asterisk. Columns that have no room are named below. Empty if there
/// is no configuration.
#[must_use]
pub fn overhead_table(results: &Results) -> String {
    if results.overhead.is_empty() {
        return String::new();
    }
    let has_phases = results.overhead.iter().any(|row| !row.workloads.is_empty());
    let columns = overhead_columns(results, true);
    let (table, left_out) = columns.render_narrow(&overhead_rows(results));
    let mut table = table + &left_out_line(&left_out);
    table.push_str(match has_phases {
        true => "\nfresh, end: first and last segment of phases with these workloads.",
        false => "\nfresh: first segment; end: last segment.",
    });
    table.push_str(
        " % of in-place: IOPS per spindle, of the in-place \
         array's.\n* the configuration used in all other tables\n",
    );
    table
}

pub(crate) fn overhead_rows(results: &Results) -> Vec<OverheadRowAt<'_>> {
    results.overhead.iter().enumerate().collect()
}

/// Returns the columns for the terminal, or for the page.
pub(crate) fn overhead_columns<'a>(
    results: &Results,
    on_terminal: bool,
) -> Columns<'a, OverheadRowAt<'a>> {
    let has_phases = results.overhead.iter().any(|row| !row.workloads.is_empty());
    let figure = |(at, _): &OverheadRowAt<'_>, value: f64, decimals: usize, field: &str| {
        Figure::new(value, decimals).at(format!("overhead/{at}/{field}"))
    };
    Columns::new()
        .words("array", |(_, row): &OverheadRowAt<'_>| row.array.clone())
        .when(has_phases, |columns| {
            columns.words("workloads", |(_, row)| kind_in_words(&row.workloads))
        })
        .words("spindles to buy", |(_, row)| {
            format!("{}{}", row.name, if row.used_by_results { " *" } else { "" })
        })
        .when(!on_terminal, |columns| columns.words("source", |(_, row)| row.source.clone()))
        .number("spin-\ndles", |(_, row)| row.purchased.to_string())
        .number("usable\nGiB", move |row| figure(row, row.1.usable_gib, 0, "usable_gib"))
        .yielding(2)
        .when(on_terminal, |columns| {
            columns
                .number("% of\nraw", |(_, row)| Figure::new(row.usable_percent_of_raw, 1))
                .yielding(6)
        })
        .number(("IOPS/\nspindle\nfresh", "IOPS per spindle, fresh"), move |row| {
            figure(row, row.1.iops_per_spindle_fresh, 1, "iops_per_spindle_fresh")
        })
        .yielding(3)
        .number(("IOPS/\nspindle\nend", "IOPS per spindle, in the end"), move |row| {
            figure(row, row.1.iops_per_spindle_end, 1, "iops_per_spindle_end")
        })
        .number(("IOPS/\n1000 USD\nfresh", "IOPS per 1000 USD, fresh"), move |row| {
            figure(row, row.1.iops_per_1000_usd_fresh, 1, "iops_per_1000_usd_fresh")
        })
        .yielding(5)
        .number(("IOPS/\n1000 USD\nend", "IOPS per 1000 USD, in the end"), move |row| {
            figure(row, row.1.iops_per_1000_usd_end, 1, "iops_per_1000_usd_end")
        })
        .yielding(5)
        .when(on_terminal, |columns| {
            let percent = |percent: Option<f64>| percent.map(|percent| Figure::new(percent, 1));
            columns
                .number("% of\nin-place\nfresh", move |(_, row)| {
                    percent(row.percent_of_in_place_fresh)
                })
                .yielding(4)
                .number("% of\nin-place\nend", move |(_, row)| percent(row.percent_of_in_place_end))
        })
}
