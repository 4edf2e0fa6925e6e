//! The rebuild's steps in flight: each rebuilds one lost segment, slice after slice.

use std::ops::Range;

use strewn_base::state::SavedValue;
use strewn_raid::{SpindleIndex, StripeUnit};

use super::blocks::{BlockSet, blocks_touched, bytes_of, sectors_of_block};

/// A segment being rebuilt.
#[derive(SavedValue)]
pub(super) struct Step {
    pub(super) spindle: SpindleIndex,
    pub(super) segment: u64,
    pub(super) first_stripe: u64,
    pub(super) end_stripe: u64,
    /// Where it goes.
    pub(super) target: StripeUnit,
    /// Sectors of the segment that are done.
    pub(super) done_sectors: u64,
    pub(super) stage: Stage,
    pub(super) awaited: u32,
    pub(super) given_up: bool,
    pub(super) bytes: SliceBytes,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, SavedValue)]
pub(super) enum Stage {
    /// A destage is at work on its RStore.
    Waiting,
    Reading,
    Writing,
}

impl Step {
    /// The stripes of its RStore.
    pub(super) fn stripes(&self) -> Range<u64> {
        self.first_stripe..self.end_stripe
    }

    pub(super) fn is_of(&self, spindle: SpindleIndex, segment: u64) -> bool {
        (self.spindle, self.segment) == (spindle, segment)
    }

    /// Another spindle is lost: the step ends, and its segment starts over.
    pub(super) fn give_up(&mut self) {
        self.given_up = true;
    }
}

/// What has been read of a part; all of it empty without bytes.
#[derive(Default, SavedValue)]
pub(super) struct SliceBytes {
    pub(super) sum: Vec<u8>,
    pub(super) gone: BlockSet,
    /// The part as it was on reserve, if some blocks of it were bad there: those.
    pub(super) copied: Option<(Vec<u8>, BlockSet)>,
}

impl SliceBytes {
    /// A part that was computed because blocks of its copy were bad: the others are as they were copied.
    pub(super) fn join_copy(&mut self, sectors: u32) {
        let Some((copy, bad)) = self.copied.take() else { return };
        if self.sum.is_empty() {
            self.sum.clone_from(&copy);
        }
        for block in 0..blocks_touched(0, sectors) {
            if !bad.contains(block) {
                let bytes = bytes_of(&sectors_of_block(0, sectors, block));
                self.sum[bytes.clone()].copy_from_slice(&copy[bytes]);
                self.gone.remove(block);
            }
        }
    }
}
