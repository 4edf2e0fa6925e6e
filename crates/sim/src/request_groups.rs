//! A host whose requests are several operations each.

use std::collections::VecDeque;

use strewn_array::{Direction, HostOperation, LunId, OperationId};
use strewn_workload::Access;

use crate::host::{AccessesError, Host, HostMeasures, Moved, operation_of};

/// A request of several accesses to a LUN, such as one to a file whose blocks lie apart. It is answered when all of
/// them are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestGroup {
    /// Whether it reads or writes.
    pub direction: Direction,
    /// First sectors, and how many. None for a request that takes no access, which is answered at once.
    pub extents: Vec<(u64, u32)>,
}

/// A request that was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnsweredGroup {
    /// Its index among the requests that were given.
    pub request: usize,
    /// When it was issued, in nanoseconds of virtual time.
    pub issued_ns: u64,
    /// When it was answered.
    pub answered_ns: u64,
    /// Whether the array refused one of its accesses.
    pub is_refused: bool,
}

/// Called for each request as it is answered.
pub type OnAnswer = Box<dyn FnMut(AnsweredGroup)>;

/// Issues requests in order to the first LUN, and keeps a number of them outstanding until there are no more.
pub struct RequestGroups {
    requests: Vec<RequestGroup>,
    outstanding: usize,
    on_answer: OnAnswer,
    next: usize,
    /// Requests that are outstanding, in any order.
    under_way: Vec<UnderWay>,
    /// By operation, its request.
    operations: Vec<usize>,
    free: Vec<u32>,
    ready: VecDeque<HostOperation<()>>,
    now_ns: u64,
    /// Up to when outstanding requests are counted.
    counted_ns: u64,
    issued: Moved,
    measured: HostMeasures,
}

#[derive(Debug, Clone, Copy)]
struct UnderWay {
    request: usize,
    issued_ns: u64,
    left: usize,
    is_refused: bool,
}

impl RequestGroups {
    /// Keeps `outstanding` of `requests`, at least 1, at the array.
    #[must_use]
    pub fn new(requests: Vec<RequestGroup>, outstanding: u32, on_answer: OnAnswer) -> Self {
        let mut host = Self {
            requests,
            outstanding: outstanding.max(1) as usize,
            on_answer,
            next: 0,
            under_way: Vec::new(),
            operations: Vec::new(),
            free: Vec::new(),
            ready: VecDeque::new(),
            now_ns: 0,
            counted_ns: 0,
            issued: Moved::default(),
            measured: HostMeasures::new(),
        };
        host.issue(0);
        host
    }

    /// Puts the operations of further requests up to be issued.
    fn issue(&mut self, now_ns: u64) {
        while self.under_way.len() < self.outstanding && self.next < self.requests.len() {
            let request = self.next;
            self.next += 1;
            let RequestGroup { direction, extents } = &self.requests[request];
            if extents.is_empty() {
                self.measured.answered(0, 0);
                (self.on_answer)(AnsweredGroup {
                    request,
                    issued_ns: now_ns,
                    answered_ns: now_ns,
                    is_refused: false,
                });
                continue;
            }
            for &(sector, sectors) in extents {
                let slot = self.free.pop().unwrap_or_else(|| {
                    self.operations.push(0);
                    self.operations.len() as u32 - 1
                });
                self.operations[slot as usize] = request;
                let access = Access { sector, sectors, direction: *direction };
                self.ready.push_back(operation_of(OperationId(slot), LunId(0), access));
            }
            let left = extents.len();
            self.under_way.push(UnderWay { request, issued_ns: now_ns, left, is_refused: false });
        }
    }

    fn take_ready(&mut self) -> Option<HostOperation<()>> {
        let operation = self.ready.pop_front()?;
        self.issued.add(operation.sectors);
        Some(operation)
    }

    /// Counts the outstanding requests up to `now_ns`.
    fn count(&mut self, now_ns: u64) {
        self.now_ns = now_ns;
        let passed_ns = now_ns - self.counted_ns;
        self.measured.outstanding_ns += self.under_way.len() as f64 * passed_ns as f64;
        self.counted_ns = now_ns;
    }

    fn done(
        &mut self,
        now_ns: u64,
        id: OperationId,
        is_refused: bool,
    ) -> Option<HostOperation<()>> {
        self.count(now_ns);
        let request = self.operations[id.0 as usize];
        self.free.push(id.0);
        if let Some(place) = self.under_way.iter().position(|one| one.request == request) {
            let one = &mut self.under_way[place];
            one.left -= 1;
            one.is_refused |= is_refused;
            if one.left == 0 {
                let UnderWay { issued_ns, is_refused, .. } = self.under_way.swap_remove(place);
                let extents = &self.requests[request].extents;
                let sectors = extents.iter().map(|(_, sectors)| *sectors).sum();
                match is_refused {
                    true => self.measured.refused(now_ns - issued_ns),
                    false => self.measured.answered(now_ns - issued_ns, sectors),
                }
                let answered_ns = now_ns;
                (self.on_answer)(AnsweredGroup { request, issued_ns, answered_ns, is_refused });
                self.issue(now_ns);
            }
        }
        self.take_ready()
    }

    fn waited_ns(&self, now_ns: u64) -> u128 {
        self.under_way.iter().map(|one| u128::from(now_ns - one.issued_ns)).sum()
    }
}

impl Host for RequestGroups {
    fn first(&mut self) -> Option<HostOperation<()>> {
        self.take_ready()
    }

    fn next_issue_ns(&self) -> u64 {
        if self.ready.is_empty() { u64::MAX } else { self.now_ns }
    }

    fn issue_due(&mut self, now_ns: u64) -> Result<Option<HostOperation<()>>, AccessesError> {
        self.now_ns = now_ns;
        Ok(self.take_ready())
    }

    fn answered(&mut self, now_ns: u64, id: OperationId) -> Option<HostOperation<()>> {
        self.done(now_ns, id, false)
    }

    fn refused(&mut self, now_ns: u64, id: OperationId) -> Option<HostOperation<()>> {
        self.done(now_ns, id, true)
    }

    fn is_done(&self) -> bool {
        self.under_way.is_empty() && self.next == self.requests.len()
    }

    fn issued(&self) -> Moved {
        self.issued
    }

    fn answered_in_segment(&self) -> u64 {
        self.measured.operations
    }

    fn end_segment(&mut self, _start_ns: u64, end_ns: u64) -> HostMeasures {
        self.count(end_ns);
        let waited_ns = self.waited_ns(end_ns);
        let mut fresh = HostMeasures::new();
        fresh.waited_before_ns = waited_ns;
        let mut measured = std::mem::replace(&mut self.measured, fresh);
        measured.waited_after_ns = waited_ns;
        measured
    }
}
