//! The parity groups or disk groups of arrays that have several.

use crate::groups_table::{group_columns, group_rows};
use crate::html::block::Block;
use strewn_results::Results;
use strewn_results::words::fixed;

/// Returns what each group did in each segment. Empty if no array has several.
pub(super) fn groups(results: &Results) -> Vec<Block> {
    let caption = results.group_words().caption;
    let Some(table) = group_columns(results).block(caption, &group_rows(results)) else {
        return Vec::new();
    };
    let arrays = results.arrays.iter().filter(|array| !array.parity_groups.is_empty());
    let mut blocks: Vec<Block> = arrays
        .map(|array| {
            let words = (1usize..).zip(&array.parity_groups).map(|(number, group)| {
                let when = match group.added_at_seconds {
                    0.0 => "from the start".to_owned(),
                    seconds => format!("added after {} s", fixed(seconds, 0)),
                };
                let last = group.first_spindle + group.data + group.parity - 1;
                let group_words = group.words(number);
                format!("{group_words} is spindles {} to {last}, {when}", group.first_spindle)
            });
            Block::paragraph(format!("{}: {}.", array.name, words.collect::<Vec<_>>().join("; ")))
        })
        .collect();
    blocks.push(table);
    blocks
}
