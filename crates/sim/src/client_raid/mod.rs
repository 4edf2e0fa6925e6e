//! Hosts that are clients of a parallel file system: they compute parity themselves.

mod settings;
mod stripe_locks;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::ops::Range;

use strewn_array::{Direction, HostOperation, LunId, OperationId};
use strewn_base::state::{SavedValue, StateError, StateReader, StateWriter};
use strewn_raid::{MemberSet, ObjectLayout, PlanStep, StripeColumn, StripePlan, UpdateMethod};
use strewn_workload::Access;

use crate::host::{AccessesError, Host, HostMeasures, Moved};
use crate::machine::Cores;

use stripe_locks::{StripeLocks, StripeUse};

pub use settings::{ClientRaidError, ClientRaidMeasures, ClientRaidSettings, LostBlade};

/// Clients of a parallel file system, whose applications, another [`Host`], work on files. A client lays a file out over
/// the objects of several blades, each in its own [`ObjectLayout`], computes parity, and sends it over its own wire.
///
/// File `f` of client `h` is LUN `h * files + f` for the applications. Its object on blade `b` is LUN `(h * files + f) *
/// blades + b` for the machine, which has to know the objects in this order.
///
/// A write of whole stripes sends data and parity. A write of a part of one first reads what parity needs: old data and
/// old parity, or the rest of the stripe, whichever is less. Operations of a client that write the same stripe do so one
/// after the other. What several operations write is not joined: a [`CachedHost`](crate::CachedHost) as the applications
/// does that.
///
/// ```
/// use strewn_raid::{ObjectLayout, ObjectLayoutConfig};
/// use strewn_sim::{ClientRaid, ClientRaidSettings, ClosedLoop};
/// use strewn_workload::{AccessSpecification, AccessStream};
///
/// let config = ObjectLayoutConfig { blades: 10, width: 9, unit_bytes: 64 << 10, depth: 1 };
/// let file = ObjectLayout::new(config, 0, 1 << 32)?;
/// let accesses = AccessSpecification::shipped("file-server").ok_or("no such accesses")?;
/// let applications = ClosedLoop::new(AccessStream::new(&accesses, 0, 1 << 23, 1)?, 32);
/// let settings = ClientRaidSettings::new(vec![8]);
/// let host = ClientRaid::new(applications, settings, vec![file])?;
/// // For `Machine::new`.
/// # let _ = host;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ClientRaid<H> {
    applications: H,
    settings: ClientRaidSettings,
    /// The files of each client.
    files: Vec<ObjectLayout>,
    blades: u16,
    state: RaidState,
}

/// What changes while [`ClientRaid`] runs.
#[derive(Debug, Default, SavedValue)]
struct RaidState {
    /// Applications' operations in progress.
    operations: BTreeMap<u32, InProgress>,
    locks: StripeLocks,
    /// The operation of each request in progress.
    requests: Vec<Option<u32>>,
    free: Vec<u32>,
    /// Requests to be issued.
    ready: VecDeque<HostOperation<()>>,
    /// Operations whose parity is computed at a time, the earliest first.
    computing: BinaryHeap<Reverse<(u64, u64, u32)>>,
    computations: u64,
    /// The cores of each client.
    cores: Vec<Cores>,
    now_ns: u64,
    issued: Moved,
    measures: ClientRaidMeasures,
}

/// An application's operation.
#[derive(Debug, Clone, Copy, SavedValue)]
struct InProgress {
    /// The file, as applications name it.
    lun: LunId,
    direction: Direction,
    first_sector: u64,
    sectors: u32,
    stage: Stage,
    /// Stripes, or requests, that it waits for.
    awaits: u32,
    began_ns: u64,
    /// Whether it has asked for stripes.
    is_locking: bool,
    /// The blade that was lost when it was planned.
    lost: Option<u16>,
    is_refused: bool,
}

/// What an operation waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, SavedValue)]
enum Stage {
    /// Other operations on its stripes.
    Stripes,
    /// What it reads.
    Reads,
    /// A core that copies and computes parity.
    Parity,
    /// What it writes.
    Writes,
}

impl InProgress {
    fn file_sectors(&self) -> Range<u64> {
        self.first_sector..self.first_sector + u64::from(self.sectors)
    }
}

impl<H: Host> ClientRaid<H> {
    /// Lets each of the clients whose cores `settings` lists have `files` of these layouts.
    ///
    /// # Errors
    /// [`ClientRaidError`] if there is nothing of something, or too much.
    pub fn new(
        applications: H,
        settings: ClientRaidSettings,
        files: Vec<ObjectLayout>,
    ) -> Result<Self, ClientRaidError> {
        let Some(blades) = files.first().map(ObjectLayout::blades) else {
            return Err(ClientRaidError::None("file"));
        };
        if let Some(other) = files.iter().map(ObjectLayout::blades).find(|other| *other != blades) {
            return Err(ClientRaidError::Blades(blades, other));
        }
        settings.check(blades)?;
        let clients = settings.cores.len();
        let objects = clients.saturating_mul(files.len()).saturating_mul(blades.into());
        if objects > usize::from(u16::MAX) {
            return Err(ClientRaidError::TooMany { clients, files: files.len(), blades });
        }
        let cores = settings.cores.iter().map(|cores| Cores::new(*cores)).collect();
        let state = RaidState { cores, ..RaidState::default() };
        Ok(Self { applications, settings, files, blades, state })
    }

    fn layout(&self, lun: LunId) -> &ObjectLayout {
        &self.files[usize::from(lun.0) % self.files.len()]
    }

    /// An application issues an operation.
    fn begin(&mut self, now_ns: u64, operation: &HostOperation<()>) {
        let HostOperation { id, lun, direction, first_sector, sectors, .. } = *operation;
        let lost = self.settings.lost_at(now_ns);
        let mut in_progress = InProgress {
            lun,
            direction,
            first_sector,
            sectors,
            stage: Stage::Stripes,
            awaits: 0,
            began_ns: now_ns,
            is_locking: false,
            lost,
            is_refused: false,
        };
        // What a lost blade had is computed from units that must not change meanwhile.
        let use_of_stripes = match direction {
            Direction::Write => Some(StripeUse::Exclusive),
            Direction::Read => lost.map(|_| StripeUse::Shared),
        };
        if let Some(use_of_stripes) = use_of_stripes {
            let stripes = self.layout(lun).stripes_of(&in_progress.file_sectors());
            in_progress.is_locking = true;
            in_progress.awaits = self.state.locks.ask(id.0, lun.0, stripes, use_of_stripes);
        }
        let goes_on = in_progress.awaits == 0;
        self.state.operations.insert(id.0, in_progress);
        if goes_on {
            self.proceed(now_ns, id.0);
        }
    }

    /// An operation has what it waited for.
    fn proceed(&mut self, now_ns: u64, id: u32) {
        let operation = self.operation(id);
        if operation.is_refused {
            return self.end(now_ns, id);
        }
        let InProgress { direction, stage, began_ns, .. } = *operation;
        match (stage, direction) {
            (Stage::Stripes, _) => {
                self.state.measures.stripe_wait_ns += now_ns - began_ns;
                let lost = self.settings.lost_at(now_ns);
                self.operation(id).lost = lost;
                self.count(id);
                self.read(now_ns, id);
            }
            (Stage::Reads, _) => self.compute(now_ns, id),
            (Stage::Parity, Direction::Read) | (Stage::Writes, _) => self.end(now_ns, id),
            (Stage::Parity, Direction::Write) => {
                self.operation(id).stage = Stage::Writes;
                self.request(id, Direction::Write, |plan| plan.write);
            }
        }
    }

    fn operation(&mut self, id: u32) -> &mut InProgress {
        match self.state.operations.get_mut(&id) {
            Some(operation) => operation,
            None => unreachable!("operation {id} has ended"),
        }
    }

    /// What an operation reads, computes and writes. It is planned again for each stage, which is less than to keep it.
    fn plan(&self, operation: &InProgress) -> Vec<StripeColumn> {
        let layout = self.layout(operation.lun);
        match operation.direction {
            Direction::Read => layout.plan_read(operation.file_sectors(), operation.lost),
            Direction::Write => layout.plan_write(operation.file_sectors(), operation.lost),
        }
    }

    /// Counts the stripes that an operation writes, and what it computes.
    fn count(&mut self, id: u32) {
        let operation = *self.operation(id);
        let columns = self.plan(&operation);
        let parity = self.layout(operation.lun).shape().parity();
        let measures = &mut self.state.measures;
        let mut stripe = None;
        for column in &columns {
            let StripePlan { method, write, .. } = column.plan;
            if method.is_some() && stripe.replace(column.stripe) != Some(column.stripe) {
                measures.stripes_written += 1;
                let of_stripe = columns.iter().filter(|one| one.stripe == column.stripe);
                let full = Some(UpdateMethod::FullStripe);
                measures.full_stripes +=
                    u64::from(of_stripe.map(|one| one.plan.method).all(|method| method == full));
            }
            let sectors = |members: MemberSet| u64::from(members.len()) * column.unit_sectors();
            measures.parity_sectors += sectors(write.intersection(parity));
            for step in column.plan.steps() {
                if let PlanStep::Reconstruct { lost, .. } = step {
                    measures.reconstructed_sectors += sectors(lost);
                }
            }
        }
    }

    fn read(&mut self, now_ns: u64, id: u32) {
        self.operation(id).stage = Stage::Reads;
        if self.request(id, Direction::Read, |plan| plan.read) == 0 {
            self.proceed(now_ns, id);
        }
    }

    /// Copies between an application and what is sent or has arrived, and computes parity, or what a lost blade had.
    fn compute(&mut self, now_ns: u64, id: u32) {
        let operation = self.operation(id);
        operation.stage = Stage::Parity;
        let operation = *operation;
        // A KiB has two sectors.
        let mut cost_ns = u64::from(operation.sectors) * self.settings.copy_kib_ns / 2;
        if self.settings.parity_kib_ns > 0 {
            let shape = self.layout(operation.lun).shape();
            let added = self
                .plan(&operation)
                .into_iter()
                .map(|column| u64::from(column.plan.blocks_added(shape)) * column.unit_sectors());
            cost_ns += added.sum::<u64>() * self.settings.parity_kib_ns / 2;
        }
        let mut done_ns = now_ns;
        if cost_ns > 0 {
            let client = usize::from(operation.lun.0) / self.files.len();
            done_ns = self.state.cores[client].serve(now_ns, cost_ns);
        }
        match done_ns == now_ns {
            true => self.proceed(now_ns, id),
            false => {
                self.state.computing.push(Reverse((done_ns, self.state.computations, id)));
                self.state.computations += 1;
            }
        }
    }

    /// Issues requests for what an operation reads or writes, and returns how many.
    fn request(
        &mut self,
        id: u32,
        direction: Direction,
        members: impl Fn(&StripePlan) -> MemberSet,
    ) -> usize {
        let operation = *self.operation(id);
        let columns = self.plan(&operation);
        let largest = self.settings.largest_request_sectors;
        let requests = self.layout(operation.lun).requests(&columns, members, largest);
        self.operation(id).awaits = requests.len() as u32;
        for request in &requests {
            let state = &mut self.state;
            let slot = state.free.pop().unwrap_or_else(|| {
                state.requests.push(None);
                (state.requests.len() - 1) as u32
            });
            state.requests[slot as usize] = Some(id);
            let sectors = request.sectors as u32;
            let moved = match (direction, operation.direction) {
                (Direction::Write, _) => &mut state.measures.writes,
                (Direction::Read, Direction::Read) => &mut state.measures.reads,
                (Direction::Read, Direction::Write) => &mut state.measures.update_reads,
            };
            moved.add(sectors);
            state.issued.add(sectors);
            state.ready.push_back(HostOperation {
                id: OperationId(slot),
                lun: LunId(operation.lun.0 * self.blades + request.blade),
                direction,
                first_sector: request.first_sector,
                sectors,
                payload: (),
            });
        }
        requests.len()
    }

    /// A request is answered, or refused.
    fn request_done(&mut self, now_ns: u64, slot: OperationId, is_refused: bool) {
        let Some(id) = self.state.requests[slot.0 as usize].take() else {
            unreachable!("request {} has ended", slot.0)
        };
        self.state.free.push(slot.0);
        let operation = self.operation(id);
        operation.is_refused |= is_refused;
        self.awaits_one_less(now_ns, id);
    }

    fn awaits_one_less(&mut self, now_ns: u64, id: u32) {
        let operation = self.operation(id);
        operation.awaits -= 1;
        if operation.awaits == 0 {
            self.proceed(now_ns, id);
        }
    }

    /// An operation has ended. Others may get its stripes, and its application may issue another in reply.
    fn end(&mut self, now_ns: u64, id: u32) {
        let Some(operation) = self.state.operations.remove(&id) else {
            unreachable!("operation {id} has ended")
        };
        if operation.is_locking {
            let stripes = self.layout(operation.lun).stripes_of(&operation.file_sectors());
            let mut granted = Vec::new();
            self.state.locks.give_back(id, operation.lun.0, stripes, &mut granted);
            granted.into_iter().for_each(|other| self.awaits_one_less(now_ns, other));
        }
        let reply = match operation.is_refused {
            true => self.applications.refused(now_ns, OperationId(id)),
            false => self.applications.answered(now_ns, OperationId(id)),
        };
        if let Some(operation) = reply {
            self.begin(now_ns, &operation);
        }
    }

    /// Operations whose parity is computed go on.
    fn computed_due(&mut self, now_ns: u64) {
        while let Some(Reverse((at_ns, _, id))) = self.state.computing.peek().copied()
            && at_ns <= now_ns
        {
            self.state.computing.pop();
            self.proceed(now_ns, id);
        }
    }

    fn next_ready(&mut self, now_ns: u64) -> Option<HostOperation<()>> {
        self.state.now_ns = now_ns;
        self.state.ready.pop_front()
    }
}

impl<H: Host> Host for ClientRaid<H> {
    fn begin_segment(&mut self, now_ns: u64, index: u32) {
        self.applications.begin_segment(now_ns, index);
    }

    fn first(&mut self) -> Option<HostOperation<()>> {
        loop {
            if let Some(request) = self.next_ready(0) {
                return Some(request);
            }
            let operation = self.applications.first()?;
            self.begin(0, &operation);
        }
    }

    fn next_issue_ns(&self) -> u64 {
        let state = &self.state;
        if !state.ready.is_empty() {
            return state.now_ns;
        }
        let computed_ns = state.computing.peek().map_or(u64::MAX, |Reverse((at_ns, ..))| *at_ns);
        self.applications.next_issue_ns().min(computed_ns)
    }

    fn issue_due(&mut self, now_ns: u64) -> Result<Option<HostOperation<()>>, AccessesError> {
        if let Some(request) = self.state.ready.pop_front() {
            return Ok(Some(request));
        }
        self.computed_due(now_ns);
        if self.applications.next_issue_ns() <= now_ns
            && let Some(operation) = self.applications.issue_due(now_ns)?
        {
            self.begin(now_ns, &operation);
        }
        Ok(self.next_ready(now_ns))
    }

    fn answered(&mut self, now_ns: u64, id: OperationId) -> Option<HostOperation<()>> {
        self.request_done(now_ns, id, false);
        self.next_ready(now_ns)
    }

    fn refused(&mut self, now_ns: u64, id: OperationId) -> Option<HostOperation<()>> {
        self.request_done(now_ns, id, true);
        self.next_ready(now_ns)
    }

    fn prefetch_hint(&self) -> Option<(LunId, Access)> {
        None
    }

    fn is_done(&self) -> bool {
        self.applications.is_done() && self.state.operations.is_empty()
    }

    fn issued(&self) -> Moved {
        self.state.issued
    }

    fn answered_in_segment(&self) -> u64 {
        self.applications.answered_in_segment()
    }

    fn end_segment(&mut self, start_ns: u64, end_ns: u64) -> HostMeasures {
        let mut host = self.applications.end_segment(start_ns, end_ns);
        let parity_busy_ns = self.state.cores.iter_mut().map(|cores| cores.end_segment(end_ns));
        let parity_busy_ns = parity_busy_ns.collect();
        let measures = std::mem::take(&mut self.state.measures);
        host.client_raid = Some(Box::new(ClientRaidMeasures { parity_busy_ns, ..measures }));
        host
    }

    fn save_state(&self, to: &mut StateWriter<'_>) -> Result<(), StateError> {
        to.value(&self.state)?;
        self.applications.save_state(to)
    }

    fn restore_state(&mut self, from: &mut StateReader<'_>) -> Result<(), StateError> {
        self.state = from.value()?;
        self.applications.restore_state(from)
    }
}
