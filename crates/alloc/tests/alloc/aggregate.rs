//! What an aggregate does in cases that can be counted by hand, and what it refuses.

use std::collections::BTreeSet;

use strewn_alloc::{
    Aggregate, AggregateError, AggregateOptions, AllocationShape, AreaOrder, BlockSize,
    ConsistencyPointError, FreeError, GroupIndex, MountError, OutOfSpace, PolicyName, SavedScores,
};
use strewn_raid::{Parity, ParityGroup, UpdateMethod, Vbn};

pub fn group(data_spindles: u16, stripes: u64) -> ParityGroup {
    ParityGroup::new(Parity::RaidDp, data_spindles, stripes).unwrap()
}

fn aggregate(groups: &[ParityGroup], options: AggregateOptions) -> Aggregate<u32> {
    Aggregate::new(groups.iter().copied(), options).unwrap()
}

/// Commits `blocks` blocks; where they lie.
pub fn write(aggregate: &mut Aggregate<u32>, blocks: u32) -> Vec<Vbn> {
    let mut places = Vec::new();
    aggregate.begin(blocks.into()).unwrap();
    aggregate.allocate_all(&Vec::from_iter(0..blocks), |_, vbn| places.push(vbn)).unwrap();
    aggregate.discard_plan();
    aggregate.commit().unwrap();
    places
}

#[test]
fn a_block_given_back_comes_again_after_the_commit_and_not_before() {
    let mut aggregate = aggregate(&[group(2, 3)], AggregateOptions::default());
    let blocks = write(&mut aggregate, 6);

    aggregate.begin(1).unwrap();
    aggregate.free_at_commit(blocks[4]).unwrap();
    assert_eq!(aggregate.allocate(0), Err(OutOfSpace { needed: 1, free: 0 }.into()));
    assert_eq!(aggregate.commit(), Ok(1));

    aggregate.begin(1).unwrap();
    assert_eq!(aggregate.allocate(0), Ok(blocks[4]));
    assert_eq!(aggregate.allocate(0), Err(OutOfSpace { needed: 1, free: 0 }.into()));
}

#[test]
fn a_block_is_not_given_back_twice() {
    let mut aggregate = aggregate(&[group(2, 3)], AggregateOptions::default());
    let blocks = write(&mut aggregate, 2);
    aggregate.free_at_commit(blocks[0]).unwrap();
    let twice = Err(FreeError::AlreadyFreed(blocks[0]));
    assert_eq!(aggregate.free_at_commit(blocks[0]), twice);
    assert_eq!(aggregate.free_all_at_commit(&[blocks[1], blocks[0]]), twice);
    assert_eq!(
        aggregate.free_all_at_commit(&[blocks[1], blocks[1]]),
        Err(FreeError::AlreadyFreed(blocks[1]))
    );
    assert_eq!((aggregate.counts().used, aggregate.counts().freed_at_commit), (1, 1));
    aggregate.begin(0).unwrap();
    assert_eq!(aggregate.free_at_commit(blocks[0]), twice, "nor in the next consistency point");
    assert_eq!(aggregate.commit(), Ok(1));
    assert_eq!(aggregate.free_at_commit(blocks[0]), Err(FreeError::NotInUse(blocks[0])));
    assert_eq!(aggregate.free_at_commit(Vbn(6)), Err(FreeError::NotInUse(Vbn(6))));
    assert_eq!(aggregate.free_blocks(), 5);
}

#[test]
fn a_list_that_does_not_fit_takes_nothing() {
    let mut aggregate = aggregate(&[group(2, 3)], AggregateOptions::default());
    aggregate.begin(7).unwrap();
    let all = aggregate.allocate_all(&[0; 7], |_, _| panic!("something was placed"));
    assert_eq!(all, Err(OutOfSpace { needed: 7, free: 6 }.into()));
    assert_eq!(aggregate.next_tetris(), None);
    assert_eq!(aggregate.allocate_all(&[0; 6], |_, _| {}), Ok(()));
}

#[test]
fn a_second_beginning_is_refused() {
    let mut aggregate = aggregate(&[group(2, 300)], AggregateOptions::default());
    aggregate.begin(1).unwrap();
    aggregate.allocate(1).unwrap();
    assert_eq!(aggregate.begin(1), Err(ConsistencyPointError::Open));
    assert_eq!(aggregate.scores(), Err(ConsistencyPointError::Open));
    assert_eq!(aggregate.set_aside_at_random(0.5, 1, 1), Err(ConsistencyPointError::Open.into()));
    aggregate.abandon().unwrap();
    assert_eq!(aggregate.begin(1), Ok(()));
}

#[test]
fn an_empty_group_is_written_in_full_stripes() {
    let group = group(18, 10_000);
    let mut aggregate = aggregate(&[group], AggregateOptions::default());
    aggregate.begin(18 * 100).unwrap();
    aggregate.allocate_all(&Vec::from_iter(0..18 * 100), |_, _| {}).unwrap();
    aggregate.finish();
    let mut stripes = Vec::new();
    while let Some(tetris) = aggregate.next_tetris() {
        stripes.extend(tetris.stripes(&group));
    }
    // Two tetrises, the second as shallow as the rest asks for.
    assert_eq!(stripes.len(), 100);
    assert!(stripes.iter().all(|stripe| stripe.update.method == UpdateMethod::FullStripe));
}

#[test]
fn groups_take_turns_and_a_full_one_is_passed_over() {
    let groups = [group(4, 640), group(4, 640)];
    let mut aggregate = aggregate(&groups, AggregateOptions::default());
    let group_of = |aggregate: &Aggregate<u32>, vbn| aggregate.locate(vbn).unwrap().group.0;
    let blocks = write(&mut aggregate, 4 * 64 * 4);
    let turns: Vec<u16> =
        blocks.chunks(256).map(|tetris| group_of(&aggregate, tetris[0])).collect();
    assert!(turns == [0, 1, 0, 1] || turns == [1, 0, 1, 0], "{turns:?}");

    // A third, empty group has the others wait once they are less than half as empty.
    write(&mut aggregate, 4 * 64 * 10);
    let third = aggregate.add_group(group(4, 640)).unwrap();
    let blocks = write(&mut aggregate, 4 * 64);
    assert!(blocks.iter().all(|vbn| group_of(&aggregate, *vbn) == third.0));
}

#[test]
fn policies_choose_different_areas() {
    // Four areas of 64 stripes on 2 spindles; of the second, third and fourth 10, 100 and 50 blocks are free.
    let chosen = |policy| {
        let shape = AllocationShape { area_stripes: 64, ..AllocationShape::default() };
        let options = AggregateOptions { shape, policy, ..AggregateOptions::default() };
        let mut aggregate = aggregate(&[group(2, 256)], options);
        for (area, free) in [(0, 0), (1, 10), (2, 100), (3, 50)] {
            for used in free..128u64 {
                aggregate.set_aside(Vbn(used / 64 * 256 + area * 64 + used % 64)).unwrap();
            }
        }
        let mut areas = Vec::new();
        aggregate.begin(160).unwrap();
        while let Ok(vbn) = aggregate.allocate(0) {
            areas.push(aggregate.locate(vbn).unwrap().location.dbn.0 / 64);
        }
        areas.dedup();
        areas
    };
    assert_eq!(chosen(PolicyName::EmptiestArea), [2, 3, 1]);
    assert_eq!(chosen(PolicyName::FirstFit), [1, 2, 3]);
    // On average 40 are free: the third and the fourth are above, then the second is alone.
    assert_eq!(chosen(PolicyName::SequentialSweep), [2, 3, 1]);
    assert_eq!("first-fit".parse(), Ok(PolicyName::FirstFit));
    let unknown = "best-fit".parse::<PolicyName>().unwrap_err().to_string();
    assert!(unknown.contains("\"best-fit\"") && unknown.contains("near-neighbours"), "{unknown}");
}

#[test]
fn a_withheld_area_is_the_last_to_be_filled() {
    let shape = AllocationShape { area_stripes: 64, ..AllocationShape::default() };
    let options = AggregateOptions { shape, ..AggregateOptions::default() };
    let mut aggregate = aggregate(&[group(2, 128)], options);
    aggregate.withhold_area(GroupIndex(0), 0);
    let areas: Vec<u64> = write(&mut aggregate, 256)
        .iter()
        .map(|vbn| aggregate.locate(*vbn).unwrap().location.dbn.0 / 64)
        .collect();
    assert_eq!(areas[..128], [1; 128]);
    assert_eq!(areas[128..], [0; 128]);
}

#[test]
fn frees_are_held_back_until_the_bound_and_then_given_back_region_by_region() {
    let options = AggregateOptions { delayed_frees: 100, ..AggregateOptions::default() };
    let mut aggregate = aggregate(&[group(4, 32_768)], options);
    write(&mut aggregate, 4 * 32_768);
    // Of spindle (and region) 0 60 blocks, of 1 40, of 2 1.
    for vbn in (0..60).chain(32_768..32_808) {
        aggregate.free_at_commit(Vbn(vbn)).unwrap();
    }
    aggregate.begin(0).unwrap();
    assert_eq!(aggregate.commit(), Ok(0));
    assert_eq!(aggregate.counts().held_back, 100);
    aggregate.begin(0).unwrap();
    aggregate.free_at_commit(Vbn(65_536)).unwrap();
    assert_eq!(aggregate.commit(), Ok(60));
    assert_eq!((aggregate.counts().held_back, aggregate.free_blocks()), (41, 60));
    assert!(aggregate.is_free(Vbn(59)) && !aggregate.is_free(Vbn(32_768)));
    assert_eq!(aggregate.verify(), Ok(()));
}

#[test]
fn stale_or_damaged_scores_are_refused() {
    let options = AggregateOptions::default();
    let groups = [group(4, 10_000)];
    let mut aggregate = aggregate(&groups, options);
    let old = aggregate.scores().unwrap();
    write(&mut aggregate, 5_000);
    let words = || [(groups[0], aggregate.free_map(GroupIndex(0)).words().to_vec())];
    let mount = |groups: Vec<_>, scores| {
        Aggregate::<u32>::mount(groups, options, 1, scores).map(|mounted| mounted.free_blocks())
    };
    let stale = MountError::Stale { scores: 0, maps: 1 };
    assert_eq!(mount(words().to_vec(), old), Err(stale));
    let scores = aggregate.scores().unwrap();
    assert_eq!(mount(words().to_vec(), scores.clone()), Ok(35_000));
    let other = [(group(4, 9_000), vec![0; 564])].to_vec();
    assert_eq!(mount(other, scores.clone()), Err(MountError::Shape { group: 0 }));
    for parity in [Parity::None, Parity::Raid4] {
        let other = ParityGroup::new(parity, 4, 10_000).unwrap();
        let with_other_parity = words().map(|(_, words)| (other, words)).to_vec();
        let refused = mount(with_other_parity, scores.clone());
        assert_eq!(refused, Err(MountError::Shape { group: 0 }), "{parity}");
    }
    let short = [(groups[0], vec![0; 7])].to_vec();
    let needed = MountError::Words { group: 0, words: 7, needed: 628 };
    assert_eq!(mount(short, scores.clone()), Err(needed));
    let aggregate_error = MountError::Shape { group: 0 };
    assert_eq!(mount(Vec::new(), scores.clone()), Err(aggregate_error));

    let bytes = scores.to_bytes();
    assert_eq!(SavedScores::from_bytes(&bytes), Ok(scores));
    assert_eq!(SavedScores::from_bytes(b"something else"), Err(MountError::ForeignScores));
    assert_eq!(SavedScores::from_bytes(&bytes[..9]), Err(MountError::ScoresChecksum));
    for at in 8..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1;
        assert_eq!(SavedScores::from_bytes(&damaged), Err(MountError::ScoresChecksum), "byte {at}");
    }
}

#[test]
fn an_aggregate_of_a_pebibyte_is_ready_at_once() {
    // 2^40 blocks are numbered; maps of zeros take no memory until they are used.
    let options = AggregateOptions { order: AreaOrder::Binned, ..AggregateOptions::default() };
    let mut aggregate = aggregate(&[group(16, 1 << 32)], options);
    assert_eq!(aggregate.total_blocks(), 1 << 36);
    let blocks = write(&mut aggregate, 100_000);
    assert_eq!(blocks.len(), 100_000);
    let too_many = Aggregate::<u32>::new([group(17, 1 << 36)], options).map(|_| ()).unwrap_err();
    assert_eq!(too_many, AggregateError::TooManyBlocks(17 << 36));
}

#[test]
fn shapes_that_do_not_fit_are_refused() {
    let refused = |area_stripes, tetris_stripes, chunk_blocks| {
        let shape = AllocationShape { area_stripes, tetris_stripes, chunk_blocks };
        let options = AggregateOptions { shape, ..AggregateOptions::default() };
        Aggregate::<u32>::new([group(4, 1_000)], options).map(|_| ()).unwrap_err()
    };
    assert_eq!(refused(0, 64, 64), AggregateError::AreaStripes(0));
    assert_eq!(refused(100, 64, 64), AggregateError::AreaStripes(100));
    assert_eq!(refused(128, 0, 1), AggregateError::TetrisStripes(0));
    assert_eq!(refused(128, 128, 64), AggregateError::TetrisStripes(128));
    assert_eq!(refused(128, 24, 8), AggregateError::TetrisStripes(24));
    assert_eq!(refused(128, 16, 0), AggregateError::ChunkBlocks { chunk: 0, tetris: 16 });
    assert_eq!(refused(128, 16, 32), AggregateError::ChunkBlocks { chunk: 32, tetris: 16 });
    assert_eq!(refused(128, 16, 6), AggregateError::ChunkBlocks { chunk: 6, tetris: 16 });
    let area_stripes = 1 << 32;
    let too_large = AggregateError::AreaTooLarge { area_stripes, data_spindles: 4 };
    assert_eq!(refused(area_stripes, 64, 64), too_large);
    let none = Aggregate::<u32>::new([], AggregateOptions::default()).map(|_| ()).unwrap_err();
    assert_eq!(none, AggregateError::NoGroup);
    for bytes in [0, 256, 4_000, 131_072] {
        assert_eq!(BlockSize::new(bytes), Err(AggregateError::BlockSize(bytes)));
    }
    assert_eq!(BlockSize::new(512).unwrap().blocks_per_gib(), 2_097_152);
}

/// A file whose blocks are rewritten at random, in consistency points that write in file order: a region of the file
/// lies on as many spindles as chance gives, not on the same few.
#[test]
fn a_region_that_is_rewritten_meets_other_spindles_each_time() {
    const FILE_BLOCKS: usize = 40_000;
    for blocks in [1_152 * 3, 3_000] {
        let group = group(18, 40_000);
        let mut aggregate = aggregate(&[group], AggregateOptions::default());
        let mut places = write(&mut aggregate, FILE_BLOCKS as u32);
        for round in 0..60 {
            // Every so many blocks, from another first one each time.
            let step = FILE_BLOCKS / blocks;
            let rewritten: Vec<usize> =
                (0..blocks).map(|index| index * step + (round * 7) % step).collect();
            aggregate.begin(blocks as u64).unwrap();
            for block in rewritten {
                let before = places[block];
                places[block] = aggregate.allocate(block as u32).unwrap();
                aggregate.free_at_commit(before).unwrap();
            }
            aggregate.discard_plan();
            aggregate.commit().unwrap();
        }
        let spindles = |region: &[Vbn]| {
            let spindles = region.iter().map(|vbn| group.locate(*vbn).spindle.0);
            BTreeSet::from_iter(spindles).len()
        };
        let regions = FILE_BLOCKS / 16;
        let all: usize = places.chunks(16).map(spindles).sum();
        let mean = all as f64 / regions as f64;
        // Sixteen blocks come from `step` consistency points. On spindles drawn at random:
        let by_chance = 18.0 * (1.0 - (17.0_f64 / 18.0).powi((FILE_BLOCKS / blocks) as i32));
        assert!(
            mean > 0.8 * by_chance,
            "16 consecutive blocks lie on {mean:.2} spindles on average, {by_chance:.2} by chance"
        );
    }
}

/// A superblock is looked for there.
#[test]
fn regression_the_first_blocks_lie_in_the_first_group_however_many_there_are() {
    for groups in 1..=8 {
        let groups = (0..groups).map(|_| ParityGroup::new(Parity::Raid4, 3, 1_000).unwrap());
        let mut aggregate = Aggregate::<u32>::new(groups, AggregateOptions::default()).unwrap();
        aggregate.begin(2).unwrap();
        let first = [0, 1].map(|what| aggregate.allocate(what).unwrap());
        assert_eq!(first, [Vbn(0), Vbn(1_000)]);
    }
}
