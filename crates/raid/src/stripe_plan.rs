//! Plans: what to read, compute and write for a stripe.
//!
//! A plan contains no bytes. A simulation sends its reads and writes to spindles;
//! [`StripeBytes`](crate::StripeBytes) carries out the same plan on bytes.

use crate::{MemberSet, StripeShape, UpdateMethod};
use std::error::Error;
use std::fmt;
use strewn_base::state::SavedValue;

/// A computation within a [`StripePlan`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, SavedValue)]
pub enum PlanStep {
    /// Reconstructs lost blocks as they were before the update.
    Reconstruct {
        /// The blocks to reconstruct.
        lost: MemberSet,
        /// The blocks to compute them from, all of which the plan reads.
        from: MemberSet,
    },
    /// Computes parity from all data blocks: the changed ones with their new contents, the others
    /// as read or reconstructed.
    Encode {
        /// The parity blocks to compute.
        parity: MemberSet,
    },
    /// Takes old contents out of parity and puts new contents in.
    Subtract {
        /// The data blocks that change.
        changed: MemberSet,
        /// The parity blocks to update.
        parity: MemberSet,
    },
}

/// What to read, then compute, then write. Each block of the stripe is read and written at most
/// once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, SavedValue)]
pub struct StripePlan {
    /// How parity is updated; `None` if the plan changes no data.
    pub method: Option<UpdateMethod>,
    /// Data blocks that get new contents, including lost ones.
    pub changed: MemberSet,
    /// Blocks to read before anything is written. None of them is lost, and all are used.
    pub read: MemberSet,
    /// Blocks to write. Only a rebuild writes lost blocks, to replacement spindles.
    pub write: MemberSet,
    pub(crate) steps: [Option<PlanStep>; 2],
    pub(crate) shape: StripeShape,
}

impl StripePlan {
    /// The shape of the stripes that the plan is for.
    #[inline]
    pub const fn shape(&self) -> StripeShape {
        self.shape
    }

    /// What to compute between reading and writing, in order: at most one reconstruction, then
    /// parity.
    pub fn steps(&self) -> impl Iterator<Item = PlanStep> {
        self.steps.into_iter().flatten()
    }

    /// Blocks read and written: the number of spindle commands if none are merged with others.
    #[inline]
    pub const fn commands(&self) -> u32 {
        self.read.len() as u32 + self.write.len() as u32
    }

    /// Blocks that pass through an exclusive or: the processor cost of the plan. A block counts
    /// once for each sum it enters, row or diagonal; a changed block counts with its old and its
    /// new contents.
    pub fn blocks_added(&self) -> u32 {
        let shape = self.shape;
        // Diagonal parity covers row parity too, so it takes both sums.
        let sums = |parity: MemberSet| {
            1 + u32::from(shape.diagonal_parity().is_some_and(|block| parity.contains(block)))
        };
        self.steps()
            .map(|step| match step {
                PlanStep::Reconstruct { lost, from } => {
                    u32::from(from.len()) * sums(lost.union(from))
                }
                PlanStep::Encode { parity } => u32::from(shape.data_blocks()) * sums(parity),
                PlanStep::Subtract { changed, parity } => {
                    2 * u32::from(changed.len()) * u32::from(parity.len())
                }
            })
            .sum()
    }
}

/// More blocks of a stripe are lost than its parity covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataLoss {
    /// The shape of the stripe.
    pub shape: StripeShape,
    /// All lost blocks, including parity.
    pub lost: MemberSet,
    /// The data blocks that cannot be reconstructed.
    pub gone: MemberSet,
}

impl fmt::Display for DataLoss {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { shape, lost, gone } = self;
        write!(
            formatter,
            "data blocks {gone} are gone: blocks {lost} of a stripe of {} are lost, and its parity \
             covers {}",
            shape.blocks(),
            shape.parity_blocks()
        )
    }
}

impl Error for DataLoss {}
