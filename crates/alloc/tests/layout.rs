//! How a fresh file lies, and that what is measured of files and free space is what a count by hand gives.

#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use strewn_alloc::{
    Aggregate, AllocationShape, BlockMap, FileLayout, FreeSpace, Tetris, TooManyBlocks,
};
use strewn_raid::{BlockLocation, Parity, ParityGroup, Vbn};

/// A file of `blocks` blocks laid out in one consistency point of an empty aggregate.
fn lay_out(group: ParityGroup, shape: AllocationShape, blocks: u32) -> (BlockMap, Vec<Tetris>) {
    let mut aggregate = Aggregate::new(group, shape).unwrap();
    let mut map = BlockMap::new(blocks.into(), group.total_blocks()).unwrap();
    aggregate.begin(blocks.into());
    for block in 0..blocks {
        assert_eq!(map.replace(block, aggregate.allocate().unwrap()), None);
    }
    aggregate.finish();
    let tetrises = std::iter::from_fn(|| aggregate.next_tetris()).collect();
    aggregate.commit();
    (map, tetrises)
}

proptest! {
    #[test]
    fn a_fresh_file_is_contiguous_but_for_the_ends_of_chunks(
        data_spindles in 1..=26u16,
        blocks in 2..30_000u32,
        tetris in 0..=6u32,
        shallower in 0..=6u32,
    ) {
        let chunk_blocks = 1u64 << tetris.saturating_sub(shallower);
        let shape = AllocationShape { area_stripes: 128, tetris_stripes: 1 << tetris, chunk_blocks };
        let spindles = u64::from(data_spindles);
        let stripes = (u64::from(blocks).div_ceil(spindles) + 128).next_multiple_of(128);
        let group = ParityGroup::new(Parity::RaidDp, data_spindles, stripes).unwrap();
        let (map, tetrises) = lay_out(group, shape, blocks);

        // Rounds of one chunk a spindle, then as shallow a round as holds the rest.
        let (rounds, rest) = (
            u64::from(blocks) / (spindles * chunk_blocks),
            u64::from(blocks) % (spindles * chunk_blocks),
        );
        let rest_depth = rest.div_ceil(spindles);
        let extents = match (spindles, rest) {
            (1, _) => 1,
            (_, 0) => rounds * spindles,
            _ => rounds * spindles + rest.div_ceil(rest_depth),
        };
        let layout = FileLayout::measure(&map, blocks, &group);
        prop_assert_eq!(layout.blocks, u64::from(blocks));
        prop_assert_eq!(layout.extents, extents);
        let score = 1.0 - (extents - 1) as f64 / f64::from(blocks - 1);
        prop_assert!((layout.score - score).abs() < 1e-12, "{} is not {}", layout.score, score);
        let span = (rounds * chunk_blocks + rest_depth) as f64 / stripes as f64;
        prop_assert!((layout.span - span).abs() < 1e-12, "{} is not {}", layout.span, span);

        let (_, all_but_last) = tetrises.split_last().unwrap();
        for tetris in all_but_last {
            prop_assert_eq!(tetris.stripes_full(), tetris.stripes_touched());
            prop_assert_eq!(u64::from(tetris.stripes_full().count_ones()), shape.tetris_stripes);
        }
        let total: u32 = tetrises.iter().map(Tetris::blocks).sum();
        prop_assert_eq!(total, blocks);
    }

    #[test]
    fn stripes_are_full_up_to_the_last_tetris_of_every_consistency_point(
        data_spindles in 1..=26u16,
        sizes in prop::collection::vec(1..3_000u64, 1..8),
    ) {
        let group = ParityGroup::new(Parity::RaidDp, data_spindles, 24_000).unwrap();
        let mut aggregate = Aggregate::new(group, AllocationShape::default()).unwrap();
        for size in sizes {
            aggregate.begin(size);
            for _ in 0..size {
                aggregate.allocate().unwrap();
            }
            aggregate.finish();
            let tetrises: Vec<Tetris> = std::iter::from_fn(|| aggregate.next_tetris()).collect();
            aggregate.commit();
            let (last, before) = tetrises.split_last().unwrap();
            for tetris in before {
                prop_assert_eq!(tetris.stripes_full(), tetris.stripes_touched());
            }
            // The last is as shallow as what remains.
            let rest = u64::from(last.blocks());
            let chunk_ends = u64::from(last.stripes_touched().count_ones());
            prop_assert_eq!(chunk_ends, rest.div_ceil(data_spindles.into()));
        }
    }

    #[test]
    fn a_files_layout_is_what_a_count_by_hand_gives(
        data_spindles in 1..=5u16,
        stripes in 1..40u64,
        // One of many maps with a good part of the neighbours in place.
        places in prop::collection::vec(prop_oneof![
            3 => Just(Place::Next), 1 => any::<u64>().prop_map(Place::At), 1 => Just(Place::Nowhere),
        ], 0..120),
    ) {
        let group = ParityGroup::new(Parity::RaidDp, data_spindles, stripes).unwrap();
        let total = group.total_blocks();
        let mut map = BlockMap::new(places.len() as u64, total).unwrap();
        let mut file: Vec<Option<BlockLocation>> = Vec::new();
        let mut last = 0;
        for (block, place) in places.iter().enumerate() {
            let vbn = match place {
                Place::Next => Some((last + 1) % total),
                Place::At(anywhere) => Some(anywhere % total),
                Place::Nowhere => None,
            };
            last = vbn.unwrap_or(last);
            if let Some(vbn) = vbn {
                map.replace(block as u32, Vbn(vbn));
            }
            file.push(vbn.map(|vbn| group.locate(Vbn(vbn))));
        }

        let here: Vec<BlockLocation> = file.iter().flatten().copied().collect();
        let follows = file
            .windows(2)
            .filter_map(|pair| Some((pair[0]?, pair[1]?)))
            .filter(|(one, next)| one.spindle == next.spindle && one.dbn.0 + 1 == next.dbn.0)
            .count() as u64;
        let blocks = here.len() as u64;
        let layout = FileLayout::measure(&map, places.len() as u32, &group);
        prop_assert_eq!(layout.blocks, blocks);
        prop_assert_eq!(layout.extents, blocks - follows);
        let score = if blocks < 2 { 1.0 } else { follows as f64 / (blocks - 1) as f64 };
        prop_assert_eq!(layout.score, score);
        let dbns = here.iter().map(|place| place.dbn.0);
        let span = match (dbns.clone().min(), dbns.max()) {
            (Some(low), Some(high)) => (high + 1 - low) as f64 / stripes as f64,
            _ => 0.0,
        };
        prop_assert_eq!(layout.span, span);
    }

    #[test]
    fn free_space_is_what_a_count_by_hand_gives(
        data_spindles in 1..=5u16,
        stripes in 1..300u64,
        free in prop::collection::vec((any::<u64>(), 1..70u64), 0..40),
    ) {
        let group = ParityGroup::new(Parity::RaidDp, data_spindles, stripes).unwrap();
        let total = group.total_blocks();
        let mut aggregate = Aggregate::new(group, AllocationShape::default()).unwrap();
        aggregate.begin(total);
        while aggregate.allocate().is_ok() {}
        aggregate.commit();
        let mut is_free = vec![false; total as usize];
        for (first, blocks) in free {
            let first = first % total;
            for vbn in first..(first + blocks).min(total) {
                if !std::mem::replace(&mut is_free[vbn as usize], true) {
                    aggregate.free_at_commit(Vbn(vbn));
                }
            }
        }
        aggregate.commit();

        let (mut free_blocks, mut firsts, mut follows, mut largest) = (0u64, 0u64, 0u64, 0u64);
        for spindle in is_free.chunks(stripes as usize) {
            free_blocks += spindle.iter().filter(|free| **free).count() as u64;
            firsts += u64::from(spindle.contains(&true));
            follows += spindle.windows(2).filter(|pair| pair[0] && pair[1]).count() as u64;
            let runs = spindle.split(|free| !free).map(<[bool]>::len);
            largest = largest.max(runs.max().unwrap_or(0) as u64);
        }
        let measured = FreeSpace::measure(aggregate.free_map());
        prop_assert_eq!(measured.free_blocks, free_blocks);
        prop_assert_eq!(measured.largest_run_blocks, largest);
        let others = free_blocks - firsts;
        let score = if others == 0 { 1.0 } else { follows as f64 / others as f64 };
        prop_assert_eq!(measured.score, score);
    }
}

#[derive(Debug, Clone, Copy)]
enum Place {
    /// Right behind the block before.
    Next,
    At(u64),
    Nowhere,
}

#[test]
fn a_map_names_at_most_as_many_blocks_as_32_bits_do() {
    assert!(BlockMap::new(1, u64::from(u32::MAX)).is_ok());
    let refused = BlockMap::new(1, u64::from(u32::MAX) + 1).map(|_| ());
    assert_eq!(refused, Err(TooManyBlocks(1 << 32)));
}

#[test]
fn a_map_says_where_a_block_lay_before() {
    let mut map = BlockMap::new(2, 100).unwrap();
    assert_eq!((map.get(0), map.get(1)), (None, None));
    assert_eq!(map.replace(1, Vbn(99)), None);
    assert_eq!(map.replace(1, Vbn(0)), Some(Vbn(99)));
    assert_eq!((map.get(0), map.get(1)), (None, Some(Vbn(0))));
}
