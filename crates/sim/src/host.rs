//! The host: a constant number of operations outstanding, each replaced the moment it is answered.

use hdrhistogram::Histogram;
use strewn_array::{Direction, HostOperation, OperationId};
use strewn_workload::{AccessStream, Operation};

/// Longest response time that is told apart from longer ones: half an hour.
const LONGEST_NS: u64 = 1_800_000_000_000;

/// Iometer's closed loop: no think time, a fixed number of operations outstanding.
pub(crate) struct Host {
    stream: AccessStream,
    /// When the operation of each slot was issued, and how many sectors it moves.
    issued: Vec<(u64, u32)>,
    pub(crate) measured: HostMeasures,
}

/// What the host has seen since the segment began.
pub(crate) struct HostMeasures {
    pub(crate) operations: u64,
    pub(crate) reads: u64,
    pub(crate) sectors: u64,
    pub(crate) response_sum_ns: u128,
    pub(crate) response: Histogram<u64>,
    /// Integral of the number of operations outstanding over time, from the moments at which it changed.
    outstanding_ns: u128,
    outstanding: u64,
    changed_ns: u64,
    /// What the operations outstanding as the segment began had waited by then, summed.
    waited_before_ns: u128,
}

impl HostMeasures {
    fn new() -> Self {
        let histogram = Histogram::new_with_bounds(1_000, LONGEST_NS, 3);
        Self {
            operations: 0,
            reads: 0,
            sectors: 0,
            response_sum_ns: 0,
            // The bounds are constants that the histogram accepts.
            response: histogram.unwrap_or_else(|error| unreachable!("{error}")),
            outstanding_ns: 0,
            outstanding: 0,
            changed_ns: 0,
            waited_before_ns: 0,
        }
    }

    fn outstanding_changes(&mut self, now_ns: u64) {
        self.outstanding_ns += u128::from(self.outstanding) * u128::from(now_ns - self.changed_ns);
        self.changed_ns = now_ns;
    }

    /// Operation-nanoseconds outstanding, up to `now_ns`.
    pub(crate) fn outstanding_ns(&self, now_ns: u64) -> u128 {
        self.outstanding_ns + u128::from(self.outstanding) * u128::from(now_ns - self.changed_ns)
    }
}

impl Host {
    pub(crate) fn new(stream: AccessStream, outstanding: u32) -> Self {
        Self { stream, issued: vec![(0, 0); outstanding as usize], measured: HostMeasures::new() }
    }

    pub(crate) fn slots(&self) -> impl Iterator<Item = OperationId> + use<> {
        (0..self.issued.len() as u32).map(OperationId)
    }

    /// Draws the operation of a free slot.
    #[inline]
    pub(crate) fn issue(&mut self, now_ns: u64, id: OperationId) -> HostOperation<()> {
        let access = self.stream.next_access();
        self.measured.outstanding_changes(now_ns);
        self.measured.outstanding += 1;
        self.issued[id.0 as usize] = (now_ns, access.sectors);
        let direction = match access.operation {
            Operation::Read => {
                self.measured.reads += 1;
                Direction::Read
            }
            Operation::Write => Direction::Write,
        };
        let (first_sector, sectors) = (access.sector, access.sectors);
        HostOperation { id, direction, first_sector, sectors, payload: () }
    }

    /// An operation is answered.
    #[inline]
    pub(crate) fn answered(&mut self, now_ns: u64, id: OperationId) {
        let (issued_ns, sectors) = self.issued[id.0 as usize];
        let response_ns = now_ns - issued_ns;
        let measured = &mut self.measured;
        measured.outstanding_changes(now_ns);
        measured.outstanding -= 1;
        measured.operations += 1;
        measured.sectors += u64::from(sectors);
        measured.response_sum_ns += u128::from(response_ns);
        measured.response.saturating_record(response_ns);
    }

    /// What the operations outstanding have waited up to `now_ns`, summed. Every slot is outstanding: the loop is
    /// closed.
    fn waited_ns(&self, now_ns: u64) -> u128 {
        self.issued.iter().map(|(issued_ns, _)| u128::from(now_ns - issued_ns)).sum()
    }

    /// Response time spent within the segment that ends at `now_ns`: of the operations answered, less what they had
    /// waited before it began, and of those still outstanding what they have waited.
    pub(crate) fn response_within_ns(&self, now_ns: u64) -> u128 {
        self.measured.response_sum_ns + self.waited_ns(now_ns) - self.measured.waited_before_ns
    }

    /// Begins a new segment at `now_ns`; what the last one measured.
    pub(crate) fn next_segment(&mut self, now_ns: u64) -> HostMeasures {
        let mut fresh = HostMeasures::new();
        fresh.waited_before_ns = self.waited_ns(now_ns);
        fresh.outstanding = self.measured.outstanding;
        fresh.changed_ns = now_ns;
        self.measured.outstanding_changes(now_ns);
        std::mem::replace(&mut self.measured, fresh)
    }
}
