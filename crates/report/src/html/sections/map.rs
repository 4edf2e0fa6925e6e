//! The map: where the file lies.

use crate::html::block::{Block, MapOfArray, SpindleMap};
use crate::map_chart::{DOUBLINGS_PER_COLOUR, FARTHEST, shown};
use crate::theme::MAP_COLOURS;
use strewn_results::{ArrayMap, LayoutMap};

/// Returns the last segment of the map; none if the map has no snapshot.
pub(super) fn last_segment(map: &LayoutMap) -> Option<u32> {
    let snapshots = map.arrays.iter().flat_map(|array| &array.snapshots);
    snapshots.flat_map(|at| &at.after_segments).max().copied()
}

/// Returns the map by spindle, for the script to draw.
pub(super) fn by_spindle(map: &LayoutMap, last_segment: u32) -> Block {
    let part = shown(map.arrays.iter().map(ArrayMap::span).fold(0.0, f64::max));
    let array = |array: &ArrayMap| MapOfArray {
        name: array.name.clone(),
        has_free_space: array
            .snapshots
            .iter()
            .any(|at| at.spindles.iter().any(|strip| strip.free.is_some())),
        never_moves: array.snapshots.len() == 1 && last_segment > 0,
    };
    Block::Map(SpindleMap {
        last_segment,
        shown: part.to_string(),
        shows_whole_stroke: part >= 1.0,
        doublings_per_colour: DOUBLINGS_PER_COLOUR.to_string(),
        colours: MAP_COLOURS.len(),
        farthest: FARTHEST,
        arrays: map.arrays.iter().map(array).collect(),
    })
}
