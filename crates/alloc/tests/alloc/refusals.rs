//! Mistakes of a caller: each is an error by value or a documented panic, the same in debug and release, and none
//! hangs, loses blocks or falsifies a count.

use std::panic::{AssertUnwindSafe, catch_unwind};

use strewn_alloc::{
    Aggregate, AggregateError, AggregateLocation, AggregateOptions, AllocateError, AllocationShape,
    Areas, BlockMap, ConsistencyPointError, DelayedFrees, FreeError, GroupIndex, MountError,
    OutOfSpace, Policy, PolicyName, SavedScores, ScoreMismatch, SetAsideError, SetPolicyError,
    SummaryBitmap,
};
use strewn_raid::{
    BlockLocation, Dbn, Member, MemberSet, Parity, ParityGroup, SpindleIndex, StripeBytes, Vbn,
};

use crate::aggregate::{group, write};

const GROUP: GroupIndex = GroupIndex(0);

fn options() -> AggregateOptions {
    let shape = AllocationShape { area_stripes: 64, ..AllocationShape::default() };
    AggregateOptions { shape, ..AggregateOptions::default() }
}

fn aggregate(stripes: u64, options: AggregateOptions) -> Aggregate<u32> {
    Aggregate::new([group(2, stripes)], options).unwrap()
}

fn panics<T>(what: impl FnOnce() -> T) -> bool {
    catch_unwind(AssertUnwindSafe(what)).is_err()
}

/// Two areas of 128 blocks, with scores of their own.
fn mounted(words: Vec<u64>, scored_as: &[u64], options: AggregateOptions) -> Aggregate<u32> {
    let group = group(2, 128);
    let scores = SavedScores::counted(0, 64, [(group, scored_as)]);
    Aggregate::mount([(group, words)], options, 0, scores).unwrap()
}

#[test]
fn scores_that_are_too_high_do_not_hang_the_allocator() {
    let mismatch = |area| ScoreMismatch { group: GROUP, area, score: 128, in_map: 0 };
    for policy in PolicyName::ALL {
        let options = AggregateOptions { policy, ..options() };
        let mut aggregate = mounted(vec![u64::MAX; 4], &[0; 4], options);
        aggregate.begin(1).unwrap();
        assert_eq!(aggregate.allocate(1), Err(AllocateError::Scores(mismatch(0))));
        let all = aggregate.allocate_all(&[1, 2], |_, _| panic!("something was placed"));
        // A sweep goes on to the next area, which is no better.
        let area = u32::from(policy == PolicyName::SequentialSweep);
        assert_eq!(all, Err(AllocateError::Scores(mismatch(area))));
        aggregate.abandon().unwrap();
    }
    assert!(mismatch(0).to_string().contains("SavedScores::counted"));
}

#[test]
fn scores_that_are_too_low_do_not_falsify_the_counts() {
    for policy in PolicyName::ALL {
        let options = AggregateOptions { policy, ..options() };
        // By their scores one block of each area is free, by the map all are.
        let scored_as = [u64::MAX >> 1, u64::MAX, u64::MAX >> 1, u64::MAX];
        let mut aggregate = mounted(vec![0; 4], &scored_as, options);
        aggregate.begin(2).unwrap();
        let refused = aggregate.allocate_behind(1, Some(Vbn(3)));
        assert!(matches!(refused, Err(AllocateError::Scores(ScoreMismatch { in_map: 128, .. }))));
        assert_eq!(aggregate.free_blocks(), 2);
        assert!(aggregate.verify().is_err());
        aggregate.abandon().unwrap();
    }
}

#[test]
fn scores_above_the_size_of_an_area_are_not_mounted() {
    let (small, large) = (group(2, 64), group(2, 128));
    let mut bytes = SavedScores::counted(0, 64, [(small, &[0; 2][..])]).to_bytes();
    let at = bytes.len() - 8;
    bytes[at..at + 4].copy_from_slice(&129_u32.to_le_bytes());
    let body = bytes.len() - 4;
    let sum = crc32fast::hash(&bytes[..body]).to_le_bytes();
    bytes[body..].copy_from_slice(&sum);
    let scores = SavedScores::from_bytes(&bytes).unwrap();
    let found = Aggregate::<u32>::mount([(small, vec![0; 2])], options(), 0, scores).map(|_| ());
    assert_eq!(found, Err(MountError::Score { group: 0, area: 0, score: 129, blocks: 128 }));
    // Nor are scores by areas of no stripes.
    let none = AllocationShape { area_stripes: 0, ..AllocationShape::default() };
    let scores = SavedScores::counted(0, 0, [(large, &[0; 4][..])]);
    let options = AggregateOptions { shape: none, ..AggregateOptions::default() };
    let found = Aggregate::<u32>::mount([(large, vec![0; 4])], options, 0, scores).map(|_| ());
    assert!(matches!(found, Err(MountError::Aggregate(_))));
}

#[test]
fn a_block_is_not_freed_twice_while_its_free_is_delayed() {
    let mut aggregate = aggregate(64, AggregateOptions { delayed_frees: 10, ..options() });
    let blocks = write(&mut aggregate, 100);
    aggregate.begin(0).unwrap();
    aggregate.free_all_at_commit(&blocks[..10]).unwrap();
    assert_eq!(aggregate.commit(), Ok(0));
    for &block in &blocks[..10] {
        assert_eq!(aggregate.free_at_commit(block), Err(FreeError::AlreadyFreed(block)));
    }
    let counts = aggregate.counts();
    assert_eq!((counts.used, counts.held_back, counts.freed_at_commit), (90, 10, 0));
    // Once free and allocated again, it can be freed again.
    aggregate.begin(0).unwrap();
    aggregate.free_at_commit(blocks[10]).unwrap();
    assert_eq!(aggregate.commit(), Ok(11));
    assert_eq!(write(&mut aggregate, 39).len(), 39);
    assert_eq!(aggregate.free_at_commit(blocks[0]), Ok(()));
    assert_eq!(aggregate.verify(), Ok(()));
}

#[test]
fn delayed_frees_survive_a_mount() {
    let options = AggregateOptions { delayed_frees: 50, ..options() };
    let mut aggregate = aggregate(64, options);
    let blocks = write(&mut aggregate, 128);
    aggregate.free_all_at_commit(&blocks[20..60]).unwrap();
    aggregate.begin(0).unwrap();
    aggregate.commit().unwrap();
    let saved: Vec<Vbn> = aggregate.delayed_frees().collect();
    assert_eq!(saved.len(), 40);
    let words = aggregate.free_map(GROUP).words().to_vec();
    let mount = |options| {
        let (groups, scores) = ([(group(2, 64), words.clone())], aggregate.scores().unwrap());
        Aggregate::<u32>::mount(groups, options, aggregate.consistency_points(), scores).unwrap()
    };
    let mut again = mount(options);
    assert_eq!(again.counts().used, 128, "the maps do not know");
    again.resume_delayed_frees(&saved).unwrap();
    assert_eq!(again.counts(), aggregate.counts());
    let twice = Err(FreeError::AlreadyFreed(saved[0]));
    assert_eq!(again.resume_delayed_frees(&[blocks[0], saved[0]]), twice);
    assert_eq!(again.counts(), aggregate.counts());
    again.begin(0).unwrap();
    again.free_all_at_commit(&blocks[60..71]).unwrap();
    assert_eq!(again.commit(), Ok(51));
    // An aggregate that delays nothing frees them with the next commit, whatever is abandoned before.
    let mut prompt = mount(AggregateOptions { delayed_frees: 0, ..options });
    prompt.begin(0).unwrap();
    prompt.free_at_commit(blocks[0]).unwrap();
    prompt.resume_delayed_frees(&saved).unwrap();
    prompt.abandon().unwrap();
    assert_eq!(prompt.counts().freed_at_commit, 40);
    prompt.begin(0).unwrap();
    assert_eq!(prompt.commit(), Ok(40));
}

#[test]
fn frees_between_consistency_points_outlive_an_abandoned_one() {
    let mut aggregate = aggregate(64, options());
    let blocks = write(&mut aggregate, 128);
    aggregate.free_all_at_commit(&blocks[..30]).unwrap();
    aggregate.begin(100).unwrap();
    aggregate.free_at_commit(blocks[50]).unwrap();
    let none = OutOfSpace { needed: 1, free: 0 };
    assert_eq!(aggregate.allocate(1), Err(none.into()));
    aggregate.abandon().unwrap();
    assert_eq!(aggregate.counts().freed_at_commit, 30);
    aggregate.begin(0).unwrap();
    assert_eq!(aggregate.commit(), Ok(30));
    assert_eq!(aggregate.free_blocks(), 30);
    assert_eq!(aggregate.free_at_commit(blocks[50]), Ok(()), "that free was abandoned");
}

#[test]
fn a_consistency_point_is_opened_once_and_ended_once() {
    let mut aggregate = aggregate(300, options());
    let closed = Err(AllocateError::NoConsistencyPoint);
    assert_eq!(aggregate.allocate(1), closed);
    assert_eq!(aggregate.allocate_behind(1, Some(Vbn(3))), closed);
    let all = aggregate.allocate_all(&[1], |_, _| panic!("something was placed"));
    assert_eq!(all, Err(AllocateError::NoConsistencyPoint));
    assert_eq!(aggregate.commit(), Err(ConsistencyPointError::NotOpen));
    assert_eq!(aggregate.abandon(), Err(ConsistencyPointError::NotOpen));

    aggregate.begin(200).unwrap();
    assert_eq!(
        aggregate.begin(200),
        Err(ConsistencyPointError::Open),
        "nothing is allocated, but it is open"
    );
    assert_eq!(aggregate.scores(), Err(ConsistencyPointError::Open));
    assert!(aggregate.set_policy(GROUP, PolicyName::FirstFit.policy()).is_err());
    aggregate.allocate_all(&[0; 200], |_, _| ()).unwrap();
    assert_eq!(aggregate.commit(), Err(ConsistencyPointError::PlanLeft { tetrises: 2 }));
    aggregate.finish();
    assert!(aggregate.next_tetris().is_some());
    assert_eq!(aggregate.commit(), Err(ConsistencyPointError::PlanLeft { tetrises: 1 }));
    assert!(aggregate.next_tetris().is_some());
    assert_eq!(aggregate.commit(), Ok(0));
    assert_eq!(aggregate.allocate(1), closed, "the next one is not open yet");
    assert_eq!(aggregate.counts().used, 200);
}

/// Names an area that is not there.
#[derive(Debug)]
struct Astray;

impl Policy for Astray {
    fn next_area(&mut self, areas: &mut Areas) -> Option<u32> {
        Some(areas.count())
    }
}

#[test]
fn a_policy_that_names_an_area_that_is_not_there_gets_the_emptiest() {
    let mut aggregate = aggregate(128, options());
    aggregate.set_policy(GROUP, Box::new(Astray)).unwrap();
    let nowhere = aggregate.set_policy(GroupIndex(1), Box::new(Astray));
    assert_eq!(nowhere, Err(SetPolicyError::NoSuchGroup(GroupIndex(1))));
    let areas = aggregate.free_map(GROUP).areas();
    assert_eq!((areas.free_blocks_in(0), areas.withheld()), (areas.area_blocks(), &[][..]));
    assert_eq!(write(&mut aggregate, 256).len(), 256);
}

#[test]
fn an_aggregate_is_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<Aggregate<u32>>();
    shared::<Box<dyn Policy>>();
}

#[test]
fn what_is_past_the_end_is_refused_in_every_build() {
    let mut aggregate = aggregate(100, options());
    let place = |group, spindle, dbn| AggregateLocation {
        group: GroupIndex(group),
        location: BlockLocation { spindle: SpindleIndex(spindle), dbn: Dbn(dbn) },
    };
    for (group, spindle, dbn) in [(1, 0, 0), (0, 2, 0), (0, 0, 100)] {
        assert!(panics(|| aggregate.vbn(place(group, spindle, dbn))));
    }
    assert!(!aggregate.is_free(Vbn(200)));
    let map = aggregate.free_map(GROUP);
    assert!(panics(|| map.is_free(place(0, 2, 0).location)));
    assert!(panics(|| map.is_free(place(0, 0, 100).location)));
    assert!(panics(|| map.free_word(SpindleIndex(2), 0)));
    assert!(panics(|| map.free_word(SpindleIndex(0), 2)));
    assert!(panics(|| map.free_runs(SpindleIndex(2), 0..100).count()));
    assert!(panics(|| map.free_runs(SpindleIndex(0), 0..101).count()));
    assert!(panics(|| map.stripes_of_area(2)) && panics(|| map.area_of(100)));
    assert!(panics(|| aggregate.withhold_area(GROUP, 2)));
    assert!(panics(|| aggregate.release_area(GROUP, 2)));
    assert!(panics(|| aggregate.withhold_area(GroupIndex(1), 0)));
    assert!(panics(|| DelayedFrees::new(1).hold_back(1, Vbn(0))));
    assert!(panics(|| SummaryBitmap::new(70).insert(70)));
    assert!(panics(|| SummaryBitmap::new(70).remove(70)));

    let mut map = BlockMap::new(77, 1_000).unwrap();
    assert_eq!((map.get(77), map.remove(77)), (None, None));
    assert!(panics(|| map.replace(77, Vbn(0))));
    assert!(panics(|| map.replace(0, Vbn(u32::MAX.into()))));
}

#[test]
fn a_tetris_is_not_planned_for_another_group() {
    let mut aggregate = aggregate(100, options());
    aggregate.begin(200).unwrap();
    aggregate.allocate_all(&[0; 200], |_, _| ()).unwrap();
    aggregate.finish();
    let tetris = aggregate.next_tetris().unwrap();
    for other in [group(1, 100), group(3, 100), group(2, 63)] {
        assert!(panics(|| tetris.stripes(&other).count()), "{other:?}");
    }
    assert_eq!(tetris.stripes(&group(2, 100)).count(), 64);
}

#[test]
fn shares_and_runs_that_are_none_are_refused() {
    let mut aggregate = aggregate(100, options());
    for share in [-1.0, 1.01, f64::INFINITY, f64::NAN] {
        assert_eq!(aggregate.set_aside_at_random(share, 1, 1), Err(SetAsideError::Share));
    }
    for run in [0, 3, 128] {
        let refused = aggregate.set_aside_at_random(0.5, run, 1);
        assert_eq!(refused, Err(SetAsideError::RunBlocks(run)));
    }
    assert_eq!(aggregate.free_blocks(), 200);
    assert_eq!(aggregate.set_aside_at_random(1.0, 64, 1), Ok(200));
}

#[test]
fn the_contents_of_a_place_are_found_and_its_plan_is_carried_out() {
    let group = group(2, 100);
    let mut aggregate = aggregate(100, options());
    aggregate.set_aside(Vbn(5)).unwrap();
    aggregate.begin(50).unwrap();
    let mut places = Vec::new();
    let names = Vec::from_iter(0..50);
    aggregate.allocate_all(&names, |name, vbn| places.push((name, vbn))).unwrap();
    aggregate.finish();
    let tetris = aggregate.next_tetris().unwrap();
    for (name, vbn) in places {
        let BlockLocation { spindle, dbn } = group.locate(vbn);
        assert_eq!(tetris.contents_at(spindle, dbn), Some(&name));
    }
    let written = (0..200).filter(|vbn| {
        let BlockLocation { spindle, dbn } = group.locate(Vbn(*vbn));
        tetris.contents_at(spindle, dbn).is_some()
    });
    assert_eq!(written.count(), 50);
    assert_eq!(tetris.contents_at(SpindleIndex(2), Dbn(0)), None);

    let mut bytes = StripeBytes::new(group.stripe_shape(), 4096).unwrap();
    for stripe in tetris.stripes(&group) {
        let plan = stripe.update.to_plan();
        assert_eq!(plan, group.stripe_shape().plan_update(plan.changed, MemberSet::EMPTY).unwrap());
        bytes.clear();
        for member in plan.read.iter() {
            bytes.old_contents(member).fill(0);
        }
        for spindle in group.spindles_of(plan.changed).iter() {
            let name = tetris.contents_at(spindle, Dbn(stripe.stripe)).unwrap();
            bytes.new_contents(Member(spindle.0 as u8)).fill(*name as u8);
        }
        bytes.carry_out(&plan).unwrap();
        let sum = plan.changed.iter().fold(0, |sum, member| sum ^ bytes.block(member).unwrap()[0]);
        assert_eq!(
            bytes.block(group.stripe_shape().parity().iter().next().unwrap()).unwrap()[0],
            sum
        );
    }
}

#[test]
fn regression_a_set_that_does_not_fit_memory_is_refused() {
    let refused = SummaryBitmap::try_new(u64::MAX).unwrap_err();
    // A bit each, and a summary bit for 64 of them.
    assert!(refused.bytes > u64::MAX / 8 && refused.bytes < u64::MAX / 7, "{refused}");
    assert!(std::panic::catch_unwind(|| SummaryBitmap::new(u64::MAX)).is_err());
    for len in [0, 1, 63, 64, 65, 4_096, 4_097] {
        let mut set = SummaryBitmap::try_new(len).unwrap();
        assert_eq!((set.len(), set.count()), (len, 0));
        assert_eq!(set.insert_range(0..len), len);
        assert_eq!(set.iter().count() as u64, len);
    }
}

#[test]
fn regression_the_blocks_of_all_groups_are_counted_before_their_maps_are_built() {
    let group = |blocks| ParityGroup::new(Parity::None, 1, blocks).unwrap();
    let mut aggregate = Aggregate::<()>::new([group(64)], AggregateOptions::default()).unwrap();
    let refused = aggregate.add_group(group(1 << 40));
    assert_eq!(refused, Err(AggregateError::TooManyBlocks((1 << 40) + 64)));
}
