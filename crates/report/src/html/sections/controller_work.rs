//! What the controllers did besides serving hosts.

use crate::controller_work::{Work, works_of};
use crate::html::block::Block;
use crate::html::table::{Cell, Table};
use strewn_results::{Results, Segment};

/// Returns a table for each array whose controller did any of this, with a row for each segment in which it did.
pub(super) fn controller_work(results: &Results) -> Vec<Block> {
    let mut blocks = Vec::new();
    for (position, array) in results.arrays.iter().enumerate() {
        let works = works_of(array);
        if works.is_empty() {
            continue;
        }
        let cell = |number: usize, work: &Work, segment: &Segment| {
            let path = format!("arrays/{position}/segments/{number}/{}", work.path);
            Cell::optional(work.in_segment(segment), work.decimals, path)
        };
        let row = |(number, segment): (usize, &Segment)| {
            let mut row = vec![
                Cell::number(segment.index.to_string()),
                Cell::words(segment.phase.clone().unwrap_or_default()),
            ];
            row.extend(works.iter().map(|work| cell(number, work, segment)));
            row
        };
        let mut headers = vec!["segment", "phase"];
        headers.extend(works.iter().map(|work| work.name));
        let segments = array.segments.iter().enumerate();
        let with_any =
            segments.filter(|(_, of)| works.iter().any(|work| work.in_segment(of).is_some()));
        let rows = with_any.map(row).collect();
        let caption = format!("{}: background work in each segment", array.name);
        blocks.push(Table { caption: &caption, headers: &headers, rows, has_total: false }.block());
    }
    if !blocks.is_empty() {
        blocks.push(Block::note(
            "Blocks are of 4 KiB. Figures that are zero, or that the scenario does not ask for, are left out, and so are segments without any. Blocks read \
             ahead that hosts use in a later segment count as used there.",
        ));
    }
    blocks
}
