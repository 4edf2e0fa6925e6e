//! A write-anywhere array with bytes, on spindles that are lost, cannot read or say what is not so: what was acknowledged
//! is returned, parity is right, what the root leads to is what was committed, and nothing wrong is ever returned.

#![allow(clippy::unwrap_used)]

mod bench;
#[path = "../common/payloads.rs"]
mod payloads;

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::sample::Index;
use strewn_alloc::{AllocationShape, PolicyName};
use strewn_array::write_anywhere::{CacheStart, WriteAnywhere, WriteAnywhereConfig};
use strewn_array::{Array, ProcessorCosts, Rebuild};
use strewn_raid::{Parity, ParityGroup, SpindleIndex};

use bench::Bench;
use payloads::Bytes;

const MILLISECOND_NS: u64 = 1_000_000;

fn config(parity: Parity, data_spindles: u16, file_blocks: u32) -> WriteAnywhereConfig {
    WriteAnywhereConfig {
        group: ParityGroup::new(parity, data_spindles, 1_024).unwrap(),
        shape: AllocationShape { area_stripes: 128, tetris_stripes: 64, chunk_blocks: 16 },
        policy: PolicyName::EmptiestArea,
        other_data: None,
        volume_blocks: 20_000,
        file_blocks,
        log_half_bytes: 100_000,
        log_record_header_bytes: 160,
        checkpoint_interval_ns: 10 * MILLISECOND_NS,
        cache_blocks: 40,
        protected_blocks: 20,
        dirty_limit_blocks: 30,
        tetrises_in_flight: 2,
        delayed_free_blocks: 20,
        cache_start: CacheStart::Metadata,
        processor: ProcessorCosts::default(),
    }
}

fn any_config() -> impl Strategy<Value = WriteAnywhereConfig> {
    let policy = prop::sample::select(PolicyName::ALL.to_vec());
    (any::<bool>(), 2..6u16, 600..700u32, policy).prop_map(|(dual, spindles, blocks, policy)| {
        let parity = if dual { Parity::RaidDp } else { Parity::Raid4 };
        WriteAnywhereConfig { policy, ..config(parity, spindles, blocks) }
    })
}

/// What happens next.
#[derive(Debug, Clone)]
enum Happening {
    Read(Index, u32),
    Write(Index, u32),
    GiveBack(Index, u32),
    Complete(Index),
    Timer,
    Drain,
}

fn any_happening() -> impl Strategy<Value = Happening> {
    let sectors = prop_oneof![4 => 1..=40u32, 1 => 1..=200u32];
    prop_oneof![
        5 => (any::<Index>(), sectors.clone()).prop_map(|(at, size)| Happening::Read(at, size)),
        8 => (any::<Index>(), sectors).prop_map(|(at, size)| Happening::Write(at, size)),
        1 => (any::<Index>(), 1..40u32).prop_map(|(at, size)| Happening::GiveBack(at, size)),
        30 => any::<Index>().prop_map(Happening::Complete),
        2 => Just(Happening::Timer),
        1 => Just(Happening::Drain),
    ]
}

fn happen(bench: &mut Bench, happening: &Happening) {
    match happening {
        Happening::Read(at, sectors) => bench.read(at, *sectors),
        Happening::Write(at, sectors) => bench.write(at, *sectors),
        Happening::GiveBack(at, blocks) => bench.give_back(at, *blocks),
        Happening::Complete(which) => bench.complete(which),
        Happening::Timer => bench.fire_timer(),
        Happening::Drain => bench.drain(),
    }
}

fn any_history() -> impl Strategy<Value = Vec<Happening>> {
    prop::collection::vec(any_happening(), 1..500)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_was_acknowledged_is_read_back_and_parity_is_right(
        config in any_config(),
        history in any_history(),
    ) {
        let mut bench = Bench::empty(config);
        for happening in &history {
            happen(&mut bench, happening);
        }
        bench.bring_to_spindles();
        bench.parity_is_right(&BTreeSet::new());
        bench.read_everything();
        prop_assert_eq!(bench.array.aggregate().verify(), Ok(()));
    }

    #[test]
    fn an_array_goes_on_from_what_its_root_leads_to(
        config in any_config(),
        histories in prop::collection::vec(any_history(), 2..4),
    ) {
        let mut bench = Bench::empty(config);
        for history in &histories {
            for happening in history {
                happen(&mut bench, happening);
            }
            bench.bring_to_spindles();
            bench.bitmap_is_right();
            bench = bench.restored();
            bench.read_everything();
            prop_assert_eq!(bench.array.aggregate().verify(), Ok(()));
        }
    }

    #[test]
    fn with_spindles_lost_nothing_is(
        config in any_config(),
        before in any_history(),
        lost in prop::collection::vec((any::<Index>(), any_history()), 1..3),
        with_spares: bool,
    ) {
        let parity = usize::from(config.group.parity().spindles());
        let mut bench = Bench::empty(config);
        if with_spares {
            bench.array = bench.array.with_rebuild(Rebuild { spares: 2, steps_in_flight: 2 });
        }
        for happening in &before {
            happen(&mut bench, happening);
        }
        for (which, history) in lost.iter().take(parity) {
            let spindle = SpindleIndex(which.index(bench.array.spindles().into()) as u16);
            bench.lose(spindle);
            for happening in history {
                happen(&mut bench, happening);
            }
        }
        bench.bring_to_spindles();
        bench.drain();
        let lost = bench.world.lost.clone();
        prop_assert!(!with_spares || lost.is_empty());
        bench.parity_is_right(&lost);
        bench.read_everything();
        if !with_spares {
            bench.bitmap_is_right();
        }
    }

    #[test]
    fn bad_blocks_are_computed_and_written_again(
        config in any_config(),
        before in any_history(),
        bad in prop::collection::vec((any::<Index>(), any::<Index>(), 0..3u8), 1..60),
        after in any_history(),
    ) {
        let mut bench = Bench::empty(config);
        for happening in &before {
            happen(&mut bench, happening);
        }
        bench.bring_to_spindles();
        // One a stripe.
        let mut stripes = BTreeSet::new();
        for (spindle, stripe, kind) in &bad {
            let spindle = spindle.index(bench.array.spindles().into()) as u16;
            let stripe = stripe.index(1_024) as u64;
            if stripes.insert(stripe) {
                bench.spoil(spindle, stripe, *kind);
            }
        }
        bench.read_everything();
        for happening in &after {
            happen(&mut bench, happening);
        }
        bench.bring_to_spindles();
        bench.read_everything();
        prop_assert_eq!(bench.refused, 0);
    }

    #[test]
    fn what_cannot_be_computed_is_refused_and_never_wrong(
        config in any_config(),
        before in any_history(),
        bad in prop::collection::vec((any::<Index>(), any::<Index>(), 0..3u8), 1..400),
        lost: Option<Index>,
        after in any_history(),
    ) {
        let mut bench = Bench::empty(config);
        for happening in &before {
            happen(&mut bench, happening);
        }
        bench.bring_to_spindles();
        if let Some(which) = lost {
            bench.lose(SpindleIndex(which.index(bench.array.spindles().into()) as u16));
        }
        for (spindle, stripe, kind) in &bad {
            let spindle = spindle.index(bench.array.spindles().into()) as u16;
            bench.spoil(spindle, stripe.index(200) as u64, *kind);
        }
        for happening in &after {
            happen(&mut bench, happening);
        }
        bench.may_refuse = true;
        bench.bring_to_spindles();
        bench.read_everything();
    }
}

#[test]
fn a_bad_block_is_repaired_by_the_read_that_finds_it() {
    let mut bench = Bench::empty(config(Parity::RaidDp, 4, 600));
    bench.write_at(0, 800);
    bench.bring_to_spindles();
    bench.forget_cache();
    let place = bench.place_of(3);
    bench.spoil(place.0, place.1, 1);
    bench.read_at(24, 8);
    bench.drain();
    let counters = *bench.array.counters();
    assert_eq!((counters.bad_blocks, counters.repairs, counters.blocks_gone), (1, 1, 0));
    bench.parity_is_right(&BTreeSet::new());
}

#[test]
fn blocks_that_were_given_back_take_no_place() {
    let mut bench = Bench::empty(config(Parity::Raid4, 4, 600));
    bench.write_at(0, 4_000);
    bench.bring_to_spindles();
    let used = bench.array.aggregate().counts().used;
    bench.give_back_at(0, 400);
    bench.bring_to_spindles();
    bench.write_at(4_500, 8);
    bench.bring_to_spindles();
    let counts = bench.array.aggregate().counts();
    assert!(used - counts.used > 350, "{used} blocks in use before, {} after", counts.used);
    assert!((0..400).all(|block| bench.array.pointer(block).is_none()));
    bench.read_everything();
    let array: &WriteAnywhere<Bytes> = &bench.array;
    assert!(array.is_clean());
}

/// The cache does not bound what is dirty: while a consistency point is in progress the log takes a half of it.
#[test]
fn a_large_log_over_a_small_cache_leaves_room_for_what_it_makes_dirty() {
    let with_log = |file_blocks: u32, log_half_bytes: u64| WriteAnywhereConfig {
        log_half_bytes,
        ..config(Parity::Raid4, 2, file_blocks)
    };
    for log_half_bytes in [100_000, 1 << 20, 8 << 20] {
        let fits = |file_blocks: &u32| {
            WriteAnywhere::<Bytes>::empty(with_log(*file_blocks, log_half_bytes)).is_ok()
        };
        let file_blocks = (1..2_048).rev().find(fits).unwrap();
        let mut bench = Bench::empty(with_log(file_blocks, log_half_bytes));
        bench.write_at(0, file_blocks * 8);
        bench.bring_to_spindles();
        for _ in 0..4 {
            // Two sectors make two blocks dirty. Nothing is completed meanwhile, until the log takes no more.
            for block in (0..file_blocks - 1).step_by(2) {
                bench.write_at(u64::from(block) * 8 + 7, 2);
            }
            bench.drain();
        }
        bench.bring_to_spindles();
        bench.read_everything();
    }
}
