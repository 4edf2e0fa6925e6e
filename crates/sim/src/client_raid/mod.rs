//! Hosts that are clients of a parallel file system: they compute parity themselves.

mod settings;
mod stripe_locks;

use std::collections::BTreeMap;
use std::ops::Range;

use strewn_array::{Direction, HostOperation, LunId, OperationId};
use strewn_base::saved_state;
use strewn_base::state::SavedValue;
use strewn_raid::{MemberSet, ObjectLayout, PlanStep, StripeColumn, StripePlan, UpdateMethod};

use crate::host::{Host, HostError, HostMeasures};
use crate::layered_host::{HostLayer, LayeredHost};
use crate::machine::{Cores, EventQueue, Requests};

use stripe_locks::{StripeLocks, StripeUse};

pub use settings::{ClientRaidConfig, ClientRaidMeasures, LostBlade};

/// Clients of a parallel file system, whose applications, another [`Host`], work on files. A client lays a file out
/// over the objects of several blades, each in its own [`ObjectLayout`], computes parity, and sends it over its own
/// wire.
///
/// File `f` of client `h` is LUN `h * files + f` for the applications. Its object on blade `b` is LUN
/// `(h * files + f) * blades + b` for the machine, which has to know the objects in this order.
///
/// A write of whole stripes sends data and parity. A write of a part of one first reads what parity needs: old data and
/// old parity, or the rest of the stripe, whichever is less. Operations of a client that write the same stripe do so
/// one after the other. What several operations write is not joined: a [`CachedHost`](crate::CachedHost) as the
/// applications does that.
///
/// ```
/// use strewn_raid::{ObjectLayout, ObjectLayoutConfig};
/// use strewn_sim::{ClientRaid, ClientRaidConfig, ClosedLoop};
/// use strewn_workload::{AccessSpecification, AccessStream};
///
/// let config = ObjectLayoutConfig::new(10, 9);
/// let file = ObjectLayout::new(config, 0, 1 << 32)?;
/// let accesses = AccessSpecification::shipped("file-server").ok_or("no such accesses")?;
/// let applications = ClosedLoop::new(AccessStream::new(&accesses, 0, 1 << 23, 1)?, 32);
/// let settings = ClientRaidConfig::new(vec![8]);
/// let host = ClientRaid::new(Box::new(applications), settings, vec![file])?;
/// // For `Machine::new`.
/// # let _ = host;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type ClientRaid = LayeredHost<ParityClients>;

/// The clients of a [`ClientRaid`].
#[derive(Debug)]
pub struct ParityClients {
    settings: ClientRaidConfig,
    /// The files of each client.
    files: Vec<ObjectLayout>,
    blades: u16,
    /// Applications' operations in progress.
    operations: BTreeMap<u32, InProgress>,
    locks: StripeLocks,
    /// The operation of each request in progress.
    in_progress: Requests<u32>,
    /// Operations whose parity is computed at a time.
    computing: EventQueue<u32>,
    /// The cores of each client.
    cores: Vec<Cores>,
    measures: ClientRaidMeasures,
}

saved_state! {
    impl for ParityClients {
        parts:;
        values: operations, locks, in_progress, computing, cores, measures;
        built: settings, files, blades;
    }
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

impl LayeredHost<ParityClients> {
    /// Lets each of the clients whose cores `settings` lists have `files` of these layouts.
    ///
    /// # Errors
    /// [`HostError`] if there is nothing of something, or too much.
    pub fn new(
        applications: Box<dyn Host>,
        settings: ClientRaidConfig,
        files: Vec<ObjectLayout>,
    ) -> Result<Self, HostError> {
        let Some(blades) = files.first().map(ObjectLayout::blades) else {
            return Err(HostError::None("file"));
        };
        if let Some(other) = files.iter().map(ObjectLayout::blades).find(|other| *other != blades) {
            return Err(HostError::Blades(blades, other));
        }
        settings.check(blades)?;
        let clients = settings.cores.len();
        let objects = clients.saturating_mul(files.len()).saturating_mul(blades.into());
        if objects > usize::from(u16::MAX) {
            return Err(HostError::TooMany { clients, files: files.len(), blades });
        }
        let cores = settings.cores.iter().map(|cores| Cores::new(*cores)).collect();
        let layer = ParityClients {
            settings,
            files,
            blades,
            operations: BTreeMap::new(),
            locks: StripeLocks::default(),
            in_progress: Requests::default(),
            computing: EventQueue::default(),
            cores,
            measures: ClientRaidMeasures::default(),
        };
        Ok(Self::of(applications, layer))
    }

    fn layout(&self, lun: LunId) -> &ObjectLayout {
        &self.layer.files[usize::from(lun.0) % self.layer.files.len()]
    }

    /// An operation has what it waited for.
    fn proceed(&mut self, now_ns: u64, id: u32) {
        let operation = self.operation(id);
        if operation.is_refused {
            return self.operation_done(now_ns, id);
        }
        let InProgress { direction, stage, began_ns, .. } = *operation;
        match (stage, direction) {
            (Stage::Stripes, _) => {
                self.layer.measures.stripe_wait_ns += now_ns - began_ns;
                let lost = self.layer.settings.lost_at(now_ns);
                self.operation(id).lost = lost;
                self.count(id);
                self.read(now_ns, id);
            }
            (Stage::Reads, _) => self.compute(now_ns, id),
            (Stage::Parity, Direction::Read) | (Stage::Writes, _) => {
                self.operation_done(now_ns, id)
            }
            (Stage::Parity, Direction::Write) => {
                self.operation(id).stage = Stage::Writes;
                self.request(id, Direction::Write, |plan| plan.write);
            }
        }
    }

    fn operation(&mut self, id: u32) -> &mut InProgress {
        match self.layer.operations.get_mut(&id) {
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
        let measures = &mut self.layer.measures;
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
        let mut cost_ns = u64::from(operation.sectors) * self.layer.settings.copy_kib_ns / 2;
        if self.layer.settings.parity_kib_ns > 0 {
            let added = self
                .plan(&operation)
                .into_iter()
                .map(|column| u64::from(column.plan.blocks_added()) * column.unit_sectors());
            cost_ns += added.sum::<u64>() * self.layer.settings.parity_kib_ns / 2;
        }
        let mut done_ns = now_ns;
        if cost_ns > 0 {
            let client = usize::from(operation.lun.0) / self.layer.files.len();
            done_ns = self.layer.cores[client].serve(now_ns, cost_ns);
        }
        match done_ns == now_ns {
            true => self.proceed(now_ns, id),
            false => {
                self.layer.computing.schedule(done_ns, id);
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
        let largest = self.layer.settings.largest_request_sectors;
        let requests = self.layout(operation.lun).requests(&columns, members, largest);
        self.operation(id).awaits = requests.len() as u32;
        for request in &requests {
            let layer = &mut self.layer;
            let slot = layer.in_progress.insert(id);
            let sectors = request.sectors as u32;
            let moved = match (direction, operation.direction) {
                (Direction::Write, _) => &mut layer.measures.writes,
                (Direction::Read, Direction::Read) => &mut layer.measures.reads,
                (Direction::Read, Direction::Write) => &mut layer.measures.update_reads,
            };
            moved.add(sectors);
            self.requests.push(HostOperation {
                id: OperationId(slot),
                lun: LunId(operation.lun.0 * self.layer.blades + request.blade),
                direction,
                first_sector: request.first_sector,
                sectors,
                payload: (),
            });
        }
        requests.len()
    }

    fn awaits_one_less(&mut self, now_ns: u64, id: u32) {
        let operation = self.operation(id);
        operation.awaits -= 1;
        if operation.awaits == 0 {
            self.proceed(now_ns, id);
        }
    }

    /// An operation has ended. Others may get its stripes, and its application may issue another in reply.
    fn operation_done(&mut self, now_ns: u64, id: u32) {
        let Some(operation) = self.layer.operations.remove(&id) else {
            unreachable!("operation {id} has ended")
        };
        if operation.is_locking {
            let stripes = self.layout(operation.lun).stripes_of(&operation.file_sectors());
            let mut granted = Vec::new();
            self.layer.locks.give_back(id, operation.lun.0, stripes, &mut granted);
            granted.into_iter().for_each(|other| self.awaits_one_less(now_ns, other));
        }
        self.end(now_ns, OperationId(id), operation.is_refused);
    }
}

impl HostLayer for ClientRaid {
    fn begin(&mut self, now_ns: u64, operation: &HostOperation<()>) {
        let HostOperation { id, lun, direction, first_sector, sectors, .. } = *operation;
        let lost = self.layer.settings.lost_at(now_ns);
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
            in_progress.awaits = self.layer.locks.ask(id.0, lun.0, stripes, use_of_stripes);
        }
        let goes_on = in_progress.awaits == 0;
        self.layer.operations.insert(id.0, in_progress);
        if goes_on {
            self.proceed(now_ns, id.0);
        }
    }

    fn request_done(&mut self, now_ns: u64, slot: OperationId, is_refused: bool) {
        let id = self.layer.in_progress.remove(slot.0);
        let operation = self.operation(id);
        operation.is_refused |= is_refused;
        self.awaits_one_less(now_ns, id);
    }

    fn next_due_ns(&self) -> u64 {
        self.layer.computing.next_ns()
    }

    /// Operations whose parity is computed go on.
    fn run_due(&mut self, now_ns: u64) {
        while self.layer.computing.next_ns() <= now_ns
            && let Some(id) = self.layer.computing.take()
        {
            self.proceed(now_ns, id);
        }
    }

    fn is_idle(&self) -> bool {
        self.layer.operations.is_empty()
    }

    fn measure(&mut self, end_ns: u64, measures: &mut HostMeasures) {
        let layer = &mut self.layer;
        let parity_busy_ns = layer.cores.iter_mut().map(|cores| cores.end_segment(end_ns));
        let parity_busy_ns = parity_busy_ns.collect();
        let of_clients = std::mem::take(&mut layer.measures);
        measures.client_raid = Some(Box::new(ClientRaidMeasures { parity_busy_ns, ..of_clients }));
    }
}
