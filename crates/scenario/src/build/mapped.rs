//! Arrays whose layouts can be recorded.

use strewn_alloc::MapPicture;
use strewn_base::BLOCK_BYTES;
use strewn_raid::SpindleIndex;
use strewn_results::ArrayMap;

use crate::array::Array;
use crate::scenario::Scenario;

/// An array whose layout can be recorded.
pub trait Mapped {
    /// Returns a map without pictures: of spindles that are alike, of which none has parity alone.
    fn empty_map(&self, scenario: &Scenario, array: &Array) -> ArrayMap {
        let bytes = super::capacity_bytes(array) / u64::from(scenario.spindle_stretch);
        ArrayMap::new(&array.name, bytes / BLOCK_BYTES, None)
    }

    /// Records where the first `files[n]` blocks of LUN `n` lie, for each LUN, and which blocks are free.
    fn picture(&self, map: &ArrayMap, files: &[u64]) -> MapPicture;
}

/// Returns a map without pictures. The largest of the spindles have `longest` blocks. In an array of one group, parity
/// is on the last spindles; with several, each parity spindle is named.
pub fn map_of_groups(
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
