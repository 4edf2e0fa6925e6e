//! The rebuild of lost spindles onto spares, 64 stripes a step.
//!
//! All stripes are rebuilt, those that nobody uses too: RAID does not know which blocks a file system has in use. Steps
//! go through the stripes in order, a set number of them at once, and what is whole again is whole below one mark a
//! spindle. Spindles that are lost together are rebuilt together, as far as their marks are the same.

use std::collections::VecDeque;

use strewn_raid::SpindleSet;

use crate::driver::{Direction, Driver};
use crate::payload::Payload;

use super::degraded::ROW_STRIPES;
use super::tag::{Owner, TagFields};
use super::{Run, WriteAnywhere};

/// Bits of a step's number that its commands carry.
const NUMBER_MASK: u32 = (1 << 20) - 1;

/// The steps under way, in the order of their stripes.
#[derive(Default)]
pub(super) struct Steps {
    under_way: VecDeque<Step>,
    /// The number of the first of them.
    first_number: u32,
}

struct Step {
    first_stripe: u64,
    blocks: u32,
    rebuilt: SpindleSet,
    stage: Stage,
    awaited: u32,
    given_up: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// A tetris is changing its stripes.
    Waiting,
    Reading,
    Writing,
    /// It is done, and one before it is not. Until then nobody may change its stripes: the mark is below them.
    Done,
}

impl Steps {
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
    fn drop_given_up(&mut self) {
        let gone = |step: &Step| step.given_up && step.awaited == 0;
        if self.under_way.iter().all(gone) {
            self.first_number = self.first_number.wrapping_add(self.under_way.len() as u32);
            self.under_way.clear();
        }
    }

    fn position(&self, fields: TagFields) -> usize {
        (fields.slot.wrapping_sub(self.first_number) & NUMBER_MASK) as usize
    }
}

impl<P: Payload> WriteAnywhere<P> {
    /// Begins the steps that may begin.
    pub(super) fn advance_rebuild(&mut self, driver: &mut impl Driver<P>) {
        loop {
            let Some(degraded) = &mut self.degraded else { return };
            let under_way = &degraded.steps.under_way;
            if under_way.iter().any(|step| step.given_up) {
                return;
            }
            let waiting = under_way.iter().position(|step| {
                let row = step.first_stripe / ROW_STRIPES;
                step.stage == Stage::Waiting && !degraded.is_written(row)
            });
            let position = if let Some(position) = waiting {
                position
            } else {
                if under_way.len() >= self.rebuild.steps_in_flight.max(1) as usize {
                    return;
                }
                let Some(step) = self.next_step() else { return };
                let Some(degraded) = &mut self.degraded else { return };
                let row = step.first_stripe / ROW_STRIPES;
                let must_wait = degraded.is_written(row);
                degraded.steps.under_way.push_back(step);
                if must_wait {
                    continue;
                }
                degraded.steps.under_way.len() - 1
            };
            self.read_step(position, driver);
        }
    }

    /// The stripes behind the last step under way, or those that are missing first.
    fn next_step(&self) -> Option<Step> {
        let degraded = self.degraded.as_ref()?;
        let on_spares = || degraded.lost.iter().filter(|lost| lost.on_spare);
        let first_stripe = match degraded.steps.under_way.back() {
            Some(last) => last.first_stripe + u64::from(last.blocks),
            None => on_spares().map(|lost| lost.whole_below).min()?,
        };
        let rebuilt: SpindleSet = on_spares()
            .filter(|lost| lost.whole_below <= first_stripe)
            .map(|lost| lost.spindle)
            .collect();
        let end = (first_stripe + ROW_STRIPES).min(self.config.group.stripes());
        let end = end.min(degraded.loss_changes_after(first_stripe));
        (first_stripe < end && !rebuilt.is_empty()).then(|| Step {
            first_stripe,
            blocks: (end - first_stripe) as u32,
            rebuilt,
            stage: Stage::Waiting,
            awaited: 0,
            given_up: false,
        })
    }

    fn read_step(&mut self, position: usize, driver: &mut impl Driver<P>) {
        let Some(degraded) = &mut self.degraded else { return };
        let step = &degraded.steps.under_way[position];
        let lost = degraded.lost_at(step.first_stripe);
        let group = &self.config.group;
        let plan = group
            .stripe_shape()
            .plan_rebuild(group.members_on(step.rebuilt), group.members_on(lost));
        // A loss that parity does not make good has ended the run.
        let plan = plan.unwrap_or_else(|loss| unreachable!("{loss}"));
        let from = group.spindles_of(plan.read);
        self.counters.rebuild_reads += u64::from(from.len());
        self.send_step(position, Stage::Reading, from, driver);
    }

    fn send_step(
        &mut self,
        position: usize,
        stage: Stage,
        spindles: SpindleSet,
        driver: &mut impl Driver<P>,
    ) {
        let Some(degraded) = &mut self.degraded else { return };
        let slot = degraded.steps.first_number.wrapping_add(position as u32) & NUMBER_MASK;
        let step = &mut degraded.steps.under_way[position];
        step.stage = stage;
        step.awaited = spindles.len().into();
        let (dbn, blocks) = (step.first_stripe, step.blocks);
        let direction = if stage == Stage::Reading { Direction::Read } else { Direction::Write };
        for spindle in spindles {
            let fields =
                TagFields { owner: Owner::Rebuild, slot, first_key: 0, blocks, odd: false };
            self.send(driver, fields, direction, Run { spindle, dbn, blocks }, P::default());
        }
    }

    /// A command of a step has completed; or it failed, and then the step is given up.
    pub(super) fn rebuild_progress(
        &mut self,
        now_ns: u64,
        fields: TagFields,
        driver: &mut impl Driver<P>,
    ) {
        let Some(degraded) = &mut self.degraded else { return };
        let position = degraded.steps.position(fields);
        let step = &mut degraded.steps.under_way[position];
        step.awaited -= 1;
        if step.awaited > 0 {
            return;
        }
        if step.given_up {
            degraded.steps.drop_given_up();
            self.rows_are_free(now_ns, driver);
            return;
        }
        if step.stage == Stage::Reading {
            let rebuilt = step.rebuilt;
            self.counters.rebuild_writes += u64::from(rebuilt.len());
            self.send_step(position, Stage::Writing, rebuilt, driver);
            return;
        }
        step.stage = Stage::Done;
        let stripes = self.config.group.stripes();
        while degraded.steps.under_way.front().is_some_and(|step| step.stage == Stage::Done) {
            let Some(step) = degraded.steps.under_way.pop_front() else { break };
            degraded.steps.first_number = degraded.steps.first_number.wrapping_add(1);
            let end = step.first_stripe + u64::from(step.blocks);
            for lost in degraded.lost.iter_mut().filter(|lost| step.rebuilt.contains(lost.spindle))
            {
                lost.whole_below = end;
                let failure = &mut degraded.failures[lost.failure];
                failure.rebuilt = end as f64 / stripes as f64;
                failure.rebuilt_ns = (end == stripes).then_some(now_ns);
            }
        }
        degraded.lost.retain(|lost| lost.whole_below < stripes);
        self.rows_are_free(now_ns, driver);
    }
}
