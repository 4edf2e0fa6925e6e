//! The events of a machine, as data.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use strewn_base::state::SavedValue;

/// What reaches a part of a machine. Requests are named by their slots.
#[derive(Debug, Clone, Copy, SavedValue)]
pub(crate) enum Event {
    /// To a host: its processing of a message to be sent is done.
    Leaves(u32),
    /// To a controller: all of a request's message has arrived.
    Arrived(u32),
    /// To a controller: its network processing of the message is done.
    Received(u32),
    /// To a controller: its network processing of an answer is done.
    Answered(u32),
    /// To a host: all of the answer has arrived.
    Replied(u32),
    /// To a host: its processing of the answer is done.
    Done(u32),
    /// To a host: a request was lost on its way, and begins again.
    Retry(u32),
}

/// An event in the queue. At equal times, what was scheduled first comes first.
#[derive(Debug, Clone, Copy, SavedValue)]
struct QueuedEvent<E> {
    at_ns: u64,
    number: u64,
    event: E,
}

impl<E> QueuedEvent<E> {
    /// Time and number as one: they are compared without a branch.
    #[inline]
    fn order(&self) -> u128 {
        u128::from(self.at_ns) << 64 | u128::from(self.number)
    }
}

impl<E> PartialEq for QueuedEvent<E> {
    fn eq(&self, other: &Self) -> bool {
        self.order() == other.order()
    }
}

impl<E> Eq for QueuedEvent<E> {}

impl<E> PartialOrd for QueuedEvent<E> {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }

    #[inline]
    fn le(&self, other: &Self) -> bool {
        self.order() <= other.order()
    }
}

impl<E> Ord for QueuedEvent<E> {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        self.order().cmp(&other.order())
    }
}

/// Events to come, the earliest first.
#[derive(Debug, Clone, SavedValue)]
pub(crate) struct EventQueue<E = Event> {
    events: BinaryHeap<Reverse<QueuedEvent<E>>>,
    scheduled: u64,
}

impl<E> Default for EventQueue<E> {
    fn default() -> Self {
        Self { events: BinaryHeap::new(), scheduled: 0 }
    }
}

impl<E> EventQueue<E> {
    pub(crate) fn schedule(&mut self, at_ns: u64, event: E) {
        self.events.push(Reverse(QueuedEvent { at_ns, number: self.scheduled, event }));
        self.scheduled += 1;
    }

    /// When the first event occurs: `u64::MAX` if there is none.
    #[inline]
    pub(crate) fn next_ns(&self) -> u64 {
        self.events.peek().map_or(u64::MAX, |Reverse(queued)| queued.at_ns)
    }

    pub(crate) fn take(&mut self) -> Option<E> {
        self.events.pop().map(|Reverse(queued)| queued.event)
    }
}
