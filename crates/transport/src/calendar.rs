//! What serves one thing at a time: when it is free.

/// Idle times that are remembered. Beyond these, the oldest are forgotten: they count as used.
const IDLE_SPANS: usize = 16;

/// A span of idle time, in nanoseconds from the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
pub(crate) struct Calendar {
    /// The end of the last booking.
    free_ns: u64,
    /// The sum of all bookings.
    booked_ns: u64,
    /// Idle times before `free_ns`, in order; the first `idle_count` are valid.
    idle: [IdleSpan; IDLE_SPANS],
    idle_count: usize,
}

/// When booked work begins and ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Booking {
    pub(crate) start_ns: u64,
    pub(crate) finish_ns: u64,
}

impl Calendar {
    /// Books `work_ns` at the earliest times from `arrival_ns` on.
    #[inline]
    pub(crate) fn book(&mut self, arrival_ns: u64, work_ns: u64) -> Booking {
        self.booked_ns += work_ns;
        if arrival_ns < self.last_idle_until() {
            return self.fill(arrival_ns, work_ns);
        }
        if arrival_ns > self.free_ns {
            self.remember(IdleSpan { from_ns: self.free_ns, until_ns: arrival_ns });
        }
        let start_ns = self.free_ns.max(arrival_ns);
        self.free_ns = start_ns + work_ns;
        Booking { start_ns, finish_ns: self.free_ns }
    }

    /// When work that arrives at `arrival_ns` would begin.
    pub(crate) fn start_of_work_at(&self, arrival_ns: u64) -> u64 {
        self.idle[..self.idle_count]
            .iter()
            .find(|span| span.until_ns > arrival_ns)
            .map_or(self.free_ns, |span| span.from_ns)
            .max(arrival_ns)
    }

    /// Nanoseconds booked before `until_ns`.
    pub(crate) fn busy_ns(&self, until_ns: u64) -> u64 {
        let idle_ns: u64 = self.idle[..self.idle_count]
            .iter()
            .map(|span| span.until_ns.saturating_sub(span.from_ns.max(until_ns)))
            .sum();
        self.booked_ns.saturating_sub(self.free_ns.saturating_sub(until_ns).saturating_sub(idle_ns))
    }

    #[inline]
    fn last_idle_until(&self) -> u64 {
        match self.idle_count {
            0 => 0,
            count => self.idle[count - 1].until_ns,
        }
    }

    /// Books `work_ns` into idle spans, and the rest at the end.
    #[cold]
    fn fill(&mut self, arrival_ns: u64, work_ns: u64) -> Booking {
        let start_ns = self.start_of_work_at(arrival_ns);
        let mut left_ns = work_ns;
        let mut index = self.idle[..self.idle_count]
            .iter()
            .position(|span| span.until_ns > arrival_ns)
            .unwrap_or(self.idle_count);
        while index < self.idle_count {
            let span = self.idle[index];
            let from_ns = span.from_ns.max(arrival_ns);
            let taken_ns = left_ns.min(span.until_ns - from_ns);
            left_ns -= taken_ns;
            let before = IdleSpan { from_ns: span.from_ns, until_ns: from_ns };
            let after = IdleSpan { from_ns: from_ns + taken_ns, until_ns: span.until_ns };
            index = self.replace(index, before, after);
            if left_ns == 0 {
                return Booking { start_ns, finish_ns: from_ns + taken_ns };
            }
        }
        self.free_ns += left_ns;
        Booking { start_ns, finish_ns: self.free_ns }
    }

    /// Puts what remains of the idle span at `index` in its place, and returns the index of the span after it.
    fn replace(&mut self, index: usize, before: IdleSpan, after: IdleSpan) -> usize {
        let is_empty = |span: IdleSpan| span.from_ns >= span.until_ns;
        match (is_empty(before), is_empty(after)) {
            (true, true) => {
                self.idle.copy_within(index + 1..self.idle_count, index);
                self.idle_count -= 1;
                index
            }
            (false, true) => {
                self.idle[index] = before;
                index + 1
            }
            (true, false) => {
                self.idle[index] = after;
                index + 1
            }
            (false, false) if self.idle_count < IDLE_SPANS => {
                self.idle.copy_within(index..self.idle_count, index + 1);
                self.idle_count += 1;
                self.idle[index] = before;
                self.idle[index + 1] = after;
                index + 2
            }
            // No room for both: the earlier one is the less likely to be of use.
            (false, false) => {
                self.idle[index] = after;
                index + 1
            }
        }
    }

    /// Remembers an idle span after all others.
    #[inline]
    fn remember(&mut self, span: IdleSpan) {
        if self.idle_count == IDLE_SPANS {
            // Half at a time, so that a link that is mostly idle moves one span for each booking.
            self.idle.copy_within(IDLE_SPANS / 2.., 0);
            self.idle_count = IDLE_SPANS / 2;
        }
        self.idle[self.idle_count] = span;
        self.idle_count += 1;
    }
}
