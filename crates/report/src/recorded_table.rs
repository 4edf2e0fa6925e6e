//! Response times that a trace recorded, beside those of its replay.

use crate::columns::Columns;
use crate::files_table::figure_words;
use strewn_results::{ArrayResults, ResponseTime, Results};

/// The title of [`recorded_table`].
pub(crate) const RECORDED_HEADING: &str = "Response times as recorded, and as simulated";

/// A segment, or the whole run.
pub(crate) struct RecordedRow {
    name: String,
    recorded: ResponseTime,
    /// Of each array, mean and 95th percentile in ms, if it measured the segment.
    simulated: Vec<[Option<f64>; 2]>,
}

/// Returns the recorded response times of a trace beside those of each array, by segment; empty if it recorded none.
#[must_use]
pub fn recorded_table(results: &Results) -> String {
    recorded_columns(results).render_any(&recorded_rows(results))
}

/// Returns the segments of which a trace recorded response times, and the whole run; none if it recorded none.
pub(crate) fn recorded_rows(results: &Results) -> Vec<RecordedRow> {
    let trace = results.workload.as_ref().and_then(|workload| workload.trace.as_ref());
    let Some(recorded) = trace.and_then(|trace| trace.recorded.as_ref()) else {
        return Vec::new();
    };
    let of_segment = |index: u32| {
        let one = |array: &ArrayResults| {
            let segment = array.segments.iter().find(|segment| segment.index == index);
            let response = segment.map(|segment| segment.response_ms);
            [response.map(|of| of.mean), response.map(|of| of.p95)]
        };
        results.arrays.iter().map(one).collect::<Vec<_>>()
    };
    let mut rows: Vec<RecordedRow> = recorded
        .segments
        .iter()
        .map(|of| RecordedRow {
            name: of.segment.to_string(),
            recorded: of.response_ms,
            simulated: of_segment(of.segment),
        })
        .filter(|row| row.simulated.iter().any(|of| of[0].is_some()))
        .collect();
    // Percentiles of segments cannot be added up; their means can.
    let of_all = |array: &ArrayResults| {
        let all: f64 = array.segments.iter().map(|segment| segment.ops as f64).sum();
        let sum =
            array.segments.iter().map(|segment| segment.ops as f64 * segment.response_ms.mean);
        [(all > 0.0).then(|| sum.sum::<f64>() / all), None]
    };
    rows.push(RecordedRow {
        name: "all".to_owned(),
        recorded: recorded.whole.all_ms,
        simulated: results.arrays.iter().map(of_all).collect(),
    });
    rows
}

/// Returns the columns of these rows.
pub(crate) fn recorded_columns(results: &Results) -> Columns<'static, RecordedRow> {
    let mut columns = Columns::<RecordedRow>::new()
        .words("segment", |row| row.name.clone())
        .number("recorded\nmean, ms", |row| figure_words(row.recorded.mean))
        .number("recorded\np95, ms", |row| figure_words(row.recorded.p95));
    for (position, array) in results.arrays.iter().enumerate() {
        let figure = move |row: &RecordedRow, which: usize| {
            row.simulated.get(position).and_then(|of| of[which]).map(figure_words)
        };
        columns = columns
            .number(format!("{}\nmean, ms", array.name), move |row| figure(row, 0))
            .number(format!("{}\np95, ms", array.name), move |row| figure(row, 1));
    }
    columns
}
