//! Simulates write-anywhere arrays: the event loops of `strewn-sim`, compiled for [`WriteAnywhere`].
//!
//! A loop of `strewn-sim` is generic over the kind of array, and is compiled where it is first used, inlined down to
//! the spindles. That takes longer than anything else in a build. It happens here for this kind, beside the other
//! kinds, and what runs arrays of all kinds calls it once a segment, through [`Simulated`].

#![forbid(unsafe_code)]

use strewn_array::ArrayConfigError;
use strewn_array::write_anywhere::{WriteAnywhere, WriteAnywhereConfig};
use strewn_sim::{AnyHost, Machine, Simulated, Simulation, SimulationError, Spindles};

/// An array of this kind and a host that share memory.
pub type KindSimulation = Simulation<WriteAnywhere<()>, AnyHost>;
/// Hosts, a network, and controllers with arrays of this kind.
pub type KindMachine = Machine<WriteAnywhere<()>, AnyHost>;

// None is inlined: the caller's crate would compile the loop again.

/// Creates an array, with its files laid out.
///
/// # Errors
/// If the configuration is invalid.
#[inline(never)]
pub fn array(config: WriteAnywhereConfig) -> Result<WriteAnywhere<()>, ArrayConfigError> {
    WriteAnywhere::new(config)
}

/// Sets `array` up on `spindles` under `host`.
///
/// # Errors
/// If the spindles cannot be created.
#[inline(never)]
pub fn under_host(
    array: WriteAnywhere<()>,
    spindles: &Spindles,
    host: AnyHost,
) -> Result<KindSimulation, SimulationError> {
    Simulation::with_host(array, spindles, host)
}

/// Returns what runs `simulation`.
#[inline(never)]
#[must_use]
pub fn runs_alone(simulation: KindSimulation) -> Box<dyn Simulated> {
    Box::new(simulation)
}

/// Returns what runs `machine`.
#[inline(never)]
#[must_use]
pub fn runs_machine(machine: KindMachine) -> Box<dyn Simulated> {
    Box::new(machine)
}
