//! The phases of a run, a row for each.

use crate::columns::{Columns, Figure, response_decimals};
use strewn_results::words::kind_in_words;
use strewn_results::{Phase, PhaseFigures, Results, phase_figures};

/// What the difference of a phase is from.
pub(crate) const LIKE_PHASES: &str = "Phases with the same workloads are alike. The difference is from the first phase that is like it.";

/// Returns each phase of each array, beside the first phase that is like it. Empty for a run without phases.
#[must_use]
pub fn phases_table(results: &Results) -> String {
    match phase_columns(results).render_any(&phase_figures(results)) {
        none if none.is_empty() => none,
        table => format!("{table}\n{LIKE_PHASES}\n"),
    }
}

pub(crate) fn phase_columns<'a>(results: &Results) -> Columns<'a, PhaseFigures> {
    let of_ms = response_decimals(results.real_spindles.is_some());
    Columns::<PhaseFigures>::new()
        .words("array", |row| row.array.clone())
        .words("phase", |row| row.phase.name.clone())
        .words("workloads", |row| kind_in_words(&row.phase.workloads))
        .words("segments", |row| segments_in_words(&row.phase))
        .number("IOPS", |row| Figure::new(row.iops, 0))
        .number("difference\n%", |row| {
            row.iops_difference_percent.map(|percent| Figure::change(percent, 1))
        })
        .number("MiB/s", |row| Figure::new(row.mib_per_s, 1))
        .number(("response\nmean, ms", "response ms"), move |row| {
            Figure::new(row.response_ms, of_ms)
        })
        .number("spindle\ncommands\nper op", |row| Figure::new(row.commands_per_host_op, 2))
        .number("layout score\nat its end", |row| Figure::new(row.layout_score, 3))
}

/// Returns the numbers of a phase's segments.
fn segments_in_words(phase: &Phase) -> String {
    match (phase.first_segment, phase.last_segment()) {
        (first, last) if first == last => first.to_string(),
        (first, last) => format!("{first} to {last}"),
    }
}
