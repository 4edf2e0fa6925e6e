//! The log's halves, and the checkpoints that free them.
//!
//! A write is logged before it is acknowledged. A log has two halves: when the one in use is full, a checkpoint begins,
//! and writes go to the other. A checkpoint writes back all that was dirty when it began; then the first half is free,
//! once the driver has made that durable. Writes that find both halves full wait.
//!
//! What is written again while a checkpoint is at it may go out with it: the log that is left has that write, and
//! laying it over once more changes nothing.
//!
//! An array that has no log can be checkpointed too.

use std::collections::BTreeMap;
use std::ops::Range;

use strewn_alloc::GroupIndex;
use strewn_base::state::SavedValue;

use crate::driver::{Driver, HostOperation, Root};
use crate::log::{LogRecord, Logged};
use crate::payload::Payload;

use super::InPlace;

/// A checkpoint in progress.
#[derive(Debug, Default, SavedValue)]
pub(super) struct Checkpoint {
    /// Sectors that were dirty when it began, and that no destage has taken since: runs by their disk group and their
    /// first, with their end.
    dirty: BTreeMap<(GroupIndex, u64), u64>,
    /// Destages at work on what it has to write.
    destages: usize,
    /// All is written, and the driver is making it safe.
    is_committing: bool,
}

impl Checkpoint {
    /// Whether some of what it has to write is of `group`.
    pub(super) fn has_to_destage(&self, group: GroupIndex) -> bool {
        self.dirty.range((group, 0)..).next().is_some_and(|((of, _), _)| *of == group)
    }

    /// A destage takes these runs of sectors of `group`; whether some of them are the checkpoint's, which then waits
    /// for it.
    #[inline]
    pub(super) fn take(&mut self, group: GroupIndex, runs: &[Range<u64>]) -> bool {
        let mut is_waited_for = false;
        for sectors in runs {
            is_waited_for |= self.take_run(group, sectors);
        }
        self.destages += usize::from(is_waited_for);
        is_waited_for
    }

    fn take_run(&mut self, group: GroupIndex, sectors: &Range<u64>) -> bool {
        let overlapping: Vec<(u64, u64)> = self
            .dirty
            .range((group, 0)..(group, sectors.end))
            .rev()
            .take_while(|(_, end)| **end > sectors.start)
            .map(|((_, start), end)| (*start, *end))
            .collect();
        for &(start, end) in &overlapping {
            self.dirty.remove(&(group, start));
            if start < sectors.start {
                self.dirty.insert((group, start), sectors.start);
            }
            if end > sectors.end {
                self.dirty.insert((group, sectors.end), end);
            }
        }
        !overlapping.is_empty()
    }

    /// A destage that it waited for has ended.
    pub(super) fn destage_ended(&mut self) {
        assert!(self.destages > 0, "a destage has ended that its checkpoint did not wait for");
        self.destages -= 1;
    }

    /// A destage that it waited for has written nothing, and gives back the runs of sectors of `group` that it took.
    pub(super) fn give_back(&mut self, group: GroupIndex, runs: &[Range<u64>]) {
        self.destage_ended();
        self.dirty.extend(runs.iter().map(|sectors| ((group, sectors.start), sectors.end)));
    }

    fn is_written(&self) -> bool {
        self.dirty.is_empty() && self.destages == 0
    }
}

impl<P: Payload> InPlace<P> {
    /// Begins a checkpoint, unless one is in progress or there is nothing to write. A shutdown calls it until the array
    /// [is clean](Self::is_clean).
    pub fn begin_checkpoint(&mut self, _now_ns: u64, driver: &mut impl Driver<P>) {
        if self.checkpoint.is_none() && !self.is_clean() {
            self.open_checkpoint(driver);
            self.destage(driver);
            self.finish_checkpoint(driver);
        }
    }

    /// Whether everything acknowledged is on the spindles, and the log is no longer needed.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.groups.iter().all(|group| group.cache.is_empty() && group.partial_writes.is_empty())
            && self.waiting_for_room.is_empty()
            && self.checkpoint.is_none()
            && !self.log_has_records
    }

    /// Logs a write, with a checkpoint begun if it takes one; false if it has to wait for one.
    #[inline(never)]
    pub(super) fn is_logged(
        &mut self,
        host: &HostOperation<P>,
        driver: &mut impl Driver<P>,
    ) -> bool {
        let (lun, sectors) = (host.lun, host.sectors);
        let first_sector = host.first_sector - self.luns[usize::from(lun.0)].sectors.start;
        let record = LogRecord::Write { lun, first_sector, sectors };
        loop {
            match driver.log(host.id, record, &host.payload) {
                Logged::Done => {
                    self.log_has_records = true;
                    return true;
                }
                Logged::BothFull => return false,
                Logged::HalfFull => self.open_checkpoint(driver),
            }
        }
    }

    fn open_checkpoint(&mut self, driver: &mut impl Driver<P>) {
        assert!(self.checkpoint.is_none(), "a checkpoint begins while another is in progress");
        driver.checkpoint_begins();
        self.log_has_records = false;
        let mut checkpoint = Checkpoint::default();
        for (index, group) in self.groups.indices().zip(self.groups.iter_mut()) {
            // What is dirty beside being on its way is newer than what is on its way: it goes out once more.
            for destage in group.destages.iter_mut() {
                destage.of_checkpoint = true;
            }
            checkpoint.destages += group.destages.len();
            let runs = group.cache.dirty_runs();
            checkpoint.dirty.extend(runs.map(|run| ((index, run.start), run.end)));
        }
        self.checkpoint = Some(Box::new(checkpoint));
    }

    /// Has the checkpoint committed if all of it is written.
    pub(super) fn finish_checkpoint(&mut self, driver: &mut impl Driver<P>) {
        while let Some(checkpoint) = &mut self.checkpoint {
            if checkpoint.is_committing || !checkpoint.is_written() {
                return;
            }
            if self.config.format.is_durable() {
                checkpoint.is_committing = true;
                driver.commit(Root::default());
                return;
            }
            self.checkpoint_is_committed(driver);
        }
    }

    /// What the driver was asked to commit is safe.
    pub(super) fn commit_is_safe(&mut self, driver: &mut impl Driver<P>) {
        if self.checkpoint.as_ref().is_some_and(|checkpoint| checkpoint.is_committing) {
            self.checkpoint_is_committed(driver);
            self.finish_checkpoint(driver);
        }
    }

    fn checkpoint_is_committed(&mut self, driver: &mut impl Driver<P>) {
        let written = self.checkpoint.take().is_some_and(|checkpoint| checkpoint.is_written());
        assert!(written, "a checkpoint commits before all of it is written");
        self.counters.checkpoints += 1;
        driver.checkpoint_ends();
        self.admit_waiting(driver);
        self.destage(driver);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_destage_takes_part_of_what_is_dirty_in_its_group() {
        let (first, second) = (GroupIndex(0), GroupIndex(1));
        let runs = |runs: &[(u64, u64)]| -> BTreeMap<_, _> {
            runs.iter().map(|(start, end)| ((first, *start), *end)).collect()
        };
        let dirty = runs(&[(10, 20), (24, 30), (40, 50)]);
        let mut checkpoint = Checkpoint { dirty, ..Checkpoint::default() };
        let runs_of = |runs: Range<u64>| [runs];
        assert!(!checkpoint.take(first, &runs_of(20..24)));
        assert!(!checkpoint.take(second, &runs_of(10..20)) && !checkpoint.has_to_destage(second));
        assert!(checkpoint.take(first, &runs_of(15..26)));
        assert_eq!(checkpoint.dirty, runs(&[(10, 15), (26, 30), (40, 50)]));
        // Several runs of one destage are waited for once.
        assert!(checkpoint.take(first, &[0..12, 12..100]) && !checkpoint.is_written());
        checkpoint.give_back(first, &runs_of(0..100));
        checkpoint.dirty.insert((second, 5), 6);
        assert!(checkpoint.has_to_destage(first) && checkpoint.has_to_destage(second));
        assert!(checkpoint.take(first, &runs_of(0..100)));
        assert!(checkpoint.take(second, &runs_of(0..100)));
        (0..2).for_each(|_| checkpoint.destage_ended());
        assert!(!checkpoint.is_written());
        checkpoint.destage_ended();
        assert!(checkpoint.is_written());
    }
}
