//! The spindles to be bought, and what they deliver.

use crate::html::block::Block;
use crate::html::table::{Cell, Table};
use strewn_results::words::kind_in_words;
use strewn_results::{OverheadRow, Results};

pub(super) fn price(results: &Results) -> Vec<Block> {
    let overhead = &results.overhead;
    if overhead.is_empty() {
        return Vec::new();
    }
    let row = |(position, way): (usize, &OverheadRow)| {
        let path = |field: &str| format!("overhead/{position}/{field}");
        vec![
            Cell::words(&way.array),
            Cell::words(kind_in_words(&way.workloads)),
            Cell::words(format!("{}{}", way.name, if way.used_by_results { " *" } else { "" })),
            Cell::words(&way.source),
            Cell::number(way.purchased.to_string()),
            Cell::figure(way.usable_gib, 0, path("usable_gib")),
            Cell::figure(way.iops_per_spindle_fresh, 1, path("iops_per_spindle_fresh")),
            Cell::figure(way.iops_per_spindle_end, 1, path("iops_per_spindle_end")),
            Cell::figure(way.iops_per_1000_usd_fresh, 1, path("iops_per_1000_usd_fresh")),
            Cell::figure(way.iops_per_1000_usd_end, 1, path("iops_per_1000_usd_end")),
        ]
    };
    let table = Table {
        caption: "What has to be bought, and what a spindle of it gives",
        headers: &[
            "array",
            "workloads",
            "spindles to buy",
            "source",
            "spindles",
            "usable GiB",
            "IOPS per spindle, fresh",
            "IOPS per spindle, in the end",
            "IOPS per 1000 USD, fresh",
            "IOPS per 1000 USD, in the end",
        ],
        rows: overhead.iter().enumerate().map(row).collect(),
        has_total: false,
    };
    vec![table.block(), Block::note("* Configuration used for all other figures.")]
}
