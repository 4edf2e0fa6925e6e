//! The phases of the run, a row for each.

use crate::columns::response_decimals;
use crate::html::block::Block;
use crate::html::table::{Cell, Table};
use crate::phases_table::{LIKE_PHASES, segments_in_words};
use strewn_results::words::{fixed, kind_in_words, signed};
use strewn_results::{Results, phase_figures};

/// Returns a table of all phases; none in a run without phases.
pub(super) fn phases(results: &Results) -> Vec<Block> {
    let of_ms = response_decimals(results.real_spindles.is_some());
    let rows = phase_figures(results).into_iter().map(|row| {
        vec![
            Cell::words(&row.array),
            Cell::words(&row.phase.name),
            Cell::words(kind_in_words(&row.phase.workloads)),
            Cell::number(segments_in_words(&row.phase)),
            Cell::number(fixed(row.iops, 0)),
            Cell::number(
                row.iops_difference_percent.map(|percent| signed(percent, 1)).unwrap_or_default(),
            ),
            Cell::number(fixed(row.mib_per_s, 1)),
            Cell::number(fixed(row.response_ms, of_ms)),
            Cell::number(fixed(row.commands_per_host_op, 2)),
            Cell::number(fixed(row.layout_score, 3)),
        ]
    });
    let table = Table {
        caption: "Each phase, over all its segments",
        headers: &[
            "array",
            "phase",
            "workloads",
            "segments",
            "IOPS",
            "difference %",
            "MiB/s",
            "response ms",
            "spindle commands per op",
            "layout score at its end",
        ],
        rows: rows.collect(),
        has_total: false,
    };
    if table.rows.is_empty() {
        return Vec::new();
    }
    vec![table.block(), Block::note(LIKE_PHASES)]
}
