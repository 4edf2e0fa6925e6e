//! Maps of arrays of all kinds.

use std::any::Any;

use strewn_alloc::MapPicture;
use strewn_array::Payload;
use strewn_array::in_place::InPlace;
use strewn_array::write_anywhere::WriteAnywhere;
use strewn_base::BLOCK_BYTES;
use strewn_raid::{ParityGroup, SpindleIndex};
use strewn_results::ArrayMap;
use strewn_scenario::{Array, Scenario};

use crate::build;
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

/// Returns a simulated array of any kind as one whose layout can be recorded.
pub(crate) fn mapped(array: &dyn Any) -> &dyn Mapped {
    let write_anywhere = array.downcast_ref().map(|array: &WriteAnywhere<()>| array as _);
    let in_place = || array.downcast_ref().map(|array: &InPlace<()>| array as _);
    write_anywhere.or_else(in_place).unwrap_or_else(|| unreachable!("an array of another kind"))
}

impl<P: Payload> Mapped for WriteAnywhere<P> {
    fn empty_map(&self, _scenario: &Scenario, array: &Array) -> ArrayMap {
        let groups = self.parity_groups();
        let longest = groups.iter().map(ParityGroup::blocks_per_spindle).max().unwrap_or(0);
        let is_parity = |spindle| strewn_array::Array::is_parity(self, spindle);
        let spindles = groups.iter().map(ParityGroup::spindles).sum();
        map_of_groups(&array.name, longest, groups.len() > 1, spindles, is_parity)
    }

    fn picture(&self, map: &ArrayMap, files: &[u64]) -> MapPicture {
        self.map_picture(map.columns, map.blocks_per_spindle, files)
    }
}

impl<P: Payload> Mapped for InPlace<P> {
    fn empty_map(&self, scenario: &Scenario, array: &Array) -> ArrayMap {
        let bytes = build::capacity_bytes(array) / u64::from(scenario.spindle_stretch);
        ArrayMap::new(&array.name, bytes / BLOCK_BYTES, None)
    }

    fn picture(&self, map: &ArrayMap, files: &[u64]) -> MapPicture {
        self.map_picture(map.columns, map.blocks_per_spindle, files)
    }
}
