//! A write-anywhere array with bytes, on spindles that are lost, cannot read or say what is not so: what was
//! acknowledged is returned, parity is right, what the root leads to is what was committed, and nothing wrong is ever
//! returned.

mod harness;
mod relocation;

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::sample::Index;
use strewn_alloc::{AllocationShape, PolicyName};
use strewn_array::write_anywhere::{VolumeConfig, WriteAnywhere, WriteAnywhereConfig};
use strewn_array::{Array, Direction, Format, LogSize, Rebuild};
use strewn_raid::{Parity, ParityGroup, SpindleIndex};
use strewn_testing::cases;

use crate::cases::cases_that_test;
use crate::payloads::Bytes;
use harness::Harness;

const MILLISECOND_NS: u64 = 1_000_000;

fn config(parity: Parity, data_spindles: u16, file_blocks: u32) -> WriteAnywhereConfig {
    WriteAnywhereConfig {
        shape: AllocationShape { area_stripes: 128, tetris_stripes: 64, chunk_blocks: 16 },
        format: Format::Durable,
        consistency_point_interval_ns: 10 * MILLISECOND_NS,
        protected_blocks: 20,
        dirty_limit_blocks: 30,
        delayed_free_blocks: 20,
        ..WriteAnywhereConfig::new(
            vec![ParityGroup::new(parity, data_spindles, 1_024).unwrap()],
            vec![VolumeConfig::of_one_lun(20_000, file_blocks)],
            LogSize { half_bytes: 100_000, record_header_bytes: 160 },
            40,
        )
    }
}

fn any_parity() -> impl Strategy<Value = Parity> {
    prop::sample::select(vec![Parity::Raid4, Parity::RaidDp])
}

/// Up to seven more parity groups, each of its own size and kind.
fn any_further_groups() -> impl Strategy<Value = Vec<ParityGroup>> {
    let group = (any_parity(), 1..6u16, 1..300u64);
    let group = group.prop_map(|(parity, data, stripes)| ParityGroup::new(parity, data, stripes));
    let several = prop::collection::vec(group.prop_map(Result::unwrap), 0..8);
    prop_oneof![Just(Vec::new()), several]
}

fn any_config() -> impl Strategy<Value = WriteAnywhereConfig> {
    let policy = prop::sample::select(PolicyName::ALL.to_vec());
    let first = (any_parity(), 2..6u16);
    let groups = (first, any_further_groups(), any::<Index>());
    (groups, 600..700u32, 0..4u8, policy).prop_map(
        |(((parity, spindles), further, at_start), blocks, luns, policy)| {
            let volume = |luns: &[u32]| VolumeConfig::new(20_000, luns.to_vec());
            let volumes = match luns {
                0 => vec![volume(&[blocks - 60, 1, 59])],
                1 => vec![volume(&[1]), volume(&[]), volume(&[30, blocks - 31])],
                _ => vec![volume(&[blocks])],
            };
            let config = config(parity, spindles, blocks);
            let groups: Vec<_> = config.groups.iter().copied().chain(further).collect();
            let groups_at_start = 1 + at_start.index(groups.len());
            WriteAnywhereConfig { policy, volumes, groups, groups_at_start, ..config }
        },
    )
}

/// What happens next.
#[derive(Debug, Clone)]
enum Step {
    Read(Index, u32),
    Write(Index, u32),
    Unmap(Index, u32),
    Complete(Index),
    Timer,
    Drain,
    AddGroup,
    ReadOn(u32),
    /// From here on, streams are read ahead by so many bytes.
    ReadAhead(u64),
}

fn any_step() -> impl Strategy<Value = Step> {
    let sectors = prop_oneof![4 => 1..=40u32, 1 => 1..=200u32];
    prop_oneof![
        5 => (any::<Index>(), sectors.clone()).prop_map(|(at, size)| Step::Read(at, size)),
        5 => sectors.clone().prop_map(Step::ReadOn),
        8 => (any::<Index>(), sectors).prop_map(|(at, size)| Step::Write(at, size)),
        1 => (any::<Index>(), 1..40u32).prop_map(|(at, size)| Step::Unmap(at, size)),
        30 => any::<Index>().prop_map(Step::Complete),
        2 => Just(Step::Timer),
        1 => Just(Step::Drain),
        1 => Just(Step::AddGroup),
        1 => (0..200_000u64).prop_map(Step::ReadAhead),
    ]
}

fn apply(harness: &mut Harness, step: &Step) {
    match step {
        Step::Read(at, sectors) => harness.read(at, *sectors),
        Step::Write(at, sectors) => harness.write(at, *sectors),
        Step::Unmap(at, blocks) => harness.unmap(at, *blocks),
        Step::Complete(which) => harness.complete(which),
        Step::Timer => harness.fire_timer(),
        Step::Drain => harness.drain(),
        Step::AddGroup => {
            harness.add_group();
        }
        Step::ReadOn(sectors) => harness.read_on(*sectors),
        Step::ReadAhead(bytes) => {
            harness.drain();
            harness.array.set_read_ahead(*bytes);
        }
    }
}

/// Most blocks of a gap that reads are aggregated across, in half of the cases none.
fn any_most_gap() -> impl Strategy<Value = u32> {
    prop_oneof![Just(0), 1..40u32]
}

fn any_history() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(any_step(), 1..500)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(16, 64)))]

    #[test]
    fn what_was_acknowledged_is_read_back_and_parity_is_right(
        config in any_config(),
        history in any_history(),
    ) {
        let mut harness = Harness::empty(config);
        for step in &history {
            apply(&mut harness, step);
        }
        harness.bring_to_spindles();
        harness.parity_is_right(&BTreeSet::new());
        harness.read_everything();
        prop_assert_eq!(harness.array.aggregate().verify(), Ok(()));
    }

    #[test]
    fn with_spindles_lost_nothing_is(
        config in any_config(),
        before in any_history(),
        lost in prop::collection::vec((any::<Index>(), any_history()), 1..5),
        with_spares: bool,
        most_gap in any_most_gap(),
    ) {
        let groups = config.groups.clone();
        let mut lost_in = vec![0; groups.len()];
        let mut harness = Harness::empty(config);
        harness.array = harness.array.with_read_gap_aggregation(most_gap);
        if with_spares {
            harness.array = harness.array.with_rebuild(Rebuild { spares: 4, steps_in_flight: 2 });
        }
        for step in &before {
            apply(&mut harness, step);
        }
        for (which, history) in &lost {
            let spindles = harness.spindles_of(harness.groups() - 1).end;
            let spindle = which.index(spindles.into()) as u16;
            let group = (0..groups.len()).find(|one| harness.spindles_of(*one).contains(&spindle));
            let group = group.unwrap();
            // As many in each group as it has parity.
            if lost_in[group] < groups[group].parity().spindles() {
                lost_in[group] += 1;
                harness.lose(SpindleIndex(spindle));
            }
            for step in history {
                apply(&mut harness, step);
            }
        }
        harness.bring_to_spindles();
        harness.drain();
        let lost = harness.driver.lost.clone();
        prop_assert!(!with_spares || lost.is_empty());
        harness.parity_is_right(&lost);
        harness.read_everything();
        if !with_spares {
            harness.bitmap_is_right();
        }
    }

}

#[test]
fn an_array_goes_on_from_what_its_root_leads_to() {
    let histories = prop::collection::vec(any_history(), 2..4);
    cases_that_test(64, 64, (any_config(), histories), |(config, histories)| {
        let mut harness = Harness::empty(config);
        let mut bitmaps = 0;
        for history in &histories {
            for step in history {
                apply(&mut harness, step);
            }
            harness.bring_to_spindles();
            bitmaps += u32::from(harness.bitmap_is_right());
            harness = harness.restored();
            harness.read_everything();
            prop_assert_eq!(harness.array.aggregate().verify(), Ok(()));
        }
        Ok(bitmaps)
    });
}

/// A spindle, a stripe, and in which way the block is bad.
fn any_bad_blocks(most: usize) -> impl Strategy<Value = Vec<(Index, Index, u8)>> {
    prop::collection::vec((any::<Index>(), any::<Index>(), 0..3u8), 1..most)
}

#[test]
fn bad_blocks_are_computed_and_written_again() {
    let histories = (any_history(), any_history());
    let strategy = (any_config(), any_most_gap(), any_bad_blocks(60), histories);
    cases_that_test(64, 64, strategy, |(config, most_gap, bad, (before, after))| {
        let mut harness = Harness::empty(config);
        harness.array = harness.array.with_read_gap_aggregation(most_gap);
        for step in &before {
            apply(&mut harness, step);
        }
        harness.bring_to_spindles();
        // One a stripe.
        let (mut stripes, mut spoiled) = (BTreeSet::new(), 0);
        for (spindle, stripe, kind) in &bad {
            let spindle = spindle.index(harness.array.spindles().into()) as u16;
            let stripe = stripe.index(1_024) as u64;
            if stripes.insert(stripe) {
                spoiled += u32::from(harness.spoil(spindle, stripe, *kind));
            }
        }
        harness.read_everything();
        for step in &after {
            apply(&mut harness, step);
        }
        harness.bring_to_spindles();
        harness.read_everything();
        prop_assert_eq!(harness.refused, 0);
        Ok(spoiled)
    });
}

#[test]
fn what_cannot_be_computed_is_refused_and_never_wrong() {
    let lost = any::<Option<Index>>();
    let histories = (any_history(), any_history());
    let strategy = (any_config(), any_most_gap(), any_bad_blocks(400), lost, histories);
    cases_that_test(64, 64, strategy, |(config, most_gap, bad, lost, (before, after))| {
        let mut harness = Harness::empty(config);
        harness.array = harness.array.with_read_gap_aggregation(most_gap);
        for step in &before {
            apply(&mut harness, step);
        }
        harness.bring_to_spindles();
        if let Some(which) = lost {
            harness.lose(SpindleIndex(which.index(harness.array.spindles().into()) as u16));
        }
        let mut spoiled = 0;
        for (spindle, stripe, kind) in &bad {
            let spindle = spindle.index(harness.array.spindles().into()) as u16;
            spoiled += u32::from(harness.spoil(spindle, stripe.index(200) as u64, *kind));
        }
        for step in &after {
            apply(&mut harness, step);
        }
        harness.may_refuse = true;
        harness.bring_to_spindles();
        harness.read_everything();
        Ok(spoiled)
    });
}

#[test]
fn a_bad_block_is_repaired_by_the_read_that_finds_it() {
    let mut harness = Harness::empty(config(Parity::RaidDp, 4, 600));
    harness.write_at(0, 800);
    harness.bring_to_spindles();
    harness.forget_cache();
    let place = harness.place_of(3);
    harness.spoil(place.0, place.1, 1);
    harness.read_at(24, 8);
    harness.drain();
    let counters = *harness.array.counters();
    assert_eq!((counters.bad_blocks, counters.repairs, counters.blocks_gone), (1, 1, 0));
    harness.parity_is_right(&BTreeSet::new());
}

#[test]
fn blocks_that_were_given_back_take_no_place() {
    let mut harness = Harness::empty(config(Parity::Raid4, 4, 600));
    harness.write_at(0, 4_000);
    harness.bring_to_spindles();
    let used = harness.array.aggregate().counts().used;
    harness.unmap_at(0, 400);
    harness.bring_to_spindles();
    harness.write_at(4_500, 8);
    harness.bring_to_spindles();
    let counts = harness.array.aggregate().counts();
    assert!(used - counts.used > 350, "{used} blocks in use before, {} after", counts.used);
    assert!((0..400).all(|block| harness.array.pointer(block).is_none()));
    harness.read_everything();
    let array: &WriteAnywhere<Bytes> = &harness.array;
    assert!(array.is_clean());
}

/// A half of the log takes the data of 23 blocks, or 600 records without data.
#[test]
fn an_unmap_costs_no_more_than_its_record() {
    let mut harness = Harness::empty(config(Parity::Raid4, 4, 600));
    harness.write_at(0, 4_800);
    harness.bring_to_spindles();
    let before = *harness.array.counters();
    for _ in 0..100 {
        harness.unmap_at(0, 600);
        harness.drain();
    }
    let counters = harness.array.counters().since(&before);
    assert_eq!((counters.consistency_points, counters.spindle_writes()), (0, 0));
    harness.read_everything();
    assert_eq!(harness.array.counters().since(&before).data_reads, 0, "zeros are not read");
    assert!(!harness.array.is_clean());
    harness.bring_to_spindles();
    assert_eq!(harness.array.counters().since(&before).consistency_points, 1);
    assert!((0..600).all(|block| harness.array.pointer(block).is_none()));
    harness.read_everything();
}

#[test]
fn a_read_in_flight_does_not_bring_back_what_was_unmapped() {
    // Before the consistency point that takes its place, and while it is in progress.
    for consistency_point_begins in [false, true] {
        let mut harness = Harness::empty(config(Parity::RaidDp, 4, 600));
        harness.write_at(0, 4_800);
        harness.bring_to_spindles();
        harness.forget_cache();
        harness.read_at(80, 16);
        assert!(harness.commands_out() > 0);
        harness.unmap_now(10, 1);
        if consistency_point_begins {
            harness.begin_consistency_point();
        }
        harness.complete_at(0);
        harness.read_at(80, 16);
        harness.drain();
        harness.bring_to_spindles();
        harness.read_everything();
    }
}

#[test]
fn a_block_is_unmapped_while_a_consistency_point_writes_it() {
    let mut harness = Harness::empty(config(Parity::RaidDp, 4, 600));
    harness.write_at(80, 24);
    harness.begin_consistency_point();
    assert!(harness.commands_out() > 0);
    harness.unmap_now(10, 2);
    harness.read_at(80, 24);
    harness.write_at(91, 2);
    harness.drain();
    harness.read_at(80, 24);
    harness.bring_to_spindles();
    assert!(harness.array.pointer(10).is_none() && harness.array.pointer(11).is_some());
    harness.forget_cache();
    harness.read_everything();
    let mut harness = harness.restored();
    harness.read_everything();
}

#[test]
fn a_write_of_part_of_a_block_that_is_unmapped_meanwhile_leaves_zeros_around_it() {
    for consistency_point_begins in [false, true] {
        let mut harness = Harness::empty(config(Parity::RaidDp, 4, 600));
        harness.write_at(0, 4_800);
        harness.bring_to_spindles();
        harness.forget_cache();
        harness.write_at(83, 2);
        assert!(harness.commands_out() > 0, "the rest of the block is read");
        harness.unmap_now(10, 1);
        if consistency_point_begins {
            harness.begin_consistency_point();
        }
        harness.drain();
        harness.read_at(80, 8);
        harness.bring_to_spindles();
        harness.forget_cache();
        harness.read_everything();
    }
}

/// The cache does not bound what is dirty: while a consistency point is in progress the log takes a half of it.
#[test]
fn a_large_log_over_a_small_cache_leaves_room_for_what_it_makes_dirty() {
    let with_log = |file_blocks: u32, half_bytes: u64| WriteAnywhereConfig {
        log: LogSize { half_bytes, record_header_bytes: 160 },
        ..config(Parity::Raid4, 2, file_blocks)
    };
    for log_half_bytes in [100_000, 1 << 20, 8 << 20] {
        let fits = |file_blocks: &u32| {
            WriteAnywhere::<Bytes>::empty(with_log(*file_blocks, log_half_bytes)).is_ok()
        };
        let file_blocks = (1..2_048).rev().find(fits).unwrap();
        let mut harness = Harness::empty(with_log(file_blocks, log_half_bytes));
        harness.write_at(0, file_blocks * 8);
        harness.bring_to_spindles();
        for _ in 0..4 {
            // Two sectors make two blocks dirty. Nothing is completed meanwhile, until the log takes no more.
            for block in (0..file_blocks - 1).step_by(2) {
                harness.write_at(u64::from(block) * 8 + 7, 2);
            }
            harness.drain();
        }
        harness.bring_to_spindles();
        harness.read_everything();
    }
}

/// Two RAID-4 groups of four data spindles each: spindles 0 to 4, and 5 to 9.
fn two_groups() -> WriteAnywhereConfig {
    let config = config(Parity::Raid4, 4, 600);
    let group = config.groups[0];
    WriteAnywhereConfig { groups: vec![group, group], groups_at_start: 2, ..config }
}

#[test]
fn a_group_is_added_while_a_consistency_point_is_in_progress() {
    let config = WriteAnywhereConfig { groups_at_start: 1, ..two_groups() };
    let mut harness = Harness::empty(config);
    harness.write_at(0, 4_800);
    harness.begin_consistency_point();
    assert!(harness.commands_out() > 0);
    let blocks = harness.array.aggregate().total_blocks();
    assert!(harness.add_group());
    assert!(!harness.add_group(), "there were two");
    assert_eq!(harness.array.aggregate().total_blocks(), 2 * blocks);
    harness.write_at(100, 400);
    assert_eq!(harness.commands_at(5..10), [], "this consistency point was placed before");
    harness.bring_to_spindles();
    for round in 0..8 {
        harness.write_at(round * 500, 500);
        harness.bring_to_spindles();
    }
    let in_second = (0..600).filter(|block| harness.place_of(*block).0 >= 5).count();
    assert!(in_second > 200, "{in_second} of 600 blocks lie in the group that was added");
    harness.parity_is_right(&BTreeSet::new());
    assert!(harness.bitmap_is_right());
    harness.read_everything();
    let mut harness = harness.restored();
    harness.read_everything();
}

#[test]
fn a_group_that_loses_a_spindle_holds_up_no_other() {
    let config =
        WriteAnywhereConfig { cache_blocks: 2_000, protected_blocks: 1_000, ..two_groups() };
    let mut harness = Harness::empty(config);
    // All rows of a group at once.
    harness.array = harness.array.with_rebuild(Rebuild { spares: 1, steps_in_flight: 16 });
    harness.write_at(0, 4_800);
    harness.bring_to_spindles();
    harness.lose(SpindleIndex(1));
    let rebuild = harness.commands_at(0..5);
    assert_eq!((rebuild.len(), harness.commands_at(5..10).len()), (4 * 16, 0));
    harness.write_at(0, 4_800);
    harness.begin_consistency_point();
    assert!(!harness.commands_at(0..5).contains(&Direction::Write), "its rows are locked");
    assert!(harness.commands_at(5..10).contains(&Direction::Write));
    harness.bring_to_spindles();
    harness.parity_is_right(&BTreeSet::new());
    harness.read_everything();
}

#[test]
fn a_spindle_of_one_group_is_lost_while_another_group_rebuilds() {
    let mut harness = Harness::empty(two_groups());
    harness.array = harness.array.with_rebuild(Rebuild { spares: 2, steps_in_flight: 2 });
    harness.write_at(0, 4_800);
    harness.bring_to_spindles();
    harness.lose(SpindleIndex(0));
    for _ in 0..20 {
        harness.complete_at(0);
    }
    harness.lose(SpindleIndex(7));
    let rebuilt = |harness: &Harness| {
        let failures = harness.array.failures().iter();
        failures.map(|failure| (failure.spindle.0, failure.rebuilt)).collect::<Vec<_>>()
    };
    let before = rebuilt(&harness);
    assert!((0.0..1.0).contains(&before[0].1) && before[0].1 > 0.0, "{before:?}");
    assert_eq!(before[1], (7, 0.0));
    harness.forget_cache();
    harness.read_everything();
    assert_eq!(rebuilt(&harness), [(0, 1.0), (7, 1.0)]);
    harness.parity_is_right(&BTreeSet::new());
    assert_eq!(harness.array.counters().rebuild_writes, 2 * 1_024 / 64);
}

#[test]
fn losses_are_counted_by_group() {
    let mut harness = Harness::empty(two_groups());
    harness.write_at(0, 4_800);
    harness.bring_to_spindles();
    harness.lose(SpindleIndex(4));
    harness.lose(SpindleIndex(9));
    let in_second = (0..600).filter(|block| harness.place_of(*block).0 == 6).count() as u64;
    let lost = harness.lose_for_good(SpindleIndex(6));
    assert_eq!(lost.spindles, [9, 6].map(SpindleIndex));
    assert_eq!((lost.stripes, lost.stripes_in_all), (1_024, 1_024));
    assert_eq!(lost.lun_bytes, in_second * 4_096);
}

/// The bitmap of a large group that is added later has no block until something lies there.
#[test]
fn the_bitmap_of_a_later_group_grows_with_what_lies_there() {
    let config = config(Parity::Raid4, 4, 600);
    let large = ParityGroup::new(Parity::Raid4, 10, 8_000).unwrap();
    let groups = vec![config.groups[0], large];
    let mut harness = Harness::empty(WriteAnywhereConfig { groups, ..config });
    let blocks = |harness: &Harness| {
        let keys = harness.array.keys().aggregate_bitmap();
        (keys.len(), keys.filter(|key| harness.array.pointer(*key).is_some()).count())
    };
    harness.write_at(0, 4_800);
    harness.bring_to_spindles();
    assert_eq!(blocks(&harness), (3, 1));
    harness.add_group();
    harness.write_at(0, 4_800);
    harness.bring_to_spindles();
    let (all, placed) = blocks(&harness);
    assert!(all == 3 && placed >= 1, "{placed} of {all}");
    assert!(harness.bitmap_is_right());
    let mut harness = harness.restored();
    harness.read_everything();
}

#[test]
fn read_ahead_that_fails_refuses_no_read_of_other_blocks() {
    let mut harness = Harness::empty(config(Parity::Raid4, 4, 600));
    harness.write_at(0, 400);
    harness.bring_to_spindles();
    harness.forget_cache();
    // With the stripe's parity unreadable as well, the block can be neither read nor computed.
    let (spindle, dbn) = harness.place_of(30);
    assert!(harness.spoil(spindle, dbn, 0) && harness.spoil(4, dbn, 0));
    harness.array.set_read_ahead(128 << 10);
    harness.may_refuse = true;
    for first_sector in (0..400).step_by(16) {
        harness.read_at(first_sector, 16);
        // The next read of the stream comes while blocks are on their way.
        harness.read_at(first_sector + 16, 16);
        harness.drain();
        let is_of_block = (first_sector..first_sector + 32).contains(&240);
        assert_eq!(harness.refused > 0, is_of_block, "reads from {first_sector} on");
        harness.refused = 0;
    }
    let counters = harness.array.counters();
    assert!(counters.read_ahead_used > 0 && counters.blocks_gone > 1, "{counters:?}");
}
