//! All segments of every array, in tables.

use crate::data::comparison::{Metric, PublishedComparison};
use crate::data::live::LogFigures;
use crate::data::number::fixed;
use crate::data::results::{ArrayResults, Origin, Results};
use crate::data::segment::Segment;
use crate::rendering::columns::response_decimals;
use crate::rendering::html::block::Block;
use crate::rendering::html::table::{Cell, Table};

pub(super) fn segments(results: &Results) -> Vec<Block> {
    let tables = results.arrays.iter().enumerate().filter(|(_, array)| !array.segments.is_empty());
    let mut blocks: Vec<Block> =
        tables.flat_map(|(position, array)| segment_tables(results, position, array)).collect();
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
    let host = Table {
        caption: &format!("{}: {what}, {load}: what the host saw", array.name),
        headers: &[
            "segment",
            "",
            "IOPS",
            "published",
            "MiB/s",
            "response ms",
            "published",
            "median",
            "p95",
            "p99",
            "max",
        ],
        rows: rows(&|number, segment| host_row(results, position, number, segment)),
        has_total: false,
    };
    let own = Table {
        caption: &format!("{}: what the array did", array.name),
        headers: &[
            "segment",
            "spindle commands per op",
            "cache hits %",
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
        Cell::words(origin),
        Cell::figure(segment.iops, 0, path("iops")),
        beside(Metric::Iops, 0),
        Cell::figure(segment.mib_per_s, 1, path("mib_per_s")),
        Cell::figure(response.mean, of_ms, path("response_ms/mean")),
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
        Cell::number(fixed(segment.commands_per_host_op(), 2)),
        Cell::figure(segment.cache.hit_percent, 1, path("cache/hit_percent")),
        Cell::figure(utilization.controller, 3, path("utilization/controller")),
        Cell::figure(utilization.spindles, 3, path("utilization/spindles")),
        Cell::optional(utilization.parity_spindles, 3, path("utilization/parity_spindles")),
        of_log(|log| log.utilization, 3, "utilization"),
        of_log(|log| log.written_mib_per_s, 1, "written_mib_per_s"),
        Cell::figure(segment.layout.score, 3, path("layout/score")),
        Cell::figure(segment.layout.span_percent, 1, path("layout/span_percent")),
        Cell::optional(segment.free_space.map(|space| space.score), 4, path("free_space/score")),
        Cell::optional(
            segment.consistency_points.map(|points| points.full_stripe_percent),
            1,
            path("consistency_points/full_stripe_percent"),
        ),
    ]
}
