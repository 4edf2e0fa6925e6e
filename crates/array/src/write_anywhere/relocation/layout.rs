//! Whether moving blocks is predicted to pay: their runs now, against those that they would form if written now.

use std::ops::Range;

use strewn_alloc::{FileLayout, expected_runs};

use crate::payload::Payload;

use super::super::WriteAnywhere;
use super::Relocation;

/// Blocks over which the expected length of a run is taken: about a consistency point of a busy array.
const BLOCKS_EXPECTED: u64 = 8_192;

impl<P: Payload> WriteAnywhere<P> {
    /// The length of run that blocks written now can expect, which the emptiest areas decide.
    fn expected_run(&self, relocation: &mut Relocation) -> f64 {
        *relocation.expected_run.get_or_insert_with(|| {
            let blocks = BLOCKS_EXPECTED.min(self.aggregate.free_blocks() / 2).max(1);
            blocks as f64 / expected_runs(&self.aggregate, blocks).max(1) as f64
        })
    }

    /// Whether `blocks` of a LUN lie in more than `threshold` times as many runs as they would form if written now. One
    /// run more is allowed, since they need not begin with a chunk.
    pub(super) fn is_scattered(
        &self,
        relocation: &mut Relocation,
        blocks: Range<u32>,
        threshold: f64,
    ) -> bool {
        let layout = FileLayout::measure(
            &self.map.part(blocks.clone()),
            blocks.len() as u64,
            &self.aggregate,
        );
        let expected = layout.blocks as f64 / self.expected_run(relocation);
        layout.extents as f64 > 1.0 + threshold.max(1.0) * expected
    }
}
