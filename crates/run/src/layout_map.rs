//! Maps of arrays of all kinds.

use std::any::Any;

use strewn_base::BLOCK_BYTES;
use strewn_scenario::{ArrayLayout, Scenario};

use strewn_scenario::build;
use strewn_scenario::build::Mapped;
use strewn_scenario::build::machine;

/// Returns the number of blocks that workloads work on, of each LUN of array number `index`, in the order of their ids.
/// Of a pair or of blades, those of the first controller, whose spindles the map shows.
pub(crate) fn files(scenario: &Scenario, index: usize) -> Vec<u64> {
    let array = &scenario.arrays[index];
    let first = machine::parts(array).swap_remove(0);
    let luns = build::luns(&first).into_iter();
    let scenario = machine::of_parts(scenario, array);
    luns.map(|lun| scenario.file_bytes_of(array, lun).div_ceil(BLOCK_BYTES)).collect()
}

/// Returns a simulated array of a scenario as one whose layout can be recorded.
pub(crate) fn mapped<'a>(layout: &ArrayLayout, array: &'a dyn Any) -> &'a dyn Mapped {
    layout.mapped(array).unwrap_or_else(|| unreachable!("an array of another kind"))
}
