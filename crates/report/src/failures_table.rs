//! Spindles that failed and their rebuilds.

use crate::columns::{Columns, Figure};
use strewn_results::{Results, SpindleFailure};

/// The name of an array, and a spindle of it that failed.
pub(crate) type FailureRow<'a> = (&'a str, &'a SpindleFailure);

/// Returns the spindles that failed and the duration of their rebuilds, with what must stand beside it. Empty if none
/// failed.
#[must_use]
pub fn failures_table(results: &Results) -> String {
    let table = failure_columns(results).render_any(&failure_rows(results));
    let notes = failure_notes(results).into_iter();
    table + &notes.map(|note| format!("\n{note}\n")).collect::<String>()
}

/// Returns what must stand beside the table.
pub(crate) fn failure_notes(results: &Results) -> Vec<String> {
    results.rebuilds_at_full_scale().into_iter().chain(results.rebuild_note()).collect()
}

pub(crate) fn failure_rows(results: &Results) -> Vec<FailureRow<'_>> {
    let arrays = results.arrays.iter();
    arrays.flat_map(|array| array.failures.iter().map(|one| (&*array.name, one))).collect()
}

pub(crate) fn failure_columns<'a>(results: &Results) -> Columns<'a, FailureRow<'a>> {
    let took = match results.rebuild_note() {
        Some(_) => "rebuild took\nat least, s",
        None => "rebuild\ntook, s",
    };
    let seconds = |seconds: Option<f64>| seconds.map(|seconds| Figure::new(seconds, 1));
    Columns::new()
        .words("array", |(array, _): &FailureRow<'_>| *array)
        .number("spindle", |(_, failure)| failure.spindle.to_string())
        .number("failed\nat, s", |(_, failure)| Figure::new(failure.at_seconds, 1))
        .number("rebuild\nbegan, s", move |(_, failure)| seconds(failure.rebuild_began_at_seconds))
        .number("rebuilt\nat, s", move |(_, failure)| seconds(failure.rebuilt_at_seconds))
        .number(took, move |(_, failure)| seconds(failure.rebuild_seconds))
        .number("rebuilt\n%", |(_, failure)| Figure::new(failure.rebuilt_percent, 1))
}
