//! The rebuild's steps in flight: each rebuilds one lost segment, slice after slice.

use strewn_base::state::SavedValue;
use strewn_raid::SpindleIndex;

use super::super::space::blocks::{BlockSet, blocks_touched, bytes_of, sectors_of_block};
use super::super::space::{Losses, Rebuilding};
use super::GroupRedundancy;

/// A segment being rebuilt.
#[derive(SavedValue)]
pub(super) struct Step {
    pub(super) segment: Rebuilding,
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
    pub(super) fn new(segment: Rebuilding) -> Self {
        Self {
            segment,
            done_sectors: 0,
            stage: Stage::Waiting,
            awaited: 0,
            given_up: false,
            bytes: SliceBytes::default(),
        }
    }

    /// Another spindle is lost: the step ends, and its segment starts over.
    pub(super) fn give_up(&mut self) {
        self.given_up = true;
    }

    /// Where the slice that is next lies by the layout.
    pub(super) fn slice_at(&self, segment_sectors: u64) -> (SpindleIndex, u64) {
        let Rebuilding { spindle, segment, .. } = self.segment;
        (spindle, segment * segment_sectors + self.done_sectors)
    }
}

impl<P> GroupRedundancy<P> {
    /// Drops the steps that were given up and have no command in flight. Their segments are next again.
    pub(super) fn drop_given_up(&mut self, losses: &mut Losses) {
        self.steps.retain(|_, step| {
            let is_gone = step.given_up && step.awaited == 0;
            if is_gone {
                losses.give_up_rebuilding(&step.segment);
            }
            !is_gone
        });
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
