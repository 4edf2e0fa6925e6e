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

use super::degraded::Degraded;
use super::steps::{Stage, Step};
use super::tag::{Owner, SLOT_MASK, TagFields};
use super::{Run, WriteAnywhere};

impl<P: Payload> WriteAnywhere<P> {
    /// Begins as many steps in `group` as may begin.
    pub(super) fn advance_rebuild(&mut self, group: GroupIndex, driver: &mut impl Driver<P>) {
        loop {
            let Some(degraded) = &self.degraded else { return };
            let degraded = &degraded.groups[group.index()];
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
                let Some(step) = self.next_step(group) else { return };
                let Some(degraded) = &mut self.degraded else { return };
                let degraded = &mut degraded.groups[group.index()];
                let row = step.first_stripe / ROW_STRIPES;
                let must_wait = degraded.is_written(row);
                degraded.steps.under_way.push_back(step);
                if must_wait {
                    continue;
                }
                degraded.steps.under_way.len() - 1
            };
            self.read_step(group, position, driver);
        }
    }

    /// The step after the last one in flight, or the first that is missing.
    fn next_step(&self, group: GroupIndex) -> Option<Step<P>> {
        let degraded = &self.degraded.as_ref()?.groups[group.index()];
        let on_spares = || degraded.lost.iter().filter(|lost| lost.on_spare);
        let first_stripe = match degraded.steps.under_way.back() {
            Some(last) => last.first_stripe + u64::from(last.blocks),
            None => on_spares().map(|lost| lost.whole_below).min()?,
        };
        let rebuilt: SpindleSet = on_spares()
            .filter(|lost| lost.whole_below <= first_stripe)
            .map(|lost| lost.spindle)
            .collect();
        // A whole row, locked against tetrises, in which each spindle is lost entirely or not at all.
        let end = (first_stripe + ROW_STRIPES).min(self.group(group).stripes());
        let end = end.min(degraded.mark_after(first_stripe));
        (first_stripe < end && !rebuilt.is_empty()).then(|| Step {
            first_stripe,
            blocks: (end - first_stripe) as u32,
            rebuilt,
            stage: Stage::Waiting,
            awaited: 0,
            given_up: false,
            again: false,
            all: false,
            read: Vec::new(),
        })
    }

    /// A step of `group`, by its position among those in flight.
    fn step(&mut self, group: GroupIndex, position: usize) -> Option<&mut Step<P>> {
        self.degraded.as_mut()?.groups[group.index()].steps.under_way.get_mut(position)
    }

    fn read_step(&mut self, index: GroupIndex, position: usize, driver: &mut impl Driver<P>) {
        let Some(degraded) = &mut self.degraded else { return };
        let degraded = &mut degraded.groups[index.index()];
        let step = &mut degraded.steps.under_way[position];
        step.again = false;
        step.read.clear();
        let (first_stripe, blocks, rebuilt) = (step.first_stripe, step.blocks, step.rebuilt);
        let all = step.all;
        let lost = degraded.lost_at(first_stripe);
        let group = &self.config.groups[index.index()];
        let shape = group.stripe_shape();
        let rebuilt = group.members_on(rebuilt);
        let plan = shape.plan_rebuild(rebuilt, group.members_on(lost));
        // Failures that exceed parity have ended the run.
        let plan = plan.unwrap_or_else(|loss| unreachable!("{loss}"));
        let mut from = group.spindles_of(plan.read);
        if all {
            from = (0..group.spindles())
                .map(SpindleIndex)
                .filter(|one| !lost.contains(*one))
                .collect();
        }
        // A stripe with bad blocks needs others instead; one that cannot be rebuilt needs none.
        for stripe in first_stripe..first_stripe + u64::from(blocks) {
            let bad = degraded.bad_at(stripe);
            if !bad.is_empty()
                && let Ok(plan) = shape.plan_rebuild(rebuilt, group.members_on(lost.union(bad)))
            {
                from = from.union(group.spindles_of(plan.read));
            }
        }
        self.counters.rebuild_reads += u64::from(from.len());
        let reads: Vec<Run> = from
            .iter()
            .map(|spindle| Run { group: index, spindle, dbn: first_stripe, blocks })
            .collect();
        self.begin_stage(index, position, Stage::Reading, reads.len());
        for run in reads {
            self.send_step(position, Direction::Read, run, P::default(), driver);
        }
    }

    fn begin_stage(&mut self, group: GroupIndex, position: usize, stage: Stage, commands: usize) {
        if let Some(step) = self.step(group, position) {
            step.stage = stage;
            step.awaited = commands as u32;
        }
    }

    fn send_step(
        &mut self,
        position: usize,
        direction: Direction,
        run: Run,
        payload: P,
        driver: &mut impl Driver<P>,
    ) {
        let Some(degraded) = &self.degraded else { return };
        let first_number = degraded.groups[run.group.index()].steps.first_number;
        let slot = first_number.wrapping_add(position as u32) & SLOT_MASK;
        let fields = TagFields {
            owner: Owner::Rebuild,
            slot,
            first_key: self.first_spindles.in_array(run.group, run.spindle).0.into(),
            blocks: run.blocks,
            epoch_parity: false,
        };
        self.send(driver, fields, direction, run, payload);
    }

    /// The group of a step's command, and its spindle there.
    fn spindle_of_step(&self, fields: TagFields) -> (GroupIndex, SpindleIndex) {
        self.first_spindles.in_group(SpindleIndex(fields.first_key as u16))
    }

    /// The run that a step's read asked for.
    pub(super) fn read_of_step(&self, fields: TagFields) -> Option<Run> {
        let (group, spindle) = self.spindle_of_step(fields);
        let steps = &self.degraded.as_ref()?.groups[group.index()].steps;
        let step = steps.under_way.get(steps.position(fields))?;
        let run = Run { group, spindle, dbn: step.first_stripe, blocks: step.blocks };
        (step.stage == Stage::Reading).then_some(run)
    }

    /// Whether a step lacks blocks that it needs by now: others may have turned out bad since its reads were sent.
    fn lacks_blocks(&self, index: GroupIndex, position: usize) -> bool {
        let Some(degraded) = self.degraded.as_ref().filter(|_| P::CARRIES_DATA) else {
            return false;
        };
        let degraded = &degraded.groups[index.index()];
        let step = &degraded.steps.under_way[position];
        let group = self.group(index);
        let read: SpindleSet = step.read.iter().map(|(spindle, _)| *spindle).collect();
        let (read, rebuilt) = (group.members_on(read), group.members_on(step.rebuilt));
        (step.first_stripe..step.first_stripe + u64::from(step.blocks)).any(|stripe| {
            let missing = degraded.lost_at(stripe).union(degraded.bad_at(stripe));
            let plan = group.stripe_shape().plan_rebuild(rebuilt, group.members_on(missing));
            plan.is_ok_and(|plan| !plan.read.difference(read).is_empty())
        })
    }

    /// Writes a step's rebuilt blocks.
    fn write_step(&mut self, group: GroupIndex, position: usize, driver: &mut impl Driver<P>) {
        let Some(step) = self.step(group, position) else { return };
        let (first_stripe, blocks, rebuilt) = (step.first_stripe, step.blocks, step.rebuilt);
        let (read, all) = (std::mem::take(&mut step.read), step.all);
        let mut writes = Vec::new();
        if P::CARRIES_DATA {
            let stripes = first_stripe..first_stripe + u64::from(blocks);
            let Some(runs) = self.rebuilt_runs(group, stripes, rebuilt, &read, all) else {
                if let Some(step) = self.step(group, position) {
                    step.all = true;
                }
                self.read_step(group, position, driver);
                return;
            };
            writes = runs;
        } else {
            for spindle in rebuilt {
                let run = Run { group, spindle, dbn: first_stripe, blocks };
                writes.push((run, P::default()));
            }
        }
        self.counters.rebuild_writes += writes.len() as u64;
        self.begin_stage(group, position, Stage::Writing, writes.len());
        for (run, payload) in writes {
            self.send_step(position, Direction::Write, run, payload, driver);
        }
    }

    /// A command of a step has completed, or failed. If its spindle failed, the step is given up; if blocks are bad,
    /// the step reads again.
    #[cold]
    pub(super) fn on_rebuild_command_done(
        &mut self,
        now_ns: u64,
        fields: TagFields,
        outcome: Option<P>,
        driver: &mut impl Driver<P>,
    ) {
        let (group, spindle) = self.spindle_of_step(fields);
        let Some(degraded) = &mut self.degraded else { return };
        let degraded = &mut degraded.groups[group.index()];
        let position = degraded.steps.position(fields);
        let step = &mut degraded.steps.under_way[position];
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
            degraded.steps.drop_given_up();
            self.on_rows_free(now_ns, group, driver);
            return;
        }
        if step.stage == Stage::Reading {
            if step.again || self.lacks_blocks(group, position) {
                self.read_step(group, position, driver);
                return;
            }
            self.write_step(group, position, driver);
            if self.step(group, position).is_none_or(|step| step.awaited > 0) {
                return;
            }
        }
        self.on_step_done(now_ns, group, position, driver);
    }

    fn on_step_done(
        &mut self,
        now_ns: u64,
        group: GroupIndex,
        position: usize,
        driver: &mut impl Driver<P>,
    ) {
        let stripes = self.group(group).stripes();
        let Some(degraded) = &mut self.degraded else { return };
        let Degraded { groups, failures, .. } = &mut **degraded;
        let degraded = &mut groups[group.index()];
        degraded.steps.under_way[position].stage = Stage::Done;
        while degraded.steps.under_way.front().is_some_and(|step| step.stage == Stage::Done) {
            let Some(step) = degraded.steps.under_way.pop_front() else { break };
            degraded.steps.first_number = degraded.steps.first_number.wrapping_add(1);
            let end = step.first_stripe + u64::from(step.blocks);
            for lost in degraded.lost.iter_mut().filter(|lost| step.rebuilt.contains(lost.spindle))
            {
                lost.whole_below = end;
                let share = end as f64 / stripes as f64;
                failures[lost.failure].note_rebuilt(share, end == stripes, now_ns);
            }
        }
        degraded.lost.retain(|lost| lost.whole_below < stripes);
        self.on_rows_free(now_ns, group, driver);
    }
}
