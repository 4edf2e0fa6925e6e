//! Spindles that failed, as text.

use crate::columns::Columns;
use strewn_results::words::fixed;
use strewn_results::{Results, SpindleFailure};

/// Returns the spindles that failed and the duration of their rebuilds, with what must stand beside it. Empty if none
/// failed.
#[must_use]
pub fn failures_table(results: &Results) -> String {
    let failures: Vec<(String, SpindleFailure)> = results
        .arrays
        .iter()
        .flat_map(|array| array.failures.iter().map(|failure| (array.name.clone(), *failure)))
        .collect();
    if failures.is_empty() {
        return String::new();
    }
    let note = results.rebuild_note();
    let took = match note {
        Some(_) => "rebuild took\nat least, s",
        None => "rebuild\ntook, s",
    };
    let seconds = |time: Option<f64>| time.map_or_else(|| "-".to_owned(), |time| fixed(time, 1));
    let table = Columns::<(String, SpindleFailure)>::new()
        .words("array", |(array, _)| array.clone())
        .number("spindle", |(_, failure)| failure.spindle.to_string())
        .number("failed\nat, s", |(_, failure)| fixed(failure.at_seconds, 1))
        .number("rebuild\nbegan, s", move |(_, failure)| seconds(failure.rebuild_began_at_seconds))
        .number("rebuilt\nat, s", move |(_, failure)| seconds(failure.rebuilt_at_seconds))
        .number(took, move |(_, failure)| seconds(failure.rebuild_seconds))
        .number("rebuilt\n%", |(_, failure)| fixed(failure.rebuilt_percent, 1))
        .render(&failures);
    table + &note.map(|note| format!("\n{note}\n")).unwrap_or_default()
}
