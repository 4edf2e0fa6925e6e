//! Host operations on their way through a machine.

use strewn_array::{Direction, LunId, OperationId};
use strewn_base::state::SavedValue;
use strewn_transport::SubRequestKind;

use super::rounds::{RoundCosts, RoundKey};

/// Where the time of operations went, in nanoseconds, summed over requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, SavedValue)]
pub struct TimeIn {
    /// Waiting for the host's processor, and on it.
    pub host_ns: u64,
    /// On links and in switches, waits for them included.
    pub wire_ns: u64,
    /// The controller's network processing.
    pub front_end_ns: u64,
    /// Waiting for the controller's processor, and on it, until its commands leave or its answer does; a write's copy
    /// in the partner's log included.
    pub controller_ns: u64,
    /// The rest of the array's response: spindles, and room in the log.
    pub spindle_ns: u64,
    /// Waiting for a controller that had stopped.
    pub outage_ns: u64,
}

impl TimeIn {
    pub(crate) fn add(&mut self, other: &Self) {
        self.host_ns += other.host_ns;
        self.wire_ns += other.wire_ns;
        self.front_end_ns += other.front_end_ns;
        self.controller_ns += other.controller_ns;
        self.spindle_ns += other.spindle_ns;
        self.outage_ns += other.outage_ns;
    }

    /// All of it.
    #[must_use]
    pub fn total_ns(&self) -> u64 {
        let Self { host_ns, wire_ns, front_end_ns, controller_ns, spindle_ns, outage_ns } = self;
        host_ns + wire_ns + front_end_ns + controller_ns + spindle_ns + outage_ns
    }
}

/// A host's operation, by the host's number for it.
#[derive(Debug, Clone, Copy, SavedValue)]
pub(crate) struct Operation {
    pub(crate) lun: LunId,
    pub(crate) direction: Direction,
    pub(crate) first_sector: u64,
    pub(crate) sectors: u32,
    /// Sub-requests of its exchange, and how many may be in progress.
    pub(crate) sub_requests: u32,
    pub(crate) in_flight: u32,
    /// The next sub-request to begin.
    pub(crate) next: u32,
    /// Sub-requests in progress.
    pub(crate) in_progress: u32,
    /// Whether the array refused any of them.
    pub(crate) is_refused: bool,
}

/// A sub-request of an operation, by its slot.
#[derive(Debug, Clone, Copy, SavedValue)]
pub(crate) struct Request {
    pub(crate) operation: OperationId,
    /// Where in the operation it begins.
    pub(crate) offset_bytes: u64,
    /// The port that it uses, what it asks for, and which of its rounds it is in.
    pub(crate) round: RoundKey,
    /// What this round costs.
    pub(crate) costs: RoundCosts,
    /// Where it goes.
    pub(crate) controller: u16,
    /// The port's connection that it uses.
    pub(crate) connection: u32,
    /// Whether a controller has it: its array, or the queue of its processor.
    pub(crate) at_controller: bool,
    /// When it reached the place where it is.
    pub(crate) since_ns: u64,
    /// At the array: when its commands leave the processor, or its answer.
    pub(crate) departs_ns: u64,
    pub(crate) time: TimeIn,
}

impl Request {
    /// Whether its round gives the array an operation. A commit finds everything in the log already, and other rounds
    /// ask the host for more.
    #[inline(always)]
    pub(crate) fn is_for_array(&self) -> bool {
        self.costs.array_works && self.round.kind() != SubRequestKind::Commit
    }
}

/// Requests in progress, by their slots. A slot that becomes free is the next to be used.
#[derive(Debug, Clone, SavedValue)]
pub(crate) struct Requests<R = Request> {
    slots: Vec<Option<R>>,
    free: Vec<u32>,
}

impl<R> Default for Requests<R> {
    fn default() -> Self {
        Self { slots: Vec::new(), free: Vec::new() }
    }
}

impl<R> Requests<R> {
    #[inline]
    pub(crate) fn insert(&mut self, request: R) -> u32 {
        match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = Some(request);
                slot
            }
            None => {
                self.slots.push(Some(request));
                (self.slots.len() - 1) as u32
            }
        }
    }

    /// # Panics
    /// If there is no such request: an event or an answer is of one that has ended.
    #[inline]
    pub(crate) fn get_mut(&mut self, slot: u32) -> &mut R {
        match &mut self.slots[slot as usize] {
            Some(request) => request,
            None => unreachable!("request {slot} has ended"),
        }
    }

    /// # Panics
    /// As [`get_mut`](Self::get_mut).
    #[inline]
    pub(crate) fn remove(&mut self, slot: u32) -> R {
        let Some(ended) = self.slots[slot as usize].take() else {
            unreachable!("request {slot} has ended before")
        };
        self.free.push(slot);
        ended
    }
}

impl Requests {
    /// A controller's array stood still for `outage_ns`.
    pub(crate) fn shift_at_controller(&mut self, outage_ns: u64, controller: usize) {
        let at_controllers =
            self.slots.iter_mut().flatten().filter(|request| request.at_controller);
        for request in
            at_controllers.filter(|request| usize::from(request.controller) == controller)
        {
            request.since_ns += outage_ns;
            request.departs_ns += outage_ns;
            request.time.outage_ns += outage_ns;
        }
    }
}

/// Operations in progress. Hosts number them densely.
#[derive(Debug, Clone, Default, SavedValue)]
pub(crate) struct Operations {
    slots: Vec<Option<Operation>>,
}

impl Operations {
    #[inline]
    pub(crate) fn insert(&mut self, id: OperationId, operation: Operation) {
        let slot = id.0 as usize;
        if slot >= self.slots.len() {
            self.slots.resize(slot + 1, None);
        }
        self.slots[slot] = Some(operation);
    }

    /// # Panics
    /// If there is no such operation.
    #[inline]
    pub(crate) fn get_mut(&mut self, id: OperationId) -> &mut Operation {
        match &mut self.slots[id.0 as usize] {
            Some(operation) => operation,
            None => unreachable!("{id:?} has ended"),
        }
    }
}
