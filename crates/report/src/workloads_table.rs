//! The jobs or access specifications of a run with several, by segment.

use crate::columns::{Columns, Figure, SegmentRow, declared};
use strewn_results::words::fixed;
use strewn_results::{ArrayResults, Results, WorkloadFigures};

/// Returns the figures of each job or access specification, if several were run. Empty otherwise.
#[must_use]
pub fn workloads_table(results: &Results, array: &ArrayResults) -> String {
    let rows = workload_rows(results, array);
    if rows.is_empty() {
        return String::new();
    }
    let has_layout = rows.iter().any(|row| figures(row).is_some_and(|it| it.layout.is_some()));
    let layout = |row: &SegmentRow<'_>| Some(Figure::new(figures(row)?.layout?.score, 3));
    let mut table = Columns::new()
        .all(declared!["segment"])
        .words("workload", workload_name)
        .all(declared!["host_ops_per_s", "throughput_mib_per_s", "response_mean_ms"])
        .all(declared!["response_p95_ms", "response_p99_ms"])
        .number("reads\n%", |row| {
            let it = figures(row)?;
            Some(Figure::new(100.0 * it.reads.ops as f64 / it.ops() as f64, 1))
        })
        .all(declared!["read_ms", "write_ms"])
        .when(has_layout, |columns| columns.number("layout\nscore", layout))
        .render(&rows);
    for note in missed_rates(results, array) {
        table.push_str(&format!("\n{note}\n"));
    }
    table
}

/// Returns the columns of the same table on the page.
pub(crate) fn workload_columns<'a>() -> Columns<'a, SegmentRow<'a>> {
    Columns::new()
        .all(declared!["segment", "phase"])
        .words("workload", workload_name)
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
    SegmentRow::of(results, array).flat_map(SegmentRow::workloads).collect()
}

fn figures<'a>(row: &SegmentRow<'a>) -> Option<&'a WorkloadFigures> {
    row.workload.map(|(_, figures)| figures)
}

fn workload_name(row: &SegmentRow<'_>) -> String {
    figures(row).map(|it| it.name.clone()).unwrap_or_default()
}

/// Returns a sentence for each named workload that stayed below its limit of operations a second by more than 2 %,
/// which too few outstanding operations do.
pub(crate) fn missed_rates(results: &Results, array: &ArrayResults) -> Vec<String> {
    let setting = |number: usize, key: &str| {
        results.settings.get(&format!("workload.{number}.{key}")).map(ToString::to_string)
    };
    let missed = |number: usize| {
        let name = setting(number, "name")?;
        let limit: f64 = setting(number, "operations_per_second")?.parse().ok()?;
        let of_workload = array.segments.iter().flat_map(|segment| &segment.by_workload);
        let own = of_workload.filter(|workload| workload.name == name);
        let least = own.map(|workload| workload.iops).reduce(f64::min)?;
        (least < 0.98 * limit).then(|| {
            format!(
                "{name}: {} operations a second at least, of at most {}. Each waits for one of its {} outstanding \
                 operations.",
                fixed(least, 0),
                fixed(limit, 0),
                setting(number, "outstanding").unwrap_or_default()
            )
        })
    };
    (1..=results.settings.len())
        .map_while(|number| setting(number, "name").map(|_| number))
        .filter_map(missed)
        .collect()
}
