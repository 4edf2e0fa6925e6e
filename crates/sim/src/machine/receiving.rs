//! What a host does with an answer that arrives: all at once when it is complete, or piece by piece.

use strewn_array::Array;
use strewn_transport::Toward;

use super::events::Event;
use super::{Machine, PortId};
use crate::host::Host;

/// How a host takes in what arrives for it over a port. By default it begins when all of an answer is there, at once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Receiving {
    /// Nanoseconds for which the adapter collects frames before it interrupts the host: from the first frame of an
    /// answer to the first interrupt, and from one to the next while the rest arrives.
    pub interrupt_delay_ns: u64,
    /// Whether the host works on what each interrupt brings while the rest arrives; without a delay, on each frame.
    pub as_it_arrives: bool,
}

impl Receiving {
    /// When the host learns of the last frame of an answer.
    fn last_interrupt_ns(&self, first_ns: u64, last_ns: u64) -> u64 {
        match (last_ns - first_ns).div_ceil(self.interrupt_delay_ns.max(1)) {
            _ if self.interrupt_delay_ns == 0 => last_ns,
            interrupts => first_ns + interrupts.max(1) * self.interrupt_delay_ns,
        }
    }

    /// The share of an answer's work that begins with the last interrupt, of `cost_ns`. Frames arrive at equal
    /// intervals.
    fn last_work_ns(&self, first_ns: u64, last_ns: u64, frames: u64, cost_ns: u64) -> u64 {
        let span_ns = last_ns - first_ns;
        let in_last_ns = match self.interrupt_delay_ns {
            0 => span_ns / frames.max(1),
            delay_ns => (last_ns + delay_ns) - self.last_interrupt_ns(first_ns, last_ns),
        };
        match u128::from(cost_ns) * u128::from(in_last_ns.min(span_ns)) {
            _ if span_ns == 0 => cost_ns,
            product => (product / u128::from(span_ns)) as u64,
        }
    }
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
        let first_ns = request.since_ns.clamp(now_ns, last_ns);
        request.departs_ns = first_ns;
        request.since_ns = last_ns;
        let begins_ns = match receiving.as_it_arrives {
            true => first_ns + receiving.interrupt_delay_ns,
            false => receiving.last_interrupt_ns(first_ns, last_ns),
        };
        self.events.schedule(begins_ns, Event::Replied(slot));
    }

    /// A host begins with an answer, of which the first frame came at the request's `departs_ns` and the last one comes
    /// at its `since_ns`.
    #[cold]
    pub(super) fn replied_for_receiving(&mut self, now_ns: u64, slot: u32) {
        let request = self.requests.get_mut(slot);
        let port = &self.ports[request.round.port()];
        let receiving = self.receiving[request.round.port()];
        let round = self.rounds.of(request.round, port, request.connection, &self.network);
        let cost_ns = request.costs.host_receives_ns;
        let frames = round.trains.as_ref().map_or(1, |[_, to_host]| to_host.frames());
        let (first_ns, last_ns) = (request.departs_ns, request.since_ns);
        let last_work_ns = match receiving.as_it_arrives {
            true => receiving.last_work_ns(first_ns, last_ns, frames, cost_ns),
            false => cost_ns,
        };
        let least_ns = receiving.last_interrupt_ns(first_ns, last_ns) + last_work_ns;
        let cores = &mut self.host_cores[usize::from(port.host.0)];
        let done_ns = cores.serve(now_ns, cost_ns).max(least_ns);
        request.time.host_ns += done_ns - last_ns;
        self.events.schedule(done_ns, Event::Done(slot));
    }
}
