//! Kinds of arrays: how each is built and simulated, and what results and pictures must know of it.
//!
//! A kind is a file here with its [`Kind`], and a line in [`of`].

mod in_place;
mod write_anywhere;

use std::any::Any;

use strewn_array::VolumeId;
use strewn_raid::{ProtectionLevel, SpindleIndex};
use strewn_results::{CapacityRule, LayoutKind, ParityGroup};
use strewn_scenario::{Array, ArrayLayout, Scenario};
use strewn_sim::{AnyHost, CompiledLoop, Host, Simulated, Simulation};

use crate::build::{self, BuildError};
use crate::machine::{self, SetUpError};
use crate::mapped::Mapped;
use crate::scaled_run::ScaledRun;

/// What a run must know of a kind of arrays.
pub(crate) trait Kind {
    /// Builds and sets up the arrays of `set_up`.
    fn simulate(&self, set_up: SetUp<'_>) -> Result<Box<dyn Simulated>, SetUpError>;

    /// The memory that an array needs, in bytes.
    fn memory_bytes(&self, scenario: &Scenario, array: &Array) -> u64;

    /// Returns a simulated array as one whose layout can be recorded, if it is of this kind.
    fn mapped<'a>(&self, array: &'a dyn Any) -> Option<&'a dyn Mapped>;

    /// What results call it.
    fn layout(&self) -> LayoutKind;

    /// Its spindles.
    fn spindles(&self) -> KindSpindles;

    /// Its parity groups or disk groups.
    fn groups(&self) -> Vec<ParityGroup>;

    /// Whether it relocates anything.
    fn relocates(&self) -> bool {
        false
    }

    /// What of the bytes of its spindles is usable.
    fn capacity(&self) -> CapacityRule;

    /// Its protection level, if it has any.
    fn protection_level(&self) -> Option<ProtectionLevel> {
        None
    }

    /// The most that it reads ahead of a stream, in bytes; 0 for no read-ahead.
    fn read_ahead_bytes(&self) -> u64;

    /// A sentence for each quantity of its own that could not be scaled in proportion.
    fn out_of_proportion(&self, run: &ScaledRun<'_>) -> Vec<String>;
}

/// Spindles of an array of some kind.
pub(crate) struct KindSpindles {
    pub(crate) data: u32,
    /// That hold only parity.
    pub(crate) parity: u32,
    pub(crate) spares: u32,
}

/// Returns the kind of an array.
pub(crate) fn of(layout: &ArrayLayout) -> &dyn Kind {
    match layout {
        ArrayLayout::WriteAnywhere(kind) => kind,
        ArrayLayout::InPlace(kind) => kind,
    }
}

/// An array to be simulated, under its host.
pub(crate) struct SetUp<'s> {
    pub(crate) scenario: &'s Scenario,
    pub(crate) array: &'s Array,
    pub(crate) host: AnyHost,
}

/// Simulates arrays that `build` builds, on the loops of their kind.
fn simulate<L: CompiledLoop>(
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
fn schedule<A: strewn_array::AnyArray<()>, H: Host>(
    simulation: &mut Simulation<A, H>,
    array: &Array,
) {
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
