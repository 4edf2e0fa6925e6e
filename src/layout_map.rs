//! Looking at where a file lies: one pass over its blocks, and one over the free map.

use strewn_alloc::GroupIndex;
use strewn_array::Payload;
use strewn_array::in_place::InPlace;
use strewn_array::write_anywhere::WriteAnywhere;
use strewn_raid::{BLOCK_BYTES, SECTOR_BYTES, SpindleIndex, StripedLayout};
use strewn_report::{ArrayMap, MapPicture};
use strewn_scenario::{Array, Scenario};

/// Stripes to a word of a free map.
const WORD_STRIPES: u64 = 64;

/// An array that a picture can be taken of.
pub trait Mapped {
    /// A map without pictures so far.
    fn empty_map(&self, scenario: &Scenario, array: &Array) -> ArrayMap;

    /// How the first `file_blocks` blocks of the LUN lie, and what is free.
    fn picture(&self, map: &ArrayMap, file_blocks: u64) -> MapPicture;
}

/// Blocks of a scenario's file.
pub(crate) fn file_blocks(scenario: &Scenario) -> u64 {
    scenario.workload.file_bytes.div_ceil(BLOCK_BYTES)
}

impl<P: Payload> Mapped for WriteAnywhere<P> {
    fn empty_map(&self, _scenario: &Scenario, array: &Array) -> ArrayMap {
        let group = *self.aggregate().free_map(GroupIndex(0)).group();
        ArrayMap::new(&array.name, group.blocks_per_spindle(), Some(group.data_spindles()))
    }

    fn picture(&self, map: &ArrayMap, file_blocks: u64) -> MapPicture {
        let group = *self.aggregate().free_map(GroupIndex(0)).group();
        let mut picture = map.picture(group.spindles(), true);
        // The run that goes on: its spindle, its first block there, its blocks, and its first block's distance.
        let mut run = Run::default();
        let (mut expected, mut end_of_spindle) = (None, 0);
        for block in 0..file_blocks as u32 {
            let Some(vbn) = self.block_map().get(block) else {
                expected = None;
                continue;
            };
            // The aggregate's numbers go through one spindle after the other.
            if expected == Some(vbn.0) && vbn.0 < end_of_spindle {
                run.blocks += 1;
            } else {
                let place = group.locate(vbn);
                let distance = expected.map_or(0, |_| place.dbn.0.abs_diff(run.first + run.blocks));
                run.add_to(&mut picture);
                run = Run { spindle: place.spindle.0, first: place.dbn.0, blocks: 1, distance };
                end_of_spindle = vbn.0 - place.dbn.0 + group.blocks_per_spindle();
            }
            expected = Some(vbn.0 + 1);
        }
        run.add_to(&mut picture);

        for free in self.aggregate().free_maps() {
            for row in 0..group.stripes().div_ceil(WORD_STRIPES) {
                let mut empty_stripes = u64::MAX;
                for spindle in 0..group.data_spindles() {
                    let word = free.free_word(SpindleIndex(spindle), row);
                    picture.add_free_word(spindle, row * WORD_STRIPES, word);
                    empty_stripes &= word;
                }
                for spindle in group.data_spindles()..group.spindles() {
                    picture.add_free_word(spindle, row * WORD_STRIPES, empty_stripes);
                }
            }
        }
        picture
    }
}

impl<P: Payload> Mapped for InPlace<P> {
    fn empty_map(&self, scenario: &Scenario, array: &Array) -> ArrayMap {
        let bytes = crate::build::capacity_bytes(array) / u64::from(scenario.spindle_stretch);
        ArrayMap::new(&array.name, bytes / BLOCK_BYTES, None)
    }

    fn picture(&self, map: &ArrayMap, file_blocks: u64) -> MapPicture {
        let layout = self.lun_layout();
        let mut picture = map.picture(layout.spindles(), false);
        let block_sectors = BLOCK_BYTES / SECTOR_BYTES;
        let chunk_blocks = layout.unit_sectors() / block_sectors;
        let mut end_of_previous = None;
        for block in (0..file_blocks).step_by(chunk_blocks.max(1) as usize) {
            let place = layout.locate(block * block_sectors);
            let first = place.sector_on_spindle / block_sectors;
            let blocks = chunk_blocks.clamp(1, file_blocks - block);
            let distance = end_of_previous.map_or(0, |end: u64| first.abs_diff(end));
            picture.add_run(place.spindle.0, first, blocks, distance);
            end_of_previous = Some(first + blocks);
        }
        picture
    }
}

/// Blocks that follow each other in the file and on a spindle.
#[derive(Default)]
struct Run {
    spindle: u16,
    first: u64,
    blocks: u64,
    distance: u64,
}

impl Run {
    fn add_to(&self, picture: &mut MapPicture) {
        if self.blocks > 0 {
            picture.add_run(self.spindle, self.first, self.blocks, self.distance);
        }
    }
}
