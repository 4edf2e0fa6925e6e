//! The general host: workers, each with its own accesses, depth, pace and end.

use std::sync::Arc;

use strewn_array::{Direction, HostOperation, LunId, OperationId};
use strewn_base::state::{SavedState, SavedValue, StateError, StateReader, StateWriter};
use strewn_workload::{Access, PatternStream};

use crate::host::{AccessesError, Host, HostMeasures, Moved, WorkloadMeasures, operation_of};
use crate::pace::{Rate, Schedule};

/// Where a worker's accesses come from.
pub trait Accesses: Send {
    /// Returns the next access; `None` when there are no more.
    ///
    /// # Errors
    /// If it cannot be read, for example from a damaged file.
    fn next_access(&mut self) -> Result<Option<TimedAccess>, AccessesError>;

    /// Returns an access of the other direction, to be issued before `drawn`, which is ahead of its direction's rate
    /// and will come later. By default there is no choice, and `drawn` itself comes next.
    ///
    /// # Errors
    /// As [`next_access`](Self::next_access).
    fn exchange(&mut self, drawn: TimedAccess) -> Result<TimedAccess, AccessesError> {
        Ok(drawn)
    }

    /// Returns which of the worker's [`destinations`](Worker::destinations) the access drawn last is for.
    fn destination(&self) -> usize {
        0
    }

    /// Saves the state, to be restored into others built alike. By default, accesses cannot be saved.
    ///
    /// # Errors
    /// [`StateError::NotSaved`], and if it cannot be written.
    fn save_state(&self, _to: &mut StateWriter<'_>) -> Result<(), StateError> {
        Err(StateError::NotSaved("the source of these accesses"))
    }

    /// Replaces the state by one that was saved.
    ///
    /// # Errors
    /// If it is not that of such accesses.
    fn restore_state(&mut self, _from: &mut StateReader<'_>) -> Result<(), StateError> {
        Err(StateError::NotSaved("the source of these accesses"))
    }
}

/// An access, and when it may be issued.
#[derive(Debug, Clone, Copy, PartialEq, Eq, SavedValue)]
pub struct TimedAccess {
    /// Where it goes and how large it is.
    pub access: Access,
    /// The earliest time, in nanoseconds of virtual time.
    pub not_before_ns: u64,
    /// How long the worker waits before it, from when it could be issued.
    pub delay_ns: u64,
}

impl Accesses for PatternStream {
    fn next_access(&mut self) -> Result<Option<TimedAccess>, AccessesError> {
        let drawn = PatternStream::next_access(self);
        let (access, delay_ns) = (drawn.access, drawn.delay_ns);
        Ok(Some(TimedAccess { access, not_before_ns: 0, delay_ns }))
    }

    fn save_state(&self, to: &mut StateWriter<'_>) -> Result<(), StateError> {
        self.save(to)
    }

    fn restore_state(&mut self, from: &mut StateReader<'_>) -> Result<(), StateError> {
        self.restore(from)
    }
}

/// Most workloads that are measured apart; each takes half a megabyte.
const MOST_WORKLOADS: usize = 64;

/// The place of the limit of reads and writes together among a worker's schedules.
const BOTH: usize = 2;

/// How many operations a worker has outstanding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outstanding {
    /// At most this many: a closed loop.
    Closed(u32),
    /// As many as have arrived and are not answered: an open loop. More than `most` end the run with an error, so that
    /// an array that keeps falling behind does not fill memory.
    Open {
        /// Most that may be outstanding.
        most: u32,
    },
}

/// A pause after a number of accesses, once all of the worker's accesses are answered: fio's `thinktime`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThinkTime {
    /// Accesses between pauses.
    pub accesses: u64,
    /// Length of a pause in nanoseconds.
    pub pause_ns: u64,
}

/// One of the [`Workers`].
pub struct Worker {
    /// The LUN that it works on.
    pub lun: LunId,
    /// The source of its accesses.
    pub accesses: Box<dyn Accesses>,
    /// How many are outstanding.
    pub outstanding: Outstanding,
    /// Pauses between its operations; `None` for a worker without pauses.
    pub think_time: Option<ThinkTime>,
    /// Rate limits of reads and of writes.
    pub rates: [Option<Rate>; 2],
    /// Rate limit of both together.
    pub rate: Option<Rate>,
    /// Its group, counted from 0. A group starts when the previous one is done.
    pub group: u32,
    /// Delay between its group's start and its own, in nanoseconds.
    pub start_delay_ns: u64,
    /// Time after its start at which it stops issuing, in nanoseconds.
    pub runtime_ns: Option<u64>,
    /// Whether operations count that are answered after that time. They are answered in any case, and keep the array
    /// busy.
    pub measures_late: bool,
    /// Accesses after which it is done.
    pub most_accesses: Option<u64>,
    /// Bytes after which it is done.
    pub most_bytes: Option<u64>,
    /// The name of the workload that its operations belong to. Workers with the same name are measured together.
    pub workload: Option<Arc<str>>,
    /// Where its accesses go in place of `lun` and `workload`, if they tell ([`Accesses::destination`]). One source
    /// then serves several LUNs in the order of time, and keeps nothing of the others meanwhile. The state of such a
    /// worker cannot be saved.
    pub destinations: Vec<Destination>,
}

/// One of several LUNs that a worker's accesses go to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Destination {
    /// The LUN.
    pub lun: LunId,
    /// The name of the workload that operations on it belong to.
    pub workload: Arc<str>,
}

impl Worker {
    /// Creates a worker in a closed loop on the first LUN that starts with the run and never ends.
    #[must_use]
    pub fn closed_loop(accesses: Box<dyn Accesses>, outstanding: u32) -> Self {
        Self {
            lun: LunId(0),
            accesses,
            outstanding: Outstanding::Closed(outstanding),
            think_time: None,
            rates: [None, None],
            rate: None,
            group: 0,
            start_delay_ns: 0,
            runtime_ns: None,
            measures_late: true,
            most_accesses: None,
            most_bytes: None,
            workload: None,
            destinations: Vec::new(),
        }
    }
}

/// A host of several workers, each with its own pace.
///
/// ```
/// use strewn_sim::{Rate, Worker, Workers};
/// use strewn_workload::{AccessSpecification, Pattern, PatternStream};
///
/// // Two workers with 8 outstanding on halves of a file of 8 GiB, one of them limited to 100 reads a second.
/// let specification = AccessSpecification::shipped("file-server").ok_or("no such accesses")?;
/// let pattern = Pattern::from(&specification);
/// let worker = |half: u64| {
///     let accesses = PatternStream::new(&pattern, half << 23, 1 << 23, half)?;
///     Ok::<_, strewn_workload::WorkloadError>(Worker::closed_loop(Box::new(accesses), 8))
/// };
/// let (first, mut second) = (worker(0)?, worker(1)?);
/// second.rates[0] = Some(Rate::Operations(100));
/// let host = Workers::new(vec![first, second]);
/// // For `Simulation::with_host`.
/// # let _ = host;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A delay that comes with an access ([`TimedAccess::delay_ns`]) works as in Iometer: it runs from the moment at which
/// the access could have been issued, while outstanding operations continue.
#[derive(Default)]
pub struct Workers {
    workers: Vec<State>,
    /// When each worker issues next; `u64::MAX` if it waits for something else to happen.
    due_ns: Vec<u64>,
    next: usize,
    next_ns: u64,
    /// The worker that issued last.
    issued_last: usize,
    group: u32,
    unfinished: usize,
    /// The depths of closed loops, segment after segment; the workers' own if there are none.
    depths: Vec<u32>,
    slots: Vec<Slot>,
    /// The workload of each slot's operation, of workers with destinations.
    slot_workloads: Vec<Option<usize>>,
    free: Vec<u32>,
    failure: Option<AccessesError>,
    issued_moved: Moved,
    measured: Option<HostMeasures>,
    /// The names of the workloads, if there are several; at most [`MOST_WORKLOADS`].
    workloads: Vec<Arc<str>>,
    outstanding: u32,
    /// Integral of the number outstanding over time, from the start of the segment to `counted_ns`.
    outstanding_ns: u128,
    counted_ns: u64,
}

/// An outstanding operation. A free slot has no sectors.
#[derive(Clone, Copy, Default, SavedValue)]
struct Slot {
    issued_ns: u64,
    sectors: u32,
    worker: u32,
    writes: bool,
}

struct State {
    worker: Worker,
    most_outstanding: u32,
    next: Option<TimedAccess>,
    /// A pause that begins when the next access could be issued.
    pause_ns: u64,
    /// The pause begins when everything is answered.
    pause_when_idle: bool,
    not_before_ns: u64,
    start_ns: u64,
    /// Of reads, of writes, and of both.
    schedules: [Option<Schedule>; 3],
    outstanding: u32,
    /// The place of its workload among the measures of workloads.
    workload: Option<usize>,
    /// Those of its destinations.
    destination_workloads: Vec<Option<usize>>,
    issued: u64,
    issued_bytes: u64,
    /// It issues nothing more.
    exhausted: bool,
    /// `unfinished` no longer counts it.
    counted_done: bool,
}

impl State {
    fn is_done(&self) -> bool {
        self.exhausted && self.outstanding == 0
    }

    fn end_ns(&self) -> u64 {
        self.worker.runtime_ns.map_or(u64::MAX, |runtime| self.start_ns.saturating_add(runtime))
    }

    /// Returns whether an operation that is answered now does not count.
    fn is_late(&self, now_ns: u64) -> bool {
        !self.worker.measures_late && now_ns >= self.end_ns()
    }

    fn start(&mut self, now_ns: u64) {
        self.start_ns = now_ns + self.worker.start_delay_ns;
        self.not_before_ns = self.start_ns;
        let [reads, writes] = self.worker.rates.clone();
        self.schedules = [reads, writes, self.worker.rate.clone()]
            .map(|rate| Some(Schedule::new(rate?, self.start_ns)));
    }

    /// Returns when a rate limit next lets an access through; 0 without one.
    fn scheduled_ns(&self, limit: usize) -> u64 {
        self.schedules[limit].as_ref().map_or(0, Schedule::next_ns)
    }

    /// Draws the next access if there is none, and returns when it is due.
    fn due_ns(&mut self, now_ns: u64) -> Result<u64, AccessesError> {
        if self.exhausted {
            return Ok(u64::MAX);
        }
        if self.next.is_none() {
            let worker = &self.worker;
            let enough = worker.most_accesses.is_some_and(|most| self.issued >= most)
                || worker.most_bytes.is_some_and(|most| self.issued_bytes >= most);
            let drawn = if enough { None } else { self.worker.accesses.next_access()? };
            let Some(drawn) = drawn else {
                self.exhausted = true;
                return Ok(u64::MAX);
            };
            self.pause_ns += drawn.delay_ns;
            self.next = Some(drawn);
        }
        let busy = self.outstanding >= self.most_outstanding;
        if busy && let Outstanding::Open { most } = self.worker.outstanding {
            return Err(format!(
                "the array falls behind: more than {most} operations are outstanding at {:.3} s",
                now_ns as f64 / 1e9
            )
            .into());
        }
        if busy && now_ns >= self.end_ns() {
            self.exhausted = true;
        }
        if busy || (self.pause_when_idle && self.outstanding > 0) {
            return Ok(u64::MAX);
        }
        if self.pause_ns > 0 {
            self.not_before_ns = self.not_before_ns.max(now_ns) + self.pause_ns;
            (self.pause_ns, self.pause_when_idle) = (0, false);
        }
        let direction = |next: &TimedAccess| next.access.direction as usize;
        if let Some(next) = self.next {
            let (own, other) = (direction(&next), 1 - direction(&next));
            // As in fio, a direction that is ahead of its rate lets the other go first.
            if self.scheduled_ns(own) > now_ns.max(self.scheduled_ns(other)) {
                self.next = Some(self.worker.accesses.exchange(next)?);
            }
        }
        let next = self.next.as_ref();
        let due_ns = next
            .map_or(0, |next| next.not_before_ns)
            .max(self.not_before_ns)
            .max(next.map_or(0, |next| self.scheduled_ns(direction(next))))
            .max(self.scheduled_ns(BOTH))
            .max(now_ns);
        // The worker is woken at its end time, to find that its time is over.
        Ok(due_ns.min(self.end_ns().max(now_ns)))
    }

    /// Returns the LUN of the access drawn last, and its place among the worker's destinations if it has some.
    #[inline]
    fn drawn_for(&self) -> (LunId, Option<usize>) {
        if self.worker.destinations.is_empty() {
            return (self.worker.lun, None);
        }
        let destination = self.worker.accesses.destination();
        (self.worker.destinations[destination].lun, Some(destination))
    }

    /// Returns the access that is due; none if the worker's time is over.
    fn take(&mut self, now_ns: u64) -> Option<Access> {
        if now_ns >= self.end_ns() {
            self.exhausted = true;
            self.next = None;
            return None;
        }
        let access = self.next.take()?.access;
        let bytes = u64::from(access.sectors) * strewn_base::SECTOR_BYTES;
        assert!(
            self.outstanding < self.most_outstanding,
            "a worker issues more than the {} operations that it may have outstanding",
            self.most_outstanding
        );
        self.outstanding += 1;
        self.issued += 1;
        self.issued_bytes += bytes;
        for limit in [access.direction as usize, BOTH] {
            if let Some(schedule) = &mut self.schedules[limit] {
                schedule.passed(bytes);
            }
        }
        if let Some(think_time) = self.worker.think_time
            && self.issued.is_multiple_of(think_time.accesses.max(1))
        {
            self.pause_ns += think_time.pause_ns;
            self.pause_when_idle = true;
        }
        Some(access)
    }
}

impl Workers {
    /// Creates a host of `workers`. If they have 2 to 64 workloads, each is measured by itself
    /// ([`HostMeasures::by_workload`]).
    #[must_use]
    pub fn new(workers: Vec<Worker>) -> Self {
        let mut workloads: Vec<Arc<str>> = Vec::new();
        let names = |worker: &'_ Worker| -> Vec<Arc<str>> {
            let of_destinations = worker.destinations.iter().map(|of| Arc::clone(&of.workload));
            worker.workload.iter().cloned().chain(of_destinations).collect()
        };
        for name in workers.iter().flat_map(names) {
            if !workloads.contains(&name) {
                workloads.push(name);
            }
        }
        if !(2..=MOST_WORKLOADS).contains(&workloads.len()) {
            workloads.clear();
        }
        let workload = |name: Option<&Arc<str>>| workloads.iter().position(|of| Some(of) == name);
        let state = |worker: Worker| State {
            workload: workload(worker.workload.as_ref()),
            destination_workloads: worker
                .destinations
                .iter()
                .map(|of| workload(Some(&of.workload)))
                .collect(),
            most_outstanding: match worker.outstanding {
                Outstanding::Closed(outstanding) => outstanding,
                Outstanding::Open { most } => most,
            },
            worker,
            next: None,
            pause_ns: 0,
            pause_when_idle: false,
            not_before_ns: 0,
            start_ns: 0,
            schedules: [None, None, None],
            outstanding: 0,
            issued: 0,
            issued_bytes: 0,
            exhausted: false,
            counted_done: false,
        };
        let workers: Vec<State> = workers.into_iter().map(state).collect();
        Self {
            due_ns: vec![u64::MAX; workers.len()],
            next_ns: u64::MAX,
            unfinished: workers.len(),
            workers,
            measured: Some(fresh(&workloads)),
            workloads,
            ..Self::default()
        }
    }

    /// Sets the depths of closed loops for segments 1, 2 and so on, in place of the workers' own. The last applies to
    /// all later segments. This is Iometer's queue-depth cycling.
    #[must_use]
    pub fn with_depths(mut self, depths: Vec<u32>) -> Self {
        self.depths = depths;
        self
    }

    /// Starts the workers of the present group.
    fn start_group(&mut self, now_ns: u64) {
        for index in 0..self.workers.len() {
            if self.workers[index].worker.group == self.group {
                self.workers[index].start(now_ns);
                self.update_due(now_ns, index);
            }
        }
        self.find_next();
    }

    /// Updates when a worker is due, and whether it is done.
    fn update_due(&mut self, now_ns: u64, index: usize) {
        let state = &mut self.workers[index];
        self.due_ns[index] = match state.due_ns(now_ns) {
            Ok(due_ns) => due_ns,
            Err(failure) => {
                // The failure is reported when the access is due, which is at once.
                self.failure = self.failure.take().or(Some(failure));
                now_ns
            }
        };
        if state.is_done() && !std::mem::replace(&mut state.counted_done, true) {
            self.unfinished -= 1;
        }
    }

    fn find_next(&mut self) {
        let due = self.due_ns.iter().enumerate();
        let next = due.min_by_key(|(_, due_ns)| **due_ns);
        (self.next, self.next_ns) = next.map_or((0, u64::MAX), |(index, due)| (index, *due));
    }

    /// Updates a worker after an event of its own, and starts the next group if this one is done.
    fn go_on(&mut self, now_ns: u64, index: usize) {
        self.update_due(now_ns, index);
        let group = self.group;
        let mut of_group = self.workers.iter().filter(|state| state.worker.group == group);
        if self.workers[index].is_done() && of_group.all(State::is_done) && self.unfinished > 0 {
            self.group += 1;
            self.start_group(now_ns);
            return;
        }
        self.find_next();
    }

    /// Ends an operation, and returns what its slot had.
    fn end(&mut self, now_ns: u64, id: OperationId) -> Slot {
        self.count_outstanding(now_ns);
        self.outstanding -= 1;
        self.free.push(id.0);
        std::mem::take(&mut self.slots[id.0 as usize])
    }

    fn count_outstanding(&mut self, now_ns: u64) {
        let passed_ns = now_ns - std::mem::replace(&mut self.counted_ns, now_ns);
        self.outstanding_ns += u128::from(self.outstanding) * u128::from(passed_ns);
    }

    fn waited_ns(&self, now_ns: u64) -> u128 {
        let outstanding = self.slots.iter().filter(|slot| slot.sectors > 0);
        outstanding.map(|slot| u128::from(now_ns - slot.issued_ns)).sum()
    }
}

impl Host for Workers {
    fn begin_segment(&mut self, now_ns: u64, index: u32) {
        let depth = self.depths.get(index as usize - 1).or(self.depths.last()).copied();
        for worker in 0..self.workers.len() {
            let state = &mut self.workers[worker];
            if let (Some(depth), Outstanding::Closed(_)) = (depth, state.worker.outstanding) {
                state.most_outstanding = depth;
                if state.worker.group <= self.group && index > 1 {
                    self.update_due(now_ns, worker);
                }
            }
        }
        if index == 1 {
            self.start_group(now_ns);
        } else {
            self.find_next();
        }
    }

    fn first(&mut self) -> Option<HostOperation<()>> {
        None
    }

    #[inline]
    fn next_issue_ns(&self) -> u64 {
        self.next_ns
    }

    fn issue_due(&mut self, now_ns: u64) -> Result<Option<HostOperation<()>>, AccessesError> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        let index = self.next;
        self.issued_last = index;
        let (lun, destination) = self.workers[index].drawn_for();
        let taken = self.workers[index].take(now_ns);
        let operation = taken.map(|access| {
            self.count_outstanding(now_ns);
            self.outstanding += 1;
            self.issued_moved.add(access.sectors);
            let id = self.free.pop().unwrap_or_else(|| {
                self.slots.push(Slot::default());
                self.slots.len() as u32 - 1
            });
            self.slots[id as usize] = Slot {
                issued_ns: now_ns,
                sectors: access.sectors,
                worker: index as u32,
                writes: access.direction == Direction::Write,
            };
            if let Some(destination) = destination {
                let needed = self.slots.len();
                self.slot_workloads.resize(needed, None);
                self.slot_workloads[id as usize] =
                    self.workers[index].destination_workloads[destination];
            }
            operation_of(OperationId(id), lun, access)
        });
        self.go_on(now_ns, index);
        Ok(operation)
    }

    fn answered(&mut self, now_ns: u64, id: OperationId) -> Option<HostOperation<()>> {
        let slot = self.end(now_ns, id);
        let direction = if slot.writes { Direction::Write } else { Direction::Read };
        let worker = slot.worker as usize;
        if let Some(measured) = &mut self.measured {
            let response_ns = now_ns - slot.issued_ns;
            let state = &self.workers[worker];
            if state.is_late(now_ns) {
                measured.late_wait_ns += u128::from(response_ns);
            } else {
                measured.answered_in(direction, response_ns, slot.sectors);
                let workload = match state.worker.destinations.is_empty() {
                    true => state.workload,
                    false => self.slot_workloads[id.0 as usize],
                };
                if let Some(workload) = workload {
                    let workload = &mut measured.by_workload[workload];
                    workload.answered_in(direction, response_ns, slot.sectors);
                }
            }
        }
        self.workers[worker].outstanding -= 1;
        self.go_on(now_ns, worker);
        None
    }

    fn refused(&mut self, now_ns: u64, id: OperationId) -> Option<HostOperation<()>> {
        let slot = self.end(now_ns, id);
        if let Some(measured) = &mut self.measured {
            measured.refused(now_ns - slot.issued_ns);
        }
        let worker = slot.worker as usize;
        self.workers[worker].outstanding -= 1;
        self.go_on(now_ns, worker);
        None
    }

    /// The next access of the worker that issued last: it is issued when one of its operations is answered, which is
    /// some operations away.
    fn prefetch_hint(&self) -> Option<(LunId, Access)> {
        let state = &self.workers[self.issued_last];
        Some((state.drawn_for().0, state.next.as_ref()?.access))
    }

    #[inline]
    fn is_done(&self) -> bool {
        self.unfinished == 0
    }

    fn issues_no_more(&self, now_ns: u64) -> bool {
        self.workers.iter().all(|state| {
            let has_started = state.worker.group <= self.group;
            state.exhausted || (has_started && now_ns >= state.end_ns())
        })
    }

    fn issued(&self) -> Moved {
        self.issued_moved
    }

    fn answered_in_segment(&self) -> u64 {
        self.measured.as_ref().map_or(0, |measured| measured.operations)
    }

    fn end_segment(&mut self, _start_ns: u64, end_ns: u64) -> HostMeasures {
        self.count_outstanding(end_ns);
        let waited_ns = self.waited_ns(end_ns);
        let mut fresh = fresh(&self.workloads);
        fresh.waited_before_ns = waited_ns;
        let mut measured = self.measured.replace(fresh).unwrap_or_else(HostMeasures::new);
        measured.waited_after_ns = waited_ns;
        measured.outstanding_ns = std::mem::take(&mut self.outstanding_ns) as f64;
        measured
    }

    fn save_state(&self, to: &mut StateWriter<'_>) -> Result<(), StateError> {
        match self.failure {
            None => self.save(to),
            Some(_) => Err(StateError::NotSaved("a host that cannot go on")),
        }
    }

    fn restore_state(&mut self, from: &mut StateReader<'_>) -> Result<(), StateError> {
        self.restore(from)
    }
}

/// Creates the measures of a segment that begins.
fn fresh(workloads: &[Arc<str>]) -> HostMeasures {
    let by_workload = workloads.iter().map(|name| WorkloadMeasures::new(Arc::clone(name)));
    HostMeasures { by_workload: by_workload.collect(), ..HostMeasures::by_direction() }
}

strewn_base::saved_state! {
    impl for Workers {
        parts: workers;
        values: due_ns, next, next_ns, issued_last, group, unfinished, slots, free, issued_moved, measured,
            outstanding, outstanding_ns, counted_ns;
        built: depths, failure, workloads, slot_workloads;
    }
}

strewn_base::saved_state! {
    impl for State {
        parts: worker;
        values: most_outstanding, next, pause_ns, pause_when_idle, not_before_ns, start_ns, schedules,
            outstanding, issued, issued_bytes, exhausted, counted_done;
        built: workload, destination_workloads;
    }
}

/// The state of a worker is what is left of its accesses.
impl SavedState for Worker {
    fn save(&self, to: &mut StateWriter<'_>) -> Result<(), StateError> {
        self.accesses.save_state(to)
    }

    fn restore(&mut self, from: &mut StateReader<'_>) -> Result<(), StateError> {
        self.accesses.restore_state(from)
    }
}
