//! The parity groups or disk groups of arrays that have several.

use crate::html::block::Block;
use crate::html::table::{Cell, Table};
use strewn_results::Results;
use strewn_results::words::fixed;

/// Returns what each group did in each segment. Empty if no array has several.
pub(super) fn groups(results: &Results) -> Vec<Block> {
    let mut rows = Vec::new();
    for (position, array) in results.arrays.iter().enumerate() {
        for (number, segment) in array.segments.iter().enumerate() {
            for (index, group) in segment.groups.iter().enumerate() {
                let cell = |value: Option<f64>, decimals: usize, field: &str| {
                    let path =
                        format!("arrays/{position}/segments/{number}/groups/{index}/{field}");
                    Cell::optional(value, decimals, path)
                };
                rows.push(vec![
                    Cell::words(&array.name),
                    Cell::number(segment.index.to_string()),
                    Cell::number((index + 1).to_string()),
                    cell(group.spindles, 3, "spindles"),
                    cell(group.parity_spindles, 3, "parity_spindles"),
                    cell(Some(group.reads as f64), 0, "reads"),
                    cell(Some(group.writes as f64), 0, "writes"),
                    cell(group.free_percent, 1, "free_percent"),
                ]);
            }
        }
    }
    if rows.is_empty() {
        return Vec::new();
    }
    let arrays = results.arrays.iter().filter(|array| !array.parity_groups.is_empty());
    let mut blocks: Vec<Block> = arrays
        .map(|array| {
            let words = (1..).zip(&array.parity_groups).map(|(number, group)| {
                let when = match group.added_at_seconds {
                    0.0 => "from the start".to_owned(),
                    seconds => format!("added after {} s", fixed(seconds, 0)),
                };
                let last = group.first_spindle + group.data + group.parity - 1;
                format!("group {number} is spindles {} to {last}, {when}", group.first_spindle)
            });
            Block::paragraph(format!("{}: {}.", array.name, words.collect::<Vec<_>>().join("; ")))
        })
        .collect();
    blocks.push(
        Table {
            caption: results.group_words().caption,
            headers: &[
                "array",
                "segment",
                "group",
                "data spindles busy",
                "parity spindles busy",
                "read commands",
                "write commands",
                "free %",
            ],
            rows,
            has_total: false,
        }
        .block(),
    );
    blocks
}
