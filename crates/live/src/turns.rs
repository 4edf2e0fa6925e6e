//! Requests that wait for the array, taken from its clients in turns.
//!
//! A client that asks for much must not keep the others waiting. Only so many bytes are in progress at a time; which
//! request is next is decided by the bytes that each client was served (start-time fair queueing): a client that was
//! served less comes first. A client with little in progress need not wait for the others at all.

use std::collections::{BTreeMap, VecDeque};

use crate::nbd::Requester;

/// Bytes in progress at which further requests wait.
const MOST_IN_PROGRESS: u64 = 32 << 20;

/// Bytes that each client may have in progress however much the others have.
const OWN_IN_PROGRESS: u64 = 256 << 10;

/// The cost of a request beside its bytes, in bytes.
const REQUEST_COST: u64 = 4096;

/// The most that a request counts for, in bytes. One with an absurd range is refused in its turn.
const MOST_COST: u64 = 4 << 30;

/// Requests by client.
pub(crate) struct Turns<T> {
    clients: BTreeMap<u64, ClientQueue<T>>,
    /// What the client that was served last had been served before, in bytes: newcomers begin here.
    now: u64,
    in_progress: u64,
}

struct ClientQueue<T> {
    requester: Requester,
    waiting: VecDeque<(u64, T)>,
    /// Bytes served so far.
    served: u64,
    in_progress: u64,
    /// Whether its departure was noticed.
    has_left: bool,
}

/// What a request in progress has taken, to give back with [`Turns::end`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Turn {
    client: u64,
    cost: u64,
}

impl<T> Turns<T> {
    pub(crate) fn new() -> Self {
        Self { clients: BTreeMap::new(), now: 0, in_progress: 0 }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.clients.values().all(|client| client.waiting.is_empty())
    }

    /// Adds a client's request of `bytes` bytes.
    pub(crate) fn push(&mut self, requester: &Requester, bytes: u64, request: T) {
        let now = self.now;
        let client = self.clients.entry(requester.number()).or_insert_with(|| ClientQueue {
            requester: requester.clone(),
            waiting: VecDeque::new(),
            served: now,
            in_progress: 0,
            has_left: false,
        });
        if client.is_unused() {
            client.served = client.served.max(now);
        }
        client.waiting.push_back((bytes.min(MOST_COST) + REQUEST_COST, request));
    }

    /// Takes the next request that may begin.
    pub(crate) fn begin(&mut self) -> Option<(Turn, T)> {
        let is_full = self.in_progress >= MOST_IN_PROGRESS;
        let may_begin = |client: &ClientQueue<T>| {
            let cost = client.waiting.front()?.0;
            let is_little = client.in_progress + cost <= OWN_IN_PROGRESS;
            (is_little || !is_full).then_some(client.served)
        };
        let next = self.clients.iter_mut().filter_map(|(number, client)| {
            may_begin(client).map(|served| (served, *number, client))
        });
        let (served, number, client) = next.min_by_key(|(served, number, _)| (*served, *number))?;
        let (cost, request) = client.waiting.pop_front()?;
        self.now = self.now.max(served);
        client.served = served + cost;
        client.in_progress += cost;
        self.in_progress += cost;
        Some((Turn { client: number, cost }, request))
    }

    /// Notes that a request is no longer in progress.
    pub(crate) fn end(&mut self, turn: Turn) {
        self.in_progress -= turn.cost;
        let now = self.now;
        if let Some(client) = self.clients.get_mut(&turn.client) {
            client.in_progress -= turn.cost;
            // One that was served more than its share is remembered until the others were served as much.
            if client.is_unused() && (client.has_left || client.served <= now) {
                self.clients.remove(&turn.client);
            }
        }
    }

    /// Drops the waiting requests of clients that are gone, and returns the numbers of those that had a request in
    /// progress when that was noticed.
    pub(crate) fn drop_gone(&mut self) -> Vec<u64> {
        let mut left = Vec::new();
        self.clients.retain(|&number, client| {
            if client.requester.is_gone() {
                client.waiting.clear();
                if !client.has_left && client.in_progress > 0 {
                    left.push(number);
                }
                client.has_left = true;
            }
            !(client.is_unused() && (client.has_left || client.served <= self.now))
        });
        left
    }
}

impl Turn {
    /// Returns the number of the client.
    pub(crate) fn client(&self) -> u64 {
        self.client
    }
}

impl<T> ClientQueue<T> {
    fn is_unused(&self) -> bool {
        self.waiting.is_empty() && self.in_progress == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn begun(turns: &mut Turns<char>) -> Vec<(Turn, char)> {
        std::iter::from_fn(|| turns.begin()).collect()
    }

    fn names(begun: &[(Turn, char)]) -> String {
        begun.iter().map(|(_, name)| name).collect()
    }

    #[test]
    fn clients_take_turns_by_bytes() {
        let (mut turns, much, little) = (Turns::new(), Requester::new(), Requester::new());
        for name in ['A', 'B', 'C'] {
            turns.push(&much, 40 * MIB, name);
        }
        let first = begun(&mut turns);
        assert_eq!(names(&first), "A");
        for name in ['a', 'b', 'c'] {
            turns.push(&little, 15 * MIB, name);
        }
        turns.end(first[0].0);
        // The second client has caught up when it was served as much as the first.
        let second = begun(&mut turns);
        assert_eq!(names(&second), "abc");
        second.into_iter().for_each(|(turn, _)| turns.end(turn));
        assert_eq!(names(&begun(&mut turns)), "B");
        assert!(!turns.is_empty());
    }

    #[test]
    fn little_never_waits_for_much() {
        let (mut turns, much, little) = (Turns::new(), Requester::new(), Requester::new());
        turns.push(&much, u64::MAX, 'A');
        turns.push(&much, 1, 'B');
        assert_eq!(names(&begun(&mut turns)), "A");
        for name in ('a'..='z').chain('a'..='z').chain('a'..='z') {
            turns.push(&little, 4096, name);
        }
        assert_eq!(begun(&mut turns).len() as u64, OWN_IN_PROGRESS / (4096 + REQUEST_COST));
    }

    #[test]
    fn what_a_client_that_is_gone_asked_for_is_dropped() {
        let (mut turns, gone, other) = (Turns::new(), Requester::new(), Requester::new());
        for name in ['A', 'B'] {
            turns.push(&gone, 40 * MIB, name);
            turns.push(&other, MIB, name.to_ascii_lowercase());
        }
        let (turn, _) = turns.begin().unwrap();
        assert!(turns.drop_gone().is_empty());
        gone.leave();
        assert_eq!(turns.drop_gone(), [gone.number()]);
        assert!(turns.drop_gone().is_empty(), "it is told once");
        turns.end(turn);
        let rest = begun(&mut turns);
        assert_eq!(names(&rest), "ab");
        rest.into_iter().for_each(|(turn, _)| turns.end(turn));
        turns.drop_gone();
        assert!(!turns.clients.contains_key(&gone.number()));
    }

    #[test]
    fn a_client_that_comes_late_is_not_owed_the_past_and_one_that_took_much_is_not_forgotten() {
        let (mut turns, first, late) = (Turns::new(), Requester::new(), Requester::new());
        for _ in 0..10 {
            turns.push(&first, 20 * MIB, 'A');
            let (turn, _) = turns.begin().unwrap();
            turns.end(turn);
        }
        for name in ['A', 'B'] {
            turns.push(&first, 20 * MIB, name);
        }
        for name in ['a', 'b', 'c', 'd'] {
            turns.push(&late, 9 * MIB, name);
        }
        let mut order = String::new();
        while let Some((turn, name)) = turns.begin() {
            order.push(name);
            turns.end(turn);
        }
        // It begins where the other began its last one.
        assert_eq!(order, "abcAdB");
    }
}
