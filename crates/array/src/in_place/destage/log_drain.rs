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

use crate::driver::Driver;
use crate::payload::Payload;
use crate::root::Root;

use super::super::context::{Context, Next};
use super::Destaging;

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

impl<P: Payload> Destaging<P> {
    pub(crate) fn has_log_drain(&self) -> bool {
        self.log_drain.is_some()
    }

    /// Begins a log drain with all that is dirty.
    pub(crate) fn open_log_drain(&mut self, cx: &mut Context<'_, P, impl Driver<P>>) {
        assert!(self.log_drain.is_none(), "a log drain begins while another is in progress");
        cx.driver.consistency_point_begins();
        cx.memory.log_has_records = false;
        let mut log_drain = LogDrain::default();
        for (index, group) in self.groups.indices().zip(self.groups.iter_mut()) {
            // What is dirty beside being on its way is newer than what is on its way: it goes out once more.
            for destage in group.destages.iter_mut() {
                destage.of_log_drain = true;
            }
            log_drain.destages += group.destages.len();
            let runs = cx.memory.groups[index].cache.dirty_runs();
            log_drain.dirty.extend(runs.map(|run| ((index, run.start), run.end)));
        }
        self.log_drain = Some(Box::new(log_drain));
    }

    /// Ends the drain if all of it is written: in the durable format, once the driver has committed it.
    pub(crate) fn finish_log_drain(&mut self, cx: &mut Context<'_, P, impl Driver<P>>) {
        let Some(log_drain) = &mut self.log_drain else { return };
        if log_drain.is_committing || !log_drain.is_written() {
            return;
        }
        if cx.space.config.format.is_durable() {
            log_drain.is_committing = true;
            cx.driver.commit(Root::default());
        } else {
            self.end_log_drain(cx);
        }
    }

    /// What the driver was asked to commit is safe.
    pub(crate) fn on_committed(&mut self, cx: &mut Context<'_, P, impl Driver<P>>) {
        if self.log_drain.as_ref().is_some_and(|log_drain| log_drain.is_committing) {
            self.end_log_drain(cx);
        }
    }

    /// The half of the log that it drained is free: writes that waited for it may begin the next drain.
    fn end_log_drain(&mut self, cx: &mut Context<'_, P, impl Driver<P>>) {
        let written = self.log_drain.take().is_some_and(|log_drain| log_drain.is_written());
        assert!(written, "a log drain commits before all of it is written");
        cx.counters.consistency_points += 1;
        cx.driver.consistency_point_ends();
        cx.then(Next::AdmitWaiting);
        cx.then(Next::Destage);
        cx.then(Next::FinishLogDrain);
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
