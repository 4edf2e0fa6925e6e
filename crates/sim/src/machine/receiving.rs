//! What a host does with an answer that arrives: all at once when it is complete, or piece by piece.

use strewn_array::Array;
use strewn_transport::Toward;

use super::events::Word;
use super::{Machine, PortId};
use crate::host::Host;

/// How a host takes in what arrives for it over a port. By default it begins when all of an answer is there, at once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Receiving {
    /// Nanoseconds from an arrival to the interrupt by which the host learns of it. An adapter that moderates interrupts
    /// holds them back.
    pub interrupt_delay_ns: u64,
    /// Whether the host begins with the first frame of an answer, and works while the rest arrives. The last PDU is
    /// processed when it is complete.
    pub as_it_arrives: bool,
}

impl<A: Array<()>, H: Host> Machine<A, H> {
    /// Says how the host of `port` takes in what arrives over it.
    ///
    /// # Panics
    /// If there is no such port.
    pub fn receive(&mut self, port: PortId, receiving: Receiving) {
        self.receiving[usize::from(port.0)] = receiving;
        self.receives_apart = self.receiving.iter().any(|one| *one != Receiving::default());
    }

    /// An answer leaves for a host that may begin with it before all of it has arrived.
    #[cold]
    pub(super) fn answer_leaves_for_receiving(&mut self, now_ns: u64, slot: u32) {
        let Some(last_ns) = self.send(now_ns, slot, Toward::Host) else { return };
        let request = self.requests.get_mut(slot);
        let receiving = self.receiving[request.round.port()];
        let first_ns = std::mem::replace(&mut request.since_ns, last_ns);
        let begins_ns = if receiving.as_it_arrives { first_ns.max(now_ns) } else { last_ns };
        let at_ns = begins_ns + receiving.interrupt_delay_ns;
        self.events.schedule(at_ns, Word::Replied(slot));
    }

    /// A host begins with an answer that was complete, or will be, at the request's `since_ns`.
    #[cold]
    pub(super) fn replied_for_receiving(&mut self, now_ns: u64, slot: u32) {
        let request = self.requests.get_mut(slot);
        let port = &self.ports[request.round.port()];
        let receiving = self.receiving[request.round.port()];
        let round = self.rounds.of(request.round, port, request.connection, &self.network);
        let cost_ns = request.costs.host_receives_ns;
        let pdus = round.trains.as_ref().map_or(1, |[_, to_host]| to_host.train().pdus().max(1));
        let last_ns = request.since_ns;
        let cores = &mut self.host_cores[usize::from(port.host.0)];
        let least_ns = last_ns + receiving.interrupt_delay_ns + cost_ns / u64::from(pdus);
        let done_ns = cores.serve(now_ns, cost_ns).max(least_ns);
        request.time.host_ns += done_ns - last_ns;
        self.events.schedule(done_ns, Word::Done(slot));
    }
}
