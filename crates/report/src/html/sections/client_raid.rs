//! What clients that compute parity did.

use crate::html::block::Block;
use crate::html::table::{Cell, Table};
use strewn_results::Results;

/// Returns what clients of blades did in each segment; none if there are none.
pub(super) fn client_raid(results: &Results) -> Vec<Block> {
    let mut rows = Vec::new();
    for (position, array) in results.arrays.iter().enumerate() {
        for (number, segment) in array.segments.iter().enumerate() {
            let Some(figures) = &segment.client_raid else { continue };
            let path =
                |field: &str| format!("arrays/{position}/segments/{number}/client_raid/{field}");
            let figure = |value: f64, decimals: usize, field: &str| {
                Cell::figure(value, decimals, path(field))
            };
            rows.push(vec![
                Cell::words(&array.name),
                Cell::number(segment.index.to_string()),
                figure(figures.reads_per_op, 2, "reads_per_op"),
                figure(figures.update_reads_per_op, 2, "update_reads_per_op"),
                figure(figures.writes_per_op, 2, "writes_per_op"),
                figure(figures.read_mib_per_s, 1, "read_mib_per_s"),
                figure(figures.update_read_mib_per_s, 1, "update_read_mib_per_s"),
                figure(figures.written_mib_per_s, 1, "written_mib_per_s"),
                figure(figures.parity_mib_per_s, 1, "parity_mib_per_s"),
                Cell::optional(figures.full_stripe_percent, 1, path("full_stripe_percent")),
                figure(figures.reconstructed_mib_per_s, 1, "reconstructed_mib_per_s"),
                figure(figures.stripe_wait_ms, 2, "stripe_wait_ms"),
                figure(figures.parity_cores, 2, "parity_cores"),
            ]);
        }
    }
    let table = Table {
        caption: "Requests of clients to blades for each operation, and MiB/s",
        headers: &[
            "array",
            "segment",
            "reads per op",
            "for parity",
            "writes per op",
            "read MiB/s",
            "for parity MiB/s",
            "written MiB/s",
            "of parity MiB/s",
            "full stripes %",
            "computed for a lost blade MiB/s",
            "wait for stripes ms",
            "cores for parity",
        ],
        rows,
        has_total: false,
    };
    if table.rows.is_empty() { Vec::new() } else { vec![table.block()] }
}
