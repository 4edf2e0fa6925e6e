//! What lay between hosts and arrays.

use crate::data::results::Results;
use crate::rendering::html::block::Block;
use crate::rendering::html::table::{Cell, Table};

/// Returns where the time of operations went in each segment. Empty if nothing lay between hosts and arrays.
pub(super) fn machine(results: &Results) -> Vec<Block> {
    let mut rows = Vec::new();
    for (position, array) in results.arrays.iter().enumerate() {
        for (number, segment) in array.segments.iter().enumerate() {
            let Some(machine) = &segment.machine else { continue };
            let path = format!("arrays/{position}/segments/{number}/machine/time_in_ms");
            let fields = ["host", "wire", "front_end", "controller", "spindles", "outage"];
            let parts = machine.time_in_ms.parts().into_iter().zip(fields);
            let parts = parts
                .map(|((_, part_ms), field)| Cell::figure(part_ms, 2, format!("{path}/{field}")));
            let mut row = vec![Cell::words(&array.name), Cell::number(segment.index.to_string())];
            row.extend(parts);
            rows.push(row);
        }
    }
    if rows.is_empty() {
        return Vec::new();
    }
    vec![
        Table {
            caption: "Parts of the mean response time, milliseconds",
            headers: &[
                "array",
                "segment",
                "host",
                "wire",
                "front end",
                "controller",
                "spindles",
                "outage",
            ],
            rows,
            has_total: false,
        }
        .block(),
    ]
}
