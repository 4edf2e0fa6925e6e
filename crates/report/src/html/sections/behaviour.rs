//! The behaviour of the arrays: charts, and figures of the spindles in the first segment and the last.

use crate::columns::{Columns, SegmentRow};
use crate::html::block::Block;
use strewn_results::words::subject;
use strewn_results::{Column, Results, like_positions};

/// Two segments of an array that may be compared.
pub(super) struct Ends<'a> {
    pub(super) first: SegmentRow<'a>,
    pub(super) last: SegmentRow<'a>,
}

impl<'a> Ends<'a> {
    /// Returns those of each array; in a run with phases, of each kind of phase.
    pub(super) fn all(results: &'a Results) -> Vec<Self> {
        let of_array = |array| {
            let rows: Vec<SegmentRow<'a>> = SegmentRow::of(results, array).collect();
            let pairs = like_positions(results.workload.as_ref(), array).into_iter();
            pairs.map(move |(first, last)| Self { first: rows[first], last: rows[last] })
        };
        results.arrays.iter().flat_map(of_array).collect()
    }

    /// Returns the array, and the workloads of the kind of phase.
    pub(super) fn subject(&self) -> String {
        let array = self.first.array;
        subject(&array.name, array.kind_of(self.first.segment))
    }
}

/// What is shown of spindles, with the headings here.
const SPINDLES: [(&Column, &str); 5] = [
    (Column::declared("span_percent"), "span of the stroke %"),
    (Column::declared("spindle_queue_depth_mean"), "commands at a spindle"),
    (Column::declared("spindle_service_mean_ms"), "service ms"),
    (Column::declared("spindle_utilization_0_to_1"), "data spindles busy"),
    (Column::declared("parity_spindle_utilization_0_to_1"), "parity spindles busy"),
];

/// Returns span, queue and service time of the spindles, which the account leaves out if the controller is the limit.
/// None if no array has segments that may be compared.
pub(super) fn spindles(results: &Results) -> Option<Block> {
    let mut columns = Columns::new().words("array", Ends::subject);
    for (column, heading) in SPINDLES {
        columns = columns
            .number(format!("{heading}, first"), |ends| ends.first.figure(column))
            .number("last", |ends| ends.last.figure(column));
    }
    let caption = "The spindles: seek span, queue and service time, first and last segment";
    columns.block(caption, &Ends::all(results))
}
