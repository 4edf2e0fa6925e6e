//! Clients in front of a gateway: applications that reach its LUNs over a network of their own.

use strewn_array::{HostOperation, OperationId};
use strewn_base::saved_state;
use strewn_base::state::SavedValue;
use strewn_transport::{Connection, FrontEnd, Lost, Network, SubRequest, SubRequestKind, Toward};

use crate::host::{Host, HostMeasures};
use crate::layered_host::{HostLayer, LayeredHost};
use crate::machine::{
    Cores, Event, EventQueue, HostId, LinkSegment, Operation, Operations, Port, Request, Requests,
    RoundCosts, RoundKey, Rounds, TimeIn, links_since,
};

/// What lies between clients and a gateway.
#[derive(Debug, Clone)]
pub struct RemoteClientsConfig {
    /// Links between clients and gateway.
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

impl RemoteClientsConfig {
    /// Clients for whose protocol nothing waits for cores, on either side.
    #[must_use]
    pub fn new(network: Network, front_end: FrontEnd, connections: Vec<Connection>) -> Self {
        Self { network, front_end, connections, client_cores: 0, gateway_cores: 0 }
    }
}

/// A gateway as a host of an array. Its clients' applications, another [`Host`], issue operations, which cross the
/// clients' network by a protocol such as NFS. What arrives is what the gateway issues: to a
/// [`CachedHost`](crate::CachedHost) around it, if the gateway has a page cache, and from there over the machine's
/// network to the array.
///
/// ```text
/// applications ─ clients' network ─ gateway: page cache ─ machine's network ─ array
///   any host         RemoteClients     CachedHost            Machine<_, _>
/// ```
///
/// What it measures is what the applications see.
pub type RemoteClients = LayeredHost<ClientNetwork>;

/// The clients, their network and the gateway of [`RemoteClients`].
pub struct ClientNetwork {
    rounds: Rounds,
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
    time_in: TimeIn,
    lost: u64,
    links_before: Vec<LinkSegment>,
}

saved_state! {
    impl for ClientNetwork {
        parts:;
        values: network, port, uses, client_cores, gateway_cores, operations, in_progress, requests, events, time_in,
            lost, links_before;
        built: rounds;
    }
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

impl LayeredHost<ClientNetwork> {
    /// Lets `applications` reach a gateway.
    pub fn new(applications: Box<dyn Host>, settings: RemoteClientsConfig) -> Self {
        let RemoteClientsConfig { network, front_end, connections, client_cores, gateway_cores } =
            settings;
        let layer = ClientNetwork {
            rounds: Rounds::default(),
            network,
            port: Port { host: HostId(0), front_end, connections },
            uses: 0,
            client_cores: Cores::new(client_cores),
            gateway_cores: Cores::new(gateway_cores),
            operations: Operations::default(),
            in_progress: 0,
            requests: Requests::default(),
            events: EventQueue::default(),
            time_in: TimeIn::default(),
            lost: 0,
            links_before: Vec::new(),
        };
        Self::of(applications, layer)
    }

    /// Begins as many of an operation's sub-requests as the protocol allows.
    fn begin_requests(&mut self, now_ns: u64, id: OperationId) {
        loop {
            let operation = self.layer.operations.get_mut(id);
            if operation.next == operation.sub_requests
                || operation.in_progress == operation.in_flight
            {
                return;
            }
            let (index, direction) = (operation.next, operation.direction);
            let bytes = u64::from(operation.sectors) * strewn_base::SECTOR_BYTES;
            let exchange = self.layer.port.front_end.exchange(direction, bytes);
            let Some(SubRequest { kind, offset_bytes, bytes }) = exchange.sub_request(index) else {
                unreachable!("an operation has no sub-request {index}")
            };
            // A commit waits for all that it makes durable.
            if kind == SubRequestKind::Commit && operation.in_progress > 0 {
                return;
            }
            operation.next += 1;
            operation.in_progress += 1;
            let connections = self.layer.port.connections.len().max(1) as u32;
            let connection = self.layer.uses % connections;
            self.layer.uses = self.layer.uses.wrapping_add(1);
            let slot = self.layer.requests.insert(Request {
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
        let layer = &mut self.layer;
        let request = layer.requests.get_mut(slot);
        let round = layer.rounds.of(request.round, &layer.port, request.connection, &layer.network);
        request.costs = round.costs;
        let leaves_ns = layer.client_cores.serve(now_ns, round.costs.host_sends_ns);
        request.time.host_ns += leaves_ns - now_ns;
        layer.events.schedule(leaves_ns, Event::Leaves(slot));
    }

    /// Sends a train of a request, and schedules what follows when all of it is there. If it is lost, the request
    /// begins again later, or fails.
    fn send(&mut self, now_ns: u64, slot: u32, toward: Toward, then: Event) {
        let layer = &mut self.layer;
        let request = layer.requests.get_mut(slot);
        let round = layer.rounds.of(request.round, &layer.port, request.connection, &layer.network);
        let connection = layer.port.connections.get_mut(request.connection as usize);
        let (Some(connection), Some(trains)) = (connection, &round.trains) else {
            return layer.events.schedule(now_ns, then);
        };
        match layer.network.send_prepared(now_ns, connection, toward, &trains[toward as usize]) {
            Ok(arrival) => {
                request.time.wire_ns += arrival.last_ns - now_ns;
                layer.events.schedule(arrival.last_ns, then);
            }
            Err(Lost { lost_ns, retry_ns }) => {
                layer.lost += 1;
                let at_ns = retry_ns.unwrap_or(lost_ns).max(now_ns);
                request.time.wire_ns += at_ns - now_ns;
                let event = match retry_ns {
                    Some(_) => Event::Retry(slot),
                    None => {
                        layer.operations.get_mut(request.operation).is_refused = true;
                        Event::Done(slot)
                    }
                };
                layer.events.schedule(at_ns, event);
            }
        }
    }

    fn dispatch(&mut self, now_ns: u64, event: Event) {
        let layer = &mut self.layer;
        match event {
            Event::Leaves(slot) => self.send(now_ns, slot, Toward::Target, Event::Arrived(slot)),
            Event::Arrived(slot) => {
                let request = layer.requests.get_mut(slot);
                let done_ns = layer.gateway_cores.serve(now_ns, request.costs.target_receives_ns);
                request.time.front_end_ns += done_ns - now_ns;
                layer.events.schedule(done_ns, Event::Received(slot));
            }
            Event::Received(slot) => self.received(now_ns, slot),
            Event::Answered(slot) => self.send(now_ns, slot, Toward::Host, Event::Replied(slot)),
            Event::Replied(slot) => {
                let request = layer.requests.get_mut(slot);
                let done_ns = layer.client_cores.serve(now_ns, request.costs.host_receives_ns);
                request.time.host_ns += done_ns - now_ns;
                layer.events.schedule(done_ns, Event::Done(slot));
            }
            Event::Done(slot) => self.round_done(now_ns, slot),
            Event::Retry(slot) => {
                let request = layer.requests.get_mut(slot);
                request.round = request.round.again();
                self.send_to_gateway(now_ns, slot);
            }
        }
    }

    /// The gateway has a message: it issues the operation, or tells the client to send more.
    fn received(&mut self, now_ns: u64, slot: u32) {
        let layer = &mut self.layer;
        let request = layer.requests.get_mut(slot);
        // What a commit makes durable is: a cache that writes through has nothing else.
        if !request.is_for_array() {
            return self.send_to_client(now_ns, slot);
        }
        request.since_ns = now_ns;
        let operation = layer.operations.get_mut(request.operation);
        let sectors = (request.round.bytes() / strewn_base::SECTOR_BYTES) as u32;
        self.requests.push(HostOperation {
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
        let layer = &mut self.layer;
        let request = layer.requests.get_mut(slot);
        let leaves_ns = layer.gateway_cores.serve(now_ns, request.costs.target_sends_ns);
        request.time.front_end_ns += leaves_ns - now_ns;
        layer.events.schedule(leaves_ns, Event::Answered(slot));
    }

    /// The client has all of an answer: the next round begins, or the next sub-request, or the operation has ended.
    fn round_done(&mut self, now_ns: u64, slot: u32) {
        let layer = &mut self.layer;
        let request = layer.requests.get_mut(slot);
        let id = request.operation;
        let operation = layer.operations.get_mut(id);
        // The array works in the last round.
        if !operation.is_refused && !request.costs.array_works {
            request.round = request.round.next();
            return self.send_to_gateway(now_ns, slot);
        }
        layer.time_in.add(&request.time);
        operation.in_progress -= 1;
        let is_last = operation.is_refused || operation.next == operation.sub_requests;
        let (is_refused, has_ended) = (operation.is_refused, is_last && operation.in_progress == 0);
        layer.requests.remove(slot);
        if !is_last {
            return self.begin_requests(now_ns, id);
        }
        if has_ended {
            layer.in_progress -= 1;
            self.end(now_ns, id, is_refused);
        }
    }
}

impl HostLayer for RemoteClients {
    fn begin(&mut self, now_ns: u64, operation: &HostOperation<()>) {
        let HostOperation { id, lun, direction, first_sector, sectors, .. } = *operation;
        let bytes = u64::from(sectors) * strewn_base::SECTOR_BYTES;
        let exchange = self.layer.port.front_end.exchange(direction, bytes);
        self.layer.operations.insert(
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
        self.layer.in_progress += 1;
        self.begin_requests(now_ns, id);
    }

    /// What the gateway issued has an answer.
    fn request_done(&mut self, now_ns: u64, id: OperationId, is_refused: bool) {
        let OperationId(slot) = id;
        let request = self.layer.requests.get_mut(slot);
        request.time.controller_ns += now_ns - request.since_ns;
        self.layer.operations.get_mut(request.operation).is_refused |= is_refused;
        self.send_to_client(now_ns, slot);
    }

    fn next_due_ns(&self) -> u64 {
        self.layer.events.next_ns()
    }

    fn run_due(&mut self, now_ns: u64) {
        while self.layer.events.next_ns() <= now_ns
            && self.requests.is_empty()
            && let Some(event) = self.layer.events.take()
        {
            self.dispatch(now_ns, event);
        }
    }

    fn is_idle(&self) -> bool {
        self.layer.in_progress == 0
    }

    fn measure(&mut self, end_ns: u64, measures: &mut HostMeasures) {
        let layer = &mut self.layer;
        measures.remote = Some(Box::new(RemoteMeasures {
            time_in: std::mem::take(&mut layer.time_in),
            links: links_since(&layer.network, &mut layer.links_before, end_ns),
            clients_busy_ns: layer.client_cores.end_segment(end_ns),
            gateway_busy_ns: layer.gateway_cores.end_segment(end_ns),
            lost: std::mem::take(&mut layer.lost),
        }));
    }
}
