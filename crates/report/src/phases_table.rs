//! The phases of a run as text, a row for each.

use crate::columns::{Columns, optional, response_decimals};
use strewn_results::words::{fixed, kind_in_words, signed};
use strewn_results::{Phase, PhaseFigures, Results, phase_figures};

/// What the difference of a phase is from.
pub(crate) const LIKE_PHASES: &str = "Phases with the same workloads are alike. The difference is from the first phase that is like it.";

/// Returns each phase of each array, beside the first phase that is like it. Empty for a run without phases.
#[must_use]
pub fn phases_table(results: &Results) -> String {
    let rows = phase_figures(results);
    if rows.is_empty() {
        return String::new();
    }
    let of_ms = response_decimals(results.real_spindles.is_some());
    let table = Columns::<PhaseFigures>::new()
        .words("array", |row| row.array.clone())
        .words("phase", |row| row.phase.name.clone())
        .words("workloads", |row| kind_in_words(&row.phase.workloads))
        .words("segments", |row| segments_in_words(&row.phase))
        .number("IOPS", |row| fixed(row.iops, 0))
        .number("difference\n%", |row| {
            optional(row.iops_difference_percent, |percent| signed(percent, 1))
        })
        .number("MiB/s", |row| fixed(row.mib_per_s, 1))
        .number("response\nmean, ms", move |row| fixed(row.response_ms, of_ms))
        .number("spindle\ncommands\nper op", |row| fixed(row.commands_per_host_op, 2))
        .number("layout score\nat its end", |row| fixed(row.layout_score, 3))
        .render(&rows);
    format!("{table}\n{LIKE_PHASES}\n")
}

/// Returns the numbers of a phase's segments.
pub(crate) fn segments_in_words(phase: &Phase) -> String {
    match (phase.first_segment, phase.last_segment()) {
        (first, last) if first == last => first.to_string(),
        (first, last) => format!("{first} to {last}"),
    }
}
