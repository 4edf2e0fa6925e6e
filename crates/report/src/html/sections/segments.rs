//! All segments of every array, in tables.

use crate::columns::{response_decimals, starving_note};
use crate::html::block::Block;
use crate::html::sections::{cache_hits, cache_hits_heading};
use crate::html::table::{Cell, Table};
use crate::table::missed_rates;
use strewn_results::words::fixed;
use strewn_results::{
    ArrayResults, FigureBand, LogFigures, Metric, Origin, PublishedComparison, Results, Segment,
};

pub(super) fn segments(results: &Results) -> Vec<Block> {
    let tables = results.arrays.iter().enumerate().filter(|(_, array)| !array.segments.is_empty());
    let mut blocks: Vec<Block> =
        tables.flat_map(|(position, array)| segment_tables(results, position, array)).collect();
    for (position, array) in results.arrays.iter().enumerate() {
        blocks.extend(by_workload(results, position, array));
        blocks.extend(missed_rates(results, array).into_iter().map(Block::paragraph));
        blocks.extend(snapshots(position, array));
        blocks.extend(volumes(position, array));
    }
    if !blocks.is_empty() {
        let all = "Everything that was measured is in segments.csv and results.json.";
        blocks.push(Block::note(all));
    }
    blocks
}

/// Returns two tables by segment, each of which fits a page: the host's measurements of an array, and the array's own.
fn segment_tables(results: &Results, position: usize, array: &ArrayResults) -> [Block; 2] {
    let what = match &results.real_spindles {
        Some(_) => format!("{}, {}", array.layout.as_str(), array.working_spindles()),
        None => {
            format!("{}, {} spindles to buy", array.layout.as_str(), array.spindles.purchased)
        }
    };
    let load = array.outstanding_words();
    let rows = |row: &dyn Fn(usize, &Segment) -> Vec<Cell>| {
        let segments = array.segments.iter().enumerate();
        segments.map(|(number, segment)| row(number, segment)).collect()
    };
    let starves = results.drives_starve(array);
    let short = array.short_segment_note();
    let notes = short.into_iter().chain(starves.then(|| starving_note(array)));
    let note = notes.map(|note| format!(". {note}")).collect::<String>();
    let host = Table {
        caption: &format!("{}: {what}, {load}: what the host saw{note}", array.name),
        headers: &[
            "segment",
            "phase",
            "",
            "IOPS",
            "band",
            "published",
            "MiB/s",
            "response ms",
            "band",
            "published",
            "median",
            if starves { "p95*" } else { "p95" },
            if starves { "p99*" } else { "p99" },
            if starves { "max*" } else { "max" },
        ],
        rows: rows(&|number, segment| host_row(results, position, number, segment)),
        has_total: false,
    };
    let own = Table {
        caption: &format!("{}: what the array did", array.name),
        headers: &[
            "segment",
            "phase",
            "spindle commands per op",
            cache_hits_heading(results),
            "controller busy",
            "data spindles busy",
            "parity spindles busy",
            "log busy",
            "log MiB/s",
            "layout score",
            "span %",
            "free-space score",
            "full stripes %",
        ],
        rows: rows(&|number, segment| own_row(results, position, number, segment)),
        has_total: false,
    };
    [host.block(), own.block()]
}

/// Returns what each of several jobs or access specifications got; none if there are no several.
fn by_workload(results: &Results, position: usize, array: &ArrayResults) -> Option<Block> {
    let of_ms = response_decimals(results.real_spindles.is_some());
    let row = |(number, segment): (usize, &Segment)| {
        let of_segment = segment.by_workload.iter().enumerate();
        let at_work = of_segment.filter(|(_, figures)| figures.ops() > 0);
        let rows = at_work.map(|(workload, figures)| {
            let path = |field: &str| {
                format!("arrays/{position}/segments/{number}/by_workload/{workload}/{field}")
            };
            let response = &figures.response_ms;
            vec![
                Cell::number(segment.index.to_string()),
                phase(segment),
                Cell::words(&figures.name),
                Cell::figure(figures.iops, 0, path("iops")),
                Cell::figure(figures.mib_per_s, 1, path("mib_per_s")),
                Cell::figure(response.mean, of_ms, path("response_ms/mean")),
                Cell::figure(response.p50, of_ms, path("response_ms/p50")),
                Cell::figure(response.p95, of_ms, path("response_ms/p95")),
                Cell::figure(response.p99, of_ms, path("response_ms/p99")),
                Cell::figure(figures.reads.ops as f64, 0, path("reads/ops")),
                Cell::figure(figures.writes.ops as f64, 0, path("writes/ops")),
            ]
        });
        rows.collect::<Vec<_>>()
    };
    let rows: Vec<Vec<Cell>> = array.segments.iter().enumerate().flat_map(row).collect();
    let table = Table {
        caption: &format!("{}: by workload", array.name),
        headers: &[
            "segment",
            "phase",
            "workload",
            "IOPS",
            "MiB/s",
            "response ms",
            "median",
            "p95",
            "p99",
            "reads",
            "writes",
        ],
        rows,
        has_total: false,
    };
    (!table.rows.is_empty()).then(|| table.block())
}

/// Returns what the array's snapshots held; none without snapshots.
fn snapshots(position: usize, array: &ArrayResults) -> Option<Block> {
    let segments = array.segments.iter().enumerate();
    let rows = segments.filter_map(|(number, segment)| {
        let now = segment.snapshots?;
        let path = |field: &str| format!("arrays/{position}/segments/{number}/snapshots/{field}");
        Some(vec![
            Cell::number(segment.index.to_string()),
            Cell::figure(now.kept.into(), 0, path("kept")),
            Cell::figure(now.taken as f64, 0, path("taken")),
            Cell::figure(now.refused as f64, 0, path("refused")),
            Cell::figure(now.held_blocks as f64, 0, path("held_blocks")),
            Cell::number(fixed(now.held_gib(), 1)),
            Cell::figure(now.freed_blocks as f64, 0, path("freed_blocks")),
            Cell::figure(now.aggregate_used_percent, 1, path("aggregate_used_percent")),
        ])
    });
    let table = Table {
        caption: &format!("{}: what its snapshots held", array.name),
        headers: &[
            "segment",
            "snapshots kept",
            "taken",
            "refused",
            "blocks that only they hold",
            "GiB",
            "blocks freed of deleted ones",
            "aggregate used %",
        ],
        rows: rows.collect(),
        has_total: false,
    };
    (!table.rows.is_empty()).then(|| table.block())
}

/// Returns what each volume had; none if the scenario describes none.
fn volumes(position: usize, array: &ArrayResults) -> Option<Block> {
    let row = |(number, segment): (usize, &Segment)| {
        let of_segment = segment.volumes.iter().enumerate();
        let rows = of_segment.map(|(volume, now)| {
            let path = |field: &str| {
                format!("arrays/{position}/segments/{number}/volumes/{volume}/{field}")
            };
            vec![
                Cell::number(segment.index.to_string()),
                Cell::words(&now.name),
                Cell::figure(now.used_blocks as f64, 0, path("used_blocks")),
                Cell::figure(now.reserved_blocks as f64, 0, path("reserved_blocks")),
                Cell::figure(now.snapshots.into(), 0, path("snapshots")),
                Cell::figure(now.held_blocks as f64, 0, path("held_blocks")),
            ]
        });
        rows.collect::<Vec<_>>()
    };
    let table = Table {
        caption: &format!("{}: its volumes, in blocks of 4 KiB", array.name),
        headers: &[
            "segment",
            "volume",
            "blocks of its LUNs",
            "free blocks kept for it",
            "snapshots kept",
            "blocks that only they hold",
        ],
        rows: array.segments.iter().enumerate().flat_map(row).collect(),
        has_total: false,
    };
    (!table.rows.is_empty()).then(|| table.block())
}

/// Returns the ends of a band; an empty cell without one.
fn band(band: Option<FigureBand>, decimals: usize) -> Cell {
    match band {
        Some(FigureBand { low, high, .. }) => Cell::range(low, high, decimals),
        None => Cell::number(""),
    }
}

/// Returns the name of a segment's phase; an empty cell in a run without phases.
fn phase(segment: &Segment) -> Cell {
    Cell::words(segment.phase.as_deref().unwrap_or_default())
}

fn host_row(results: &Results, position: usize, number: usize, segment: &Segment) -> Vec<Cell> {
    let array = &results.arrays[position];
    let path = |field: &str| format!("arrays/{position}/segments/{number}/{field}");
    let beside = |metric: Metric, decimals: usize| {
        let mut compared = results.published.iter().enumerate();
        let is_of = |(_, found): &(usize, &PublishedComparison)| {
            found.array == array.name && found.metric == metric
        };
        let found = compared.find(is_of).and_then(|(at, found)| {
            let place = found.segments.iter().position(|one| one.index == segment.index)?;
            let path = format!("published/{at}/segments/{place}/published");
            Some(Cell::figure(found.segments[place].published, decimals, path))
        });
        found.unwrap_or_else(|| Cell::number(""))
    };
    // In a run on real spindles everything is measured, which the page says above.
    let origin = match results.origin(array, segment.index) {
        Origin::Measured => "",
        origin => origin.as_str(),
    };
    let of_ms = response_decimals(results.real_spindles.is_some());
    let response = &segment.response_ms;
    vec![
        Cell::number(segment.index.to_string()),
        phase(segment),
        Cell::words(origin),
        Cell::figure(segment.iops, 0, path("iops")),
        band(segment.band.as_ref().map(|band| band.iops), 0),
        beside(Metric::Iops, 0),
        Cell::figure(segment.mib_per_s, 1, path("mib_per_s")),
        Cell::figure(response.mean, of_ms, path("response_ms/mean")),
        band(segment.band.as_ref().and_then(|band| band.response_ms), of_ms),
        beside(Metric::ResponseMs, 1),
        Cell::figure(response.p50, of_ms, path("response_ms/p50")),
        Cell::figure(response.p95, of_ms, path("response_ms/p95")),
        Cell::figure(response.p99, of_ms, path("response_ms/p99")),
        Cell::figure(response.max, of_ms - 1, path("response_ms/max")),
    ]
}

fn own_row(results: &Results, position: usize, number: usize, segment: &Segment) -> Vec<Cell> {
    let path = |field: &str| format!("arrays/{position}/segments/{number}/{field}");
    let utilization = &segment.utilization;
    let log = results.real_spindles.as_ref().and_then(|real| real.log_of(segment.index));
    let of_log = |figure: fn(&LogFigures) -> f64, decimals: usize, field: &str| {
        let at = log.map_or(0, |(at, _)| at);
        let path = format!("real_spindles/log/{at}/{field}");
        Cell::optional(log.map(|(_, log)| figure(log)), decimals, path)
    };
    vec![
        Cell::number(segment.index.to_string()),
        phase(segment),
        Cell::number(fixed(segment.commands_per_host_op(), 2)),
        cache_hits(position, number, segment),
        Cell::figure(utilization.controller, 3, path("utilization/controller")),
        Cell::figure(utilization.spindles, 3, path("utilization/spindles")),
        Cell::optional(utilization.parity_spindles, 3, path("utilization/parity_spindles")),
        of_log(|log| log.utilization, 3, "utilization"),
        of_log(|log| log.written_mib_per_s, 1, "written_mib_per_s"),
        Cell::figure(segment.layout.score, 3, path("layout/score")),
        Cell::figure(segment.layout.span_percent, 1, path("layout/span_percent")),
        Cell::optional(segment.free_space.map(|space| space.score), 4, path("free_space/score")),
        Cell::optional(
            segment.consistency_points.and_then(|points| points.full_stripe_percent),
            1,
            path("consistency_points/full_stripe_percent"),
        ),
    ]
}
