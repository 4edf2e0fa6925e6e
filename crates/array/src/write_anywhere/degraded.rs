//! Reads of lost blocks, and which stripes may be read from and written to meanwhile.
//!
//! A lost block is computed from the rest of its stripe, which must not change while it is read. So the stripes of a
//! recovery, of a rebuild's step and of a tetris are kept apart, by rows of 64 stripes: a tetris shares its row with
//! nobody, the others share it with each other. An array that has lost nothing knows of no rows.
//!
//! Exclusive or costs the processor nothing here: it is charged for commands and sectors, those of recoveries among
//! them. Nor do lost blocks get bytes: parity payloads are empty, and with them what is computed from them.

use std::collections::VecDeque;

use slab::Slab;
use strewn_raid::{SpindleIndex, SpindleSet};

use crate::driver::{Direction, Driver, SpindleCommand, Tag};
use crate::failure::{DataLost, Failure, Rebuild};
use crate::payload::Payload;

use super::rebuild::Steps;
use super::tag::{Owner, TagFields};
use super::{BLOCK_SECTORS, Run, WriteAnywhere};

/// Stripes of a row: no tetris and no step of a rebuild reaches from one into the next.
pub(super) const ROW_STRIPES: u64 = 64;

/// What an array that has lost a spindle keeps.
pub(super) struct Degraded<P> {
    /// Spindles of which blocks are missing.
    pub(super) lost: Vec<LostSpindle>,
    pub(super) failures: Vec<Failure>,
    spares: u16,
    recoveries: Slab<Recovery<P>>,
    /// Recoveries that wait for a tetris, in order.
    waiting: VecDeque<u32>,
    /// The rows of the tetrises in flight.
    written_rows: Vec<u64>,
    /// The row that the next tetris waits for.
    wanted_row: Option<u64>,
    pub(super) steps: Steps,
}

/// A spindle of which blocks are missing.
pub(super) struct LostSpindle {
    pub(super) spindle: SpindleIndex,
    /// The stripes below are whole again, on a spare.
    pub(super) whole_below: u64,
    pub(super) on_spare: bool,
    /// Its place among the failures.
    pub(super) failure: usize,
}

/// A read, some of whose blocks are lost.
struct Recovery<P> {
    /// The read, by the name and place under which it was asked for.
    tag: Tag,
    run: Run,
    /// Commands on their way; none while it waits.
    awaited: u32,
    /// A spindle was lost under it: what is read so far does not do.
    again: bool,
    answer: P,
}

impl<P> Degraded<P> {
    fn new(rebuild: &Rebuild, written_rows: Vec<u64>) -> Self {
        Self {
            lost: Vec::new(),
            failures: Vec::new(),
            spares: rebuild.spares,
            recoveries: Slab::new(),
            waiting: VecDeque::new(),
            written_rows,
            wanted_row: None,
            steps: Steps::default(),
        }
    }

    /// The spindles whose block in `stripe` is missing.
    pub(super) fn lost_at(&self, stripe: u64) -> SpindleSet {
        let missing = self.lost.iter().filter(|lost| lost.whole_below <= stripe);
        missing.map(|lost| lost.spindle).collect()
    }

    fn lacks_any_of(&self, run: Run) -> bool {
        let end = run.dbn + u64::from(run.blocks);
        self.lost.iter().any(|lost| lost.spindle == run.spindle && lost.whole_below < end)
    }

    /// Where the same spindles cease to be lost that are lost at `stripe`.
    pub(super) fn loss_changes_after(&self, stripe: u64) -> u64 {
        let marks = self.lost.iter().map(|lost| lost.whole_below);
        marks.filter(|mark| *mark > stripe).min().unwrap_or(u64::MAX)
    }

    pub(super) fn is_written(&self, row: u64) -> bool {
        self.written_rows.contains(&row)
    }

    fn must_wait(&self, run: Run) -> bool {
        rows_of(run).any(|row| self.is_written(row) || self.wanted_row == Some(row))
    }

    fn is_read(&self, row: u64) -> bool {
        let mut under_way = self.recoveries.iter().filter(|(_, recovery)| recovery.awaited > 0);
        self.steps.hold(row) || under_way.any(|(_, recovery)| rows_of(recovery.run).contains(&row))
    }
}

fn rows_of(run: Run) -> std::ops::RangeInclusive<u64> {
    run.dbn / ROW_STRIPES..=(run.dbn + u64::from(run.blocks) - 1) / ROW_STRIPES
}

impl<P: Payload> WriteAnywhere<P> {
    /// Sends a read, or what it takes if some of its blocks are lost.
    #[inline]
    pub(super) fn send_read(&mut self, driver: &mut impl Driver<P>, fields: TagFields, run: Run) {
        match &self.degraded {
            Some(degraded) if degraded.lacks_any_of(run) => {
                self.recover(fields.pack(), run, driver)
            }
            _ => self.send(driver, fields, Direction::Read, run, P::default()),
        }
    }

    /// The spindles whose block in `stripe` is missing.
    pub(super) fn lost_at(&self, stripe: u64) -> SpindleSet {
        self.degraded.as_ref().map_or(SpindleSet::EMPTY, |degraded| degraded.lost_at(stripe))
    }

    #[cold]
    fn recover(&mut self, tag: Tag, run: Run, driver: &mut impl Driver<P>) {
        let Some(degraded) = &mut self.degraded else { return };
        let recovery = Recovery { tag, run, awaited: 0, again: false, answer: P::default() };
        let slot = degraded.recoveries.insert(recovery) as u32;
        self.counters.degraded_reads += 1;
        self.begin_recovery(slot, driver);
    }

    /// Reads what a recovery takes, or has it wait for a tetris that is changing its stripes.
    fn begin_recovery(&mut self, slot: u32, driver: &mut impl Driver<P>) {
        let Some(degraded) = &mut self.degraded else { return };
        let run = degraded.recoveries[slot as usize].run;
        if degraded.must_wait(run) {
            degraded.waiting.push_back(slot);
            return;
        }
        let shape = self.config.group.stripe_shape();
        let mut reads = Vec::new();
        let (mut at, end) = (run.dbn, run.dbn + u64::from(run.blocks));
        while at < end {
            let lost = degraded.lost_at(at);
            let until = degraded.loss_changes_after(at).min(end);
            let part = Run { dbn: at, blocks: (until - at) as u32, ..run };
            if lost.contains(run.spindle) {
                let wanted = self.config.group.members_on(SpindleSet::single(run.spindle));
                let plan = shape.plan_read(wanted, self.config.group.members_on(lost));
                // A loss that parity does not make good has ended the run.
                let plan = plan.unwrap_or_else(|loss| unreachable!("{loss}"));
                let from = self.config.group.spindles_of(plan.read);
                reads.extend(from.iter().map(|spindle| (0, Run { spindle, ..part })));
            } else {
                // One more than where in the answer it goes; 0 is for what goes into a computation.
                reads.push(((at - run.dbn) as u32 + 1, part));
            }
            at = until;
        }
        degraded.recoveries[slot as usize].awaited = reads.len() as u32;
        self.counters.recovery_reads += reads.len() as u64;
        for (first_key, part) in reads {
            let fields = TagFields {
                owner: Owner::Recovery,
                slot,
                first_key,
                blocks: part.blocks,
                odd: false,
            };
            self.send(driver, fields, Direction::Read, part, P::default());
        }
    }

    /// A command of a recovery has completed, or failed.
    pub(super) fn recovery_progress(
        &mut self,
        now_ns: u64,
        fields: TagFields,
        came: Option<&P>,
        driver: &mut impl Driver<P>,
    ) {
        let Some(degraded) = &mut self.degraded else { return };
        let recovery = &mut degraded.recoveries[fields.slot as usize];
        recovery.awaited -= 1;
        match came {
            Some(payload) if fields.first_key > 0 => {
                recovery.answer.splice((fields.first_key - 1) * BLOCK_SECTORS, payload);
            }
            Some(_) => {}
            None => recovery.again = true,
        }
        if recovery.awaited > 0 {
            return;
        }
        if std::mem::take(&mut recovery.again) {
            self.begin_recovery(fields.slot, driver);
        } else {
            let Recovery { tag, answer, .. } = degraded.recoveries.remove(fields.slot as usize);
            self.completed(now_ns, tag, &answer, driver);
        }
        self.rows_are_free(now_ns, driver);
    }

    /// Whether a tetris may begin on the row of `first_stripe`; if so the row is its own until
    /// [`has_written`](Self::has_written), if not the checkpoint is advanced when it may.
    #[inline]
    pub(super) fn may_write(&mut self, first_stripe: u64) -> bool {
        let Some(degraded) = &mut self.degraded else { return true };
        let row = first_stripe / ROW_STRIPES;
        let may = !degraded.is_read(row);
        degraded.wanted_row = (!may).then_some(row);
        if may {
            degraded.written_rows.push(row);
        }
        may
    }

    /// A tetris has been written: its row is free. [`rows_are_free`](Self::rows_are_free) must follow.
    pub(super) fn has_written(&mut self, first_stripe: u64) {
        let Some(degraded) = &mut self.degraded else { return };
        let row = first_stripe / ROW_STRIPES;
        if let Some(index) = degraded.written_rows.iter().position(|other| *other == row) {
            degraded.written_rows.swap_remove(index);
        }
    }

    /// Lets go on what waited for a row: first the consistency point, then recoveries, then the rebuild.
    pub(super) fn rows_are_free(&mut self, now_ns: u64, driver: &mut impl Driver<P>) {
        let Some(degraded) = &self.degraded else { return };
        if degraded.wanted_row.is_some_and(|row| !degraded.is_read(row)) {
            self.advance_checkpoint(now_ns, driver);
        }
        let Some(degraded) = &mut self.degraded else { return };
        for slot in std::mem::take(&mut degraded.waiting) {
            self.begin_recovery(slot, driver);
        }
        self.advance_rebuild(driver);
    }

    /// A spindle is lost, and a spare takes its place if there is one.
    pub(super) fn lose(
        &mut self,
        now_ns: u64,
        spindle: SpindleIndex,
        driver: &mut impl Driver<P>,
    ) -> Result<(), DataLost> {
        assert!(spindle.0 < self.group().spindles(), "{spindle} is not the array's");
        let mut degraded = self.degraded.take().unwrap_or_else(|| {
            let in_flight = self.checkpoint.as_ref().map(|checkpoint| checkpoint.rows_in_flight());
            Box::new(Degraded::new(&self.rebuild, in_flight.unwrap_or_default()))
        });
        // The spare of a spindle lost before is lost like any other.
        degraded.lost.retain(|lost| lost.spindle != spindle);
        let mut failure = Failure::new(spindle, now_ns);
        let on_spare = degraded.spares > 0;
        if on_spare {
            degraded.spares -= 1;
            failure.rebuild_began_ns = Some(now_ns);
            driver.take_spare(spindle);
        }
        degraded.lost.push(LostSpindle {
            spindle,
            whole_below: 0,
            on_spare,
            failure: degraded.failures.len(),
        });
        degraded.failures.push(failure);
        degraded.steps.give_up();
        let loss = self.loss(now_ns, &degraded);
        self.degraded = Some(degraded);
        match loss {
            Some(loss) => Err(loss),
            None => {
                self.advance_rebuild(driver);
                Ok(())
            }
        }
    }

    /// What is gone, if anything is.
    fn loss(&self, now_ns: u64, degraded: &Degraded<P>) -> Option<DataLost> {
        let group = self.group();
        let parity = usize::from(group.parity().spindles());
        let mut marks: Vec<u64> = degraded.lost.iter().map(|lost| lost.whole_below).collect();
        marks.sort_unstable();
        // From there on one block more is missing than there is parity.
        let gone_from = *marks.get(parity)?;
        let is_gone = |key: &u32| {
            self.map.get(*key).is_some_and(|vbn| {
                let place = group.locate(vbn);
                place.dbn.0 >= gone_from && degraded.lost_at(place.dbn.0).contains(place.spindle)
            })
        };
        let blocks = (0..self.config.file_blocks).filter(is_gone).count() as u64;
        Some(DataLost {
            at_ns: now_ns,
            spindles: degraded.lost.iter().map(|lost| lost.spindle).collect(),
            stripes: group.stripes() - gone_from,
            stripes_in_all: group.stripes(),
            lun_bytes: blocks * strewn_raid::BLOCK_BYTES,
        })
    }

    /// A command that a lost spindle has not done: what waits for it gets what it needs from elsewhere.
    pub(super) fn failed(
        &mut self,
        now_ns: u64,
        command: &SpindleCommand<P>,
        driver: &mut impl Driver<P>,
    ) {
        let fields = TagFields::unpack(command.tag);
        match fields.owner {
            Owner::Operation | Owner::CheckpointRead => {
                let run = Run {
                    spindle: command.spindle,
                    dbn: command.first_sector / u64::from(BLOCK_SECTORS),
                    blocks: command.sectors / BLOCK_SECTORS,
                };
                self.recover(command.tag, run, driver);
            }
            Owner::Tetris => self.tetris_progress(now_ns, fields, false, driver),
            Owner::Recovery => self.recovery_progress(now_ns, fields, None, driver),
            // The step was given up when the spindle was lost.
            Owner::Rebuild => self.rebuild_progress(now_ns, fields, driver),
        }
    }
}
