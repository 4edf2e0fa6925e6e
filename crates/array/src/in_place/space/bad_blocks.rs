//! What became of the bad blocks that an array has met.
//!
//! A bad block could not be read, or is not what was written. It is computed from the rest of its stripe and written
//! back where it is. Where more of a row is bad or lost than parity makes good, a block is *gone*. A host operation
//! that needs it is refused; a rebuild and a destage put [`BlockContents::Gone`](crate::BlockContents::Gone) where they
//! cannot say what belongs there, so that a row that is not whole never passes for one, whenever it is read again.

use strewn_base::state::SavedValue;

/// Counts of the bad blocks that an array has met, by what became of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, SavedValue)]
pub struct BadBlocks {
    /// Blocks computed from the rest of their stripes and rewritten, including parity that was marked as gone and could
    /// be recomputed.
    pub repaired: u64,
    /// Blocks that a rebuild could not compute, and marked as gone.
    pub left_out: u64,
    /// Blocks of acknowledged data that had no place left in their stripe.
    pub lost: u64,
    /// Host reads that were refused.
    pub refused: u64,
}
