//! What is to happen in a machine, as data.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use strewn_base::state::SavedValue;

/// What a part of a machine is told. Requests are named by their slots.
#[derive(Debug, Clone, Copy, SavedValue)]
pub(crate) enum Word {
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

/// A word for a part, at a time. At equal times, what was scheduled first comes first.
#[derive(Debug, Clone, Copy, SavedValue)]
struct Event<W> {
    at_ns: u64,
    number: u64,
    word: W,
}

impl<W> Event<W> {
    /// Time and number as one: they are compared without a branch.
    #[inline]
    fn order(&self) -> u128 {
        u128::from(self.at_ns) << 64 | u128::from(self.number)
    }
}

impl<W> PartialEq for Event<W> {
    fn eq(&self, other: &Self) -> bool {
        self.order() == other.order()
    }
}

impl<W> Eq for Event<W> {}

impl<W> PartialOrd for Event<W> {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }

    #[inline]
    fn le(&self, other: &Self) -> bool {
        self.order() <= other.order()
    }
}

impl<W> Ord for Event<W> {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        self.order().cmp(&other.order())
    }
}

/// The words that are to be said, the earliest first.
#[derive(Debug, Clone, SavedValue)]
pub(crate) struct EventQueue<W = Word> {
    events: BinaryHeap<Reverse<Event<W>>>,
    scheduled: u64,
}

impl<W> Default for EventQueue<W> {
    fn default() -> Self {
        Self { events: BinaryHeap::new(), scheduled: 0 }
    }
}

impl<W> EventQueue<W> {
    pub(crate) fn schedule(&mut self, at_ns: u64, word: W) {
        self.events.push(Reverse(Event { at_ns, number: self.scheduled, word }));
        self.scheduled += 1;
    }

    /// When the first event occurs: `u64::MAX` if there is none.
    #[inline]
    pub(crate) fn next_ns(&self) -> u64 {
        self.events.peek().map_or(u64::MAX, |Reverse(event)| event.at_ns)
    }

    pub(crate) fn take(&mut self) -> Option<W> {
        self.events.pop().map(|Reverse(event)| event.word)
    }
}
