//! How a fresh file lies, and that what is measured of files and free space is what a count by hand gives.

use proptest::prelude::*;
use strewn_alloc::{
    Aggregate, AggregateOptions, AllocationShape, AreaOrder, BlockMap, BlockSize, FileLayout,
    FilePass, FreeSpace, FreeSpacePass, FullStripes, GroupIndex, LayoutCounter, RequestMix,
    RequestMixError, RunHistogram, Tetris, TooManyBlocks,
};
use strewn_raid::{BlockLocation, Parity, ParityGroup, Vbn};

/// A file of `blocks` blocks laid out in one consistency point of an empty aggregate.
fn lay_out(
    group: ParityGroup,
    shape: AllocationShape,
    blocks: u32,
) -> (BlockMap, Vec<Tetris<u32>>) {
    let options = AggregateOptions { shape, ..AggregateOptions::default() };
    let mut aggregate = Aggregate::new([group], options).unwrap();
    let mut map = BlockMap::new(blocks.into(), group.total_blocks()).unwrap();
    aggregate.begin(blocks.into()).unwrap();
    for block in 0..blocks {
        assert_eq!(map.replace(block, aggregate.allocate(block).unwrap()), None);
    }
    aggregate.finish();
    let tetrises = std::iter::from_fn(|| aggregate.next_tetris()).collect();
    aggregate.commit().unwrap();
    (map, tetrises)
}

/// The first run of all follows nothing, whatever its caller says, so that no score is above 1.
#[test]
fn a_counter_s_first_run_follows_nothing() {
    for follows in [false, true] {
        let mut counter = LayoutCounter::default();
        counter.add_run(0, follows);
        counter.add_run(5, follows);
        assert_eq!((counter.score(), counter.extents(), counter.blocks()), (1.0, 1, 5));
        counter.add_run(4, follows);
        let (score, extents) = if follows { (1.0, 1) } else { (7.0 / 8.0, 2) };
        assert_eq!((counter.score(), counter.extents()), (score, extents));
        counter.add_run(u64::MAX, follows);
        assert!(counter.score() <= 1.0);
    }
}

#[test]
fn a_counter_of_another_file_is_refused() {
    let group = ParityGroup::new(Parity::RaidDp, 3, 50).unwrap();
    let file = |block: u64| (block < 20).then_some(Vbn(block));
    for to in [None, Some(Vbn(40))] {
        let mut counter = LayoutCounter::default();
        let replace = std::panic::AssertUnwindSafe(|| counter.replace(&file, &group, 3, to));
        assert!(std::panic::catch_unwind(replace).is_err(), "{to:?}");
    }
    // Past the last block that a file can have, nothing follows.
    let mut counter = LayoutCounter::default();
    counter.replace(&|_: u64| None, &group, u64::MAX, Some(Vbn(1)));
    assert_eq!((counter.score(), counter.blocks()), (1.0, 1));
}

/// Only the ratio of shares counts, however large or small they are.
#[test]
fn shares_of_any_size_weigh_alike() {
    let group = ParityGroup::new(Parity::RaidDp, 3, 50).unwrap();
    let file = |block: u64| Some(Vbn(block * 7 % 150));
    let commands = |shares: [f64; 3], blocks: u64| {
        let lengths = [1, 4, 100].into_iter().zip(shares);
        RequestMix::new(lengths, 64).unwrap().commands_per_request(&file, blocks, &group)
    };
    let expected = commands([1.0, 3.0, 2.0], 140).unwrap();
    for unit in [f64::MAX / 4.0, f64::MIN_POSITIVE, 5e-324, 1e300, 1e-300, 0.1] {
        let found = commands([unit, 3.0 * unit, 2.0 * unit], 140).unwrap();
        assert!((found / expected - 1.0).abs() < 1e-12, "{found} in units of {unit}");
    }
    // A share that vanishes beside another counts where the other's requests do not fit.
    let alike = |one: Option<f64>, other: Option<f64>| {
        assert!((one.unwrap() / other.unwrap() - 1.0).abs() < 1e-12, "{one:?}, {other:?}");
    };
    alike(commands([5e-324, f64::MAX, f64::MAX], 140), commands([0.1, 1e300, 1e300], 140));
    alike(commands([5e-324, 5e-324, f64::MAX], 10), commands([1.0, 1.0, 1.0], 10));
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
        let mut aggregate = Aggregate::new([group], AggregateOptions::default()).unwrap();
        let mut full = FullStripes::default();
        for size in sizes {
            aggregate.begin(size).unwrap();
            for _ in 0..size {
                aggregate.allocate(()).unwrap();
            }
            aggregate.finish();
            let tetrises: Vec<Tetris<()>> = std::iter::from_fn(|| aggregate.next_tetris()).collect();
            aggregate.commit().unwrap();
            let counted = full;
            tetrises.iter().for_each(|tetris| full.add(tetris));
            let (last, before) = tetrises.split_last().unwrap();
            for tetris in before {
                prop_assert_eq!(tetris.stripes_full(), tetris.stripes_touched());
            }
            // The last is as shallow as what remains.
            let rest = u64::from(last.blocks());
            let chunk_ends = u64::from(last.stripes_touched().count_ones());
            prop_assert_eq!(chunk_ends, rest.div_ceil(data_spindles.into()));
            // One stripe of a consistency point may be cut short.
            prop_assert_eq!(full.written - counted.written, size.div_ceil(data_spindles.into()));
            let cut = u64::from(size % u64::from(data_spindles) != 0);
            prop_assert!(full.written - full.full <= counted.written - counted.full + rest.min(64) * cut);
        }
    }

    #[test]
    fn what_is_measured_at_once_is_what_is_measured_block_by_block(
        data_spindles in 1..=26u16,
        stripes in 1..6_000u64,
        extents in prop::collection::vec((any::<u32>(), 1..9_000u64, 0..20u32), 1..12),
        step in 1..20_000u64,
    ) {
        let group = ParityGroup::new(Parity::RaidDp, data_spindles, stripes).unwrap();
        let mut places = Vec::new();
        for (start, blocks, kind) in extents {
            let start = u64::from(start) % group.total_blocks();
            // A few extents were never written. One that reaches the end goes on at the beginning.
            places.extend((start..start + blocks).map(|vbn| (kind > 0).then_some(Vbn(vbn % group.total_blocks()))));
        }
        let mut map = BlockMap::new(places.len() as u64, group.total_blocks()).unwrap();
        for (block, place) in places.iter().enumerate() {
            if let Some(vbn) = place {
                map.replace(block as u32, *vbn);
            }
        }
        let one_by_one = |block: u64| places.get(block as usize).copied().flatten();
        let expected = FileLayout::measure(&one_by_one, places.len() as u64, &group);
        prop_assert_eq!(FileLayout::measure(&map, places.len() as u64, &group), expected);
        let mut pass = FilePass::new(places.len() as u64);
        while !pass.step(&map, &group, step) {}
        prop_assert_eq!(pass.layout(&group), expected);
    }

    #[test]
    fn a_files_layout_is_what_a_count_by_hand_gives(
        data_spindles in 1..=5u16,
        stripes in 1..40u64,
        // One of many maps with a good part of the neighbours in place.
        places in prop::collection::vec(prop_oneof![
            3 => Just(NextBlock::Next), 1 => any::<u64>().prop_map(NextBlock::At), 1 => Just(NextBlock::Nowhere),
        ], 0..120),
    ) {
        let group = ParityGroup::new(Parity::RaidDp, data_spindles, stripes).unwrap();
        let total = group.total_blocks();
        let mut map = BlockMap::new(places.len() as u64, total).unwrap();
        let mut file: Vec<Option<BlockLocation>> = Vec::new();
        let mut last = 0;
        for (block, place) in places.iter().enumerate() {
            let vbn = match place {
                NextBlock::Next => Some((last + 1) % total),
                NextBlock::At(anywhere) => Some(anywhere % total),
                NextBlock::Nowhere => None,
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
        step in 1..10u64,
    ) {
        let group = ParityGroup::new(Parity::RaidDp, data_spindles, stripes).unwrap();
        let total = group.total_blocks();
        let mut aggregate = Aggregate::new([group], AggregateOptions::default()).unwrap();
        aggregate.begin(total).unwrap();
        while aggregate.allocate(()).is_ok() {}
        aggregate.discard_plan();
        aggregate.commit().unwrap();
        let mut is_free = vec![false; total as usize];
        for (first, blocks) in free {
            let first = first % total;
            for vbn in first..(first + blocks).min(total) {
                if !std::mem::replace(&mut is_free[vbn as usize], true) {
                    aggregate.free_at_commit(Vbn(vbn)).unwrap();
                }
            }
        }
        aggregate.begin(0).unwrap();
        aggregate.commit().unwrap();

        let (mut free_blocks, mut firsts, mut follows, mut largest) = (0u64, 0u64, 0u64, 0u64);
        let mut histogram = RunHistogram::default();
        for spindle in is_free.chunks(stripes as usize) {
            free_blocks += spindle.iter().filter(|free| **free).count() as u64;
            firsts += u64::from(spindle.contains(&true));
            follows += spindle.windows(2).filter(|pair| pair[0] && pair[1]).count() as u64;
            let runs = spindle.split(|free| !free).map(<[bool]>::len);
            for blocks in runs.filter(|blocks| *blocks > 0) {
                histogram.0[blocks.ilog2() as usize] += 1;
                largest = largest.max(blocks as u64);
            }
        }
        let measured = FreeSpace::measure(aggregate.free_map(GroupIndex(0)));
        prop_assert_eq!(measured.free_blocks, free_blocks);
        prop_assert_eq!(measured.largest_run_blocks, largest);
        let others = free_blocks - firsts;
        let score = if others == 0 { 1.0 } else { follows as f64 / others as f64 };
        prop_assert_eq!(measured.score, score);
        prop_assert_eq!(measured.runs, histogram);
        prop_assert_eq!(FreeSpace::of(&aggregate), measured);

        let mut pass = FreeSpacePass::default();
        while !pass.step(aggregate.free_maps(), step) {}
        prop_assert_eq!(pass.free_space(), measured);
    }

    #[test]
    fn commands_of_requests_are_what_asking_at_every_place_gives(
        places in places(),
        lengths in prop::collection::vec((1..40u32, 0.1..3.0f64), 1..4),
        longest in 1..20u32,
    ) {
        let group = ParityGroup::new(Parity::RaidDp, 3, 50).unwrap();
        let file = file_at(&places, group.total_blocks());
        let map = |block: u64| file.get(block as usize).copied().flatten();
        let mix = RequestMix::new(lengths.clone(), longest).unwrap();

        let (mut commands, mut shares) = (0.0, 0.0);
        for (length, share) in lengths {
            let requests: Vec<&[Option<Vbn>]> = file.windows(length as usize).collect();
            let of_all: u64 = requests.iter().map(|blocks| commands_of(blocks, &group, longest)).sum();
            if !requests.is_empty() {
                commands += share * of_all as f64 / requests.len() as f64;
                shares += share;
            }
        }
        let expected = (shares > 0.0).then(|| commands / shares);
        let found = mix.commands_per_request(&map, places.len() as u64, &group);
        prop_assert_eq!(found.is_some(), expected.is_some());
        if let (Some(found), Some(expected)) = (found, expected) {
            prop_assert!((found - expected).abs() < 1e-9, "{} is not {}", found, expected);
        }
    }

    #[test]
    fn a_pass_in_steps_and_a_counter_kept_up_give_what_a_pass_at_once_gives(
        places in places(),
        step in 1..50u64,
        moves in prop::collection::vec((any::<prop::sample::Index>(), prop::option::of(0..150u64)), 0..60),
    ) {
        let group = ParityGroup::new(Parity::RaidDp, 3, 50).unwrap();
        let mut file: Vec<Option<Vbn>> = vec![None; places.len()];
        let mut counter = LayoutCounter::default();
        let laid_out = file_at(&places, group.total_blocks()).into_iter().enumerate();
        let moved = moves.into_iter().filter(|_| !places.is_empty());
        let moved = moved.map(|(block, to)| (block.index(places.len()), to.map(Vbn)));
        for (block, to) in laid_out.chain(moved) {
            let map = |block: u64| file.get(block as usize).copied().flatten();
            counter.replace(&map, &group, block as u64, to);
            file[block] = to;
        }
        let map = |block: u64| file.get(block as usize).copied().flatten();
        let layout = FileLayout::measure(&map, file.len() as u64, &group);
        prop_assert_eq!(
            (counter.score(), counter.extents(), counter.blocks()),
            (layout.score, layout.extents, layout.blocks)
        );
        let mut pass = FilePass::new(file.len() as u64);
        while !pass.step(&map, &group, step) {}
        prop_assert_eq!(pass.layout(&group), layout);
    }
}

/// Commands of a request for `blocks`, counted block by block.
fn commands_of(blocks: &[Option<Vbn>], group: &ParityGroup, longest: u32) -> u64 {
    let place = |vbn: Option<Vbn>| vbn.map(|vbn| group.locate(vbn));
    let (mut commands, mut run) = (0, 0);
    for (index, here) in blocks.iter().enumerate() {
        let before = if index == 0 { None } else { place(blocks[index - 1]) };
        let behind = matches!((before, place(*here)), (Some(before), Some(here))
            if before.spindle == here.spindle && before.dbn.0 + 1 == here.dbn.0);
        run = if behind && run < longest { run + 1 } else { 1 };
        commands += u64::from(here.is_some() && run == 1);
    }
    commands
}

/// Places of a file's blocks, a good part of the neighbours in place.
fn places() -> impl Strategy<Value = Vec<NextBlock>> {
    let place = prop_oneof![
        6 => Just(NextBlock::Next), 1 => any::<u64>().prop_map(NextBlock::At), 1 => Just(NextBlock::Nowhere),
    ];
    prop::collection::vec(place, 0..150)
}

fn file_at(places: &[NextBlock], total: u64) -> Vec<Option<Vbn>> {
    let mut last = 0;
    let vbn = |place: &NextBlock| {
        last = match place {
            NextBlock::Next => (last + 1) % total,
            NextBlock::At(anywhere) => anywhere % total,
            NextBlock::Nowhere => return None,
        };
        Some(Vbn(last))
    };
    places.iter().map(vbn).collect()
}

#[test]
fn a_contiguous_file_is_one_extent_however_long() {
    let group = ParityGroup::new(Parity::RaidDp, 1, 1 << 20).unwrap();
    let whole = FileLayout::measure(&|block: u64| Some(Vbn(block)), 1u32 << 20, &group);
    assert_eq!(whole.extents_per_gib(BlockSize::default()), 0.25);
}

#[test]
fn a_mix_needs_requests_that_can_be() {
    assert_eq!(RequestMix::new([(0, 1.0)], 16), Err(RequestMixError::NoBlocks));
    assert_eq!(RequestMix::new([(4, 0.0)], 16), Err(RequestMixError::Share));
    assert_eq!(RequestMix::new([(4, f64::NAN)], 16), Err(RequestMixError::Share));
    assert_eq!(RequestMix::new([], 16), Err(RequestMixError::Share));
    assert_eq!(RequestMix::new([(4, 1.0)], 0), Err(RequestMixError::LongestCommand));
}

#[test]
fn maps_and_scores_take_at_most_a_tenth_more_than_a_bit_a_block() {
    for order in [AreaOrder::Exact, AreaOrder::Binned] {
        for (spindles, stripes) in [(1, 1 << 28), (18, 14_913_024), (26, 1 << 22)] {
            let group = ParityGroup::new(Parity::RaidDp, spindles, stripes).unwrap();
            let options = AggregateOptions { order, ..AggregateOptions::default() };
            let aggregate: Aggregate<()> = Aggregate::new([group], options).unwrap();
            let bits = aggregate.map_bytes() as f64 * 8.0 / aggregate.total_blocks() as f64;
            println!("{spindles:>2} spindles, {order:?}: {bits:.3} bits a block");
            assert!(bits <= 1.1, "{bits} bits a block: {spindles} spindles, {order:?}");
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum NextBlock {
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

#[test]
fn layouts_of_several_files_add_up() {
    let [whole, pieces] =
        [FileLayout::of_extents(300, 1, 0.2), FileLayout::of_extents(101, 11, 0.5)];
    let both = whole + pieces;
    assert_eq!((both.blocks, both.extents, both.span), (401, 12, 0.5));
    let expected = (300.0 + 101.0 * 0.9) / 401.0;
    assert!((both.score - expected).abs() < 1e-12, "{}", both.score);
    assert_eq!([whole, pieces].into_iter().sum::<FileLayout>(), both);
    let none: FileLayout = [].into_iter().sum();
    assert_eq!((none.score, none + whole), (1.0, whole));
}
