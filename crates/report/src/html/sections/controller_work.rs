//! What the controllers did besides serving hosts.

use crate::controller_work::{work_columns, work_rows};
use crate::html::block::Block;
use strewn_results::{ArrayResults, Results};

/// Returns a table for each array whose controller did any of this, with a row for each segment in which it did.
pub(super) fn controller_work(results: &Results) -> Vec<Block> {
    let table = |array: &ArrayResults| {
        let caption = format!("{}: background work in each segment", array.name);
        work_columns().block(caption, &work_rows(results, array))
    };
    let mut blocks: Vec<Block> = results.arrays.iter().filter_map(table).collect();
    if !blocks.is_empty() {
        blocks.push(Block::note(
            "Blocks are of 4 KiB. Figures that are zero, or that the scenario does not ask for, are left out, and so are segments without any. Blocks read \
             ahead that hosts use in a later segment count as used there.",
        ));
    }
    blocks
}
