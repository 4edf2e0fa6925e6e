//! Whether moving blocks is predicted to pay: their runs now, against those that they would form if written now.

use std::ops::Range;

use strewn_alloc::{FileLayout, expected_runs};

use super::super::super::space::Space;
use super::Relocation;

/// Blocks over which the expected length of a run is taken: about a consistency point of a busy array.
const BLOCKS_EXPECTED: u64 = 8_192;

impl Relocation {
    /// The length of run that blocks written now can expect, which the emptiest areas decide.
    fn expected_run(&mut self, space: &Space) -> f64 {
        *self.expected_run.get_or_insert_with(|| {
            let blocks = BLOCKS_EXPECTED.min(space.aggregate.free_blocks() / 2).max(1);
            blocks as f64 / expected_runs(&space.aggregate, blocks).max(1) as f64
        })
    }

    /// Whether `blocks` of a LUN lie in more than `threshold` times as many runs as they would form if written now. One
    /// run more is allowed, since they need not begin with a chunk.
    pub(super) fn is_scattered(
        &mut self,
        blocks: Range<u32>,
        threshold: f64,
        space: &Space,
    ) -> bool {
        let part = space.map.part(blocks.clone());
        let layout = FileLayout::measure(&part, blocks.len() as u64, &space.aggregate);
        let expected = layout.blocks as f64 / self.expected_run(space);
        layout.extents as f64 > 1.0 + threshold.max(1.0) * expected
    }
}
