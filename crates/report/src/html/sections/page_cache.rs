//! What hosts' page caches did.

use crate::html::block::Block;
use crate::html::table::{Cell, Table};
use strewn_results::Results;

/// Returns what hosts' page caches did in each segment; none if there are none.
pub(super) fn page_cache(results: &Results) -> Vec<Block> {
    let mut rows = Vec::new();
    for (position, array) in results.arrays.iter().enumerate() {
        for (number, segment) in array.segments.iter().enumerate() {
            let Some(figures) = &segment.page_cache else { continue };
            let path =
                |field: &str| format!("arrays/{position}/segments/{number}/page_cache/{field}");
            rows.push(vec![
                Cell::words(&array.name),
                Cell::number(segment.index.to_string()),
                Cell::optional(figures.hit_percent, 1, path("hit_percent")),
                Cell::figure(figures.filled_mib_per_s, 1, path("filled_mib_per_s")),
                Cell::figure(figures.written_mib_per_s, 1, path("written_mib_per_s")),
                Cell::optional(figures.write_request_kib, 1, path("write_request_kib")),
                Cell::figure(figures.throttled_ms, 2, path("throttled_ms")),
                Cell::figure(figures.dirty_mib, 1, path("dirty_mib")),
            ]);
        }
    }
    let table = Table {
        caption: "What the caches read from LUNs and wrote to them",
        headers: &[
            "array",
            "segment",
            "hits %",
            "read MiB/s",
            "written MiB/s",
            "each write KiB",
            "throttled, ms per operation",
            "dirty in the end MiB",
        ],
        rows,
        has_total: false,
    };
    if table.rows.is_empty() { Vec::new() } else { vec![table.block()] }
}
