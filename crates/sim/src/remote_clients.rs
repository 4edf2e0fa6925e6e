//! Clients in front of a gateway: applications that reach its LUNs over a network of their own.

use std::collections::VecDeque;

use strewn_array::{HostOperation, LunId, OperationId};
use strewn_base::state::{SavedValue, StateError, StateReader, StateWriter};
use strewn_transport::{Connection, FrontEnd, Lost, Network, SubRequest, SubRequestKind, Toward};
use strewn_workload::Access;

use crate::host::{AccessesError, Host, HostMeasures, Moved};
use crate::machine::{
    Cores, EventQueue, HostId, LinkSegment, Operation, Operations, Port, Request, Requests,
    RoundCosts, RoundKey, Rounds, TimeIn, Word, links_since,
};

/// What lies between clients and a gateway.
#[derive(Debug, Clone)]
pub struct RemoteClientsSettings {
    /// The links.
    pub network: Network,
    /// The protocol, and what it costs: the clients as its host, the gateway as its target.
    pub front_end: FrontEnd,
    /// Connections over the network, which operations use in turn.
    pub connections: Vec<Connection>,
    /// Cores of the clients for what the protocol costs them. With 0, nothing waits for them.
    pub client_cores: u32,
    /// Cores of the gateway, likewise.
    pub gateway_cores: u32,
}

/// A gateway as a host of an array. Its clients' applications, another [`Host`], issue operations, which cross the clients'
/// network by a protocol such as NFS. What arrives is what the gateway issues: to a [`CachedHost`](crate::CachedHost) around
/// it, if the gateway has a page cache, and from there over the machine's network to the array.
///
/// ```text
/// applications ─ clients' network ─ gateway: page cache ─ machine's network ─ array
///      H            RemoteClients<H>   CachedHost<_>          Machine<_, _>
/// ```
///
/// What it measures is what the applications see.
pub struct RemoteClients<H> {
    applications: H,
    rounds: Rounds,
    state: RemoteState,
}

/// What changes while [`RemoteClients`] run.
#[derive(Debug, SavedValue)]
struct RemoteState {
    network: Network,
    /// Connections and protocol. There is one host, the clients.
    port: Port,
    uses: u32,
    client_cores: Cores,
    gateway_cores: Cores,
    operations: Operations,
    /// Operations in progress.
    in_progress: u32,
    requests: Requests,
    events: EventQueue,
    /// What has arrived, for the gateway to issue.
    ready: VecDeque<HostOperation<()>>,
    now_ns: u64,
    issued: Moved,
    time_in: TimeIn,
    lost: u64,
    links_before: Vec<LinkSegment>,
}

/// What lay between clients and a gateway in a segment.
#[derive(Debug, Clone, Default, PartialEq, SavedValue)]
pub struct RemoteMeasures {
    /// Where the time of the operations answered went: the host is the client, the front end the gateway's network
    /// processing, and the controller everything behind that, page cache and array.
    pub time_in: TimeIn,
    /// The links of the clients' network, in the order in which they were added.
    pub links: Vec<LinkSegment>,
    /// Time that the clients' cores were busy, in nanoseconds, summed over them.
    pub clients_busy_ns: u64,
    /// The same of the gateway's cores.
    pub gateway_busy_ns: u64,
    /// Requests and answers that were lost on their way, except those that TCP sent again.
    pub lost: u64,
}

impl<H: Host> RemoteClients<H> {
    /// Lets `applications` reach a gateway.
    pub fn new(applications: H, settings: RemoteClientsSettings) -> Self {
        let RemoteClientsSettings { network, front_end, connections, client_cores, gateway_cores } =
            settings;
        let state = RemoteState {
            network,
            port: Port { host: HostId(0), front_end, connections },
            uses: 0,
            client_cores: Cores::new(client_cores),
            gateway_cores: Cores::new(gateway_cores),
            operations: Operations::default(),
            in_progress: 0,
            requests: Requests::default(),
            events: EventQueue::default(),
            ready: VecDeque::new(),
            now_ns: 0,
            issued: Moved::default(),
            time_in: TimeIn::default(),
            lost: 0,
            links_before: Vec::new(),
        };
        Self { applications, rounds: Rounds::default(), state }
    }

    /// An application issues an operation.
    fn begin(&mut self, now_ns: u64, operation: &HostOperation<()>) {
        let HostOperation { id, lun, direction, first_sector, sectors, .. } = *operation;
        let bytes = u64::from(sectors) * strewn_base::SECTOR_BYTES;
        let exchange = self.state.port.front_end.exchange(direction, bytes);
        self.state.operations.insert(
            id,
            Operation {
                lun,
                direction,
                first_sector,
                sectors,
                sub_requests: exchange.sub_requests(),
                in_flight: exchange.in_flight(),
                next: 0,
                in_progress: 0,
                is_refused: false,
            },
        );
        self.state.in_progress += 1;
        self.begin_requests(now_ns, id);
    }

    /// Begins as many of an operation's sub-requests as the protocol allows.
    fn begin_requests(&mut self, now_ns: u64, id: OperationId) {
        loop {
            let operation = self.state.operations.get_mut(id);
            if operation.next == operation.sub_requests
                || operation.in_progress == operation.in_flight
            {
                return;
            }
            let (index, direction) = (operation.next, operation.direction);
            let bytes = u64::from(operation.sectors) * strewn_base::SECTOR_BYTES;
            let exchange = self.state.port.front_end.exchange(direction, bytes);
            let Some(SubRequest { kind, offset_bytes, bytes }) = exchange.sub_request(index) else {
                unreachable!("an operation has no sub-request {index}")
            };
            // A commit waits for all that it makes durable.
            if kind == SubRequestKind::Commit && operation.in_progress > 0 {
                return;
            }
            operation.next += 1;
            operation.in_progress += 1;
            let connections = self.state.port.connections.len().max(1) as u32;
            let connection = self.state.uses % connections;
            self.state.uses = self.state.uses.wrapping_add(1);
            let slot = self.state.requests.insert(Request {
                operation: id,
                offset_bytes,
                round: RoundKey::first(0, direction, kind, bytes),
                costs: RoundCosts::default(),
                controller: 0,
                connection,
                at_controller: false,
                since_ns: now_ns,
                departs_ns: 0,
                time: TimeIn::default(),
            });
            self.send_to_gateway(now_ns, slot);
        }
    }

    /// A client processes the message of a round, and then sends it.
    fn send_to_gateway(&mut self, now_ns: u64, slot: u32) {
        let state = &mut self.state;
        let request = state.requests.get_mut(slot);
        let round = self.rounds.of(request.round, &state.port, request.connection, &state.network);
        request.costs = round.costs;
        let leaves_ns = state.client_cores.serve(now_ns, round.costs.host_sends_ns);
        request.time.host_ns += leaves_ns - now_ns;
        state.events.schedule(leaves_ns, Word::Leaves(slot));
    }

    /// Sends a train of a request, and schedules what follows when all of it is there. If it is lost, the request begins
    /// again later, or fails.
    fn send(&mut self, now_ns: u64, slot: u32, toward: Toward, then: Word) {
        let state = &mut self.state;
        let request = state.requests.get_mut(slot);
        let round = self.rounds.of(request.round, &state.port, request.connection, &state.network);
        let connection = state.port.connections.get_mut(request.connection as usize);
        let (Some(connection), Some(trains)) = (connection, &round.trains) else {
            return state.events.schedule(now_ns, then);
        };
        match state.network.send_prepared(now_ns, connection, toward, &trains[toward as usize]) {
            Ok(arrival) => {
                request.time.wire_ns += arrival.last_ns - now_ns;
                state.events.schedule(arrival.last_ns, then);
            }
            Err(Lost { lost_ns, retry_ns }) => {
                state.lost += 1;
                let at_ns = retry_ns.unwrap_or(lost_ns).max(now_ns);
                request.time.wire_ns += at_ns - now_ns;
                let word = match retry_ns {
                    Some(_) => Word::Retry(slot),
                    None => {
                        state.operations.get_mut(request.operation).is_refused = true;
                        Word::Done(slot)
                    }
                };
                state.events.schedule(at_ns, word);
            }
        }
    }

    fn hear(&mut self, now_ns: u64, word: Word) {
        let state = &mut self.state;
        match word {
            Word::Leaves(slot) => self.send(now_ns, slot, Toward::Target, Word::Arrived(slot)),
            Word::Arrived(slot) => {
                let request = state.requests.get_mut(slot);
                let done_ns = state.gateway_cores.serve(now_ns, request.costs.target_receives_ns);
                request.time.front_end_ns += done_ns - now_ns;
                state.events.schedule(done_ns, Word::Received(slot));
            }
            Word::Received(slot) => self.received(now_ns, slot),
            Word::Answered(slot) => self.send(now_ns, slot, Toward::Host, Word::Replied(slot)),
            Word::Replied(slot) => {
                let request = state.requests.get_mut(slot);
                let done_ns = state.client_cores.serve(now_ns, request.costs.host_receives_ns);
                request.time.host_ns += done_ns - now_ns;
                state.events.schedule(done_ns, Word::Done(slot));
            }
            Word::Done(slot) => self.round_done(now_ns, slot),
            Word::Retry(slot) => {
                let request = state.requests.get_mut(slot);
                request.round = request.round.again();
                self.send_to_gateway(now_ns, slot);
            }
        }
    }

    /// The gateway has a message: it issues the operation, or tells the client to send more.
    fn received(&mut self, now_ns: u64, slot: u32) {
        let state = &mut self.state;
        let request = state.requests.get_mut(slot);
        // What a commit makes durable is: a cache that writes through has nothing else.
        if !request.is_for_array() {
            return self.send_to_client(now_ns, slot);
        }
        request.since_ns = now_ns;
        let operation = state.operations.get_mut(request.operation);
        let sectors = (request.round.bytes() / strewn_base::SECTOR_BYTES) as u32;
        state.issued.add(sectors);
        state.ready.push_back(HostOperation {
            id: OperationId(slot),
            lun: operation.lun,
            direction: operation.direction,
            first_sector: operation.first_sector + request.offset_bytes / strewn_base::SECTOR_BYTES,
            sectors,
            payload: (),
        });
    }

    /// The gateway answers a round.
    fn send_to_client(&mut self, now_ns: u64, slot: u32) {
        let state = &mut self.state;
        let request = state.requests.get_mut(slot);
        let leaves_ns = state.gateway_cores.serve(now_ns, request.costs.target_sends_ns);
        request.time.front_end_ns += leaves_ns - now_ns;
        state.events.schedule(leaves_ns, Word::Answered(slot));
    }

    /// What the gateway issued has an answer.
    fn request_done(&mut self, now_ns: u64, id: OperationId, is_refused: bool) {
        let OperationId(slot) = id;
        let request = self.state.requests.get_mut(slot);
        request.time.controller_ns += now_ns - request.since_ns;
        self.state.operations.get_mut(request.operation).is_refused |= is_refused;
        self.send_to_client(now_ns, slot);
    }

    /// The client has all of an answer: the next round begins, or the next sub-request, or the operation has ended.
    fn round_done(&mut self, now_ns: u64, slot: u32) {
        let state = &mut self.state;
        let request = state.requests.get_mut(slot);
        let id = request.operation;
        let operation = state.operations.get_mut(id);
        // The array works in the last round.
        if !operation.is_refused && !request.costs.array_works {
            request.round = request.round.next();
            return self.send_to_gateway(now_ns, slot);
        }
        state.time_in.add(&request.time);
        operation.in_progress -= 1;
        let is_last = operation.is_refused || operation.next == operation.sub_requests;
        let (is_refused, has_ended) = (operation.is_refused, is_last && operation.in_progress == 0);
        state.requests.remove(slot);
        if !is_last {
            return self.begin_requests(now_ns, id);
        }
        if has_ended {
            state.in_progress -= 1;
            let reply = match is_refused {
                true => self.applications.refused(now_ns, id),
                false => self.applications.answered(now_ns, id),
            };
            if let Some(operation) = reply {
                self.begin(now_ns, &operation);
            }
        }
    }

    /// Everything happens that is due.
    fn go_on(&mut self, now_ns: u64) {
        self.state.now_ns = now_ns;
        while self.state.events.next_ns() <= now_ns && self.state.ready.is_empty() {
            if let Some(word) = self.state.events.take() {
                self.hear(now_ns, word);
            }
        }
    }
}

impl<H: Host> Host for RemoteClients<H> {
    fn begin_segment(&mut self, now_ns: u64, index: u32) {
        self.applications.begin_segment(now_ns, index);
    }

    fn first(&mut self) -> Option<HostOperation<()>> {
        while let Some(operation) = self.applications.first() {
            self.begin(0, &operation);
        }
        None
    }

    fn next_issue_ns(&self) -> u64 {
        let state = &self.state;
        if !state.ready.is_empty() {
            return state.now_ns;
        }
        self.applications.next_issue_ns().min(state.events.next_ns())
    }

    fn issue_due(&mut self, now_ns: u64) -> Result<Option<HostOperation<()>>, AccessesError> {
        self.go_on(now_ns);
        if self.applications.next_issue_ns() <= now_ns
            && let Some(operation) = self.applications.issue_due(now_ns)?
        {
            self.begin(now_ns, &operation);
        }
        Ok(self.state.ready.pop_front())
    }

    fn answered(&mut self, now_ns: u64, id: OperationId) -> Option<HostOperation<()>> {
        self.request_done(now_ns, id, false);
        None
    }

    fn refused(&mut self, now_ns: u64, id: OperationId) -> Option<HostOperation<()>> {
        self.request_done(now_ns, id, true);
        None
    }

    fn prefetch_hint(&self) -> Option<(LunId, Access)> {
        None
    }

    fn is_done(&self) -> bool {
        self.applications.is_done() && self.state.in_progress == 0
    }

    fn issued(&self) -> Moved {
        self.state.issued
    }

    fn answered_in_segment(&self) -> u64 {
        self.applications.answered_in_segment()
    }

    fn end_segment(&mut self, start_ns: u64, end_ns: u64) -> HostMeasures {
        let mut host = self.applications.end_segment(start_ns, end_ns);
        let state = &mut self.state;
        host.remote = Some(Box::new(RemoteMeasures {
            time_in: std::mem::take(&mut state.time_in),
            links: links_since(&state.network, &mut state.links_before, end_ns),
            clients_busy_ns: state.client_cores.end_segment(end_ns),
            gateway_busy_ns: state.gateway_cores.end_segment(end_ns),
            lost: std::mem::take(&mut state.lost),
        }));
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
