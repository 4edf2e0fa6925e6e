//! What runs in segments.

use std::any::Any;
use std::ops::ControlFlow;

use strewn_array::{AnyArray, Counters, FailedSpindle};
use strewn_base::state::SavedState;

use crate::component::ComponentProbe;
use crate::host::Host;
use crate::machine::{ControllerId, Machine};
use crate::segment::Segment;
use crate::simulation::{Progress, Simulation, SimulationError};

/// A [`Simulation`] or a [`Machine`] of arrays of any kind: what a program needs that runs either.
///
/// The loop runs behind it, and is called once a segment. Whoever makes a `Box<dyn Simulated>` compiles the loop.
pub trait Simulated: SavedState {
    /// Runs and measures `length_ns` of virtual time, or until the host is done.
    ///
    /// # Errors
    /// As [`Simulation::run_segment`].
    fn run_segment(
        &mut self,
        length_ns: u64,
        observer: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Segment, SimulationError>;

    /// Whether the host has nothing more to issue, everything is answered, and no segment is left to be measured.
    fn is_done(&self) -> bool;

    /// Its array, for callers that know its type; the first controller's in a machine with several.
    fn array(&self) -> &dyn Any;

    /// What that array has counted since the beginning.
    fn counters(&self) -> &Counters;

    /// Asserts the invariants of that array.
    fn assert_invariants(&self);

    /// The spindles that have failed, numbered through, array by array.
    fn failures(&self) -> Vec<FailedSpindle>;

    /// A probe that reads, from any thread, which component is running.
    fn component_probe(&self) -> ComponentProbe;
}

impl<A: AnyArray<()> + SavedState + 'static, H: Host> Simulated for Simulation<A, H> {
    fn run_segment(
        &mut self,
        length_ns: u64,
        observer: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Segment, SimulationError> {
        Simulation::<A, H>::run_segment(self, length_ns, observer)
    }

    fn is_done(&self) -> bool {
        Simulation::<A, H>::is_done(self)
    }

    fn array(&self) -> &dyn Any {
        Simulation::<A, H>::array(self)
    }

    fn counters(&self) -> &Counters {
        Simulation::<A, H>::array(self).counters()
    }

    fn assert_invariants(&self) {
        Simulation::<A, H>::array(self).assert_invariants();
    }

    fn failures(&self) -> Vec<FailedSpindle> {
        Simulation::<A, H>::array(self).failures().to_vec()
    }

    fn component_probe(&self) -> ComponentProbe {
        Simulation::<A, H>::component_probe(self)
    }
}

impl<A: AnyArray<()> + SavedState + 'static, H: Host> Simulated for Machine<A, H> {
    fn run_segment(
        &mut self,
        length_ns: u64,
        observer: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Segment, SimulationError> {
        Machine::<A, H>::run_segment(self, length_ns, observer)
    }

    fn is_done(&self) -> bool {
        Machine::<A, H>::is_done(self)
    }

    fn array(&self) -> &dyn Any {
        Machine::<A, H>::array(self, ControllerId(0))
    }

    fn counters(&self) -> &Counters {
        Machine::<A, H>::array(self, ControllerId(0)).counters()
    }

    fn assert_invariants(&self) {
        Machine::<A, H>::array(self, ControllerId(0)).assert_invariants();
    }

    fn failures(&self) -> Vec<FailedSpindle> {
        Machine::<A, H>::failures(self)
    }

    fn component_probe(&self) -> ComponentProbe {
        Machine::<A, H>::component_probe(self)
    }
}
