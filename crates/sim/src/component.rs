//! Which component of the simulator is at work, for whoever measures where the time goes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use strewn_array::Work;

/// A component of the simulator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Component {
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

impl Component {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Events, Self::Host, Self::Service, Self::WriteBack, Self::Spindles];
}

impl From<Work> for Component {
    fn from(work: Work) -> Self {
        match work {
            Work::Service => Self::Service,
            Work::WriteBack => Self::WriteBack,
        }
    }
}

/// Tells from another thread which component of a simulation is at work. Looked at many times, at even intervals, it says
/// what share of the time each takes.
#[derive(Debug, Clone)]
pub struct ComponentProbe(Arc<AtomicU8>);

impl ComponentProbe {
    /// The component at work now.
    #[must_use]
    pub fn now(&self) -> Component {
        Component::ALL[usize::from(self.0.load(Ordering::Relaxed))]
    }
}

/// Where a simulation says which component is at work: a store of a byte each time.
#[derive(Debug)]
pub(crate) struct ActiveComponent {
    now: Component,
    published: Arc<AtomicU8>,
}

impl ActiveComponent {
    pub(crate) fn new() -> Self {
        Self { now: Component::Events, published: Arc::new(AtomicU8::new(Component::Events as u8)) }
    }

    pub(crate) fn at_work(&self) -> ComponentProbe {
        ComponentProbe(Arc::clone(&self.published))
    }

    /// Another component goes to work; returns the one that was.
    #[inline]
    pub(crate) fn turn_to(&mut self, component: Component) -> Component {
        self.published.store(component as u8, Ordering::Relaxed);
        std::mem::replace(&mut self.now, component)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_is_told_as_itself() {
        let mut components = ActiveComponent::new();
        let at_work = components.at_work();
        for component in Component::ALL {
            let before = at_work.now();
            assert_eq!(components.turn_to(component), before);
            assert_eq!(at_work.now(), component);
        }
    }
}
