//! The host: a constant number of operations outstanding, each replaced the moment it is answered.

use hdrhistogram::Histogram;
use strewn_array::{Direction, HostOperation, OperationId};
use strewn_workload::{Access, AccessStream, Operation};

use crate::world::Moved;

/// Longest response time that is told apart from longer ones: half an hour.
const LONGEST_NS: u64 = 1_800_000_000_000;

/// Accesses drawn ahead of the one that is issued: some microseconds, in which memory answers many times over.
const DRAWN_AHEAD: usize = 16;

/// Iometer's closed loop: no think time, a fixed number of operations outstanding.
pub(crate) struct Host {
    stream: AccessStream,
    /// Accesses drawn ahead, in a ring, so that the array can be told of them before they are issued.
    drawn: [Access; DRAWN_AHEAD],
    next: usize,
    /// When the operation of each slot was issued, and how many sectors it moves.
    issued: Vec<(u64, u32)>,
    /// Operations issued and their sectors, since the beginning.
    pub(crate) issued_moved: Moved,
    pub(crate) measured: HostMeasures,
}

/// What the host has seen since the segment began.
pub(crate) struct HostMeasures {
    pub(crate) operations: u64,
    pub(crate) sectors: u64,
    pub(crate) response_sum_ns: u128,
    pub(crate) response: Histogram<u64>,
    /// What the operations outstanding as the segment began had waited by then, summed.
    waited_before_ns: u128,
}

impl HostMeasures {
    fn new() -> Self {
        let histogram = Histogram::new_with_bounds(1_000, LONGEST_NS, 3);
        Self {
            operations: 0,
            sectors: 0,
            response_sum_ns: 0,
            // The bounds are constants that the histogram accepts.
            response: histogram.unwrap_or_else(|error| unreachable!("{error}")),
            waited_before_ns: 0,
        }
    }
}

#[inline]
pub(crate) fn direction_of(operation: Operation) -> Direction {
    match operation {
        Operation::Read => Direction::Read,
        Operation::Write => Direction::Write,
    }
}

impl Host {
    pub(crate) fn new(mut stream: AccessStream, outstanding: u32) -> Self {
        Self {
            drawn: std::array::from_fn(|_| stream.next_access()),
            next: 0,
            stream,
            issued: vec![(0, 0); outstanding as usize],
            issued_moved: Moved::default(),
            measured: HostMeasures::new(),
        }
    }

    pub(crate) fn slots(&self) -> impl Iterator<Item = OperationId> + use<> {
        (0..self.issued.len() as u32).map(OperationId)
    }

    /// Draws the operation of a free slot.
    #[inline]
    pub(crate) fn issue(&mut self, now_ns: u64, id: OperationId) -> HostOperation<()> {
        let access = std::mem::replace(&mut self.drawn[self.next], self.stream.next_access());
        self.next = (self.next + 1) % DRAWN_AHEAD;
        self.issued_moved.add(access.sectors);
        self.issued[id.0 as usize] = (now_ns, access.sectors);
        let direction = direction_of(access.operation);
        let (first_sector, sectors) = (access.sector, access.sectors);
        HostOperation { id, direction, first_sector, sectors, payload: () }
    }

    /// The access drawn last: it will be issued after the others that were drawn ahead.
    #[inline]
    pub(crate) fn latest_drawn(&self) -> Access {
        self.drawn[(self.next + DRAWN_AHEAD - 1) % DRAWN_AHEAD]
    }

    /// An operation is answered.
    #[inline]
    pub(crate) fn answered(&mut self, now_ns: u64, id: OperationId) {
        let (issued_ns, sectors) = self.issued[id.0 as usize];
        let response_ns = now_ns - issued_ns;
        let measured = &mut self.measured;
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

    /// How much the response times of the operations answered in the segment that ends at `now_ns` differ from the
    /// time that operations spent in it, because some began before it and some end after it.
    pub(crate) fn under_way_ns(&self, now_ns: u64) -> u128 {
        self.measured.waited_before_ns.abs_diff(self.waited_ns(now_ns))
    }

    /// Begins a new segment at `now_ns`; what the last one measured.
    pub(crate) fn next_segment(&mut self, now_ns: u64) -> HostMeasures {
        let mut fresh = HostMeasures::new();
        fresh.waited_before_ns = self.waited_ns(now_ns);
        std::mem::replace(&mut self.measured, fresh)
    }
}
