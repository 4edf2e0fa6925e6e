//! The behaviour of the arrays: charts, and figures of the spindles in the first segment and the last.

use crate::html::block::Block;
use crate::html::table::{Cell, Table};
use strewn_results::words::subject;
use strewn_results::{Results, Segment, like_positions};

/// Returns span, queue and service time of the spindles, which the account leaves out if the controller is the limit.
/// None if no array has segments that may be compared.
pub(super) fn spindles(results: &Results) -> Option<Block> {
    let arrays = results.arrays.iter().enumerate().flat_map(|(position, array)| {
        let pairs = like_positions(results.workload.as_ref(), array).into_iter();
        pairs.map(move |pair| (position, array, pair))
    });
    let rows = arrays.map(|(position, array, (start, end))| {
        let (first, last) = (&array.segments[start], &array.segments[end]);
        let pair = |from: f64, to: f64, decimals: usize, field: &str| {
            let path = |segment: usize| format!("arrays/{position}/segments/{segment}/{field}");
            [Cell::figure(from, decimals, path(start)), Cell::figure(to, decimals, path(end))]
        };
        let mut row = vec![Cell::words(subject(&array.name, array.kind_of(first)))];
        row.extend(pair(
            first.layout.span_percent,
            last.layout.span_percent,
            1,
            "layout/span_percent",
        ));
        let (from, to) = (&first.spindle_commands, &last.spindle_commands);
        row.extend(pair(
            from.mean_queue_depth,
            to.mean_queue_depth,
            1,
            "spindle_commands/mean_queue_depth",
        ));
        row.extend(pair(
            from.mean_service_ms,
            to.mean_service_ms,
            2,
            "spindle_commands/mean_service_ms",
        ));
        row.extend(pair(
            first.utilization.spindles,
            last.utilization.spindles,
            3,
            "utilization/spindles",
        ));
        let parity = |segment: usize, of: &Segment| {
            let path = format!("arrays/{position}/segments/{segment}/utilization/parity_spindles");
            Cell::optional(of.utilization.parity_spindles, 3, path)
        };
        row.extend([parity(start, first), parity(end, last)]);
        row
    });
    let rows: Vec<Vec<Cell>> = rows.collect();
    let table = Table {
        caption: "The spindles: seek span, queue and service time, first and last segment",
        headers: &[
            "array",
            "span of the stroke %, first",
            "last",
            "commands at a spindle, first",
            "last",
            "service ms, first",
            "last",
            "data spindles busy, first",
            "last",
            "parity spindles busy, first",
            "last",
        ],
        rows,
        has_total: false,
    };
    (!table.rows.is_empty()).then(|| table.block())
}
