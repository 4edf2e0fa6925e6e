//! Which part of the simulator is at work, for whoever measures where the time goes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use strewn_array::Work;

/// A part of the simulator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Part {
    /// What happens next, and when.
    Events,
    /// Drawing operations, and noting what their responses took.
    Host,
    /// The array serving operations: caches, maps, plans.
    Service,
    /// The array bringing what was written to its spindles: consistency points and their allocation, or destaging.
    WriteBack,
    /// The spindles: queues, the choice among commands, positions, transfers.
    Spindles,
}

impl Part {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Events, Self::Host, Self::Service, Self::WriteBack, Self::Spindles];
}

impl From<Work> for Part {
    fn from(work: Work) -> Self {
        match work {
            Work::Service => Self::Service,
            Work::WriteBack => Self::WriteBack,
        }
    }
}

/// Tells from another thread which part of a simulation is at work. Looked at many times, at even intervals, it says
/// what share of the time each takes.
#[derive(Debug, Clone)]
pub struct PartAtWork(Arc<AtomicU8>);

impl PartAtWork {
    /// The part at work now.
    #[must_use]
    pub fn now(&self) -> Part {
        Part::ALL[usize::from(self.0.load(Ordering::Relaxed))]
    }
}

/// Where a simulation says which part is at work: a store of a byte each time.
#[derive(Debug)]
pub(crate) struct Parts {
    now: Part,
    told: Arc<AtomicU8>,
}

impl Parts {
    pub(crate) fn new() -> Self {
        Self { now: Part::Events, told: Arc::new(AtomicU8::new(Part::Events as u8)) }
    }

    pub(crate) fn at_work(&self) -> PartAtWork {
        PartAtWork(Arc::clone(&self.told))
    }

    /// Another part goes to work; returns the one that was.
    #[inline]
    pub(crate) fn turn_to(&mut self, part: Part) -> Part {
        self.told.store(part as u8, Ordering::Relaxed);
        std::mem::replace(&mut self.now, part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_is_told_as_itself() {
        let mut parts = Parts::new();
        let at_work = parts.at_work();
        for part in Part::ALL {
            let before = at_work.now();
            assert_eq!(parts.turn_to(part), before);
            assert_eq!(at_work.now(), part);
        }
    }
}
