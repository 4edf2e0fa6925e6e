//! The plain host: a constant number of operations outstanding, each replaced the moment it is answered.

use strewn_array::{HostOperation, LunId, OperationId};
use strewn_base::state::{SavedState, StateError, StateReader, StateWriter};
use strewn_workload::{Access, AccessStream};

use crate::host::{Host, HostMeasures, Moved, operation_of};

/// Accesses drawn ahead of the one issued. They cover some microseconds, many times the latency of memory.
const DRAWN_AHEAD: usize = 16;

/// Iometer's closed loop: no think time, a fixed number of operations outstanding.
#[derive(Debug)]
pub struct ClosedLoop {
    stream: AccessStream,
    /// Accesses drawn ahead, in a ring, so that the array can prefetch for them.
    drawn: [Access; DRAWN_AHEAD],
    next: usize,
    /// When the operation of each slot was issued, and how many sectors it moves.
    issued: Vec<(u64, u32)>,
    started: u32,
    /// Operations answered or refused up to the end of the last segment.
    answered: u64,
    /// Operations issued and their sectors, since the beginning.
    issued_moved: Moved,
    measured: HostMeasures,
}

impl ClosedLoop {
    /// Keeps `outstanding` operations outstanding, drawn from `stream`.
    #[must_use]
    pub fn new(mut stream: AccessStream, outstanding: u32) -> Self {
        Self {
            drawn: std::array::from_fn(|_| stream.next_access()),
            next: 0,
            stream,
            issued: vec![(0, 0); outstanding as usize],
            started: 0,
            answered: 0,
            issued_moved: Moved::default(),
            measured: HostMeasures::new(),
        }
    }

    /// Draws the operation for a free slot.
    #[inline(always)]
    fn issue(&mut self, now_ns: u64, id: OperationId) -> HostOperation<()> {
        let access = std::mem::replace(&mut self.drawn[self.next], self.stream.next_access());
        self.next = (self.next + 1) % DRAWN_AHEAD;
        self.issued_moved.add(access.sectors);
        self.issued[id.0 as usize] = (now_ns, access.sectors);
        operation_of(id, LunId(0), access)
    }

    /// Returns the summed wait of the outstanding operations by `now_ns`. Every slot is outstanding.
    fn waited_ns(&self, now_ns: u64) -> u128 {
        self.issued.iter().map(|(issued_ns, _)| u128::from(now_ns - issued_ns)).sum()
    }
}

impl Host for ClosedLoop {
    fn first(&mut self) -> Option<HostOperation<()>> {
        let id = OperationId(self.started);
        if id.0 as usize == self.issued.len() {
            return None;
        }
        self.started += 1;
        Some(self.issue(0, id))
    }

    #[inline(always)]
    fn answered(&mut self, now_ns: u64, id: OperationId) -> Option<HostOperation<()>> {
        let (issued_ns, sectors) = self.issued[id.0 as usize];
        self.measured.answered(now_ns - issued_ns, sectors);
        Some(self.issue(now_ns, id))
    }

    fn refused(&mut self, now_ns: u64, id: OperationId) -> Option<HostOperation<()>> {
        let (issued_ns, _) = self.issued[id.0 as usize];
        self.measured.refused(now_ns - issued_ns);
        Some(self.issue(now_ns, id))
    }

    /// Returns the access drawn last, which is issued after the others drawn ahead.
    #[inline]
    fn prefetch_hint(&self) -> Option<(LunId, Access)> {
        Some((LunId(0), self.drawn[(self.next + DRAWN_AHEAD - 1) % DRAWN_AHEAD]))
    }

    fn issued(&self) -> Moved {
        self.issued_moved
    }

    fn answered_in_segment(&self) -> u64 {
        self.measured.operations
    }

    fn end_segment(&mut self, start_ns: u64, end_ns: u64) -> HostMeasures {
        self.answered += self.measured.operations + self.measured.refused;
        assert_eq!(
            self.issued_moved.count - self.answered,
            self.issued.len() as u64,
            "operations issued and not answered, and the operations that a closed loop keeps outstanding"
        );
        let waited_ns = self.waited_ns(end_ns);
        let mut fresh = HostMeasures::new();
        fresh.waited_before_ns = waited_ns;
        let mut measured = std::mem::replace(&mut self.measured, fresh);
        measured.waited_after_ns = waited_ns;
        measured.outstanding_ns = self.issued.len() as f64 * (end_ns - start_ns) as f64;
        measured
    }

    fn save_state(&self, to: &mut StateWriter<'_>) -> Result<(), StateError> {
        self.save(to)
    }

    fn restore_state(&mut self, from: &mut StateReader<'_>) -> Result<(), StateError> {
        self.restore(from)
    }
}

strewn_base::saved_state! {
    impl for ClosedLoop {
        parts: stream;
        values: drawn, next, issued, started, answered, issued_moved, measured;
        built:;
    }
}
