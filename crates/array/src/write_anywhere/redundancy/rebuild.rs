//! The rebuild of lost spindles onto spares, in steps of 64 stripes.
//!
//! All stripes are rebuilt, unused ones included: RAID does not know which blocks a file system uses. A fixed number of
//! steps is in flight in each parity group, in stripe order. A spindle is whole below its mark. Spindles of a group
//! lost together are rebuilt together while their marks are equal.

use strewn_alloc::GroupIndex;
use strewn_base::{Direction, ROW_STRIPES};
use strewn_raid::{SpindleIndex, SpindleSet};

use crate::driver::Driver;
use crate::payload::Payload;

use super::super::context::{Context, Next};
use super::super::space::losses::GroupLosses;
use super::super::space::{Run, Space};
use super::super::tag::{Owner, SLOT_MASK, TagFields};
use super::Redundancy;
use super::rebuild_bytes::rebuilt_runs;
use super::steps::{Stage, Step, Steps};

impl<P: Payload> Redundancy<P> {
    /// Begins as many steps in `group` as may begin.
    pub(super) fn advance_rebuild(
        &mut self,
        group: GroupIndex,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        while let Some(position) = self.next_to_read(group, cx.space) {
            self.read_step(group, position, cx);
        }
    }

    /// The position of a step that may begin, which is begun if none is waiting; `None` if none may.
    fn next_to_read(&mut self, group: GroupIndex, space: &mut Space) -> Option<usize> {
        let most = self.rebuild.steps_in_flight.max(1) as usize;
        let stripes = space.group(group).stripes();
        let steps = &mut self.groups[group.index()].steps;
        if steps.under_way.iter().any(|step| step.given_up) {
            return None;
        }
        let losses = space.losses_of_mut(group)?;
        let may_begin = |step: &Step<P>| {
            step.stage == Stage::Waiting && !losses.is_written(step.first_stripe / ROW_STRIPES)
        };
        if let Some(waiting) = steps.under_way.iter().position(may_begin) {
            return Some(waiting);
        }
        while steps.under_way.len() < most {
            let step = next_step(steps, losses, stripes)?;
            let must_wait = losses.is_written(step.first_stripe / ROW_STRIPES);
            losses.lock_for_reading(step.run_on(group, SpindleIndex(0)));
            steps.under_way.push_back(step);
            if !must_wait {
                return Some(steps.under_way.len() - 1);
            }
        }
        None
    }

    /// Ends the steps in flight in `group`, as far as none has a command out.
    pub(super) fn give_up_steps(&mut self, group: GroupIndex, space: &mut Space) {
        let dropped = self.groups[group.index()].steps.give_up();
        unlock(&dropped, group, space);
    }

    /// A step of `group`, by its position among those in flight.
    fn step(&mut self, group: GroupIndex, position: usize) -> &mut Step<P> {
        &mut self.groups[group.index()].steps.under_way[position]
    }

    fn read_step(
        &mut self,
        index: GroupIndex,
        position: usize,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        let step = self.step(index, position);
        step.again = false;
        step.read.clear();
        let Some(losses) = cx.space.losses_of(index) else { return };
        let lost = losses.lost_at(step.first_stripe);
        let group = cx.space.group(index);
        let shape = group.stripe_shape();
        let rebuilt = group.members_on(step.rebuilt);
        let plan = shape.plan_rebuild(rebuilt, group.members_on(lost));
        // Failures that exceed parity have ended the run.
        let plan = plan.unwrap_or_else(|loss| unreachable!("{loss}"));
        let mut from = group.spindles_of(plan.read);
        if step.all {
            from = (0..group.spindles())
                .map(SpindleIndex)
                .filter(|one| !lost.contains(*one))
                .collect();
        }
        // A stripe with bad blocks needs others instead; one that cannot be rebuilt needs none.
        for stripe in step.stripes() {
            let bad = losses.bad_at(stripe);
            if !bad.is_empty()
                && let Ok(plan) = shape.plan_rebuild(rebuilt, group.members_on(lost.union(bad)))
            {
                from = from.union(group.spindles_of(plan.read));
            }
        }
        cx.counters.rebuild_reads += u64::from(from.len());
        let reads: Vec<Run> = from.iter().map(|spindle| step.run_on(index, spindle)).collect();
        step.begin_stage(Stage::Reading, reads.len());
        for run in reads {
            self.send_step(position, Direction::Read, run, P::default(), cx);
        }
    }

    fn send_step(
        &self,
        position: usize,
        direction: Direction,
        run: Run,
        payload: P,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        let first_number = self.groups[run.group.index()].steps.first_number;
        let slot = first_number.wrapping_add(position as u32) & SLOT_MASK;
        let fields = TagFields {
            owner: Owner::Rebuild,
            slot,
            first_key: cx.space.first_spindles.in_array(run.group, run.spindle).0.into(),
            blocks: run.blocks,
            epoch_parity: false,
        };
        cx.send(fields, direction, run, payload);
    }

    /// The run that a step's read asked for.
    pub(crate) fn read_of_step(&self, fields: TagFields, space: &Space) -> Option<Run> {
        let (group, spindle) = spindle_of_step(fields, space);
        let steps = &self.groups[group.index()].steps;
        let step = steps.under_way.get(steps.position(fields))?;
        (step.stage == Stage::Reading).then(|| step.run_on(group, spindle))
    }

    /// Writes a step's rebuilt blocks.
    fn write_step(
        &mut self,
        group: GroupIndex,
        position: usize,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        let step = self.step(group, position);
        let read = std::mem::take(&mut step.read);
        let mut writes = Vec::new();
        if P::CARRIES_DATA {
            let (stripes, rebuilt, all) = (step.stripes(), step.rebuilt, step.all);
            let Some(runs) = rebuilt_runs(group, stripes, rebuilt, &read, all, cx) else {
                step.all = true;
                self.read_step(group, position, cx);
                return;
            };
            writes = runs;
        } else {
            for spindle in step.rebuilt {
                writes.push((step.run_on(group, spindle), P::default()));
            }
        }
        cx.counters.rebuild_writes += writes.len() as u64;
        step.begin_stage(Stage::Writing, writes.len());
        for (run, payload) in writes {
            self.send_step(position, Direction::Write, run, payload, cx);
        }
    }

    /// A command of a step has completed, or failed. If its spindle failed, the step is given up; if blocks are bad,
    /// the step reads again.
    #[cold]
    pub(crate) fn on_rebuild_command_done(
        &mut self,
        fields: TagFields,
        outcome: Option<P>,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        let (group, spindle) = spindle_of_step(fields, cx.space);
        let steps = &mut self.groups[group.index()].steps;
        let position = steps.position(fields);
        let step = &mut steps.under_way[position];
        assert!(step.awaited > 0, "a command has completed that its step did not wait for");
        step.awaited -= 1;
        match outcome {
            Some(payload) if P::CARRIES_DATA && step.stage == Stage::Reading => {
                step.read.push((spindle, payload));
            }
            Some(_) => {}
            None => step.again = true,
        }
        if step.awaited > 0 {
            return;
        }
        if step.given_up {
            let dropped = steps.drop_given_up();
            unlock(&dropped, group, cx.space);
            return cx.then(Next::RowsFree(group));
        }
        if step.stage == Stage::Reading {
            if step.again || lacks_blocks(step, group, cx.space) {
                return self.read_step(group, position, cx);
            }
            self.write_step(group, position, cx);
            if self.step(group, position).awaited > 0 {
                return;
            }
        }
        self.on_step_done(group, position, cx);
    }

    fn on_step_done(
        &mut self,
        group: GroupIndex,
        position: usize,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        let stripes = cx.space.group(group).stripes();
        let Some(losses) = cx.space.losses_of_mut(group) else { return };
        let steps = &mut self.groups[group.index()].steps;
        steps.under_way[position].stage = Stage::Done;
        while steps.under_way.front().is_some_and(|step| step.stage == Stage::Done) {
            let Some(step) = steps.under_way.pop_front() else { break };
            steps.first_number = steps.first_number.wrapping_add(1);
            losses.unlock(step.run_on(group, SpindleIndex(0)));
            let end = step.stripes().end;
            for lost in losses.lost.iter_mut().filter(|lost| step.rebuilt.contains(lost.spindle)) {
                lost.whole_below = end;
                let share = end as f64 / stripes as f64;
                self.failures[lost.failure].note_rebuilt(share, end == stripes, cx.now_ns);
            }
        }
        losses.lost.retain(|lost| lost.whole_below < stripes);
        cx.then(Next::RowsFree(group));
    }
}

/// The step after the last one in flight, or the first that is missing, of a group of so many `stripes`.
fn next_step<P>(steps: &Steps<P>, losses: &GroupLosses, stripes: u64) -> Option<Step<P>> {
    let on_spares = || losses.lost.iter().filter(|lost| lost.on_spare);
    let first_stripe = match steps.under_way.back() {
        Some(last) => last.stripes().end,
        None => on_spares().map(|lost| lost.whole_below).min()?,
    };
    let rebuilt: SpindleSet = on_spares()
        .filter(|lost| lost.whole_below <= first_stripe)
        .map(|lost| lost.spindle)
        .collect();
    // A whole row, locked against tetrises, in which each spindle is lost entirely or not at all.
    let end = (first_stripe + ROW_STRIPES).min(stripes).min(losses.mark_after(first_stripe));
    (first_stripe < end && !rebuilt.is_empty())
        .then(|| Step::new(first_stripe, (end - first_stripe) as u32, rebuilt))
}

fn unlock<'s, P: 's>(
    steps: impl IntoIterator<Item = &'s Step<P>>,
    group: GroupIndex,
    space: &mut Space,
) {
    let Some(losses) = space.losses_of_mut(group) else { return };
    for step in steps {
        losses.unlock(step.run_on(group, SpindleIndex(0)));
    }
}

/// The group of a step's command, and its spindle there.
fn spindle_of_step(fields: TagFields, space: &Space) -> (GroupIndex, SpindleIndex) {
    space.first_spindles.in_group(SpindleIndex(fields.first_key as u16))
}

/// Whether a step lacks blocks that it needs by now: others may have turned out bad since its reads were sent.
fn lacks_blocks<P: Payload>(step: &Step<P>, index: GroupIndex, space: &Space) -> bool {
    let Some(losses) = space.losses_of(index).filter(|_| P::CARRIES_DATA) else { return false };
    let group = space.group(index);
    let read: SpindleSet = step.read.iter().map(|(spindle, _)| *spindle).collect();
    let (read, rebuilt) = (group.members_on(read), group.members_on(step.rebuilt));
    step.stripes().any(|stripe| {
        let missing = losses.lost_at(stripe).union(losses.bad_at(stripe));
        let plan = group.stripe_shape().plan_rebuild(rebuilt, group.members_on(missing));
        plan.is_ok_and(|plan| !plan.read.difference(read).is_empty())
    })
}
