//! Pictures of the layout of files: one pass over their blocks, and one over the free map.

use std::ops::Range;

use strewn_alloc::{Aggregate, AggregateLocation, BlockMap, BlockMapPart, GroupIndex, MapPicture};
use strewn_base::BLOCK_SECTORS;
use strewn_raid::{BlockLocation, ParityGroup, SpindleIndex, StripedLayout, Vbn};

use crate::first_spindles::FirstSpindles;
use crate::in_place::{InPlace, InPlaceConfig};
use crate::lun_id::LunId;
use crate::payload::Payload;
use crate::write_anywhere::{BlockKeys, WriteAnywhere};

/// Stripes per word of a free map.
const WORD_STRIPES: u64 = 64;

impl<P: Payload> WriteAnywhere<P> {
    /// Records where the first `files[n]` blocks of LUN `n` lie, for each LUN, and which blocks are free. The longest
    /// spindle has `blocks_per_spindle` blocks. O(blocks of the files and of the aggregate).
    #[must_use]
    pub fn map_picture(&self, columns: u32, blocks_per_spindle: u64, files: &[u64]) -> MapPicture {
        let groups = self.parity_groups().iter().map(ParityGroup::spindles);
        let (spindles, first_spindles) = (groups.clone().sum(), FirstSpindles::of(groups));
        let empty = MapPicture::new(spindles, columns, blocks_per_spindle, true);
        let places = Places { aggregate: self.aggregate(), first_spindles };
        places.picture(&empty, self.block_map(), self.keys(), files)
    }
}

impl<P: Payload> InPlace<P> {
    /// Records where the first `files[n]` blocks of LUN `n` lie, for each LUN. The longest spindle has
    /// `blocks_per_spindle` blocks. O(chunks of the files).
    #[must_use]
    pub fn map_picture(&self, columns: u32, blocks_per_spindle: u64, files: &[u64]) -> MapPicture {
        picture_in_place(self.config(), columns, blocks_per_spindle, files)
    }
}

fn picture_in_place(
    config: &InPlaceConfig,
    columns: u32,
    blocks_per_spindle: u64,
    files: &[u64],
) -> MapPicture {
    let spindles = config.groups.iter().map(|group| group.layout.spindles());
    let first_spindles = FirstSpindles::of(spindles.clone());
    let mut picture = MapPicture::new(spindles.sum(), columns, blocks_per_spindle, false);
    for ((lun, sectors), file_blocks) in config.luns.iter().zip(config.lun_sectors()).zip(files) {
        let layout = &config.groups[lun.group.index()].layout;
        let chunk_blocks = layout.unit_sectors() / BLOCK_SECTORS;
        let mut end_of_previous = None;
        for block in (0..*file_blocks).step_by(chunk_blocks.max(1) as usize) {
            let place = layout.locate(sectors.start + block * BLOCK_SECTORS);
            let first = place.sector_on_spindle / BLOCK_SECTORS;
            let blocks = chunk_blocks.clamp(1, file_blocks - block);
            let distance = end_of_previous.map_or(0, |end: u64| first.abs_diff(end));
            let spindle = first_spindles.in_array(lun.group, place.spindle);
            picture.add_run(spindle.0, first, blocks, distance);
            end_of_previous = Some(first + blocks);
        }
    }
    picture
}

/// Where the blocks of an aggregate lie, by the array's numbers of its spindles.
struct Places<'a> {
    aggregate: &'a Aggregate<u32>,
    first_spindles: FirstSpindles,
}

impl Places<'_> {
    fn picture(
        &self,
        empty: &MapPicture,
        block_map: &BlockMap,
        keys: &BlockKeys,
        files: &[u64],
    ) -> MapPicture {
        let part = |half: fn(u32) -> Range<u32>| {
            let mut picture = empty.clone();
            for (lun, blocks) in (0..).map(LunId).zip(files) {
                let file = block_map.part(keys.blocks_of(lun));
                add_blocks(&mut picture, &file, self, half(*blocks as u32));
            }
            picture
        };
        // After every segment, a file of 100 GiB takes a tenth of a second and more: two threads share it.
        let mut picture = if cfg!(target_family = "wasm") {
            part(|blocks| 0..blocks)
        } else {
            std::thread::scope(|scope| {
                let later = scope.spawn(|| part(|blocks| blocks / 2..blocks));
                let mut picture = part(|blocks| 0..blocks / 2);
                picture.add(&later.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
                picture
            })
        };

        // The spindles of a group that is yet to be added have nothing in use and nothing free.
        for (index, free) in (0..).map(GroupIndex).zip(self.aggregate.free_maps()) {
            let group = free.group();
            let in_array = |spindle| self.first_spindles.in_array(index, SpindleIndex(spindle)).0;
            for row in 0..group.stripes().div_ceil(WORD_STRIPES) {
                let mut empty_stripes = u64::MAX;
                for spindle in 0..group.data_spindles() {
                    let word = free.free_word(SpindleIndex(spindle), row);
                    picture.add_free_word(in_array(spindle), row * WORD_STRIPES, word);
                    empty_stripes &= word;
                }
                for spindle in group.data_spindles()..group.spindles() {
                    picture.add_free_word(in_array(spindle), row * WORD_STRIPES, empty_stripes);
                }
            }
        }
        picture
    }

    /// Returns the spindle and DBN of a block, and the first VBN after its spindle.
    fn locate(&self, vbn: Vbn) -> (BlockLocation, u64) {
        let AggregateLocation { group, location } = self.aggregate.place_of(vbn);
        let spindle = self.first_spindles.in_array(group, location.spindle);
        // The aggregate numbers the blocks of one spindle after those of another.
        let on_spindle = self.aggregate.free_map(group).group().blocks_per_spindle();
        let end = vbn.0 - location.dbn.0 + on_spindle;
        (BlockLocation { spindle, ..location }, end)
    }
}

/// Adds a range of a file's blocks, continuing the run of the block before the range.
fn add_blocks(
    picture: &mut MapPicture,
    map: &BlockMapPart<'_>,
    places: &Places<'_>,
    blocks: Range<u32>,
) {
    let mut run = Run::default();
    let (mut expected, mut end_of_spindle) = (None, 0);
    if let Some(before) = blocks.start.checked_sub(1).and_then(|before| map.get(before)) {
        let (place, end) = places.locate(before);
        run = Run { spindle: place.spindle.0, first: place.dbn.0 + 1, blocks: 0, distance: 0 };
        (expected, end_of_spindle) = (Some(before.0 + 1), end);
    }
    for block in blocks {
        let Some(vbn) = map.get(block) else {
            expected = None;
            continue;
        };
        if expected == Some(vbn.0) && vbn.0 < end_of_spindle {
            run.blocks += 1;
        } else {
            let (place, end) = places.locate(vbn);
            let distance = expected.map_or(0, |_| place.dbn.0.abs_diff(run.first + run.blocks));
            run.add_to(picture);
            run = Run { spindle: place.spindle.0, first: place.dbn.0, blocks: 1, distance };
            end_of_spindle = end;
        }
        expected = Some(vbn.0 + 1);
    }
    run.add_to(picture);
}

/// Blocks contiguous both in the file and on a spindle, and the distance of the first from its predecessor's end.
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

#[cfg(test)]
mod tests {
    use strewn_alloc::AggregateOptions;

    use super::*;
    use strewn_raid::Parity;

    #[test]
    fn parts_of_a_file_make_the_picture_of_the_whole_wherever_they_meet() {
        // A short group before a longer one.
        let groups = [1, 3].map(|data| ParityGroup::new(Parity::Raid4, data, 1_024).unwrap());
        let aggregate = Aggregate::new(groups, AggregateOptions::default()).unwrap();
        let first_spindles = FirstSpindles::of(groups.iter().map(ParityGroup::spindles));
        let places = Places { aggregate: &aggregate, first_spindles };
        let blocks = 300;
        let mut map = BlockMap::new(blocks.into(), aggregate.total_blocks()).unwrap();
        // Runs of all lengths, one of them across the end of a spindle, and blocks without a location.
        let mut at = 1_000;
        for block in (0..blocks).filter(|block| block % 37 != 5) {
            at = if block % 23 == 0 { u64::from(block) * 7 + 3 } else { at + 1 };
            map.replace(block, Vbn(if block < 60 { 1_000 + u64::from(block) } else { at }));
        }
        let part = |blocks| {
            let mut picture = MapPicture::new(6, 1_024, 1_024, true);
            add_blocks(&mut picture, &map.part(0..300), &places, blocks);
            picture
        };
        let whole = part(0..blocks);
        let halves = (0..=blocks).map(|middle| {
            let mut picture = part(0..middle);
            picture.add(&part(middle..blocks));
            picture
        });
        for (middle, parts) in halves.enumerate() {
            assert!(parts.levels().eq(whole.levels()), "in the middle at block {middle}");
        }
    }
}
