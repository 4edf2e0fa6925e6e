//! What serves one thing at a time: when it is free.

use std::collections::VecDeque;

/// A span of idle time, in nanoseconds from the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "state", derive(serde::Serialize, serde::Deserialize))]
struct IdleSpan {
    from_ns: u64,
    until_ns: u64,
}

/// When a link's direction or a processor is booked.
///
/// Bookings are made in the order in which trains set out, which need not be the order in which they arrive: a train
/// that is held up on its way books time far ahead. The idle time before it is remembered, so that a train that arrives
/// earlier is served earlier. Work that does not fit into an idle span continues in the next one, as frames of several
/// trains would alternate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "state", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Calendar {
    /// The end of the last booking.
    free_ns: u64,
    /// The sum of all bookings.
    booked_ns: u64,
    /// The last idle time before `free_ns`; empty if there was none.
    last_idle: IdleSpan,
    /// Idle times before that one, in order. Those that are over are forgotten when another one is added, so there are as
    /// many as bookings ahead, as a rule none.
    idle: VecDeque<IdleSpan>,
}

/// When booked work begins and ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Booking {
    pub(crate) start_ns: u64,
    pub(crate) finish_ns: u64,
}

impl Calendar {
    /// Books `work_ns` at the earliest times from `arrival_ns` on. No later booking arrives before `now_ns`.
    #[inline(always)]
    pub(crate) fn book(&mut self, now_ns: u64, arrival_ns: u64, work_ns: u64) -> Booking {
        self.booked_ns += work_ns;
        let start_ns = if arrival_ns < self.free_ns {
            if arrival_ns < self.last_idle.until_ns {
                return self.fill(arrival_ns, work_ns);
            }
            self.free_ns
        } else {
            if arrival_ns > self.free_ns {
                if self.last_idle.until_ns > now_ns {
                    self.keep_last_idle(now_ns);
                }
                self.last_idle = IdleSpan { from_ns: self.free_ns, until_ns: arrival_ns };
            }
            arrival_ns
        };
        self.free_ns = start_ns + work_ns;
        Booking { start_ns, finish_ns: self.free_ns }
    }

    /// Another idle time comes behind the last one, which is not over.
    #[inline(never)]
    fn keep_last_idle(&mut self, now_ns: u64) {
        while self.idle.front().is_some_and(|first| first.until_ns <= now_ns) {
            self.idle.pop_front();
        }
        self.idle.push_back(self.last_idle);
    }

    /// When work that arrives at `arrival_ns` would begin.
    pub(crate) fn start_of_work_at(&self, arrival_ns: u64) -> u64 {
        let of_last = match arrival_ns < self.last_idle.until_ns {
            true => self.last_idle.from_ns,
            false => self.free_ns,
        };
        let first = self.idle.get(self.first_idle_after(arrival_ns));
        first.map_or(of_last, |span| span.from_ns).max(arrival_ns)
    }

    /// Nanoseconds booked before `until_ns`.
    pub(crate) fn busy_ns(&self, until_ns: u64) -> u64 {
        let idle_ns: u64 = self
            .idle
            .iter()
            .chain([&self.last_idle])
            .map(|span| span.until_ns.saturating_sub(span.from_ns.max(until_ns)))
            .sum();
        self.booked_ns.saturating_sub(self.free_ns.saturating_sub(until_ns).saturating_sub(idle_ns))
    }

    fn first_idle_after(&self, arrival_ns: u64) -> usize {
        self.idle.partition_point(|span| span.until_ns <= arrival_ns)
    }

    /// Books `work_ns` into idle spans, and the rest at the end.
    #[cold]
    fn fill(&mut self, arrival_ns: u64, work_ns: u64) -> Booking {
        self.idle.push_back(self.last_idle);
        let booking = self.fill_all(arrival_ns, work_ns);
        self.last_idle = self.idle.pop_back().unwrap_or_default();
        booking
    }

    fn fill_all(&mut self, arrival_ns: u64, work_ns: u64) -> Booking {
        let start_ns = self.start_of_work_at(arrival_ns);
        let mut left_ns = work_ns;
        let mut index = self.first_idle_after(arrival_ns);
        while let Some(span) = self.idle.get_mut(index) {
            let from_ns = span.from_ns.max(arrival_ns);
            let taken_ns = left_ns.min(span.until_ns - from_ns);
            left_ns -= taken_ns;
            let after = IdleSpan { from_ns: from_ns + taken_ns, until_ns: span.until_ns };
            span.until_ns = from_ns;
            let is_empty = |span: IdleSpan| span.from_ns == span.until_ns;
            match (is_empty(*span), is_empty(after)) {
                (false, false) => self.idle.insert(index + 1, after),
                (false, true) => {}
                (true, false) => *span = after,
                (true, true) => {
                    self.idle.remove(index);
                    index = index.wrapping_sub(1);
                }
            }
            if left_ns == 0 {
                return Booking { start_ns, finish_ns: from_ns + taken_ns };
            }
            index = index.wrapping_add(1);
        }
        self.free_ns += left_ns;
        Booking { start_ns, finish_ns: self.free_ns }
    }
}
