//! What runs in segments.

use std::ops::ControlFlow;

use strewn_array::{Array, FailedSpindle};

use crate::component::ComponentProbe;
use crate::host::Host;
use crate::machine::{ControllerId, Machine};
use crate::segment::Segment;
use crate::simulation::{Progress, Simulation, SimulationError};

/// A [`Simulation`] or a [`Machine`]: what a program needs that runs either.
pub trait Simulated {
    /// The kind of its arrays.
    type Array: Array<()>;

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

    /// Its array; the first controller's in a machine with several.
    fn array(&self) -> &Self::Array;

    /// The spindles that have failed, numbered through, array by array.
    fn failures(&self) -> Vec<FailedSpindle>;

    /// A probe that reads, from any thread, which component is running.
    fn component_probe(&self) -> ComponentProbe;
}

impl<A: Array<()>, H: Host> Simulated for Simulation<A, H> {
    type Array = A;

    fn run_segment(
        &mut self,
        length_ns: u64,
        observer: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Segment, SimulationError> {
        Simulation::run_segment(self, length_ns, observer)
    }

    fn is_done(&self) -> bool {
        Simulation::is_done(self)
    }

    fn array(&self) -> &A {
        Simulation::array(self)
    }

    fn failures(&self) -> Vec<FailedSpindle> {
        self.array().failures().to_vec()
    }

    fn component_probe(&self) -> ComponentProbe {
        Simulation::component_probe(self)
    }
}

impl<A: Array<()>, H: Host> Simulated for Machine<A, H> {
    type Array = A;

    fn run_segment(
        &mut self,
        length_ns: u64,
        observer: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Segment, SimulationError> {
        Machine::run_segment(self, length_ns, observer)
    }

    fn is_done(&self) -> bool {
        Machine::is_done(self)
    }

    fn array(&self) -> &A {
        Machine::array(self, ControllerId(0))
    }

    fn failures(&self) -> Vec<FailedSpindle> {
        Machine::failures(self)
    }

    fn component_probe(&self) -> ComponentProbe {
        Machine::component_probe(self)
    }
}
