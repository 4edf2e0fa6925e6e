//! Accounts for what all connections hold: slots, requests and bytes in flight; and decides which must wait.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use super::limits::Limits;
use super::locked;

/// The current load of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Number of connections, including those in their handshake and those that only wait for their last requests.
    pub connections: usize,
    /// Requests that are not answered yet, or whose reply the client has not taken yet.
    pub requests: usize,
    /// The bytes of these requests.
    pub bytes: u64,
    /// The highest value that `bytes` had.
    pub most_bytes: u64,
}

/// A server's account.
#[derive(Debug)]
pub(super) struct Budget {
    limits: Limits,
    state: Mutex<State>,
    /// One per slot: the thread that reads for the slot waits here.
    changed: Box<[Condvar]>,
}

#[derive(Debug)]
struct State {
    held: Box<[SlotUsage]>,
    /// Bytes beyond the connections' reserved parts.
    shared_bytes: u64,
    /// Slots that wait for shared bytes, the longest first. The queue is strict, so that large requests have their
    /// turn.
    line: VecDeque<usize>,
    usage: Usage,
}

/// The resources that a connection holds.
#[derive(Debug, Clone, Default)]
struct SlotUsage {
    /// Whether the slot is in use: until its [`Share`] and all of its [`Charge`]s are dropped.
    taken: bool,
    /// Whether admission is closed.
    closed: bool,
    waits: bool,
    requests: usize,
    bytes: u64,
}

/// A connection's slot. Once dropped, it admits nothing more, and is free when its last charge is dropped.
#[derive(Debug)]
pub(super) struct Share {
    budget: Arc<Budget>,
    slot: usize,
}

/// The resources that one request holds, until dropped.
#[derive(Debug)]
pub(super) struct Charge {
    budget: Arc<Budget>,
    slot: usize,
    bytes: u64,
}

impl Budget {
    pub(super) fn new(limits: Limits) -> Self {
        let slots = limits.connections;
        let state = State {
            held: vec![SlotUsage::default(); slots].into(),
            shared_bytes: 0,
            line: VecDeque::new(),
            usage: Usage::default(),
        };
        Self {
            limits,
            state: Mutex::new(state),
            changed: (0..slots).map(|_| Condvar::new()).collect(),
        }
    }

    /// Returns a slot, if one is free.
    pub(super) fn open(self: &Arc<Self>) -> Option<Share> {
        let mut state = locked(&self.state);
        let slot = state.held.iter().position(|held| !held.taken)?;
        state.held[slot] = SlotUsage { taken: true, ..SlotUsage::default() };
        state.usage.connections += 1;
        Some(Share { budget: Arc::clone(self), slot })
    }

    pub(super) fn usage(&self) -> Usage {
        locked(&self.state).usage
    }

    /// Returns the part of a connection's bytes that exceeds its reserved part.
    fn beyond(&self, bytes: u64) -> u64 {
        bytes.saturating_sub(self.limits.reserved_bytes_per_connection())
    }
}

impl State {
    /// Leaves the queue; the new first slot may have room.
    fn leave_line(&mut self, slot: usize, changed: &[Condvar]) {
        if let Some(place) = self.line.iter().position(|&waiting| waiting == slot) {
            self.line.remove(place);
            if let Some(&first) = self.line.front() {
                changed[first].notify_one();
            }
        }
    }

    fn free_if_unused(&mut self, slot: usize) {
        if self.held[slot].closed && self.held[slot].requests == 0 && self.held[slot].taken {
            self.held[slot].taken = false;
            self.usage.connections -= 1;
        }
    }
}

impl Share {
    /// Waits until one more request of `bytes` bytes is within all limits. Returns `None` if the share was closed
    /// meanwhile.
    pub(super) fn admit(&self, bytes: u64) -> Option<Charge> {
        let budget = &*self.budget;
        let limits = &budget.limits;
        let mut state = locked(&budget.state);
        loop {
            let held = &state.held[self.slot];
            let within_own = held.requests < limits.requests_per_connection
                && held.bytes + bytes <= limits.bytes_per_connection;
            let more = budget.beyond(held.bytes + bytes) - budget.beyond(held.bytes);
            if held.closed {
                state.leave_line(self.slot, &budget.changed);
                return None;
            }
            let first = state.line.front().is_none_or(|&slot| slot == self.slot);
            let has_turn =
                more == 0 || (first && state.shared_bytes + more <= limits.shared_bytes());
            if within_own && has_turn {
                state.shared_bytes += more;
                let held = &mut state.held[self.slot];
                held.requests += 1;
                held.bytes += bytes;
                let usage = &mut state.usage;
                usage.requests += 1;
                usage.bytes += bytes;
                usage.most_bytes = usage.most_bytes.max(usage.bytes);
                assert!(usage.bytes <= limits.bytes_in_flight, "admitted more than there is");
                state.leave_line(self.slot, &budget.changed);
                return Some(Charge { budget: Arc::clone(&self.budget), slot: self.slot, bytes });
            }
            if within_own && !state.line.contains(&self.slot) {
                state.line.push_back(self.slot);
            }
            state.held[self.slot].waits = true;
            state = budget.changed[self.slot].wait(state).unwrap_or_else(PoisonError::into_inner);
            state.held[self.slot].waits = false;
        }
    }

    /// Closes admission.
    pub(super) fn close(&self) {
        locked(&self.budget.state).held[self.slot].closed = true;
        self.budget.changed[self.slot].notify_all();
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut state = locked(&self.budget.state);
        state.held[self.slot].closed = true;
        state.free_if_unused(self.slot);
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        let budget = &*self.budget;
        let mut state = locked(&budget.state);
        let held = &mut state.held[self.slot];
        let less = budget.beyond(held.bytes) - budget.beyond(held.bytes - self.bytes);
        held.requests -= 1;
        held.bytes -= self.bytes;
        state.shared_bytes -= less;
        state.usage.requests -= 1;
        state.usage.bytes -= self.bytes;
        state.free_if_unused(self.slot);
        if state.held[self.slot].waits {
            budget.changed[self.slot].notify_one();
        }
        if let Some(&first) = state.line.front().filter(|_| less > 0) {
            budget.changed[first].notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;
    use std::time::Duration;

    const MIB: u64 = 1 << 20;

    /// Returns a budget for two connections: 4 MiB are reserved for each, 8 MiB are shared, and 10 MiB is the most
    /// for one.
    fn budget() -> Arc<Budget> {
        Arc::new(Budget::new(Limits {
            connections: 2,
            requests_per_connection: 4,
            bytes_per_connection: 10 * MIB,
            bytes_in_flight: 16 * MIB,
            largest_request_bytes: 1 << 20,
            ..Limits::default()
        }))
    }

    #[test]
    fn a_connection_that_takes_all_it_can_leaves_the_others_part() {
        let budget = budget();
        let (first, second) = (budget.open().unwrap(), budget.open().unwrap());
        assert!(budget.open().is_none());
        let _all = (first.admit(10 * MIB).unwrap(), second.admit(4 * MIB).unwrap());
        assert_eq!(
            budget.usage(),
            Usage { connections: 2, requests: 2, bytes: 14 * MIB, most_bytes: 14 * MIB }
        );
    }

    #[test]
    fn whoever_waits_goes_on_when_there_is_room_or_when_its_share_is_closed() {
        let budget = budget();
        let (first, second) = (budget.open().unwrap(), budget.open().unwrap());
        let all = first.admit(10 * MIB).unwrap();
        thread::scope(|scope| {
            // 4 MiB of its own, and 3 of the 8 shared MiB, of which 2 are left.
            let waiting = scope.spawn(|| second.admit(7 * MIB).is_some());
            thread::sleep(Duration::from_millis(20));
            assert!(!waiting.is_finished());
            drop(all);
            assert!(waiting.join().unwrap());
            let full: Vec<_> = (0..4).map(|_| first.admit(0).unwrap()).collect();
            let waiting = scope.spawn(|| first.admit(0).is_none());
            thread::sleep(Duration::from_millis(20));
            first.close();
            assert!(waiting.join().unwrap());
            drop(full);
        });
        assert_eq!(budget.usage().bytes, 0);
    }

    #[test]
    fn a_large_request_is_not_overtaken_by_small_ones() {
        let budget = Arc::new(Budget::new(Limits {
            connections: 3,
            bytes_per_connection: 12 * MIB,
            bytes_in_flight: 12 * MIB,
            largest_request_bytes: 1 << 20,
            ..Limits::default()
        }));
        let [first, second, third] = std::array::from_fn(|_| budget.open().unwrap());
        // 2 MiB are reserved for each, 6 are shared: all but one of them are taken.
        let much = first.admit(7 * MIB).unwrap();
        thread::scope(|scope| {
            let large = scope.spawn(|| second.admit(8 * MIB).is_some());
            while locked(&budget.state).line.is_empty() {
                thread::yield_now();
            }
            let own = third.admit(2 * MIB).unwrap();
            let small = scope.spawn(|| third.admit(1).is_some());
            thread::sleep(Duration::from_millis(20));
            assert!(!small.is_finished() && !large.is_finished());
            drop(much);
            assert!(large.join().unwrap() && small.join().unwrap());
            drop(own);
        });
        assert!(locked(&budget.state).line.is_empty());
        assert_eq!(budget.usage().bytes, 0);
    }

    #[test]
    fn a_slot_is_free_when_its_last_request_is_done() {
        let budget = budget();
        let (first, _second) = (budget.open().unwrap(), budget.open().unwrap());
        let charge = first.admit(MIB).unwrap();
        drop(first);
        assert!(budget.open().is_none());
        drop(charge);
        assert!(budget.open().is_some());
    }
}
