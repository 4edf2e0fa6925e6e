//! The jobs or access specifications of a run with several, by segment.

use crate::columns::{Columns, Figure, SegmentRow, declared, left_out_line};
use strewn_results::words::fixed;
use strewn_results::{
    ArrayResults, OperationFigures, RateLimit, Results, Segment, WorkloadFigures,
};

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
    let mut table = table + &left_out_line(&left_out);
    for note in missed_rates(results, array) {
        table.push_str(&format!("\n{note}\n"));
    }
    table
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

/// Returns a sentence for each workload that stayed below a limit of its own by more than 2 %, which slow answers to
/// the operations that it has outstanding do. A segment that ended early says nothing.
pub(crate) fn missed_rates(results: &Results, array: &ArrayResults) -> Vec<String> {
    let did = array.rated_segments().iter().flat_map(|segment| Did::all(results, segment));
    let did: Vec<Did<'_>> = did.collect();
    let mut names: Vec<&str> = did.iter().map(|did| did.name).collect();
    names.sort_unstable();
    names.dedup();
    let missed = |name: &str, limit: &RateLimit| {
        let own = did.iter().filter(|did| did.name == name);
        let all = own.filter_map(|did| limit.beside([&did.reads, &did.writes], did.seconds));
        let [most, least] = all.min_by(|one, other| one[1].total_cmp(&other[1]))?;
        (least < 0.98 * most).then(|| {
            format!(
                "{name}: {} at least, of {} at most. Each operation waits for one of those outstanding to be answered.",
                fixed(least, if least < 100.0 { 1 } else { 0 }),
                limit.words()
            )
        })
    };
    let of_name = |name: &&str| {
        let limits = results.rate_limits(name);
        limits.iter().filter_map(|limit| missed(name, limit)).collect::<Vec<_>>()
    };
    names.iter().flat_map(of_name).collect()
}

/// What a workload did in a segment.
struct Did<'a> {
    name: &'a str,
    reads: OperationFigures,
    writes: OperationFigures,
    seconds: f64,
}

impl<'a> Did<'a> {
    /// Returns what each workload did; an only one did what the hosts did.
    fn all(results: &'a Results, segment: &'a Segment) -> Vec<Self> {
        let seconds = segment.seconds;
        let at_work = segment.by_workload.iter().filter(|it| it.ops() > 0);
        let each =
            at_work.map(|it| Self { name: &it.name, reads: it.reads, writes: it.writes, seconds });
        let replaced = results.workload.as_ref();
        let only = replaced.and_then(|replaced| replaced.workers.first());
        let only = only.filter(|_| segment.by_workload.is_empty()).zip(segment.host);
        let only = only.map(|(worker, host)| Self {
            name: &worker.specification,
            reads: host.reads,
            writes: host.writes,
            seconds,
        });
        each.chain(only).collect()
    }
}
