//! When what serves one thing at a time is free.

use std::collections::VecDeque;

use crate::state::SavedValue;

/// A span of idle time, in nanoseconds from the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, SavedValue)]
struct IdleSpan {
    from_ns: u64,
    until_ns: u64,
}

/// When a server of one thing at a time is booked: a link's direction, or a processor's core.
///
/// Bookings need not be made in the order in which the work arrives: a train of frames that is held up on its way, or
/// work that waits for other work, books time far ahead. The idle time before it is remembered, so that work that
/// arrives earlier is served earlier. Work that does not fit into an idle span continues in the next one, as frames of
/// several trains would alternate.
///
/// ```
/// use strewn_base::Calendar;
///
/// let mut link = Calendar::default();
/// assert_eq!(link.book(0, 100, 50).finish_ns, 150);
/// assert_eq!(link.book(0, 20, 50).finish_ns, 70); // before it
/// assert_eq!(link.book(0, 20, 50).finish_ns, 170); // 30 ns before it, 20 ns after it
/// assert_eq!(link.busy_ns(100), 80);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, SavedValue)]
pub struct Calendar {
    /// The end of the last booking.
    free_ns: u64,
    /// The sum of all bookings.
    booked_ns: u64,
    /// The last idle time before `free_ns`; empty if there was none.
    last_idle: IdleSpan,
    /// Idle times before that one, in order. Those that are over are forgotten when another one is added, so there are
    /// as many as bookings ahead, as a rule none.
    idle: VecDeque<IdleSpan>,
}

/// When booked work begins and ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Booking {
    /// When it begins, in nanoseconds.
    pub start_ns: u64,
    /// When it ends, in nanoseconds.
    pub finish_ns: u64,
}

impl Calendar {
    /// Books `work_ns` at the earliest times from `arrival_ns` on. No later booking arrives before `now_ns`.
    #[inline(always)]
    pub fn book(&mut self, now_ns: u64, arrival_ns: u64, work_ns: u64) -> Booking {
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
    #[must_use]
    pub fn start_of_work_at(&self, arrival_ns: u64) -> u64 {
        let of_last = match arrival_ns < self.last_idle.until_ns {
            true => self.last_idle.from_ns,
            false => self.free_ns,
        };
        let first = self.idle.get(self.first_idle_after(arrival_ns));
        first.map_or(of_last, |span| span.from_ns).max(arrival_ns)
    }

    /// Nanoseconds booked before `until_ns`.
    #[must_use]
    pub fn busy_ns(&self, until_ns: u64) -> u64 {
        let idle_ns: u64 = self
            .idle
            .iter()
            .chain([&self.last_idle])
            .map(|span| span.until_ns.saturating_sub(span.from_ns.max(until_ns)))
            .sum();
        self.booked_ns.saturating_sub(self.free_ns.saturating_sub(until_ns).saturating_sub(idle_ns))
    }

    /// Nanoseconds booked from `from_ns` on.
    #[must_use]
    pub fn booked_after_ns(&self, from_ns: u64) -> u64 {
        self.booked_ns - self.busy_ns(from_ns)
    }

    /// Cancels everything booked from `from_ns` on. Returns how many nanoseconds that was.
    pub fn cancel_after(&mut self, from_ns: u64) -> u64 {
        let cancelled_ns = self.booked_after_ns(from_ns);
        self.booked_ns -= cancelled_ns;
        self.free_ns = self.free_ns.min(from_ns);
        while self.last_idle.from_ns >= self.free_ns && self.last_idle.until_ns > 0 {
            self.last_idle = self.idle.pop_back().unwrap_or_default();
        }
        self.last_idle.until_ns = self.last_idle.until_ns.min(self.free_ns);
        cancelled_ns
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A nanosecond at a time.
    #[derive(Default)]
    struct Model(Vec<bool>);

    impl Model {
        fn book(&mut self, arrival_ns: usize, work_ns: usize) -> Booking {
            self.0.resize(self.0.len().max(arrival_ns) + work_ns, false);
            let free: Vec<usize> =
                (arrival_ns..self.0.len()).filter(|at| !self.0[*at]).take(work_ns).collect();
            free.iter().for_each(|at| self.0[*at] = true);
            Booking { start_ns: free[0] as u64, finish_ns: free[work_ns - 1] as u64 + 1 }
        }

        fn booked(&self, from_ns: usize, until_ns: usize) -> u64 {
            let until_ns = until_ns.min(self.0.len());
            self.0[from_ns.min(until_ns)..until_ns].iter().filter(|booked| **booked).count() as u64
        }
    }

    #[test]
    fn bookings_and_cancellations_are_those_of_a_model() {
        for seed in 0..200_u64 {
            let mut state = seed;
            let mut below = |bound: u64| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(seed | 1);
                (state >> 33) % bound
            };
            let (mut calendar, mut model, mut now_ns) = (Calendar::default(), Model::default(), 0);
            for step in 0..60 {
                now_ns += below(8);
                let (arrival_ns, work_ns) = (now_ns + below(40) * below(2), 1 + below(9));
                let place = format!("seed {seed}, step {step}");
                let expected = model.book(arrival_ns as usize, work_ns as usize);
                assert_eq!(calendar.start_of_work_at(arrival_ns), expected.start_ns, "{place}");
                assert_eq!(calendar.book(now_ns, arrival_ns, work_ns), expected, "{place}");
                let at = now_ns as usize;
                let later = model.booked(at, usize::MAX);
                assert_eq!(calendar.booked_after_ns(now_ns), later, "{place}");
                assert_eq!(calendar.busy_ns(now_ns), model.booked(0, at), "{place}");
                if below(10) == 0 {
                    assert_eq!(calendar.cancel_after(now_ns), later, "{place}");
                    model.0.truncate(at);
                }
            }
        }
    }
}
