//! A machine of parts: hosts, a network, controllers with their arrays, joined by name.
//!
//! A part never calls another one. What one has for another is an event at a time ([`events`]), and the machine
//! takes the earliest of these and of the arrays' own events. Arrays see what they see in a
//! [`Simulation`](crate::Simulation): operations, completions, a timer.

mod cores;
mod events;
mod log_mirror;
mod messages;
mod pair;
mod receiving;
mod requests;
mod rounds;
mod segment;

use std::collections::VecDeque;
use std::ops::ControlFlow;

use strewn_array::{AnyArray, DataLost, Direction, FailedSpindle, LunId, VolumeId};
use strewn_base::state::{SavedState, SavedValue, StateError, StateReader, StateWriter};
use strewn_raid::SpindleIndex;
use strewn_transport::{Connection, FrontEnd, Network};

use crate::closed_loop::ClosedLoop;
use crate::component::ComponentProbe;
use crate::driven_array::{DrivenArray, Spindles, Stopped};
use crate::host::{Host, Moved};
use crate::processor::ProcessorCores;
use crate::segment::Segment;
use crate::simulation::{EVENTS_PER_LOOK, Progress, SimulationError};

use pair::FailoverStep;

pub(crate) use cores::Cores;
pub(crate) use events::{Event, EventQueue};
pub use log_mirror::Interconnect;
pub(crate) use log_mirror::LogMirror;
pub use pair::PairConfig;
pub use receiving::Receiving;
pub use requests::TimeIn;
pub(crate) use requests::{Operation, Operations, Request, Requests};
pub(crate) use rounds::{RoundCosts, RoundKey, Rounds};
pub(crate) use segment::links_since;
pub use segment::{ControllerSegment, LinkSegment, MachineMeasures};

/// Looks without any time in between, until time stands still. Large operations may begin millions of requests at once.
const MOST_LOOKS_AT_ONCE: u32 = 64;

/// A controller of a [`Machine`], numbered from 0. It owns the array that was added with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, SavedValue)]
pub struct ControllerId(pub u16);

impl ControllerId {
    pub(crate) fn index(self) -> usize {
        self.0.into()
    }
}

/// A host of a [`Machine`], numbered from 0. The first one is always there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, SavedValue)]
pub struct HostId(pub u16);

/// How a host reaches LUNs: a protocol, and the connections that operations use in turn.
#[derive(Debug, Clone, SavedValue)]
pub struct Port {
    /// Host that issues the operations.
    pub host: HostId,
    /// The protocol and what it costs.
    pub front_end: FrontEnd,
    /// Its connections over the machine's network. None if hosts and controller share memory.
    pub connections: Vec<Connection>,
}

/// A port of a [`Machine`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, SavedValue)]
pub struct PortId(u16);

/// Which array has a LUN, as which of its own, and how a host reaches it.
#[derive(Debug, Clone, Copy, SavedValue)]
struct Target {
    controller: ControllerId,
    lun: LunId,
    port: PortId,
    /// The largest read and the largest write that the protocol makes one request of.
    largest_request_bytes: [u64; 2],
}

/// A controller, and the array that it owns.
struct Controller<A> {
    driven: DrivenArray<A>,
    /// Who serves the array: another controller after a takeover.
    served_by: usize,
    /// What was under way, while nobody serves the array, and since when.
    stopped: Option<(u64, Stopped)>,
    /// Requests that arrived meanwhile.
    waiting: VecDeque<u32>,
    /// Operations given to the array since the beginning.
    given: Moved,
    /// Work given to the processor since the segment began besides that of operations and commands, in nanoseconds;
    /// what was lost when it stopped is subtracted.
    other_work_ns: i64,
}

/// Hosts, a network, and controllers with arrays on simulated spindles, in virtual time.
///
/// [`Simulation`](crate::Simulation) is the plain case: one array, and a host on a wire that costs nothing.
///
/// ```
/// use std::ops::ControlFlow;
/// use std::sync::Arc;
/// # use strewn_array::in_place::{DiskGroupConfig, InPlace, InPlaceConfig, LunConfig};
/// # use strewn_array::ProcessorCosts;
/// # use strewn_raid::{VraidConfig, VraidLayout};
/// use strewn_array::LunId;
/// use strewn_sim::{ClosedLoop, HostId, Machine, Port, ProcessorCores, Spindles};
/// use strewn_spindle::{Drive, Profile, Scheduler};
/// use strewn_transport::front_end::Iscsi;
/// use strewn_transport::{FrontEnd, Hop, LinkProfile, Protocol, TcpOptions, Transport};
/// use strewn_workload::{AccessSpecification, AccessStream};
///
/// # fn array(drive: &Drive) -> Result<InPlace<()>, Box<dyn std::error::Error>> {
/// #     let layout = VraidLayout::new(VraidConfig::for_spindles(8)?, drive.capacity_sectors() * 512)?;
/// #     Ok(InPlace::new(InPlaceConfig {
/// #         processor: ProcessorCosts { host_operation_ns: 20_000, ..ProcessorCosts::default() },
/// #         ..InPlaceConfig::new(
/// #             vec![DiskGroupConfig::new(layout, 64)],
/// #             vec![LunConfig::whole(1 << 23)],
/// #             drive.capacity_sectors(),
/// #             1 << 18,
/// #         )
/// #     })?)
/// # }
/// let profile = Profile::shipped("seagate-cheetah-15k5-st3146855fc").ok_or("no such drive")?;
/// let drive = Arc::new(Drive::new(&profile)?);
/// let spindles = Spindles::new(Arc::clone(&drive), Scheduler::Sptf, 8);
/// let accesses = AccessSpecification::shipped("file-server").ok_or("no such accesses")?;
/// let host = ClosedLoop::new(AccessStream::new(&accesses, 0, 1 << 23, 1)?, 32);
///
/// // One host, one gigabit link, one controller.
/// let mut machine = Machine::new(host);
/// let controller = machine.add_controller(array(&drive)?, &spindles, &ProcessorCores::default())?;
/// let link = LinkProfile::shipped("ethernet-1g").ok_or("no such link")?;
/// let link = machine.network_mut().add_link(link)?;
/// let path = machine.network_mut().add_path(&[Hop::Link(link)])?;
/// let connection = machine.network().connect(path, 1, Transport::Tcp(TcpOptions::default()))?;
/// let front_end = FrontEnd::from(Protocol::Iscsi(Iscsi::default()));
/// let port = machine.add_port(Port { host: HostId(0), front_end, connections: vec![connection] });
/// machine.add_lun(controller, LunId(0), port);
///
/// let segment = machine.run_segment(5_000_000_000, &mut |_| ControlFlow::Continue(()))?;
/// assert!(segment.laws.hold());
/// println!("{} operations, {:?}", segment.operations, segment.machine);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Machine<A, H = ClosedLoop> {
    host: H,
    /// The processor of each host.
    host_cores: Vec<Cores>,
    network: Network,
    controllers: Vec<Controller<A>>,
    ports: Vec<Port>,
    /// How often each port has been used.
    uses: Vec<u32>,
    /// How the host of each port takes in what arrives, and whether any does so otherwise than at once.
    receiving: Vec<Receiving>,
    receives_apart: bool,
    targets: Vec<Target>,
    /// What the host said when it was spoken to last, for every event to read: when it issues an operation by the
    /// clock, and whether it is done.
    issue_ns: u64,
    host_is_done: bool,
    operations: Operations,
    requests: Requests,
    rounds: Rounds,
    events: EventQueue,
    /// Takeovers and givebacks to come, the next one last.
    failover_steps: Vec<(u64, FailoverStep)>,
    pair: Option<PairConfig>,
    now_ns: u64,
    is_started: bool,
    /// Whether a segment has begun and not ended.
    is_in_segment: bool,
    segment: u32,
    segment_start_ns: u64,
    operations_before: u64,
    time_in: TimeIn,
    /// Requests lost on their way since the segment began.
    lost: u64,
    links_before: Vec<LinkSegment>,
    routers_before: Vec<u64>,
}

impl<A: AnyArray<()>, H: Host> Machine<A, H> {
    /// A machine of nothing but a host, whose processor is never busy.
    #[must_use]
    pub fn new(host: H) -> Self {
        Self {
            host,
            host_cores: vec![Cores::new(0)],
            network: Network::new(),
            controllers: Vec::new(),
            ports: Vec::new(),
            uses: Vec::new(),
            receiving: Vec::new(),
            receives_apart: false,
            targets: Vec::new(),
            issue_ns: u64::MAX,
            host_is_done: false,
            operations: Operations::default(),
            requests: Requests::default(),
            rounds: Rounds::default(),
            events: EventQueue::default(),
            failover_steps: Vec::new(),
            pair: None,
            now_ns: 0,
            is_started: false,
            is_in_segment: false,
            segment: 0,
            segment_start_ns: 0,
            operations_before: 0,
            time_in: TimeIn::default(),
            lost: 0,
            links_before: Vec::new(),
            routers_before: Vec::new(),
        }
    }

    /// Gives the first host so many cores for what a front end costs it. With 0, nothing waits for them.
    #[must_use]
    pub fn with_host_cores(mut self, cores: u32) -> Self {
        self.host_cores[0] = Cores::new(cores);
        self
    }

    /// Adds another host with so many cores. What all hosts issue comes from the machine's one [`Host`], which tells
    /// them apart by the LUN that it names: each of them has its own number for a LUN ([`add_lun`](Self::add_lun)).
    pub fn add_host(&mut self, cores: u32) -> HostId {
        self.host_cores.push(Cores::new(cores));
        HostId(self.host_cores.len() as u16 - 1)
    }

    /// The network between hosts and controllers.
    #[must_use]
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// The network, to add links and paths to it.
    pub fn network_mut(&mut self) -> &mut Network {
        &mut self.network
    }

    /// Adds a controller with an array on `spindles`, and a processor with these cores.
    ///
    /// # Errors
    /// If the spindles cannot be created.
    ///
    /// # Panics
    /// If there are no cores, or if a kind of work is in two serial domains.
    pub fn add_controller(
        &mut self,
        array: A,
        spindles: &Spindles,
        cores: &ProcessorCores,
    ) -> Result<ControllerId, SimulationError> {
        let index = self.controllers.len();
        let mut driven = DrivenArray::new(array, spindles)?;
        driven.driver.set_cores(cores);
        self.controllers.push(Controller {
            driven,
            served_by: index,
            stopped: None,
            waiting: VecDeque::new(),
            given: Moved::default(),
            other_work_ns: 0,
        });
        Ok(ControllerId(index as u16))
    }

    /// Adds a port.
    ///
    /// # Panics
    /// If the machine has no such host.
    pub fn add_port(&mut self, port: Port) -> PortId {
        assert!(usize::from(port.host.0) < self.host_cores.len(), "there is no {:?}", port.host);
        self.ports.push(port);
        self.uses.push(0);
        self.receiving.push(Receiving::default());
        PortId(self.ports.len() as u16 - 1)
    }

    /// Makes a LUN of a controller's array known to the host of `port`. Returns the number by which [`Host`] names this
    /// LUN at this host: the first one is 0. Several hosts may have the same LUN.
    ///
    /// # Panics
    /// If the machine has no such controller or port.
    pub fn add_lun(&mut self, controller: ControllerId, lun: LunId, port: PortId) -> LunId {
        assert!(controller.index() < self.controllers.len(), "there is no {controller:?}");
        assert!(usize::from(port.0) < self.ports.len(), "there is no {port:?}");
        let front_end = &self.ports[usize::from(port.0)].front_end;
        let mut largest_request_bytes = [0; 2];
        for direction in [Direction::Read, Direction::Write] {
            largest_request_bytes[direction as usize] = front_end.largest_request_bytes(direction);
        }
        self.targets.push(Target { controller, lun, port, largest_request_bytes });
        LunId(self.targets.len() as u16 - 1)
    }

    /// Fails a spindle of a controller's array at `at_ns` of virtual time.
    ///
    /// # Panics
    /// If there is no such controller or spindle.
    pub fn fail_at(&mut self, at_ns: u64, controller: ControllerId, spindle: SpindleIndex) {
        self.controllers[controller.index()].driven.fail_at(at_ns, spindle);
    }

    /// Adds the next parity group of a controller's array at `at_ns` of virtual time.
    ///
    /// # Panics
    /// If there is no such controller.
    pub fn add_group_at(&mut self, at_ns: u64, controller: ControllerId) {
        self.controllers[controller.index()].driven.add_group_at(at_ns);
    }

    /// Takes snapshots of volumes of a controller's array, as
    /// [`Simulation::snapshot_volumes_every`](crate::Simulation::snapshot_volumes_every) does.
    ///
    /// # Panics
    /// If there is no such controller, or if `every_ns` or `keep` is zero.
    pub fn snapshot_volumes_every(
        &mut self,
        controller: ControllerId,
        volumes: Vec<VolumeId>,
        every_ns: u64,
        keep: u32,
    ) {
        self.controllers[controller.index()].driven.snapshot_volumes_every(volumes, every_ns, keep);
    }

    /// The array that a controller owns.
    ///
    /// # Panics
    /// If there is no such controller.
    #[must_use]
    pub fn array(&self, controller: ControllerId) -> &A {
        &self.controllers[controller.index()].driven.array
    }

    /// The spindles that have failed, numbered through, controller by controller.
    #[must_use]
    pub fn failures(&self) -> Vec<FailedSpindle> {
        let mut first_spindle = 0;
        let mut all = Vec::new();
        for Controller { driven, .. } in &self.controllers {
            all.extend(driven.array.failures().iter().cloned().map(|mut failed| {
                failed.spindle = SpindleIndex(failed.spindle.0 + first_spindle);
                failed
            }));
            first_spindle += driven.array.spindles();
        }
        all
    }

    /// Every controller of the machine, in their order.
    pub fn controllers(&self) -> impl Iterator<Item = ControllerId> + use<A, H> {
        (0..self.controllers.len() as u16).map(ControllerId)
    }

    /// Returns a probe that reads, from any thread, which component of the first controller's simulation is running.
    ///
    /// # Panics
    /// If the machine has no controller.
    #[must_use]
    pub fn component_probe(&self) -> ComponentProbe {
        self.controllers[0].driven.driver.components.at_work()
    }

    /// Returns whether the host has nothing more to issue, everything is answered, and no segment is left to be
    /// measured. A closed loop is never done.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.is_started && !self.is_in_segment && self.host.is_done()
    }

    /// Runs and measures `length_ns` of virtual time, or until the host is done. If the host issues nothing after that
    /// time, the segment lasts until everything is answered. `observer` is called from time to time with the progress,
    /// and can stop the run.
    ///
    /// # Errors
    /// As [`Simulation::run_segment`](crate::Simulation::run_segment).
    ///
    /// # Panics
    /// If the host issues an operation to a LUN that was not added.
    pub fn run_segment(
        &mut self,
        length_ns: u64,
        observer: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Segment, SimulationError> {
        let end_ns = self.segment_start_ns + length_ns;
        if !std::mem::replace(&mut self.is_in_segment, true) {
            self.host.begin_segment(self.segment_start_ns, self.segment + 1);
        }
        if !std::mem::replace(&mut self.is_started, true) {
            while let Some(operation) = self.host.first() {
                self.issue_due(0, operation);
            }
            self.answer_ready(0)?;
        }
        self.note_host();
        self.run_through(end_ns, observer)?;
        if self.host.issues_no_more(end_ns) {
            self.run_through(u64::MAX, observer)?;
        }
        let end_ns = if self.host_is_done { self.now_ns } else { end_ns };
        self.look(end_ns, observer)?;
        self.is_in_segment = false;
        Ok(self.measure(end_ns))
    }

    /// Runs until `end_ns`, or until the host is done, with the changes that are due until then.
    fn run_through(
        &mut self,
        end_ns: u64,
        observer: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<(), SimulationError> {
        while let Some(at_ns) = self.next_change_ns().filter(|at_ns| *at_ns < end_ns) {
            self.run_until(at_ns, observer)?;
            if self.host_is_done {
                return Ok(());
            }
            let now_ns = at_ns.max(self.segment_start_ns);
            self.now_ns = now_ns;
            self.apply_changes(at_ns, now_ns)?;
            self.answer_ready(now_ns)?;
        }
        self.run_until(end_ns, observer)
    }

    fn run_until(
        &mut self,
        end_ns: u64,
        observer: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<(), SimulationError> {
        let (mut events, mut looked_ns, mut looks_at_once) = (0, u64::MAX, 0);
        while !self.host_is_done && self.step(end_ns)? {
            events += 1;
            if events == EVENTS_PER_LOOK {
                looks_at_once = if looked_ns == self.now_ns { looks_at_once + 1 } else { 0 };
                if looks_at_once == MOST_LOOKS_AT_ONCE {
                    return Err(SimulationError::StandsStill { at_ns: self.now_ns });
                }
                (events, looked_ns) = (0, self.now_ns);
                self.look(self.now_ns, observer)?;
            }
        }
        Ok(())
    }

    fn look(
        &self,
        now_ns: u64,
        observer: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<(), SimulationError> {
        let operations = self.operations_before + self.host.answered_in_segment();
        match observer(Progress { now_ns, operations }) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(SimulationError::Stopped),
        }
    }

    /// Handles the next event if it occurs before `end_ns`, and returns whether it did. At equal times, messages come
    /// first, then the arrays' own events, controller by controller, then operations that the host issues by the clock.
    #[inline(always)]
    fn step(&mut self, end_ns: u64) -> Result<bool, SimulationError> {
        let event_ns = self.events.next_ns();
        let mut next_ns = event_ns.min(self.issue_ns);
        let mut of_array = None;
        for (index, controller) in self.controllers.iter().enumerate() {
            let next = controller.driven.next_events();
            let earliest_ns = next.earliest_ns();
            if earliest_ns < next_ns
                || (earliest_ns == next_ns && earliest_ns < event_ns && of_array.is_none())
            {
                next_ns = earliest_ns;
                of_array = Some((index, next));
            }
        }
        if next_ns >= end_ns {
            // A controller that has stopped goes on later.
            if next_ns == u64::MAX && self.failover_steps.is_empty() {
                return Err(SimulationError::Stuck { at_ns: self.now_ns });
            }
            return Ok(false);
        }
        assert!(next_ns >= self.now_ns, "virtual time goes back");
        self.now_ns = next_ns;
        match of_array {
            Some((index, next)) => {
                self.with_processor(index, |driven| driven.step(next, next_ns));
            }
            None if event_ns == next_ns => {
                if let Some(event) = self.events.take() {
                    self.dispatch(next_ns, event);
                }
            }
            None => {
                let issued = self.host.issue_due(next_ns).map_err(SimulationError::Accesses)?;
                self.note_host();
                if let Some(operation) = issued {
                    self.issue_due(next_ns, operation);
                }
            }
        }
        self.answer_ready(next_ns)?;
        Ok(true)
    }

    /// Notes what comes next at the host, which changes when it is told something.
    #[inline]
    fn note_host(&mut self) {
        (self.issue_ns, self.host_is_done) = (self.host.next_issue_ns(), self.host.is_done());
    }

    /// Lets `act` work on an array with the processor of the controller that serves it.
    #[inline(always)]
    fn with_processor<R>(&mut self, index: usize, act: impl FnOnce(&mut DrivenArray<A>) -> R) -> R {
        let served_by = self.controllers[index].served_by;
        let is_taken_over = served_by != index;
        if is_taken_over {
            self.swap_processors(index, served_by);
        }
        let driven = &mut self.controllers[index].driven;
        driven.driver.now_ns = self.now_ns;
        let result = act(driven);
        if is_taken_over {
            self.swap_processors(index, served_by);
        }
        result
    }

    #[cold]
    fn swap_processors(&mut self, one: usize, other: usize) {
        if let Ok([one, other]) = self.controllers.get_disjoint_mut([one, other]) {
            std::mem::swap(&mut one.driven.driver.processor, &mut other.driven.driver.processor);
        }
    }

    /// When the next change happens that no part brings about by itself.
    fn next_change_ns(&self) -> Option<u64> {
        let scheduled = self.controllers.iter().filter_map(|one| one.driven.next_scheduled_ns());
        scheduled.chain(self.failover_steps.last().map(|step| step.0)).min()
    }

    /// Applies what is scheduled at `at_ns`.
    fn apply_changes(&mut self, at_ns: u64, now_ns: u64) -> Result<(), DataLost> {
        for index in 0..self.controllers.len() {
            while let Some((_, event)) = self.controllers[index].driven.take_scheduled(at_ns + 1) {
                self.with_processor(index, |driven| driven.apply(now_ns, event))?;
            }
        }
        while let Some((_, step)) = self.failover_steps.pop_if(|step| step.0 <= at_ns) {
            self.take_failover_step(now_ns, step);
        }
        Ok(())
    }
}

strewn_base::saved_state! {
    impl[A: SavedState] for Controller<A> {
        parts: driven;
        values: served_by, stopped, waiting, given, other_work_ns;
        built:;
    }
}

impl<A: SavedState, H> Machine<A, H> {
    strewn_base::saved_state! {
        fns save_fields, restore_fields {
            parts: controllers;
            values: host_cores, network, ports, uses, operations, requests, events, failover_steps, now_ns, is_started,
                is_in_segment, segment, segment_start_ns, operations_before, time_in, lost, links_before,
                routers_before;
            built: host, issue_ns, host_is_done, rounds, targets, pair, receiving, receives_apart;
        }
    }
}

/// What a machine has come to. It is restored into one that was built from the same configuration and has not run.
impl<A: AnyArray<()> + SavedState, H: Host> SavedState for Machine<A, H> {
    fn save(&self, to: &mut StateWriter<'_>) -> Result<(), StateError> {
        self.save_fields(to)?;
        self.host.save_state(to)
    }

    fn restore(&mut self, from: &mut StateReader<'_>) -> Result<(), StateError> {
        self.restore_fields(from)?;
        self.host.restore_state(from).map_err(|error| error.within("host"))
    }
}
