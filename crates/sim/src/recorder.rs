//! What a host of one's own needs besides its decisions: operation numbers, times, and the measures of a segment.

use std::collections::BTreeMap;

use strewn_array::{HostOperation, LunId, OperationId};
use strewn_base::state::SavedValue;
use strewn_workload::Access;

use crate::host::{HostMeasures, Moved, operation_of};

/// Numbers the operations of a [`Host`](crate::Host), remembers when each was issued, and measures segments.
///
/// A host decides where accesses go and what follows an answer; its recorder does the rest. Of the operations that
/// follow at once, [`Host::answered`] returns one, made by [`issue`](Self::issue). [`schedule`](Self::schedule) is for
/// the others, and for those that are due later: [`next_issue_ns`](Self::next_issue_ns) and
/// [`issue_due`](Self::issue_due) are then the host's methods of these names. [The front
/// page](crate#a-host-of-your-own) has a host.
///
/// Response times run from the moment at which an operation is issued. Reads and writes are measured separately too.
/// The number outstanding is counted by issues and answers, so that Little's law tests the response times.
///
/// [`Host::answered`]: crate::Host::answered
#[derive(Debug, Clone, SavedValue)]
pub struct Recorder {
    /// By operation number.
    slots: Vec<Option<Slot>>,
    free: Vec<u32>,
    /// By the time at which they are due, and in the order in which they were scheduled.
    scheduled: BTreeMap<(u64, u64), HostOperation<()>>,
    sequence: u64,
    issued: Moved,
    measured: HostMeasures,
    outstanding: u32,
    /// Integral of the number outstanding over time, from the start of the segment to `counted_ns`.
    outstanding_ns: u128,
    counted_ns: u64,
}

/// An operation that is outstanding.
#[derive(Debug, Clone, Copy, SavedValue)]
struct Slot {
    issued_ns: u64,
    lun: LunId,
    access: Access,
}

/// An operation that has ended: it was answered or refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ended {
    /// Its LUN.
    pub lun: LunId,
    /// What it read or wrote.
    pub access: Access,
    /// When it was issued, in nanoseconds of virtual time.
    pub issued_ns: u64,
    /// How long it took.
    pub response_ns: u64,
}

impl Default for Recorder {
    fn default() -> Self {
        Self::new()
    }
}

impl Recorder {
    /// Creates a recorder of which no operation is outstanding.
    #[must_use]
    pub fn new() -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            scheduled: BTreeMap::new(),
            sequence: 0,
            issued: Moved::default(),
            measured: HostMeasures::by_direction(),
            outstanding: 0,
            outstanding_ns: 0,
            counted_ns: 0,
        }
    }

    /// Issues an operation at `now_ns`. The caller hands it to the array: it is what the host's method returns.
    ///
    /// # Panics
    /// If the access has no sectors, or `now_ns` is earlier than in another call.
    #[must_use]
    pub fn issue(&mut self, now_ns: u64, lun: LunId, access: Access) -> HostOperation<()> {
        let operation = operation_of(self.number(), lun, access);
        self.begin(now_ns, &operation);
        operation
    }

    /// Schedules an operation to be issued at `at_ns`, or at once if that time has passed. Returns the number that it
    /// will have.
    ///
    /// # Panics
    /// If the access has no sectors.
    pub fn schedule(&mut self, at_ns: u64, lun: LunId, access: Access) -> OperationId {
        assert!(access.sectors > 0, "an access has at least one sector");
        let operation = operation_of(self.number(), lun, access);
        let id = operation.id;
        self.scheduled.insert((at_ns, self.sequence), operation);
        self.sequence += 1;
        id
    }

    /// Returns when the next scheduled operation is due; `u64::MAX` without any.
    #[must_use]
    pub fn next_issue_ns(&self) -> u64 {
        let first = self.scheduled.first_key_value();
        first.map_or(u64::MAX, |((at_ns, _), _)| (*at_ns).max(self.counted_ns))
    }

    /// Issues the scheduled operation that is due at `now_ns`, if there is one. Those due at the same time are issued
    /// in the order in which they were scheduled.
    ///
    /// # Panics
    /// If `now_ns` is earlier than in another call.
    pub fn issue_due(&mut self, now_ns: u64) -> Option<HostOperation<()>> {
        let first = self.scheduled.first_entry().filter(|first| first.key().0 <= now_ns)?;
        let operation = first.remove();
        self.begin(now_ns, &operation);
        Some(operation)
    }

    /// Records that operation `id` is answered, and returns what it was.
    ///
    /// # Panics
    /// If it is not outstanding, or `now_ns` is earlier than in another call.
    pub fn answered(&mut self, now_ns: u64, id: OperationId) -> Ended {
        let ended = self.end(now_ns, id);
        let Access { direction, sectors, .. } = ended.access;
        self.measured.answered_in(direction, ended.response_ns, sectors);
        ended
    }

    /// Records that the array refused operation `id`, and returns what it was.
    ///
    /// # Panics
    /// If it is not outstanding, or `now_ns` is earlier than in another call.
    pub fn refused(&mut self, now_ns: u64, id: OperationId) -> Ended {
        let ended = self.end(now_ns, id);
        self.measured.refused(ended.response_ns);
        ended
    }

    /// Returns the operations issued since the beginning.
    #[must_use]
    pub fn issued(&self) -> Moved {
        self.issued
    }

    /// Returns the operations answered since the segment began.
    #[must_use]
    pub fn answered_in_segment(&self) -> u64 {
        self.measured.operations
    }

    /// Returns the operations that are issued and have not ended.
    #[must_use]
    pub fn outstanding(&self) -> u32 {
        self.outstanding
    }

    /// Returns whether no operation is outstanding or scheduled.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.outstanding == 0 && self.scheduled.is_empty()
    }

    /// Ends the segment at `end_ns`, begins the next, and returns the measures.
    ///
    /// # Panics
    /// If `end_ns` is earlier than in another call.
    pub fn end_segment(&mut self, end_ns: u64) -> HostMeasures {
        self.count(end_ns);
        let outstanding = self.slots.iter().flatten();
        let waited_ns = outstanding.map(|slot| u128::from(end_ns - slot.issued_ns)).sum();
        let mut fresh = HostMeasures::by_direction();
        fresh.waited_before_ns = waited_ns;
        let mut measured = std::mem::replace(&mut self.measured, fresh);
        measured.waited_after_ns = waited_ns;
        measured.outstanding_ns = std::mem::take(&mut self.outstanding_ns) as f64;
        measured
    }

    /// Returns a number that no operation has.
    fn number(&mut self) -> OperationId {
        OperationId(self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() as u32 - 1
        }))
    }

    fn begin(&mut self, now_ns: u64, operation: &HostOperation<()>) {
        let HostOperation { id, lun, direction, first_sector: sector, sectors, .. } = *operation;
        assert!(sectors > 0, "an access has at least one sector");
        self.count(now_ns);
        self.outstanding += 1;
        self.issued.add(sectors);
        let access = Access { sector, sectors, direction };
        self.slots[id.0 as usize] = Some(Slot { issued_ns: now_ns, lun, access });
    }

    fn end(&mut self, now_ns: u64, id: OperationId) -> Ended {
        let slot = self.slots.get_mut(id.0 as usize).and_then(Option::take);
        let Some(Slot { issued_ns, lun, access }) = slot else {
            panic!("operation {} is not outstanding", id.0);
        };
        self.count(now_ns);
        self.outstanding -= 1;
        self.free.push(id.0);
        Ended { lun, access, issued_ns, response_ns: now_ns - issued_ns }
    }

    /// Counts the outstanding operations up to `now_ns`.
    fn count(&mut self, now_ns: u64) {
        assert!(
            now_ns >= self.counted_ns,
            "time goes back from {} to {now_ns} ns",
            self.counted_ns
        );
        let passed_ns = now_ns - std::mem::replace(&mut self.counted_ns, now_ns);
        self.outstanding_ns += u128::from(self.outstanding) * u128::from(passed_ns);
    }
}
