//! The log's halves, and the drains that free them.
//!
//! A write is logged before it is acknowledged. When the half in use is full, the log switches halves and a *log drain*
//! begins: it destages all that was dirty at that moment. Once the driver has made that durable, the full half is free.
//! Writes that find both halves full wait. The driver is told of a drain as of a consistency point, because log and
//! superblock treat both alike. It is none: no block moves, and blocks reach their places one by one.
//!
//! What is written again during a drain may go out with it: the log's other half has that write, and replaying it
//! changes nothing.
//!
//! An array without a log is drained too, when it shuts down.

use std::collections::BTreeMap;
use std::ops::Range;

use strewn_alloc::GroupIndex;
use strewn_base::state::SavedValue;

use crate::driver::{Driver, HostOperation};
use crate::log::{LogRecord, Logged};
use crate::payload::Payload;
use crate::root::Root;

use super::InPlace;

/// A log drain in progress.
#[derive(Debug, Default, SavedValue)]
pub(super) struct LogDrain {
    /// Sectors that were dirty when it began, and that no destage has taken since: runs by their disk group and their
    /// first, with their end.
    dirty: BTreeMap<(GroupIndex, u64), u64>,
    /// Destages at work on what it has to write.
    destages: usize,
    /// All is written, and the driver is making it safe.
    is_committing: bool,
}

impl LogDrain {
    /// Whether it still has sectors of `group` to write.
    pub(super) fn has_to_destage(&self, group: GroupIndex) -> bool {
        self.dirty.range((group, 0)..).next().is_some_and(|((of, _), _)| *of == group)
    }

    /// A destage takes these runs of sectors of `group`; whether some of them are the drain's, which then
    /// waits for it.
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
        assert!(self.destages > 0, "a destage has ended that its log drain did not wait for");
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
    /// Begins a log drain, unless one is in progress or there is nothing to write. A shutdown calls it until the array
    /// [is clean](Self::is_clean).
    pub fn begin_log_drain(&mut self, _now_ns: u64, driver: &mut impl Driver<P>) {
        if self.log_drain.is_none() && !self.is_clean() {
            self.open_log_drain(driver);
            self.destage(driver);
            self.finish_log_drain(driver);
        }
    }

    /// Whether everything acknowledged is on the spindles, and the log is no longer needed.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.groups.iter().all(|group| group.cache.is_empty() && group.partial_writes.is_empty())
            && self.waiting_for_room.is_empty()
            && self.log_drain.is_none()
            && !self.log_has_records
    }

    /// Logs a write, and begins a drain if its half is full. Returns false if both halves are: the write waits.
    #[inline(never)]
    pub(super) fn log_write(
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
                Logged::HalfFull => self.open_log_drain(driver),
            }
        }
    }

    fn open_log_drain(&mut self, driver: &mut impl Driver<P>) {
        assert!(self.log_drain.is_none(), "a log drain begins while another is in progress");
        driver.consistency_point_begins();
        self.log_has_records = false;
        let mut log_drain = LogDrain::default();
        for (index, group) in self.groups.indices().zip(self.groups.iter_mut()) {
            // What is dirty beside being on its way is newer than what is on its way: it goes out once more.
            for destage in group.destages.iter_mut() {
                destage.of_log_drain = true;
            }
            log_drain.destages += group.destages.len();
            let runs = group.cache.dirty_runs();
            log_drain.dirty.extend(runs.map(|run| ((index, run.start), run.end)));
        }
        self.log_drain = Some(Box::new(log_drain));
    }

    /// Ends the drain if all of it is written: in the durable format, once the driver has committed it.
    pub(super) fn finish_log_drain(&mut self, driver: &mut impl Driver<P>) {
        while let Some(log_drain) = &mut self.log_drain {
            if log_drain.is_committing || !log_drain.is_written() {
                return;
            }
            if self.config.format.is_durable() {
                log_drain.is_committing = true;
                driver.commit(Root::default());
                return;
            }
            self.end_log_drain(driver);
        }
    }

    /// What the driver was asked to commit is safe.
    pub(super) fn on_committed(&mut self, driver: &mut impl Driver<P>) {
        if self.log_drain.as_ref().is_some_and(|log_drain| log_drain.is_committing) {
            self.end_log_drain(driver);
            self.finish_log_drain(driver);
        }
    }

    fn end_log_drain(&mut self, driver: &mut impl Driver<P>) {
        let written = self.log_drain.take().is_some_and(|log_drain| log_drain.is_written());
        assert!(written, "a log drain commits before all of it is written");
        self.counters.consistency_points += 1;
        driver.consistency_point_ends();
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
        let mut log_drain = LogDrain { dirty, ..LogDrain::default() };
        let runs_of = |runs: Range<u64>| [runs];
        assert!(!log_drain.take(first, &runs_of(20..24)));
        assert!(!log_drain.take(second, &runs_of(10..20)) && !log_drain.has_to_destage(second));
        assert!(log_drain.take(first, &runs_of(15..26)));
        assert_eq!(log_drain.dirty, runs(&[(10, 15), (26, 30), (40, 50)]));
        // Several runs of one destage are waited for once.
        assert!(log_drain.take(first, &[0..12, 12..100]) && !log_drain.is_written());
        log_drain.give_back(first, &runs_of(0..100));
        log_drain.dirty.insert((second, 5), 6);
        assert!(log_drain.has_to_destage(first) && log_drain.has_to_destage(second));
        assert!(log_drain.take(first, &runs_of(0..100)));
        assert!(log_drain.take(second, &runs_of(0..100)));
        (0..2).for_each(|_| log_drain.destage_ended());
        assert!(!log_drain.is_written());
        log_drain.destage_ended();
        assert!(log_drain.is_written());
    }
}
