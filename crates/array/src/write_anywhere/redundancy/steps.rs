//! The rebuild's steps in flight, and their progress.

use std::collections::VecDeque;
use std::ops::Range;

use strewn_alloc::GroupIndex;
use strewn_base::state::SavedValue;
use strewn_raid::{SpindleIndex, SpindleSet};

use super::super::space::Run;
use super::super::tag::{SLOT_MASK, TagFields};

/// The steps in flight, in stripe order.
#[derive(SavedValue)]
pub(super) struct Steps<P> {
    pub(super) under_way: VecDeque<Step<P>>,
    /// The number of the first step.
    pub(super) first_number: u32,
}

impl<P> Default for Steps<P> {
    fn default() -> Self {
        Self { under_way: VecDeque::new(), first_number: 0 }
    }
}

#[derive(SavedValue)]
pub(super) struct Step<P> {
    pub(super) first_stripe: u64,
    blocks: u32,
    pub(super) rebuilt: SpindleSet,
    pub(super) stage: Stage,
    pub(super) awaited: u32,
    pub(super) given_up: bool,
    /// A block turned out bad: the step reads again, without it.
    pub(super) again: bool,
    /// A computed block has a wrong checksum: the step reads all blocks, to find the stale one.
    pub(super) all: bool,
    /// The data read, if the payload carries data.
    pub(super) read: Vec<(SpindleIndex, P)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, SavedValue)]
pub(super) enum Stage {
    /// It waits for a tetris that is changing its stripes.
    Waiting,
    Reading,
    Writing,
    /// It is done, but an earlier one is not. Its stripes stay locked until the mark has passed them.
    Done,
}

impl<P> Step<P> {
    pub(super) fn new(first_stripe: u64, blocks: u32, rebuilt: SpindleSet) -> Self {
        Self {
            first_stripe,
            blocks,
            rebuilt,
            stage: Stage::Waiting,
            awaited: 0,
            given_up: false,
            again: false,
            all: false,
            read: Vec::new(),
        }
    }

    pub(super) fn stripes(&self) -> Range<u64> {
        self.first_stripe..self.first_stripe + u64::from(self.blocks)
    }

    pub(super) fn begin_stage(&mut self, stage: Stage, commands: usize) {
        (self.stage, self.awaited) = (stage, commands as u32);
    }

    /// The stripes of a step, on one of the spindles of `group`.
    pub(super) fn run_on(&self, group: GroupIndex, spindle: SpindleIndex) -> Run {
        Run { group, spindle, dbn: self.first_stripe, blocks: self.blocks }
    }
}

impl<P> Steps<P> {
    /// Another spindle is lost: the steps in flight end, and the rebuild restarts from the marks.
    pub(super) fn give_up(&mut self) -> VecDeque<Step<P>> {
        for step in &mut self.under_way {
            step.given_up = true;
        }
        self.drop_given_up()
    }

    /// Drops the steps that were given up, once none has a command in flight, and returns them. No other step begins
    /// before.
    pub(super) fn drop_given_up(&mut self) -> VecDeque<Step<P>> {
        let gone = |step: &Step<P>| step.given_up && step.awaited == 0;
        if !self.under_way.iter().all(gone) {
            return VecDeque::new();
        }
        self.first_number = self.first_number.wrapping_add(self.under_way.len() as u32);
        std::mem::take(&mut self.under_way)
    }

    pub(super) fn position(&self, fields: TagFields) -> usize {
        (fields.slot.wrapping_sub(self.first_number) & SLOT_MASK) as usize
    }
}
