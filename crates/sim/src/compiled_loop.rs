//! The event loops of one kind of array, compiled once.

use strewn_array::Array;

use crate::any_host::AnyHost;
use crate::driven_array::Spindles;
use crate::machine::Machine;
use crate::simulated::Simulated;
use crate::simulation::{Simulation, SimulationError};

/// The event loops of a kind of array, as [`compile_loop!`](crate::compile_loop) makes them.
///
/// A loop is generic over the kind of array, and is compiled where it is first used, inlined down to the spindles. That
/// takes longer than anything else in a build. So each kind has a crate that compiles it, beside the other kinds', and
/// what runs arrays of all kinds calls it once a segment, through [`Simulated`].
pub trait CompiledLoop {
    /// The kind of array.
    type Array: Array<()> + 'static;

    /// Sets `array` up on `spindles` under `host`, which share memory.
    ///
    /// # Errors
    /// If the spindles cannot be created.
    fn under_host(
        array: Self::Array,
        spindles: &Spindles,
        host: AnyHost,
    ) -> Result<Simulation<Self::Array, AnyHost>, SimulationError>;

    /// Returns what runs `simulation`.
    fn runs_alone(simulation: Simulation<Self::Array, AnyHost>) -> Box<dyn Simulated>;

    /// Returns what runs `machine`: hosts, a network, and controllers with arrays of this kind.
    fn runs_machine(machine: Machine<Self::Array, AnyHost>) -> Box<dyn Simulated>;
}

/// Compiles the loops of a kind of array: `compile_loop!(Loop for InPlace<()>)` makes the type `Loop`, a
/// [`CompiledLoop`].
#[macro_export]
macro_rules! compile_loop {
    ($loop:ident for $array:ty) => {
        /// The loops of this kind of array.
        #[derive(Debug, Clone, Copy)]
        pub struct $loop;

        // None is inlined: the caller's crate would compile the loop again.
        impl $crate::CompiledLoop for $loop {
            type Array = $array;

            #[inline(never)]
            fn under_host(
                array: $array,
                spindles: &$crate::Spindles,
                host: $crate::AnyHost,
            ) -> Result<$crate::Simulation<$array, $crate::AnyHost>, $crate::SimulationError> {
                $crate::Simulation::with_host(array, spindles, host)
            }

            #[inline(never)]
            fn runs_alone(
                simulation: $crate::Simulation<$array, $crate::AnyHost>,
            ) -> Box<dyn $crate::Simulated> {
                Box::new(simulation)
            }

            #[inline(never)]
            fn runs_machine(
                machine: $crate::Machine<$array, $crate::AnyHost>,
            ) -> Box<dyn $crate::Simulated> {
                Box::new(machine)
            }
        }
    };
}
