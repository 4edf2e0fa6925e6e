//! The host: issues operations to an array, and measures their responses.

use std::error;
use std::sync::Arc;

use strewn_array::{Direction, HostOperation, LunId, OperationId};
use strewn_base::state::{SavedValue, StateError, StateReader, StateWriter};
use strewn_workload::Access;
use thiserror::Error;

use crate::client_raid::ClientRaidMeasures;
use crate::page_cache::PageCacheMeasures;
use crate::remote_clients::RemoteMeasures;
use crate::response_histogram::ResponseHistogram;
use crate::segment::{Laws, Response, ratio, relative};

/// Why there can be no such host.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum HostError {
    /// A page cache has less than a page.
    #[error("a page cache and its requests have at least one page, 4 KiB")]
    NoPage,
    /// No request of a page cache may be outstanding.
    #[error("a page cache has at least one request that writes outstanding")]
    NoRequest,
    /// A share of a page cache that is none.
    #[error("{0} % of a page cache cannot be dirty: 1 to 100 % can")]
    DirtyShare(u32),
    /// No time between two looks of a page cache.
    #[error("a page cache wakes up after some time, not after none")]
    NoWakeUp,
    /// There is no client, or no file.
    #[error("there is no {0}: give at least one")]
    None(&'static str),
    /// Requests of clients would be empty.
    #[error("requests to blades are of no sectors: give at least 1")]
    EmptyRequests,
    /// Files are on different numbers of blades.
    #[error("files are on {0} and on {1} blades: all are on the same")]
    Blades(u16, u16),
    /// A blade is lost that does not exist.
    #[error("blade {lost} is lost, and there are {blades}, from 0")]
    NoBlade {
        /// Number of the blade, counted from 0.
        lost: u16,
        /// The number of blades.
        blades: u16,
    },
    /// LUN numbers have 16 bits.
    #[error(
        "{clients} clients with {files} files on {blades} blades have more than 65,535 objects"
    )]
    TooMany {
        /// Clients.
        clients: usize,
        /// Files of each.
        files: usize,
        /// Blades.
        blades: u16,
    },
}

/// Why there is no next access.
pub type AccessesError = Box<dyn error::Error + Send + Sync>;

/// Issues operations to an array and receives their answers.
///
/// [`ClosedLoop`](crate::ClosedLoop) is the plain one, [`Workers`](crate::Workers) the general one. A simulation is
/// compiled for each, so that the plain loop pays nothing for what the other can do.
///
/// A host of your own keeps a [`Recorder`](crate::Recorder), which numbers and measures its operations: then five of
/// these methods are a line each, and [the front page](crate#a-host-of-your-own) has such a host. It issues its first
/// operations in [`first`](Self::first), or by the clock.
pub trait Host {
    /// Begins a segment. Segments are counted from 1. By default nothing changes with it.
    fn begin_segment(&mut self, _now_ns: u64, _index: u32) {}

    /// Returns the next operation to issue at time zero; `None` when there are no more. By default there is none.
    fn first(&mut self) -> Option<HostOperation<()>> {
        None
    }

    /// Returns when the host next issues an operation by the clock; `u64::MAX` for never, the default.
    fn next_issue_ns(&self) -> u64 {
        u64::MAX
    }

    /// Issues the operation due at `now_ns`, if there is one. By default none is.
    ///
    /// # Errors
    /// If the next access cannot be read.
    fn issue_due(&mut self, _now_ns: u64) -> Result<Option<HostOperation<()>>, AccessesError> {
        Ok(None)
    }

    /// Records that operation `id` is answered. Returns the operation that the host issues at once in reply.
    fn answered(&mut self, now_ns: u64, id: OperationId) -> Option<HostOperation<()>>;

    /// Records that the array refused operation `id`. Returns the operation that the host issues at once in reply.
    fn refused(&mut self, now_ns: u64, id: OperationId) -> Option<HostOperation<()>>;

    /// Returns an access that will be issued soon, and its LUN, for the array to prefetch from memory. It changes the
    /// speed of a simulation, never its results. By default there is none.
    fn prefetch_hint(&self) -> Option<(LunId, Access)> {
        None
    }

    /// Returns whether the host has nothing more to issue and everything is answered. By default it never is.
    fn is_done(&self) -> bool {
        false
    }

    /// Returns whether the host issues nothing at `now_ns` or later, so that the rest of the run only drains what is
    /// outstanding. By default it always issues more.
    fn issues_no_more(&self, _now_ns: u64) -> bool {
        false
    }

    /// Returns the operations issued since the beginning.
    fn issued(&self) -> Moved;

    /// Returns the operations answered since the segment began.
    fn answered_in_segment(&self) -> u64;

    /// Ends the segment from `start_ns` to `end_ns` and returns its measurements.
    fn end_segment(&mut self, start_ns: u64, end_ns: u64) -> HostMeasures;

    /// Saves the state, to be restored into a host built alike. By default, a host cannot be saved.
    ///
    /// # Errors
    /// [`StateError::NotSaved`], and if it cannot be written.
    fn save_state(&self, _to: &mut StateWriter<'_>) -> Result<(), StateError> {
        Err(StateError::NotSaved("this host"))
    }

    /// Replaces the state by one that was saved.
    ///
    /// # Errors
    /// If it is not that of such a host.
    fn restore_state(&mut self, _from: &mut StateReader<'_>) -> Result<(), StateError> {
        Err(StateError::NotSaved("this host"))
    }
}

/// A count of operations or commands, and of the sectors that they moved.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, SavedValue)]
pub struct Moved {
    /// Number of operations or commands.
    pub count: u64,
    /// Sectors that they moved.
    pub sectors: u64,
}

impl Moved {
    #[inline]
    pub(crate) fn add(&mut self, sectors: u32) {
        self.count += 1;
        self.sectors += u64::from(sectors);
    }

    pub(crate) fn since(&self, earlier: Moved) -> Moved {
        Moved { count: self.count - earlier.count, sectors: self.sectors - earlier.sectors }
    }
}

/// What a host measured in a segment.
#[derive(Debug, Clone, SavedValue)]
pub struct HostMeasures {
    /// Operations answered.
    pub operations: u64,
    /// Sectors of 512 bytes that these read or wrote.
    pub sectors: u64,
    /// Sum of their response times.
    pub response_sum_ns: u128,
    /// Their response times, within 0.1 %.
    pub response: ResponseHistogram,
    /// The longest of them, exactly.
    pub longest_ns: u64,
    /// Operations refused. They count as neither answered nor moved.
    pub refused: u64,
    /// How long these had waited, summed.
    pub refused_wait_ns: u128,
    /// How long operations had waited that workers left behind when their time was over ([`Worker::measures_late`]),
    /// summed. They count as neither answered nor moved.
    ///
    /// [`Worker::measures_late`]: crate::Worker::measures_late
    pub late_wait_ns: u128,
    /// Time that the operations outstanding at the segment's beginning had waited by then, summed.
    pub waited_before_ns: u128,
    /// Time that the operations outstanding at its end had waited by then, summed.
    pub waited_after_ns: u128,
    /// Integral of the number outstanding over time, counted by issues and answers and not from response times.
    pub outstanding_ns: f64,
    /// Reads and writes separately, if the host keeps them.
    pub by_direction: Option<Box<[DirectionMeasures; 2]>>,
    /// Each of several workloads separately, if the host has them.
    pub by_workload: Vec<WorkloadMeasures>,
    /// What its page cache did, if it has one.
    pub page_cache: Option<Box<PageCacheMeasures>>,
    /// What it did as clients that compute parity, if it is them.
    pub client_raid: Option<Box<ClientRaidMeasures>>,
    /// What lay between it and clients of its own, if it is a gateway.
    pub remote: Option<Box<RemoteMeasures>>,
}

/// What a host measured of one of its workloads in a segment.
#[derive(Debug, Clone, SavedValue)]
pub struct WorkloadMeasures {
    /// Name of the workload in the scenario.
    pub name: Arc<str>,
    /// The response times of its operations; known once the segment has ended.
    pub response: Response,
    /// Its reads and its writes.
    pub by_direction: Box<[DirectionMeasures; 2]>,
}

/// What a host measured of reads, or of writes, in a segment.
#[derive(Debug, Clone, SavedValue)]
pub struct DirectionMeasures {
    /// Operations answered, and their sectors.
    pub answered: Moved,
    /// Their response times, summed.
    pub response_sum_ns: u128,
    /// Shortest response time; 0 if there are none.
    pub least_ns: u64,
    /// Longest response time.
    pub most_ns: u64,
    /// 95th percentile, within 0.1 %; known once the segment has ended.
    pub p95_ns: u64,
    /// All response times, within 0.1 %; `None` after [`Segment::forget_responses`].
    ///
    /// [`Segment::forget_responses`]: crate::Segment::forget_responses
    pub response: Option<ResponseHistogram>,
}

impl DirectionMeasures {
    /// Creates the measures of reads and of writes of which none is answered yet.
    fn both() -> Box<[Self; 2]> {
        Box::new(std::array::from_fn(|_| Self {
            answered: Moved::default(),
            response_sum_ns: 0,
            least_ns: 0,
            most_ns: 0,
            p95_ns: 0,
            response: Some(ResponseHistogram::default()),
        }))
    }

    fn answered(&mut self, response_ns: u64, sectors: u32) {
        let first = self.answered.count == 0;
        self.answered.add(sectors);
        self.response_sum_ns += u128::from(response_ns);
        self.least_ns = if first { response_ns } else { self.least_ns.min(response_ns) };
        self.most_ns = self.most_ns.max(response_ns);
        if let Some(response) = &mut self.response {
            response.record(response_ns);
        }
    }

    fn close(&mut self) {
        let response = self.response.as_ref();
        let p95_ns = response.map_or(0, |response| response.quantile(0.95));
        // Within 0.1 %, and the longest is known exactly.
        self.p95_ns = p95_ns.min(self.most_ns);
    }
}

impl WorkloadMeasures {
    pub(crate) fn new(name: Arc<str>) -> Self {
        Self { name, response: Response::default(), by_direction: DirectionMeasures::both() }
    }

    pub(crate) fn answered_in(&mut self, direction: Direction, response_ns: u64, sectors: u32) {
        self.by_direction[direction as usize].answered(response_ns, sectors);
    }

    fn close(&mut self) {
        let mut both = ResponseHistogram::default();
        let (mut operations, mut sum_ns) = (0, 0);
        for measures in self.by_direction.iter_mut() {
            measures.close();
            operations += measures.answered.count;
            sum_ns += measures.response_sum_ns;
            measures.response.iter().for_each(|response| both.add(response));
        }
        let [reads, writes] = &*self.by_direction;
        let longest_ns = reads.most_ns.max(writes.most_ns);
        self.response = Response::of(&both, sum_ns, operations, longest_ns);
    }
}

impl HostMeasures {
    pub(crate) fn new() -> Self {
        Self {
            operations: 0,
            sectors: 0,
            response_sum_ns: 0,
            response: ResponseHistogram::default(),
            longest_ns: 0,
            refused: 0,
            refused_wait_ns: 0,
            late_wait_ns: 0,
            waited_before_ns: 0,
            waited_after_ns: 0,
            outstanding_ns: 0.0,
            by_direction: None,
            by_workload: Vec::new(),
            page_cache: None,
            client_raid: None,
            remote: None,
        }
    }

    /// Creates measures as [`new`](Self::new) does, with reads and writes measured separately.
    pub(crate) fn by_direction() -> Self {
        Self { by_direction: Some(DirectionMeasures::both()), ..Self::new() }
    }

    #[inline]
    pub(crate) fn answered(&mut self, response_ns: u64, sectors: u32) {
        self.operations += 1;
        self.sectors += u64::from(sectors);
        self.response_sum_ns += u128::from(response_ns);
        self.response.record(response_ns);
        self.longest_ns = self.longest_ns.max(response_ns);
    }

    pub(crate) fn refused(&mut self, waited_ns: u64) {
        self.refused += 1;
        self.refused_wait_ns += u128::from(waited_ns);
    }

    pub(crate) fn answered_in(&mut self, direction: Direction, response_ns: u64, sectors: u32) {
        self.answered(response_ns, sectors);
        if let Some(by_direction) = &mut self.by_direction {
            by_direction[direction as usize].answered(response_ns, sectors);
        }
    }

    /// Computes the percentiles once the segment has ended. The driver of a [`Host`] calls it once.
    pub fn close(&mut self) {
        let both = self.by_direction.iter_mut().flat_map(|both| both.iter_mut());
        both.for_each(DirectionMeasures::close);
        self.by_workload.iter_mut().for_each(WorkloadMeasures::close);
    }
}

impl HostMeasures {
    /// Summarizes the response times.
    #[must_use]
    pub fn response_times(&self) -> Response {
        Response::of(&self.response, self.response_sum_ns, self.operations, self.longest_ns)
    }

    /// Returns the deviation from Little's law. The utilization law is left at zero.
    #[must_use]
    pub fn littles_law(&self) -> Laws {
        let under_way_ns = difference(self.waited_after_ns, self.waited_before_ns);
        let response_sum_ns =
            (self.response_sum_ns + self.refused_wait_ns + self.late_wait_ns) as f64;
        Laws {
            littles_law_error: relative(response_sum_ns, self.outstanding_ns),
            under_way: ratio(under_way_ns, self.outstanding_ns).abs(),
            littles_law_unexplained: relative(response_sum_ns + under_way_ns, self.outstanding_ns),
            ..Laws::default()
        }
    }
}

/// Subtracts as integers. Each sum is exact; in floating point the difference of two large sums would not be.
fn difference(after: u128, before: u128) -> f64 {
    if after >= before { (after - before) as f64 } else { -((before - after) as f64) }
}

#[inline]
pub(crate) fn operation_of(id: OperationId, lun: LunId, access: Access) -> HostOperation<()> {
    let Access { sector: first_sector, sectors, direction } = access;
    HostOperation { id, lun, direction, first_sector, sectors, payload: () }
}
