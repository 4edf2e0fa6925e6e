//! Maps of arrays of all kinds.

use std::any::Any;

use strewn_alloc::MapPicture;
use strewn_base::BLOCK_BYTES;
use strewn_raid::SpindleIndex;
use strewn_results::ArrayMap;
use strewn_scenario::{Array, ArrayLayout, Scenario};

use crate::build;
use crate::kinds;
use crate::machine;

/// An array whose layout can be recorded.
pub trait Mapped {
    /// Returns a map without pictures.
    fn empty_map(&self, scenario: &Scenario, array: &Array) -> ArrayMap;

    /// Records where the first `files[n]` blocks of LUN `n` lie, for each LUN, and which blocks are free.
    fn picture(&self, map: &ArrayMap, files: &[u64]) -> MapPicture;
}

/// Returns the number of blocks that workloads work on, of each LUN of array number `index`, in the order of their ids.
/// Of a pair or of blades, those of the first controller, whose spindles the map shows.
pub(crate) fn files(scenario: &Scenario, index: usize) -> Vec<u64> {
    let array = &scenario.arrays[index];
    let first = machine::parts(array).swap_remove(0);
    let luns = build::luns(&first).into_iter();
    let scenario = machine::of_parts(scenario, array);
    luns.map(|lun| scenario.file_bytes_of(array, lun).div_ceil(BLOCK_BYTES)).collect()
}

/// Returns a map without pictures. The largest of the spindles have `longest` blocks. In an array of one group, parity
/// is on the last spindles; with several, each parity spindle is named.
pub(crate) fn map_of_groups(
    name: &str,
    longest: u64,
    has_several: bool,
    spindles: u16,
    is_parity: impl Fn(SpindleIndex) -> bool,
) -> ArrayMap {
    let mut parity = (0..spindles).filter(|one| is_parity(SpindleIndex(*one)));
    match has_several {
        true => {
            let parity_spindles = parity.collect();
            ArrayMap { parity_spindles, ..ArrayMap::new(name, longest, None) }
        }
        false => ArrayMap::new(name, longest, parity.next()),
    }
}

/// Returns a simulated array of a scenario as one whose layout can be recorded.
pub(crate) fn mapped<'a>(layout: &ArrayLayout, array: &'a dyn Any) -> &'a dyn Mapped {
    kinds::of(layout).mapped(array).unwrap_or_else(|| unreachable!("an array of another kind"))
}
