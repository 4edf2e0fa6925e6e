//! What is lost, and which stripes may be read from and written to meanwhile.
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
use std::ops::RangeInclusive;

use strewn_alloc::{GroupIndex, Tetris};
use strewn_base::ROW_STRIPES;
use strewn_base::state::SavedValue;
use strewn_raid::{SpindleIndex, SpindleSet};

use crate::read_locks::ReadLocks;

use super::config::WriteAnywhereConfig;
use super::{Run, Space};

/// What an array has lost or met as bad, by parity group.
#[derive(Debug, SavedValue)]
pub(crate) struct Losses {
    groups: Vec<GroupLosses>,
}

/// What a parity group has lost, and which of its rows are locked. Its spindles are numbered within it.
#[derive(Debug, Default, SavedValue)]
pub(crate) struct GroupLosses {
    /// Spindles with missing blocks.
    pub(crate) lost: Vec<LostSpindle>,
    /// Bad blocks of working spindles, by stripe.
    bad: BTreeSet<(u64, SpindleIndex)>,
    /// The rows of the tetrises in flight.
    written_rows: Vec<u64>,
    /// The row that the next tetris waits for.
    wanted_row: Option<u64>,
    /// The rows that recoveries and the steps of a rebuild read.
    read_rows: ReadLocks,
}

/// A spindle with missing blocks.
#[derive(Debug, SavedValue)]
pub(crate) struct LostSpindle {
    pub(crate) spindle: SpindleIndex,
    /// Stripes below this one are rebuilt.
    pub(crate) whole_below: u64,
    pub(crate) on_spare: bool,
    /// Index of its failure.
    pub(crate) failure: usize,
}

impl GroupLosses {
    /// The spindles whose block in `stripe` is missing.
    pub(crate) fn lost_at(&self, stripe: u64) -> SpindleSet {
        let missing = self.lost.iter().filter(|lost| lost.whole_below <= stripe);
        missing.map(|lost| lost.spindle).collect()
    }

    /// The working spindles whose block in `stripe` is bad.
    pub(crate) fn bad_at(&self, stripe: u64) -> SpindleSet {
        let all = (stripe, SpindleIndex(0))..(stripe + 1, SpindleIndex(0));
        self.bad.range(all).map(|(_, spindle)| *spindle).collect()
    }

    /// These blocks are bad, each by its stripe and spindle. Returns how many of them were not known.
    pub(crate) fn add_bad(&mut self, blocks: impl IntoIterator<Item = (u64, SpindleIndex)>) -> u64 {
        let before = self.bad.len();
        self.bad.extend(blocks);
        (self.bad.len() - before) as u64
    }

    pub(crate) fn is_bad(&self, stripe: u64, spindle: SpindleIndex) -> bool {
        self.bad.contains(&(stripe, spindle))
    }

    /// The block is no longer bad.
    pub(crate) fn remove_bad(&mut self, stripe: u64, spindle: SpindleIndex) {
        self.bad.remove(&(stripe, spindle));
    }

    /// A spindle has failed, with its bad blocks. A spare fails like any other spindle.
    pub(crate) fn lose(&mut self, lost: LostSpindle) {
        self.bad.retain(|(_, other)| *other != lost.spindle);
        self.lost.retain(|other| other.spindle != lost.spindle);
        self.lost.push(lost);
    }

    fn lacks_any_of(&self, run: Run) -> bool {
        self.lost.iter().any(|lost| lost.spindle == run.spindle && lost.whole_below < run.end())
            || self
                .bad
                .range((run.dbn, SpindleIndex(0))..(run.end(), SpindleIndex(0)))
                .any(|(_, spindle)| *spindle == run.spindle)
    }

    /// The first later stripe at which other blocks are lost or bad than at `stripe`.
    pub(crate) fn loss_changes_after(&self, stripe: u64) -> u64 {
        let mark = self.mark_after(stripe);
        let first = SpindleIndex(0);
        match self.bad.range((stripe, first)..).next() {
            Some((bad, _)) if *bad == stripe => mark.min(stripe + 1),
            Some((bad, _)) => mark.min(*bad),
            None => mark,
        }
    }

    /// The first later stripe from which on a spindle is lost. It begins a row.
    pub(crate) fn mark_after(&self, stripe: u64) -> u64 {
        let marks = self.lost.iter().map(|lost| lost.whole_below);
        marks.filter(|mark| *mark > stripe).min().unwrap_or(u64::MAX)
    }

    /// Whether a tetris in flight writes `row`.
    pub(crate) fn is_written(&self, row: u64) -> bool {
        self.written_rows.contains(&row)
    }

    /// Whether a read of `run` must wait for a tetris that writes some of its rows, or is next to.
    pub(crate) fn must_wait(&self, run: Run) -> bool {
        rows_of(run).any(|row| self.is_written(row) || self.wanted_row == Some(row))
    }

    /// No tetris may write the rows of `run` until they are unlocked as often as they were locked.
    pub(crate) fn lock_for_reading(&mut self, run: Run) {
        rows_of(run).for_each(|row| self.read_rows.lock(row));
    }

    pub(crate) fn unlock(&mut self, run: Run) {
        rows_of(run).for_each(|row| self.read_rows.unlock(row));
    }
}

fn rows_of(run: Run) -> RangeInclusive<u64> {
    run.dbn / ROW_STRIPES..=(run.end() - 1) / ROW_STRIPES
}

impl Space {
    /// From now on, the array keeps what it has lost. `written_rows` are the rows of the tetrises in flight in each
    /// group.
    pub(crate) fn begin_losses(&mut self, written_rows: impl Iterator<Item = Vec<u64>>) {
        let group = |written_rows| GroupLosses { written_rows, ..GroupLosses::default() };
        self.losses = Some(Box::new(Losses { groups: written_rows.map(group).collect() }));
    }

    /// What `group` has lost; `None` if the array has lost nothing.
    #[inline]
    pub(crate) fn losses_of(&self, group: GroupIndex) -> Option<&GroupLosses> {
        self.losses.as_ref().map(|losses| &losses.groups[group.index()])
    }

    #[inline]
    pub(crate) fn losses_of_mut(&mut self, group: GroupIndex) -> Option<&mut GroupLosses> {
        self.losses.as_mut().map(|losses| &mut losses.groups[group.index()])
    }

    /// Whether some blocks of `run` are lost or bad.
    pub(crate) fn is_lost(&self, run: Run) -> bool {
        self.losses_of(run.group).is_some_and(|losses| losses.lacks_any_of(run))
    }

    /// The spindles of `group` whose block in `stripe` is missing.
    pub(crate) fn lost_at(&self, group: GroupIndex, stripe: u64) -> SpindleSet {
        self.losses_of(group).map_or(SpindleSet::EMPTY, |losses| losses.lost_at(stripe))
    }

    /// The working spindles of `group` whose block in `stripe` is bad.
    pub(crate) fn bad_at(&self, group: GroupIndex, stripe: u64) -> SpindleSet {
        self.losses_of(group).map_or(SpindleSet::EMPTY, |losses| losses.bad_at(stripe))
    }

    /// Blocks have been written, and are no longer bad.
    pub(crate) fn on_rewritten(&mut self, run: Run) {
        if let Some(losses) = self.losses_of_mut(run.group)
            && !losses.bad.is_empty()
        {
            for dbn in run.dbn..run.end() {
                losses.bad.remove(&(dbn, run.spindle));
            }
        }
    }

    /// Takes out the next tetris to write, and locks its row. A group in which a row is being read keeps its own
    /// tetrises waiting, and no others.
    #[inline]
    pub(crate) fn next_tetris(
        &mut self,
        tetrises: &mut VecDeque<Tetris<u32>>,
    ) -> Option<Tetris<u32>> {
        if self.losses.is_none() {
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
    pub(crate) fn may_write(&mut self, tetris: &Tetris<u32>) -> bool {
        let Some(losses) = self.losses_of_mut(tetris.group) else { return true };
        let row = tetris.first_stripe / ROW_STRIPES;
        let may = !losses.read_rows.is_locked(row);
        losses.wanted_row = (!may).then_some(row);
        if may {
            losses.written_rows.push(row);
        }
        may
    }

    /// A tetris has been written: unlocks its row. What waits for it must be told.
    pub(crate) fn on_tetris_written(&mut self, tetris: &Tetris<u32>) {
        let Some(losses) = self.losses_of_mut(tetris.group) else { return };
        let row = tetris.first_stripe / ROW_STRIPES;
        if let Some(index) = losses.written_rows.iter().position(|other| *other == row) {
            losses.written_rows.swap_remove(index);
        }
    }

    /// Whether the row of `group` that a tetris waits for is no longer read.
    pub(crate) fn is_wanted_row_free(&self, group: GroupIndex) -> bool {
        self.losses_of(group).is_some_and(|losses| {
            losses.wanted_row.is_some_and(|row| !losses.read_rows.is_locked(row))
        })
    }
}
