//! Spindles that failed and their rebuilds.

use crate::html::block::Block;
use crate::html::table::{Cell, Table};
use strewn_results::Results;
use strewn_results::words::fixed;

pub(super) fn failures(results: &Results) -> Vec<Block> {
    let seconds =
        |time: Option<f64>| Cell::number(time.map_or_else(String::new, |time| fixed(time, 1)));
    let mut rows = Vec::new();
    for array in &results.arrays {
        for failure in &array.failures {
            rows.push(vec![
                Cell::words(&array.name),
                Cell::number(failure.spindle.to_string()),
                Cell::number(fixed(failure.at_seconds, 1)),
                seconds(failure.rebuild_began_at_seconds),
                seconds(failure.rebuilt_at_seconds),
                seconds(failure.rebuild_seconds),
                Cell::number(fixed(failure.rebuilt_percent, 1)),
            ]);
        }
    }
    if rows.is_empty() {
        return Vec::new();
    }
    let note = results.rebuild_note();
    let table = Table {
        caption: "Failures and rebuilds",
        headers: &[
            "array",
            "spindle",
            "failed at, s",
            "rebuild began, s",
            "rebuilt at, s",
            if note.is_some() { "rebuild took at least, s" } else { "rebuild took, s" },
            "rebuilt %",
        ],
        rows,
        has_total: false,
    };
    std::iter::once(table.block()).chain(note.map(Block::note)).collect()
}
