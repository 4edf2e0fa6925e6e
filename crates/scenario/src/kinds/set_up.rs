//! Builds arrays of a kind, and what runs them.

use strewn_array::{AnyArray, VolumeId};
use strewn_raid::SpindleIndex;
use strewn_sim::{AnyHost, CompiledLoop, Host, Simulated, Simulation};

use crate::array::Array;
use crate::build::{self, BuildError, SetUpError, machine};
use crate::scenario::Scenario;

/// An array to be simulated, under its host.
pub struct SetUp<'s> {
    /// The experiment.
    pub scenario: &'s Scenario,
    /// The array of it.
    pub array: &'s Array,
    /// What gives it operations.
    pub host: AnyHost,
}

/// Simulates arrays that `build` builds, on the loops of their kind: alone, or in the machine that the scenario
/// describes.
///
/// # Errors
/// If there can be no such array, or no such machine.
pub fn simulate<L: CompiledLoop>(
    set_up: SetUp<'_>,
    build: impl Fn(&Scenario, &Array) -> Result<L::Array, BuildError>,
) -> Result<Box<dyn Simulated>, SetUpError> {
    let SetUp { scenario, array, host } = set_up;
    if machine::is_needed(array) {
        let of_parts = machine::of_parts(scenario, array);
        let parts = machine::parts(array);
        let built = parts.iter().map(|part| build(&of_parts, part)).collect::<Result<_, _>>()?;
        return Ok(L::runs_machine(machine::build(scenario, array, built, host)?));
    }
    let spindles = build::spindles(scenario, array)?;
    let mut simulation = L::under_host(build(scenario, array)?, &spindles, host)?;
    schedule(&mut simulation, array);
    Ok(L::runs_alone(simulation))
}

/// Schedules what the scenario has happen to an array.
fn schedule<A: AnyArray<()>, H: Host>(simulation: &mut Simulation<A, H>, array: &Array) {
    // A spindle may fail at the time at which its group is added.
    for at_ns in array.layout.groups_added_ns() {
        simulation.add_group_at(at_ns);
    }
    for failure in &array.failures {
        simulation.fail_at(failure.at_ns, SpindleIndex(failure.spindle));
    }
    for (schedule, volumes) in array.snapshot_schedules() {
        let volumes = volumes.into_iter().map(|volume| VolumeId(volume as u32)).collect();
        simulation.snapshot_volumes_every(volumes, schedule.every_ns, schedule.keep.into());
    }
}
