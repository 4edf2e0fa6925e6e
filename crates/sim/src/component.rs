//! Which component of the simulator is running, for profiling.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use strewn_array::Work;

/// A component of the simulator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Component {
    /// Choosing the next event.
    Events,
    /// Drawing host operations and recording response times.
    Host,
    /// The array serving host operations: caches, maps, read plans.
    Service,
    /// The array writing back: consistency points and their allocation, or destaging.
    WriteBack,
    /// The spindles: queues, scheduling, positioning, transfers.
    Spindles,
}

impl Component {
    /// All components.
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

/// Reads, from another thread, which component of a simulation is running. Sampled at even intervals, it gives each
/// component's share of the time.
#[derive(Debug, Clone)]
pub struct ComponentProbe(Arc<AtomicU8>);

impl ComponentProbe {
    /// Returns the component that is running now.
    #[must_use]
    pub fn now(&self) -> Component {
        Component::ALL[usize::from(self.0.load(Ordering::Relaxed))]
    }
}

/// Publishes which component is running. Each change stores one byte.
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

    #[inline]
    pub(crate) fn is_write_back(&self) -> bool {
        self.now == Component::WriteBack
    }

    /// Switches to another component and returns the previous one.
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
