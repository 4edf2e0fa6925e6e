//! Reads of lost blocks, and which stripes may be read from and written to meanwhile.
//!
//! A lost block is computed from the rest of its stripe, which must not change while it is read. Rows of 64 stripes are
//! therefore locked: exclusively by a tetris, shared by recoveries and the steps of a rebuild. An array that has lost
//! nothing locks no rows. Each parity group has its own losses, locks and rebuild; they share the spares.
//!
//! A working spindle may have single bad blocks, which are unreadable or not what was written. They are computed like
//! lost ones and rewritten in place. A host operation that needs a block that cannot be computed is refused.
//!
//! Exclusive or costs no processor time here. Commands and sectors do, those of recoveries included.

use std::collections::{BTreeSet, VecDeque};

use crate::slots::Slots;
use strewn_alloc::{GroupIndex, Tetris};
use strewn_base::state::SavedValue;
use strewn_base::{Direction, ROW_STRIPES};
use strewn_raid::{SpindleIndex, SpindleSet};

use crate::driver::Driver;
use crate::failure::{FailedSpindle, Rebuild};
use crate::payload::Payload;

use super::recovery::Recovery;
use super::steps::Steps;
use super::tag::TagFields;
use super::{Run, WriteAnywhere, WriteAnywhereConfig};

/// State of an array that has lost a spindle or met a bad block.
#[derive(SavedValue)]
pub(super) struct Degraded<P> {
    /// Every parity group, also those without losses.
    pub(super) groups: Vec<DegradedGroup<P>>,
    /// Bad blocks that are being rewritten.
    pub(super) repairs: Slots<(GroupIndex, u64, SpindleIndex)>,
    pub(super) failures: Vec<FailedSpindle>,
    pub(super) spares: u16,
    pub(super) recoveries: Slots<Recovery<P>>,
    /// Recoveries that ended without any command.
    pub(super) ended: Vec<u32>,
}

/// What a parity group has lost, and which of its rows are locked. Its spindles are numbered within it.
#[derive(SavedValue)]
pub(super) struct DegradedGroup<P> {
    /// Spindles with missing blocks.
    pub(super) lost: Vec<LostSpindle>,
    /// Bad blocks of working spindles, by stripe.
    pub(super) bad: BTreeSet<(u64, SpindleIndex)>,
    /// Recoveries that wait for a tetris to unlock their row, in order.
    pub(super) waiting: VecDeque<u32>,
    /// The rows of the tetrises in flight.
    pub(super) written_rows: Vec<u64>,
    /// The row that the next tetris waits for.
    pub(super) wanted_row: Option<u64>,
    pub(super) steps: Steps<P>,
}

/// A spindle with missing blocks.
#[derive(SavedValue)]
pub(super) struct LostSpindle {
    pub(super) spindle: SpindleIndex,
    /// Stripes below this one are rebuilt.
    pub(super) whole_below: u64,
    pub(super) on_spare: bool,
    /// Index of its failure.
    pub(super) failure: usize,
}

impl<P> Degraded<P> {
    /// The run that a recovery's read asked for.
    pub(super) fn read_of_recovery(&self, fields: TagFields) -> Option<Run> {
        let recovery = self.recoveries.get(fields.slot as usize)?;
        recovery.reads.get(fields.first_key as usize).map(|(run, _)| *run)
    }

    /// Without losses. `written_rows` are the rows of the tetrises in flight in each group.
    pub(super) fn new(rebuild: &Rebuild, written_rows: impl Iterator<Item = Vec<u64>>) -> Self {
        let whole = |written_rows| DegradedGroup {
            lost: Vec::new(),
            bad: BTreeSet::new(),
            waiting: VecDeque::new(),
            written_rows,
            wanted_row: None,
            steps: Steps::default(),
        };
        Self {
            groups: written_rows.map(whole).collect(),
            repairs: Slots::new(),
            failures: Vec::new(),
            spares: rebuild.spares,
            recoveries: Slots::new(),
            ended: Vec::new(),
        }
    }

    /// Whether a recovery or a step of a rebuild reads `row` of `group`.
    fn is_read(&self, group: GroupIndex, row: u64) -> bool {
        let under_way = self.recoveries.iter().map(|(_, recovery)| recovery);
        let mut in_group = under_way.filter(|one| one.awaited > 0 && one.run.group == group);
        self.groups[group.index()].steps.hold(row)
            || in_group.any(|recovery| rows_of(recovery.run).contains(&row))
    }
}

impl<P> DegradedGroup<P> {
    /// The spindles whose block in `stripe` is missing.
    pub(super) fn lost_at(&self, stripe: u64) -> SpindleSet {
        let missing = self.lost.iter().filter(|lost| lost.whole_below <= stripe);
        missing.map(|lost| lost.spindle).collect()
    }

    /// The working spindles whose block in `stripe` is bad.
    pub(super) fn bad_at(&self, stripe: u64) -> SpindleSet {
        let all = (stripe, SpindleIndex(0))..(stripe + 1, SpindleIndex(0));
        self.bad.range(all).map(|(_, spindle)| *spindle).collect()
    }

    fn lacks_any_of(&self, run: Run) -> bool {
        let end = run.dbn + u64::from(run.blocks);
        self.lost.iter().any(|lost| lost.spindle == run.spindle && lost.whole_below < end)
            || self
                .bad
                .range((run.dbn, SpindleIndex(0))..(end, SpindleIndex(0)))
                .any(|(_, spindle)| *spindle == run.spindle)
    }

    /// The first later stripe at which other blocks are lost or bad than at `stripe`.
    pub(super) fn loss_changes_after(&self, stripe: u64) -> u64 {
        let mark = self.mark_after(stripe);
        let first = SpindleIndex(0);
        match self.bad.range((stripe, first)..).next() {
            Some((bad, _)) if *bad == stripe => mark.min(stripe + 1),
            Some((bad, _)) => mark.min(*bad),
            None => mark,
        }
    }

    /// The first later stripe from which on a spindle is lost. It begins a row.
    pub(super) fn mark_after(&self, stripe: u64) -> u64 {
        let marks = self.lost.iter().map(|lost| lost.whole_below);
        marks.filter(|mark| *mark > stripe).min().unwrap_or(u64::MAX)
    }

    pub(super) fn is_written(&self, row: u64) -> bool {
        self.written_rows.contains(&row)
    }

    pub(super) fn must_wait(&self, run: Run) -> bool {
        rows_of(run).any(|row| self.is_written(row) || self.wanted_row == Some(row))
    }
}

fn rows_of(run: Run) -> std::ops::RangeInclusive<u64> {
    run.dbn / ROW_STRIPES..=(run.dbn + u64::from(run.blocks) - 1) / ROW_STRIPES
}

impl<P: Payload> WriteAnywhere<P> {
    /// Sends a read, or recovers it if some of its blocks are lost or bad.
    #[inline(always)]
    pub(super) fn send_read(&mut self, driver: &mut impl Driver<P>, fields: TagFields, run: Run) {
        match &self.degraded {
            Some(degraded) if degraded.groups[run.group.index()].lacks_any_of(run) => {
                self.recover(fields.pack(), run, driver);
            }
            _ => self.send(driver, fields, Direction::Read, run, P::default()),
        }
    }

    /// Whether some blocks of `run` are lost or bad.
    pub(super) fn is_lost(&self, run: Run) -> bool {
        self.degraded_group(run.group).is_some_and(|degraded| degraded.lacks_any_of(run))
    }

    /// The losses of `group`; `None` if the array has not lost anything.
    fn degraded_group(&self, group: GroupIndex) -> Option<&DegradedGroup<P>> {
        self.degraded.as_ref().map(|degraded| &degraded.groups[group.index()])
    }

    /// The spindles of `group` whose block in `stripe` is missing.
    pub(super) fn lost_at(&self, group: GroupIndex, stripe: u64) -> SpindleSet {
        self.degraded_group(group).map_or(SpindleSet::EMPTY, |degraded| degraded.lost_at(stripe))
    }

    /// The working spindles of `group` whose block in `stripe` is bad.
    pub(super) fn bad_at(&self, group: GroupIndex, stripe: u64) -> SpindleSet {
        self.degraded_group(group).map_or(SpindleSet::EMPTY, |degraded| degraded.bad_at(stripe))
    }

    /// Takes out the next tetris to write, and locks its row. A group in which a row is being read keeps its own
    /// tetrises waiting, and no others.
    #[inline]
    pub(super) fn next_tetris(
        &mut self,
        tetrises: &mut VecDeque<Tetris<u32>>,
    ) -> Option<Tetris<u32>> {
        if self.degraded.is_none() {
            return tetrises.pop_front();
        }
        let groups = self.config.groups.len();
        let mut waiting = [false; WriteAnywhereConfig::MOST_GROUPS];
        for position in 0..tetrises.len() {
            let group = tetrises[position].group.index();
            if waiting[group] {
                continue;
            }
            if self.may_write(&tetrises[position]) {
                return tetrises.remove(position);
            }
            waiting[group] = true;
            if waiting.iter().filter(|waits| **waits).count() == groups {
                break;
            }
        }
        None
    }

    /// Locks the row of a tetris until [`on_tetris_written`](Self::on_tetris_written). Returns false if the row is
    /// being read; the consistency point then advances once it is free.
    #[inline]
    pub(super) fn may_write(&mut self, tetris: &Tetris<u32>) -> bool {
        let Some(degraded) = &mut self.degraded else { return true };
        let row = tetris.first_stripe / ROW_STRIPES;
        let may = !degraded.is_read(tetris.group, row);
        let degraded = &mut degraded.groups[tetris.group.index()];
        degraded.wanted_row = (!may).then_some(row);
        if may {
            degraded.written_rows.push(row);
        }
        may
    }

    /// A tetris has been written: unlocks its row. [`on_rows_free`](Self::on_rows_free) must follow.
    pub(super) fn on_tetris_written(&mut self, tetris: &Tetris<u32>) {
        let Some(degraded) = &mut self.degraded else { return };
        let degraded = &mut degraded.groups[tetris.group.index()];
        let row = tetris.first_stripe / ROW_STRIPES;
        if let Some(index) = degraded.written_rows.iter().position(|other| *other == row) {
            degraded.written_rows.swap_remove(index);
        }
    }

    /// Resumes what waited for a row of `group`: first the consistency point, then recoveries, then the rebuild.
    pub(super) fn on_rows_free(
        &mut self,
        now_ns: u64,
        group: GroupIndex,
        driver: &mut impl Driver<P>,
    ) {
        let Some(degraded) = &self.degraded else { return };
        let wanted = degraded.groups[group.index()].wanted_row;
        if wanted.is_some_and(|row| !degraded.is_read(group, row)) {
            self.advance_consistency_point(now_ns, driver);
        }
        let Some(degraded) = &mut self.degraded else { return };
        for slot in std::mem::take(&mut degraded.groups[group.index()].waiting) {
            self.begin_recovery(slot, driver);
        }
        self.advance_rebuild(group, driver);
    }
}
