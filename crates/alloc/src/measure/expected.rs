//! The expected layout of the next writes.

use strewn_raid::{ROW_STRIPES, SpindleIndex};

use crate::Aggregate;
use crate::free_map::FreeMap;

/// The number of runs that `blocks` blocks will form if they fill the emptiest areas, chunk by chunk. O(areas log
/// areas), plus a word of the maps for each 64 blocks visited.
#[must_use]
pub fn expected_runs<T: Copy>(aggregate: &Aggregate<T>, blocks: u64) -> u64 {
    let chunk = aggregate.options().shape.chunk_blocks;
    let mut areas: Vec<(u32, &FreeMap, u32)> = aggregate
        .free_maps()
        .flat_map(|map| (0..map.areas().count()).map(move |area| (map, area)))
        .filter(|(map, area)| !map.areas().is_withheld(*area))
        .map(|(map, area)| (map.areas().free_blocks_in(area), map, area))
        .filter(|(free, _, _)| *free > 0)
        .collect();
    areas.sort_by_key(|(free, _, _)| std::cmp::Reverse(*free));
    let mut runs = 0;
    let mut left = blocks;
    for (_, map, area) in areas {
        let stripes = map.stripes_of_area(area);
        for row in stripes.start / ROW_STRIPES..stripes.end.div_ceil(ROW_STRIPES) {
            for chunk_index in 0..ROW_STRIPES / chunk {
                let window = (u64::MAX >> (ROW_STRIPES - chunk)) << (chunk_index * chunk);
                for spindle in (0..map.group().data_spindles()).map(SpindleIndex) {
                    for (_, length) in crate::mask::runs(map.free_word(spindle, row) & window) {
                        if left == 0 {
                            return runs;
                        }
                        runs += 1;
                        left = left.saturating_sub(length.into());
                    }
                }
            }
        }
    }
    // There is not enough room: assume the rest is scattered.
    runs + left
}
