//! A machine of parts: hosts, a network, controllers with their arrays, joined by name.
//!
//! A part never calls another one. What one has for another is a word that is said at a time ([`events`]), and the machine
//! takes the earliest of these and of the arrays' own events. Arrays see what they see in a
//! [`Simulation`](crate::Simulation): operations, completions, a timer.

mod cores;
mod events;
mod log_mirror;
mod pair;
mod requests;
mod rounds;
mod segment;

use std::collections::VecDeque;
use std::ops::ControlFlow;

use strewn_array::{
    Array, DataLost, Direction, FailedSpindle, HostOperation, LunId, OperationId, ProcessorWork,
    VolumeId,
};
#[cfg(feature = "state")]
use strewn_base::state::{SavedState, StateError, StateReader, StateWriter};
use strewn_raid::SpindleIndex;
use strewn_transport::{Connection, FrontEnd, Lost, Network, SubRequest, SubRequestKind, Toward};

use strewn_workload::Access;

use crate::closed_loop::ClosedLoop;
use crate::component::{Component, ComponentProbe};
use crate::driven_array::{DrivenArray, Spindles, Stopped};
use crate::host::{Host, Moved};
use crate::processor::ProcessorCores;
use crate::segment::Segment;
use crate::simulation::{EVENTS_PER_LOOK, Progress, SimulationError};

use events::{EventQueue, Word};
use pair::Turn;
use requests::{Operation, Operations, Request, Requests};
use rounds::{RoundCosts, RoundKey, Rounds};

pub(crate) use cores::Cores;
pub use log_mirror::Interconnect;
pub(crate) use log_mirror::LogMirror;
pub use pair::PairSettings;
pub use requests::TimeIn;
pub use segment::{ControllerSegment, LinkSegment, MachineMeasures};

/// A controller of a [`Machine`], numbered from 0. It owns the array that was added with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "state", derive(serde::Serialize, serde::Deserialize))]
pub struct ControllerId(pub u16);

impl ControllerId {
    pub(crate) fn index(self) -> usize {
        self.0.into()
    }
}

/// A host of a [`Machine`], numbered from 0. The first one is always there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "state", derive(serde::Serialize, serde::Deserialize))]
pub struct HostId(pub u16);

/// How a host reaches LUNs: a protocol, and the connections that operations use in turn.
#[derive(Debug, Clone)]
#[cfg_attr(feature = "state", derive(serde::Serialize, serde::Deserialize))]
pub struct Port {
    /// The host.
    pub host: HostId,
    /// The protocol and what it costs.
    pub front_end: FrontEnd,
    /// Its connections over the machine's network. None if hosts and controller share memory.
    pub connections: Vec<Connection>,
}

/// A port of a [`Machine`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "state", derive(serde::Serialize, serde::Deserialize))]
pub struct PortId(u16);

/// Which array has a LUN, as which of its own, and how a host reaches it.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(feature = "state", derive(serde::Serialize, serde::Deserialize))]
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
    /// Work given to the processor since the segment began besides that of operations and commands, in nanoseconds; what
    /// was lost when it stopped is subtracted.
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
/// # use strewn_array::{Format, ProcessorCosts};
/// # use strewn_raid::{VraidConfig, VraidLayout};
/// use strewn_array::LunId;
/// use strewn_sim::{ClosedLoop, HostId, Machine, Port, ProcessorCores, Spindles};
/// use strewn_spindle::{Drive, Profile, Scheduler};
/// use strewn_transport::front_end::Iscsi;
/// use strewn_transport::{FrontEnd, Hop, LinkProfile, Protocol, TcpSettings, Transport};
/// use strewn_workload::{AccessSpecification, AccessStream};
///
/// # fn array(drive: &Drive) -> Result<InPlace<()>, Box<dyn std::error::Error>> {
/// #     let layout = VraidLayout::new(VraidConfig::for_spindles(8)?, drive.capacity_sectors() * 512)?;
/// #     Ok(InPlace::new(InPlaceConfig {
/// #         groups: vec![DiskGroupConfig::new(layout, 64)],
/// #         luns: vec![LunConfig::whole(1 << 23)],
/// #         spindle_sectors: drive.capacity_sectors(),
/// #         write_cache_sectors: 1 << 18,
/// #         destage_low_sectors: 1 << 14,
/// #         format: Format::Modelled,
/// #         log: None,
/// #         processor: ProcessorCosts { host_operation_ns: 20_000, ..ProcessorCosts::default() },
/// #     })?)
/// # }
/// let profile = Profile::shipped("seagate-cheetah-15k5-st3146855fc").ok_or("no such drive")?;
/// let drive = Arc::new(Drive::new(&profile)?);
/// let spindles = Spindles {
///     drive: Arc::clone(&drive),
///     scheduler: Scheduler::Sptf,
///     commands_per_spindle: 8,
///     stretch: 1,
/// };
/// let accesses = AccessSpecification::shipped("file-server").ok_or("no such accesses")?;
/// let host = ClosedLoop::new(AccessStream::new(&accesses, 0, 1 << 23, 1)?, 32);
///
/// // One host, one gigabit link, one controller.
/// let mut machine = Machine::new(host);
/// let controller = machine.add_controller(array(&drive)?, &spindles, &ProcessorCores::default())?;
/// let link = LinkProfile::shipped("ethernet-1g").ok_or("no such link")?;
/// let link = machine.network_mut().add_link(link)?;
/// let path = machine.network_mut().add_path(&[Hop::Link(link)])?;
/// let connection = machine.network().connect(path, 1, Transport::Tcp(TcpSettings::default()))?;
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
    targets: Vec<Target>,
    /// What the host said when it was spoken to last, for every event to read: when it issues an operation by the clock,
    /// and whether it is done.
    issue_ns: u64,
    host_is_done: bool,
    operations: Operations,
    requests: Requests,
    rounds: Rounds,
    events: EventQueue,
    /// Takeovers and givebacks to come, the next one last.
    turns: Vec<(u64, Turn)>,
    pair: Option<PairSettings>,
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

impl<A: Array<()>, H: Host> Machine<A, H> {
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
            targets: Vec::new(),
            issue_ns: u64::MAX,
            host_is_done: false,
            operations: Operations::default(),
            requests: Requests::default(),
            rounds: Rounds::default(),
            events: EventQueue::default(),
            turns: Vec::new(),
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

    /// Adds another host with so many cores. What all hosts issue comes from the machine's one [`Host`], which tells them
    /// apart by the LUN that it names: each of them has its own number for a LUN ([`add_lun`](Self::add_lun)).
    pub fn add_host(&mut self, cores: u32) -> HostId {
        self.host_cores.push(Cores::new(cores));
        HostId(self.host_cores.len() as u16 - 1)
    }

    /// The network.
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
        PortId(self.ports.len() as u16 - 1)
    }

    /// Makes a LUN of a controller's array known to the host of `port`. Returns the number by which [`Host`] names this LUN at
    /// this host: the first one is 0. Several hosts may have the same LUN.
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

    /// The controllers.
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

    /// Returns whether the host has nothing more to issue and everything is answered. A closed loop is never done.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.is_started && self.host.is_done()
    }

    /// Runs and measures `length_ns` of virtual time, or until the host is done. `observer` is called from time to time
    /// with the progress, and can stop the run.
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
        while let Some(at_ns) = self.next_change_ns().filter(|at_ns| *at_ns < end_ns) {
            self.run_until(at_ns, observer)?;
            if self.host_is_done {
                break;
            }
            let now_ns = at_ns.max(self.segment_start_ns);
            self.now_ns = now_ns;
            self.change(at_ns, now_ns)?;
            self.answer_ready(now_ns)?;
        }
        self.run_until(end_ns, observer)?;
        let end_ns = if self.host_is_done { self.now_ns } else { end_ns };
        self.look(end_ns, observer)?;
        self.is_in_segment = false;
        Ok(self.measure(end_ns))
    }

    fn run_until(
        &mut self,
        end_ns: u64,
        observer: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<(), SimulationError> {
        let (mut events, mut looked_ns) = (0, u64::MAX);
        while !self.host_is_done && self.step(end_ns)? {
            events += 1;
            if events == EVENTS_PER_LOOK {
                if looked_ns == self.now_ns {
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

    /// Handles the next event if it occurs before `end_ns`, and returns whether it did. At equal times, words come first,
    /// then the arrays' own events, controller by controller, then operations that the host issues by the clock.
    #[inline(always)]
    fn step(&mut self, end_ns: u64) -> Result<bool, SimulationError> {
        let word_ns = self.events.next_ns();
        let mut next_ns = word_ns.min(self.issue_ns);
        let mut of_array = None;
        for (index, controller) in self.controllers.iter().enumerate() {
            let next = controller.driven.next_events();
            let earliest_ns = next.earliest_ns();
            if earliest_ns < next_ns
                || (earliest_ns == next_ns && earliest_ns < word_ns && of_array.is_none())
            {
                next_ns = earliest_ns;
                of_array = Some((index, next));
            }
        }
        if next_ns >= end_ns {
            // A controller that has stopped goes on later.
            if next_ns == u64::MAX && self.turns.is_empty() {
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
            None if word_ns == next_ns => {
                if let Some(word) = self.events.take() {
                    self.hear(next_ns, word);
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

    /// The host issues an operation.
    #[inline(always)]
    fn issue(&mut self, now_ns: u64, operation: HostOperation<()>) {
        let HostOperation { id, lun, direction, first_sector, sectors, .. } = operation;
        let target = self.target(lun);
        // A command is at the controller too soon after it was issued for memory to keep up.
        let (hinted, access) = self
            .host
            .prefetch_hint()
            .unwrap_or((lun, Access { sector: first_sector, sectors, direction }));
        let of_hint = self.target(hinted);
        self.controllers[of_hint.controller.index()].driven.array.hint_operation(
            of_hint.lun,
            access.direction,
            access.sector,
            access.sectors,
        );
        let bytes = u64::from(sectors) * strewn_base::SECTOR_BYTES;
        let mut operation = Operation {
            lun,
            direction,
            first_sector,
            sectors,
            sub_requests: 1,
            in_flight: 1,
            next: 0,
            in_progress: 0,
            is_refused: false,
        };
        // Most operations are a single request.
        if (1..=target.largest_request_bytes[direction as usize]).contains(&bytes) {
            (operation.next, operation.in_progress) = (1, 1);
            self.operations.insert(id, operation);
            let whole = SubRequest { kind: SubRequestKind::Transfer, offset_bytes: 0, bytes };
            self.begin_request(now_ns, id, target, direction, whole);
        } else {
            let front_end = &self.ports[usize::from(target.port.0)].front_end;
            let exchange = front_end.exchange(direction, bytes);
            operation.sub_requests = exchange.sub_requests();
            operation.in_flight = exchange.in_flight();
            self.operations.insert(id, operation);
            self.begin_requests(now_ns, id);
        }
    }

    /// The host issues an operation by the clock.
    #[inline(never)]
    fn issue_due(&mut self, now_ns: u64, operation: HostOperation<()>) {
        self.issue(now_ns, operation);
    }

    #[inline(always)]
    fn target(&self, lun: LunId) -> Target {
        match self.targets.get(usize::from(lun.0)) {
            Some(target) => *target,
            None => unreachable!("the machine has no {lun}"),
        }
    }

    /// Begins as many sub-requests of an operation as the protocol allows. Returns whether it has ended instead.
    #[inline(never)]
    fn begin_requests(&mut self, now_ns: u64, id: OperationId) -> bool {
        loop {
            let operation = self.operations.get_mut(id);
            let index = operation.next;
            if index == operation.sub_requests {
                return operation.in_progress == 0;
            }
            if operation.in_progress >= operation.in_flight {
                return false;
            }
            let Operation { lun, direction, sectors, in_progress, .. } = *operation;
            let bytes = u64::from(sectors) * strewn_base::SECTOR_BYTES;
            let target = self.target(lun);
            let exchange =
                self.ports[usize::from(target.port.0)].front_end.exchange(direction, bytes);
            let Some(asks_for) = exchange.sub_request(index) else {
                unreachable!("an operation has no sub-request {index}")
            };
            // A commit waits for all that it makes durable.
            if asks_for.kind == SubRequestKind::Commit && in_progress > 0 {
                return false;
            }
            let operation = self.operations.get_mut(id);
            operation.next += 1;
            operation.in_progress += 1;
            self.begin_request(now_ns, id, target, direction, asks_for);
        }
    }

    /// Begins a sub-request of an operation.
    #[inline(always)]
    fn begin_request(
        &mut self,
        now_ns: u64,
        id: OperationId,
        target: Target,
        direction: Direction,
        asks_for: SubRequest,
    ) {
        let port = usize::from(target.port.0);
        let uses = &mut self.uses[port];
        let connection = match self.ports[port].connections.len() as u32 {
            0 | 1 => 0,
            several => *uses % several,
        };
        *uses = uses.wrapping_add(1);
        let SubRequest { kind, offset_bytes, bytes } = asks_for;
        let slot = self.requests.insert(Request {
            operation: id,
            offset_bytes,
            round: RoundKey::first(target.port.0, direction, kind, bytes),
            costs: RoundCosts::default(),
            controller: target.controller.0,
            connection,
            at_array: false,
            since_ns: now_ns,
            departs_ns: 0,
            time: TimeIn::default(),
        });
        self.send_to_target(now_ns, slot);
    }

    /// The host processes the message of a round, and then sends it.
    #[inline(always)]
    fn send_to_target(&mut self, now_ns: u64, slot: u32) {
        let request = self.requests.get_mut(slot);
        let port = &self.ports[request.round.port()];
        let round = self.rounds.of(request.round, port, request.connection, &self.network);
        request.costs = round.costs;
        let cores = &mut self.host_cores[usize::from(port.host.0)];
        let leaves_ns = cores.serve(now_ns, round.costs.host_sends_ns);
        request.time.host_ns += leaves_ns - now_ns;
        match leaves_ns == now_ns {
            true => self.leaves(now_ns, slot),
            false => self.events.schedule(leaves_ns, Word::Leaves(slot)),
        }
    }

    #[inline(always)]
    fn leaves(&mut self, now_ns: u64, slot: u32) {
        match self.send(now_ns, slot, Toward::Target) {
            Some(arrives_ns) if arrives_ns == now_ns => self.arrived(now_ns, slot),
            Some(arrives_ns) => self.events.schedule(arrives_ns, Word::Arrived(slot)),
            None => {}
        }
    }

    /// Sends a train of a request. Returns when all of it arrives. If it is lost, the request begins again later, or
    /// fails.
    #[inline(never)]
    fn send(&mut self, at_ns: u64, slot: u32, toward: Toward) -> Option<u64> {
        let request = self.requests.get_mut(slot);
        let port = &mut self.ports[request.round.port()];
        let round = self.rounds.of(request.round, port, request.connection, &self.network);
        let connection = port.connections.get_mut(request.connection as usize);
        let (Some(connection), Some(trains)) = (connection, &round.trains) else {
            return Some(at_ns);
        };
        match self.network.send_prepared(at_ns, connection, toward, &trains[toward as usize]) {
            Ok(arrival) => {
                request.time.wire_ns += arrival.last_ns - at_ns;
                Some(arrival.last_ns)
            }
            Err(Lost { lost_ns, retry_ns }) => {
                self.lost += 1;
                let at = retry_ns.unwrap_or(lost_ns).max(at_ns);
                request.time.wire_ns += at - at_ns;
                match retry_ns {
                    Some(_) => self.events.schedule(at, Word::Retry(slot)),
                    None => {
                        self.operations.get_mut(request.operation).is_refused = true;
                        self.events.schedule(at, Word::Done(slot));
                    }
                }
                None
            }
        }
    }

    // What happens to every request is compiled into four functions, `arrived`, `answer`, `replied` and `send`: calls of
    // one for each step took a tenth of a machine's instructions.
    /// A part is told a word.
    #[inline(always)]
    fn hear(&mut self, now_ns: u64, word: Word) {
        match word {
            Word::Arrived(slot) => self.arrived(now_ns, slot),
            Word::Replied(slot) => self.replied(now_ns, slot),
            Word::Leaves(_)
            | Word::Answered(_)
            | Word::Received(_)
            | Word::Done(_)
            | Word::Retry(_) => self.hear_more(now_ns, word),
        }
    }

    /// Words that are only said where processing at one of the ends takes time, or something was lost.
    #[inline(never)]
    fn hear_more(&mut self, now_ns: u64, word: Word) {
        match word {
            Word::Leaves(slot) => self.leaves(now_ns, slot),
            Word::Answered(slot) => self.answer_leaves(now_ns, slot),
            Word::Arrived(slot) => self.arrived(now_ns, slot),
            Word::Received(slot) => self.received(now_ns, slot),
            Word::Replied(slot) => self.replied(now_ns, slot),
            Word::Done(slot) => self.round_done(now_ns, slot),
            Word::Retry(slot) => {
                let request = self.requests.get_mut(slot);
                request.round = request.round.again();
                self.send_to_target(now_ns, slot);
            }
        }
    }

    /// All of a message is at the controller, which begins its network processing.
    #[inline(never)]
    fn arrived(&mut self, now_ns: u64, slot: u32) {
        let request = self.requests.get_mut(slot);
        let index = usize::from(request.controller);
        let controller = &mut self.controllers[index];
        if controller.stopped.is_some() {
            request.since_ns = now_ns;
            controller.waiting.push_back(slot);
            return;
        }
        let served_by = controller.served_by;
        let cost_ns = request.costs.target_receives_ns;
        let processor = &mut self.controllers[served_by].driven.driver.processor;
        let Some(done_ns) = processor.add_network(now_ns, cost_ns) else {
            // The array's own work queues behind it.
            let cost_ns = cost_ns + request.costs.target_sends_ns;
            request.time.front_end_ns += cost_ns;
            self.process_network(index, now_ns, cost_ns);
            return self.received(now_ns, slot);
        };
        self.controllers[served_by].other_work_ns += cost_ns as i64;
        request.time.front_end_ns += done_ns - now_ns;
        match done_ns == now_ns {
            true => self.received(now_ns, slot),
            false => self.events.schedule(done_ns, Word::Received(slot)),
        }
    }

    /// Gives the network processing of a round to the processor that also runs the array, which has no cores for it alone:
    /// that of the answer too, like the costs of an operation's completion in
    /// [`ProcessorCosts`](strewn_array::ProcessorCosts).
    fn process_network(&mut self, index: usize, now_ns: u64, cost_ns: u64) {
        if cost_ns > 0 {
            let served_by = self.controllers[index].served_by;
            self.controllers[served_by].other_work_ns += cost_ns as i64;
            self.with_processor(index, |driven| {
                driven.driver.processor.add(ProcessorWork::Network, now_ns, cost_ns, false);
            });
        }
    }

    /// The controller has a message: the array gets the operation, or the host is told to send more.
    #[inline(always)]
    fn received(&mut self, now_ns: u64, slot: u32) {
        let request = self.requests.get_mut(slot);
        let index = usize::from(request.controller);
        let controller = &mut self.controllers[index];
        if controller.stopped.is_some() {
            request.since_ns = now_ns;
            controller.waiting.push_back(slot);
            return;
        }
        if !request.costs.array_works || request.round.kind() == SubRequestKind::Commit {
            return self.send_to_host(now_ns, slot);
        }
        let (offset_bytes, bytes) = (request.offset_bytes, request.round.bytes());
        let costs_ns = request.costs.target_receives_ns + request.costs.target_sends_ns;
        let operation = self.operations.get_mut(request.operation);
        let part = HostOperation {
            id: OperationId(slot),
            lun: self.targets[usize::from(operation.lun.0)].lun,
            direction: operation.direction,
            first_sector: operation.first_sector + offset_bytes / strewn_base::SECTOR_BYTES,
            sectors: (bytes / strewn_base::SECTOR_BYTES) as u32,
            payload: (),
        };
        controller.given.add(part.sectors);
        let served_by = controller.served_by;
        // On one processor, network processing comes before the array's work.
        let processor = &self.controllers[served_by].driven.driver.processor;
        let in_front_ns = if processor.several_cores().is_some() { 0 } else { costs_ns };
        let departs_ns = self.with_processor(index, |driven| driven.give(now_ns, part));
        let request = self.requests.get_mut(slot);
        (request.at_array, request.since_ns) = (true, now_ns + in_front_ns);
        request.departs_ns = departs_ns;
    }

    /// Passes the arrays' answers on.
    #[inline]
    fn answer_ready(&mut self, now_ns: u64) -> Result<(), SimulationError> {
        for index in 0..self.controllers.len() {
            let driver = &mut self.controllers[index].driven.driver;
            if driver.ready.is_empty() && driver.refused.is_none() {
                driver.components.turn_to(Component::Events);
            } else {
                self.answer(now_ns, index)?;
            }
        }
        Ok(())
    }

    /// Passes the answers of an array on.
    #[inline(never)]
    fn answer(&mut self, now_ns: u64, index: usize) -> Result<(), SimulationError> {
        while let Some((OperationId(slot), is_refused)) =
            self.controllers[index].driven.take_answer()
        {
            let request = self.requests.get_mut(slot);
            request.at_array = false;
            let departed_ns = request.departs_ns.min(now_ns).max(request.since_ns);
            request.time.controller_ns += departed_ns - request.since_ns;
            request.time.spindle_ns += now_ns.saturating_sub(departed_ns);
            let operation = request.operation;
            self.operations.get_mut(operation).is_refused |= is_refused;
            self.send_to_host(now_ns, slot);
        }
        let driver = &mut self.controllers[index].driven.driver;
        driver.components.turn_to(Component::Events);
        match driver.refused.take() {
            Some(error) => Err(error.into()),
            None => Ok(()),
        }
    }

    /// The controller answers a round.
    #[inline(always)]
    fn send_to_host(&mut self, now_ns: u64, slot: u32) {
        let request = self.requests.get_mut(slot);
        let served_by = self.controllers[usize::from(request.controller)].served_by;
        let cost_ns = request.costs.target_sends_ns;
        let server = &mut self.controllers[served_by];
        let leaves_ns = match server.driven.driver.processor.add_network(now_ns, cost_ns) {
            Some(leaves_ns) => {
                server.other_work_ns += cost_ns as i64;
                leaves_ns
            }
            // It did this when the request arrived.
            None => now_ns,
        };
        request.time.front_end_ns += leaves_ns - now_ns;
        match leaves_ns == now_ns {
            true => self.answer_leaves(now_ns, slot),
            false => self.events.schedule(leaves_ns, Word::Answered(slot)),
        }
    }

    #[inline(always)]
    fn answer_leaves(&mut self, now_ns: u64, slot: u32) {
        match self.send(now_ns, slot, Toward::Host) {
            Some(arrives_ns) if arrives_ns == now_ns => self.replied(now_ns, slot),
            Some(arrives_ns) => self.events.schedule(arrives_ns, Word::Replied(slot)),
            None => {}
        }
    }

    /// All of an answer is at the host.
    #[inline(never)]
    fn replied(&mut self, now_ns: u64, slot: u32) {
        let request = self.requests.get_mut(slot);
        let host = self.ports[request.round.port()].host;
        let cores = &mut self.host_cores[usize::from(host.0)];
        let done_ns = cores.serve(now_ns, request.costs.host_receives_ns);
        request.time.host_ns += done_ns - now_ns;
        match done_ns == now_ns {
            true => self.round_done(now_ns, slot),
            false => self.events.schedule(done_ns, Word::Done(slot)),
        }
    }

    /// The host has all of an answer: the next round begins, or the next sub-request, or the operation has ended.
    #[inline(always)]
    fn round_done(&mut self, now_ns: u64, slot: u32) {
        let request = self.requests.get_mut(slot);
        let operation = self.operations.get_mut(request.operation);
        // The array works in the last round.
        if !operation.is_refused && !request.costs.array_works {
            request.round = request.round.next();
            return self.send_to_target(now_ns, slot);
        }
        let id = request.operation;
        self.time_in.add(&request.time);
        operation.in_progress -= 1;
        let (is_refused, in_progress) = (operation.is_refused, operation.in_progress);
        let is_last = is_refused || operation.next == operation.sub_requests;
        self.requests.remove(slot);
        let has_ended = match is_last {
            true => in_progress == 0,
            false => self.begin_requests(now_ns, id),
        };
        if has_ended {
            let reply = match is_refused {
                true => self.host.refused(now_ns, id),
                false => self.host.answered(now_ns, id),
            };
            self.note_host();
            if let Some(operation) = reply {
                self.issue(now_ns, operation);
            }
        }
    }

    /// When the next change happens that no part brings about by itself.
    fn next_change_ns(&self) -> Option<u64> {
        let scheduled = self.controllers.iter().filter_map(|one| one.driven.next_scheduled_ns());
        scheduled.chain(self.turns.last().map(|turn| turn.0)).min()
    }

    /// Everything happens that is to happen at `at_ns`.
    fn change(&mut self, at_ns: u64, now_ns: u64) -> Result<(), DataLost> {
        for index in 0..self.controllers.len() {
            while let Some((_, what)) = self.controllers[index].driven.take_scheduled(at_ns + 1) {
                self.with_processor(index, |driven| driven.happen(now_ns, what))?;
            }
        }
        while let Some((_, turn)) = self.turns.pop_if(|turn| turn.0 <= at_ns) {
            self.turn(now_ns, turn);
        }
        Ok(())
    }
}

#[cfg(feature = "state")]
strewn_base::saved_state! {
    impl[A: SavedState] for Controller<A> {
        parts: driven;
        values: served_by, stopped, waiting, given, other_work_ns;
        built:;
    }
}

#[cfg(feature = "state")]
impl<A: SavedState, H> Machine<A, H> {
    strewn_base::saved_state! {
        fns save_fields, restore_fields {
            parts: controllers;
            values: host_cores, network, ports, uses, operations, requests, events, turns, now_ns, is_started,
                is_in_segment, segment, segment_start_ns, operations_before, time_in, lost, links_before,
                routers_before;
            built: host, issue_ns, host_is_done, rounds, targets, pair;
        }
    }
}

/// What a machine has come to. It is restored into one that was built from the same configuration and has not run.
#[cfg(feature = "state")]
impl<A: Array<()> + SavedState, H: Host> SavedState for Machine<A, H> {
    fn save(&self, to: &mut StateWriter<'_>) -> Result<(), StateError> {
        self.save_fields(to)?;
        self.host.save_state(to)
    }

    fn restore(&mut self, from: &mut StateReader<'_>) -> Result<(), StateError> {
        self.restore_fields(from)?;
        self.host.restore_state(from).map_err(|error| error.within("host"))
    }
}
