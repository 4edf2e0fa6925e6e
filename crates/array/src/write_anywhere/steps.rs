//! The steps of a rebuild that are under way, and how far each has come.

use std::collections::VecDeque;

use strewn_base::ROW_STRIPES;
use strewn_raid::{SpindleIndex, SpindleSet};

use super::Run;
use super::tag::TagFields;

/// Bits of a step's number that its commands carry.
pub(super) const NUMBER_MASK: u32 = (1 << 20) - 1;

/// The steps under way, in the order of their stripes.
pub(super) struct Steps<P> {
    pub(super) under_way: VecDeque<Step<P>>,
    /// The number of the first of them.
    pub(super) first_number: u32,
}

impl<P> Default for Steps<P> {
    fn default() -> Self {
        Self { under_way: VecDeque::new(), first_number: 0 }
    }
}

pub(super) struct Step<P> {
    pub(super) first_stripe: u64,
    pub(super) blocks: u32,
    pub(super) rebuilt: SpindleSet,
    pub(super) stage: Stage,
    pub(super) awaited: u32,
    pub(super) given_up: bool,
    /// A block that was read turned out bad: it is read again, without it.
    pub(super) again: bool,
    /// What was computed is not what was written: all that is there is read, to find out which block is old.
    pub(super) all: bool,
    /// What its reads have brought, where there are bytes.
    pub(super) read: Vec<(SpindleIndex, P)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// A tetris is changing its stripes.
    Waiting,
    Reading,
    Writing,
    /// It is done, and one before it is not. Until then nobody may change its stripes: the mark is below them.
    Done,
}

impl<P> Steps<P> {
    /// Whether a step is under way in `row`.
    pub(super) fn hold(&self, row: u64) -> bool {
        self.under_way.iter().any(|step| step.first_stripe / ROW_STRIPES == row)
    }

    /// Another spindle is lost: the steps come to their ends, and then begin anew from the marks.
    pub(super) fn give_up(&mut self) {
        for step in &mut self.under_way {
            step.given_up = true;
        }
        self.drop_given_up();
    }

    /// Steps that were given up go when no command of them is out. Nothing else is under way until all have gone.
    pub(super) fn drop_given_up(&mut self) {
        let gone = |step: &Step<P>| step.given_up && step.awaited == 0;
        if self.under_way.iter().all(gone) {
            self.first_number = self.first_number.wrapping_add(self.under_way.len() as u32);
            self.under_way.clear();
        }
    }

    /// What a read for a step has asked for.
    pub(super) fn read_of_step(&self, fields: TagFields) -> Option<Run> {
        let step = self.under_way.get(self.position(fields))?;
        let spindle = SpindleIndex(fields.first_key as u16);
        let run = Run { spindle, dbn: step.first_stripe, blocks: step.blocks };
        (step.stage == Stage::Reading).then_some(run)
    }

    pub(super) fn position(&self, fields: TagFields) -> usize {
        (fields.slot.wrapping_sub(self.first_number) & NUMBER_MASK) as usize
    }
}
