//! Messages of operations: from a host to an array's controller and back.

use strewn_array::{Array, Direction, HostOperation, LunId, OperationId, ProcessorWork};
use strewn_transport::{Lost, SubRequest, SubRequestKind, Toward};
use strewn_workload::Access;

use crate::component::Component;
use crate::host::Host;
use crate::simulation::SimulationError;

use super::events::Event;
use super::requests::{Operation, Request};
use super::rounds::{RoundCosts, RoundKey};
use super::{Machine, Target, TimeIn};

impl<A: Array<()>, H: Host> Machine<A, H> {
    /// The host issues an operation.
    #[inline(always)]
    pub(super) fn issue(&mut self, now_ns: u64, operation: HostOperation<()>) {
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
    pub(super) fn issue_due(&mut self, now_ns: u64, operation: HostOperation<()>) {
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
            at_controller: false,
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
            false => self.events.schedule(leaves_ns, Event::Leaves(slot)),
        }
    }

    #[inline(always)]
    fn leaves(&mut self, now_ns: u64, slot: u32) {
        match self.send(now_ns, slot, Toward::Target) {
            Some(arrives_ns) if arrives_ns == now_ns => self.arrived(now_ns, slot),
            Some(arrives_ns) => self.events.schedule(arrives_ns, Event::Arrived(slot)),
            None => {}
        }
    }

    /// Sends a train of a request. Returns when all of it arrives; its first frame does at the request's `since_ns`. If
    /// it is lost, the request begins again later, or fails.
    #[inline(never)]
    pub(super) fn send(&mut self, at_ns: u64, slot: u32, toward: Toward) -> Option<u64> {
        let request = self.requests.get_mut(slot);
        let port = &mut self.ports[request.round.port()];
        let round = self.rounds.of(request.round, port, request.connection, &self.network);
        let connection = port.connections.get_mut(request.connection as usize);
        let (Some(connection), Some(trains)) = (connection, &round.trains) else {
            request.since_ns = at_ns;
            return Some(at_ns);
        };
        match self.network.send_prepared(at_ns, connection, toward, &trains[toward as usize]) {
            Ok(arrival) => {
                request.time.wire_ns += arrival.last_ns - at_ns;
                request.since_ns = arrival.first_ns;
                Some(arrival.last_ns)
            }
            Err(Lost { lost_ns, retry_ns }) => {
                self.lost += 1;
                let at = retry_ns.unwrap_or(lost_ns).max(at_ns);
                request.time.wire_ns += at - at_ns;
                match retry_ns {
                    Some(_) => self.events.schedule(at, Event::Retry(slot)),
                    None => {
                        self.operations.get_mut(request.operation).is_refused = true;
                        self.events.schedule(at, Event::Done(slot));
                    }
                }
                None
            }
        }
    }

    // What happens to every request is compiled into four functions, `arrived`, `answer`, `replied` and `send`: calls
    // of one for each step took a tenth of a machine's instructions.
    /// Calls the part that `event` is for.
    #[inline(always)]
    pub(super) fn dispatch(&mut self, now_ns: u64, event: Event) {
        match event {
            Event::Arrived(slot) => self.arrived(now_ns, slot),
            Event::Replied(slot) => self.replied(now_ns, slot),
            Event::Leaves(_)
            | Event::Answered(_)
            | Event::Received(_)
            | Event::Done(_)
            | Event::Retry(_) => self.dispatch_rest(now_ns, event),
        }
    }

    /// Events that occur only where processing at one of the ends takes time, or something was lost.
    #[inline(never)]
    fn dispatch_rest(&mut self, now_ns: u64, event: Event) {
        match event {
            Event::Leaves(slot) => self.leaves(now_ns, slot),
            Event::Answered(slot) => self.answer_leaves(now_ns, slot),
            Event::Arrived(slot) => self.arrived(now_ns, slot),
            Event::Received(slot) => self.received(now_ns, slot),
            Event::Replied(slot) => self.replied(now_ns, slot),
            Event::Done(slot) => self.round_done(now_ns, slot),
            Event::Retry(slot) => {
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
            let is_for_array = request.is_for_array();
            self.process_network(index, now_ns, cost_ns);
            if is_for_array || cost_ns == 0 {
                self.requests.get_mut(slot).time.front_end_ns += cost_ns;
                return self.received(now_ns, slot);
            }
            // What the array has no part in is answered when the processor comes to it, as an acknowledgement is.
            let request = self.requests.get_mut(slot);
            (request.at_controller, request.since_ns) = (true, now_ns);
            return self.with_processor(index, |driven| {
                driven.driver.answer_after_processor(OperationId(slot));
            });
        };
        self.controllers[served_by].other_work_ns += cost_ns as i64;
        request.time.front_end_ns += done_ns - now_ns;
        match done_ns == now_ns {
            true => self.received(now_ns, slot),
            false => self.events.schedule(done_ns, Event::Received(slot)),
        }
    }

    /// Gives the network processing of a round to the processor that also runs the array, which has no cores for it
    /// alone: that of the answer too, like the costs of an operation's completion in
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
    pub(super) fn received(&mut self, now_ns: u64, slot: u32) {
        let request = self.requests.get_mut(slot);
        let index = usize::from(request.controller);
        let controller = &mut self.controllers[index];
        if controller.stopped.is_some() {
            request.since_ns = now_ns;
            controller.waiting.push_back(slot);
            return;
        }
        if !request.is_for_array() {
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
        (request.at_controller, request.since_ns) = (true, now_ns + in_front_ns);
        request.departs_ns = departs_ns;
    }

    /// Passes the arrays' answers on.
    #[inline]
    pub(super) fn answer_ready(&mut self, now_ns: u64) -> Result<(), SimulationError> {
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
            request.at_controller = false;
            if request.is_for_array() {
                let departed_ns = request.departs_ns.min(now_ns).max(request.since_ns);
                request.time.controller_ns += departed_ns - request.since_ns;
                request.time.spindle_ns += now_ns.saturating_sub(departed_ns);
            } else {
                request.time.front_end_ns += now_ns - request.since_ns;
            }
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
            false => self.events.schedule(leaves_ns, Event::Answered(slot)),
        }
    }

    #[inline(always)]
    fn answer_leaves(&mut self, now_ns: u64, slot: u32) {
        if self.receives_apart {
            return self.answer_leaves_for_receiving(now_ns, slot);
        }
        match self.send(now_ns, slot, Toward::Host) {
            Some(arrives_ns) if arrives_ns == now_ns => self.replied(now_ns, slot),
            Some(arrives_ns) => self.events.schedule(arrives_ns, Event::Replied(slot)),
            None => {}
        }
    }

    /// All of an answer is at the host.
    #[inline(never)]
    fn replied(&mut self, now_ns: u64, slot: u32) {
        if self.receives_apart {
            return self.replied_for_receiving(now_ns, slot);
        }
        let request = self.requests.get_mut(slot);
        let host = self.ports[request.round.port()].host;
        let cores = &mut self.host_cores[usize::from(host.0)];
        let done_ns = cores.serve(now_ns, request.costs.host_receives_ns);
        request.time.host_ns += done_ns - now_ns;
        match done_ns == now_ns {
            true => self.round_done(now_ns, slot),
            false => self.events.schedule(done_ns, Event::Done(slot)),
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
}
