//! The jobs or access specifications of a run with several, by segment.

use crate::columns::{Columns, Figure, SegmentRow, declared, left_out_line};
use strewn_results::{ArrayResults, RateLimit, Results, WorkloadFigures};

/// Returns the figures of each job or access specification, if several were run. Empty otherwise.
#[must_use]
pub fn workloads_table(results: &Results, array: &ArrayResults) -> String {
    let rows = workload_rows(results, array);
    if rows.is_empty() {
        return String::new();
    }
    let has_layout = rows.iter().any(|row| figures(row).is_some_and(|it| it.layout.is_some()));
    let layout = |row: &SegmentRow<'_>| Some(Figure::new(figures(row)?.layout?.score, 3));
    let (table, left_out) = Columns::new()
        .all(declared!["segment"])
        .words("workload", workload_name)
        .when(any_limit(&rows), |columns| columns.words("at most", limits))
        .all(declared!["host_ops_per_s", "throughput_mib_per_s", "response_mean_ms"])
        .all(declared!["response_p95_ms", "response_p99_ms"])
        .number("reads\n%", |row| {
            let it = figures(row)?;
            Some(Figure::new(100.0 * it.reads.ops as f64 / it.ops() as f64, 1))
        })
        .all(declared!["read_ms", "write_ms"])
        .when(has_layout, |columns| columns.number("layout\nscore", layout))
        .render_narrow(&rows);
    table + &left_out_line(&left_out)
}

/// Returns the columns of the same table on the page.
pub(crate) fn workload_columns<'a>(rows: &[SegmentRow<'a>]) -> Columns<'a, SegmentRow<'a>> {
    Columns::new()
        .all(declared!["segment", "phase"])
        .words("workload", workload_name)
        .when(any_limit(rows), |columns| columns.words("at most", limits))
        .all(declared!["host_ops_per_s", "throughput_mib_per_s", "response_mean_ms"])
        .all(declared!["response_p50_ms", "response_p95_ms", "response_p99_ms"])
        .number("reads", |row| {
            Some(Figure::count(figures(row)?.reads.ops).at(row.path("reads/ops")))
        })
        .number("writes", |row| {
            Some(Figure::count(figures(row)?.writes.ops).at(row.path("writes/ops")))
        })
}

/// Returns the workloads of each segment that did anything.
pub(crate) fn workload_rows<'a>(
    results: &'a Results,
    array: &'a ArrayResults,
) -> Vec<SegmentRow<'a>> {
    SegmentRow::with_warm_up(results, array).flat_map(SegmentRow::workloads).collect()
}

fn figures<'a>(row: &SegmentRow<'a>) -> Option<&'a WorkloadFigures> {
    row.workload.map(|(_, figures)| figures)
}

fn workload_name(row: &SegmentRow<'_>) -> String {
    figures(row).map(|it| it.name.clone()).unwrap_or_default()
}

/// Returns the most that the workload does a second, in words; empty if only answers hold it back.
fn limits(row: &SegmentRow<'_>) -> String {
    let limits = figures(row).map(|it| row.results.rate_limits(&it.name)).unwrap_or_default();
    limits.iter().map(RateLimit::words).collect::<Vec<_>>().join(", ")
}

fn any_limit(rows: &[SegmentRow<'_>]) -> bool {
    rows.iter().any(|row| !limits(row).is_empty())
}
