//! Both controllers under overlapping reads and writes, with spindles that answer in any order.

use proptest::prelude::*;
use proptest::sample::Index;
use strewn_array::AnyArray;
use strewn_array::in_place::InPlace;
use strewn_array::write_anywhere::{BackgroundScan, BackgroundWork, WriteAnywhere};
use strewn_testing::cases;

use crate::harness::{Harness, Watch};
use crate::in_place::{DestageWatch, any_in_place, fresh_in_place, lun_is_as_acknowledged};
use crate::payloads::Bytes;
use crate::write_anywhere::{
    ConsistencyPointWatch, any_write_anywhere, fresh_array, fresh_write_anywhere,
    spindles_are_as_acknowledged,
};

/// What happens next.
#[derive(Debug, Clone)]
pub enum Step {
    Read(Index, u32),
    Write(Index, u32),
    /// A spindle does one of its commands and does not say so yet.
    Execute(Index),
    /// A spindle says that a command is done.
    Complete(Index),
    /// The command sent last is done: with many of these, an early one waits long.
    CompleteNewest,
    /// All commands are done, one after the other.
    Drain,
    Timer,
    /// The timer runs out, and what comes of it is done while every command sent before stays out.
    TimerMeanwhile,
}

/// Any order of completion, from drawn by lot to nearly last in, first out.
pub fn any_steps() -> impl Strategy<Value = Vec<Step>> {
    (0..=30u32).prop_flat_map(steps_completed_by_lot)
}

fn steps_completed_by_lot(of_thirty: u32) -> impl Strategy<Value = Vec<Step>> {
    let sectors = prop_oneof![4 => 1..=20u32, 1 => 1..=160u32];
    let step = prop_oneof![
        6 => (any::<Index>(), sectors.clone()).prop_map(|(at, size)| Step::Read(at, size)),
        8 => (any::<Index>(), sectors).prop_map(|(at, size)| Step::Write(at, size)),
        6 => any::<Index>().prop_map(Step::Execute),
        1 + of_thirty => any::<Index>().prop_map(Step::Complete),
        31 - of_thirty => Just(Step::CompleteNewest),
        1 => Just(Step::Drain),
        2 => Just(Step::Timer),
        2 => Just(Step::TimerMeanwhile),
    ];
    prop::collection::vec(step, 1..400)
}

fn run<A: AnyArray<Bytes>, W: Watch<A>>(harness: &mut Harness<A, W>, steps: &[Step]) {
    apply_steps(harness, steps);
    harness.run_to_quiescence();
}

pub fn apply_steps<A: AnyArray<Bytes>, W: Watch<A>>(harness: &mut Harness<A, W>, steps: &[Step]) {
    let lun_sectors = harness.driver.host.acknowledged.len();
    for step in steps {
        let commands = harness.commands_out();
        match step {
            Step::Read(at, sectors) | Step::Write(at, sectors) => {
                let first_sector = at.index(lun_sectors) as u64;
                let Some((_, lun)) = harness.driver.host.lun_of(first_sector) else { continue };
                let sectors = (*sectors).min((lun.end - first_sector) as u32);
                match step {
                    Step::Read(..) => harness.read(first_sector, sectors),
                    _ => harness.write(first_sector, sectors),
                };
            }
            Step::Execute(index) if commands > 0 => harness.execute(index.index(commands)),
            Step::Complete(index) if commands > 0 => {
                harness.complete(index.index(commands));
            }
            Step::CompleteNewest if commands > 0 => {
                harness.complete(commands - 1);
            }
            Step::Execute(_) | Step::Complete(_) | Step::CompleteNewest => {}
            Step::Drain => harness.drain(),
            Step::Timer => harness.fire_timer(),
            Step::TimerMeanwhile => {
                harness.fire_timer();
                while harness.commands_out() > commands {
                    harness.complete(commands);
                }
            }
        }
    }
}

pub fn read_everything<A: AnyArray<Bytes>, W: Watch<A>>(harness: &mut Harness<A, W>) {
    for lun in harness.driver.host.luns.clone() {
        for first_sector in lun.clone().step_by(64) {
            harness.read(first_sector, 64.min(lun.end - first_sector) as u32);
        }
    }
    harness.run_to_quiescence();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(128, 1024)))]

    #[test]
    fn write_anywhere_keeps_what_it_acknowledged(
        config in any_write_anywhere(),
        steps in any_steps(),
    ) {
        let mut harness: Harness<WriteAnywhere<Bytes>, ConsistencyPointWatch> = fresh_write_anywhere(config);
        run(&mut harness, &steps);
        spindles_are_as_acknowledged(&harness);
        prop_assert_eq!(harness.array.aggregate().verify(), Ok(()));
        read_everything(&mut harness);
    }

    #[test]
    fn with_read_gap_aggregation_and_background_work_it_keeps_it_too(
        config in any_write_anywhere(),
        most_gap in 0..=126u32,
        reclaim_interval_ns in prop_oneof![Just(0), 1..200_000_000u64],
        blocks_per_second in prop::option::of(1..2_000u32),
        steps in any_steps(),
    ) {
        let scan = blocks_per_second.map(|blocks_per_second| BackgroundScan {
            blocks_per_second,
            begins_ns: 5_000_000,
            ends_ns: 60_000_000,
            ..BackgroundScan::default()
        });
        let work = BackgroundWork { reclaim_interval_ns, scan };
        let with = |array: WriteAnywhere<Bytes>| {
            array.with_read_gap_aggregation(most_gap).with_background(work)
        };
        let mut harness: Harness<WriteAnywhere<Bytes>, ConsistencyPointWatch> = fresh_array(config, with);
        run(&mut harness, &steps);
        // A scan's turn is no consistency point.
        let end_ns = harness.driver.now_ns + 100_000_000;
        while harness.driver.now_ns < end_ns {
            harness.run_to_quiescence();
        }
        spindles_are_as_acknowledged(&harness);
        prop_assert_eq!(harness.array.aggregate().verify(), Ok(()));
        read_everything(&mut harness);
    }

    #[test]
    fn in_place_keeps_what_it_acknowledged(
        config in any_in_place(),
        steps in any_steps(),
    ) {
        let destages_all = config.destage_low_sectors == 0;
        let mut harness: Harness<InPlace<Bytes>, DestageWatch> = fresh_in_place(config);
        run(&mut harness, &steps);
        if destages_all {
            lun_is_as_acknowledged(&harness);
        }
        read_everything(&mut harness);
    }
}
