//! Read-ahead and the read cache with bytes: whatever overtakes whatever, a read returns what was acknowledged.

use proptest::prelude::*;
use proptest::sample::Index;
use strewn_array::Array;

use crate::cases::cases_that_test;
use crate::harness::{Harness, Watch};
use crate::in_place::{any_in_place, fresh_in_place, lun_is_as_acknowledged};
use crate::payloads::Bytes;
use crate::read_your_writes::{Step as Other, apply_steps};
use crate::write_anywhere::{any_write_anywhere, fresh_write_anywhere};

/// What happens next.
#[derive(Debug, Clone)]
enum Step {
    /// One of three streams goes on.
    GoOn(usize, u32),
    /// It begins elsewhere.
    Jump(usize, Index),
    /// A write near the place of a stream.
    WriteNear(usize, u32, u32),
    Forget,
    Other(Other),
}

fn any_steps() -> impl Strategy<Value = Vec<Step>> {
    let sectors = || prop_oneof![4 => 1..=20u32, 1 => 1..=80u32];
    let step = prop_oneof![
        12 => (0..3usize, sectors()).prop_map(|(stream, size)| Step::GoOn(stream, size)),
        1 => (0..3usize, any::<Index>()).prop_map(|(stream, to)| Step::Jump(stream, to)),
        2 => (any::<Index>(), sectors()).prop_map(|(at, size)| Step::Other(Other::Read(at, size))),
        4 => (0..3usize, 0..200u32, sectors())
            .prop_map(|(stream, ahead, size)| Step::WriteNear(stream, ahead, size)),
        2 => (any::<Index>(), sectors()).prop_map(|(at, size)| Step::Other(Other::Write(at, size))),
        6 => any::<Index>().prop_map(|command| Step::Other(Other::Execute(command))),
        16 => any::<Index>().prop_map(|command| Step::Other(Other::Complete(command))),
        4 => Just(Step::Other(Other::CompleteNewest)),
        1 => Just(Step::Other(Other::Drain)),
        2 => Just(Step::Other(Other::Timer)),
        1 => Just(Step::Forget),
    ];
    prop::collection::vec(step, 1..400)
}

fn any_window() -> impl Strategy<Value = u64> {
    prop_oneof![Just(8u64 << 10), Just(32 << 10), Just(128 << 10), Just(1 << 20)]
}

/// Does them, and returns how many blocks were read ahead and used.
fn run<A: Array<Bytes>, W: Watch<A>>(harness: &mut Harness<A, W>, steps: &[Step]) -> u32 {
    let lun_sectors = harness.driver.host.acknowledged.len();
    let mut streams = [0; 3];
    // What does not fit its LUN ends with it.
    let most = |harness: &Harness<A, W>, first: u64, sectors: u32| {
        let (_, lun) = harness.driver.host.lun_of(first)?;
        Some(sectors.min((lun.end - first) as u32))
    };
    for step in steps {
        match step {
            Step::GoOn(stream, sectors) => {
                let first = streams[*stream];
                if let Some(sectors) = most(harness, first, *sectors) {
                    harness.read(first, sectors);
                    streams[*stream] = (first + u64::from(sectors)) % lun_sectors as u64;
                } else {
                    streams[*stream] = 0;
                }
            }
            Step::Jump(stream, to) => streams[*stream] = to.index(lun_sectors) as u64,
            Step::WriteNear(stream, ahead, sectors) => {
                let first = (streams[*stream] + u64::from(*ahead)) % lun_sectors as u64;
                if let Some(sectors) = most(harness, first, *sectors) {
                    harness.write(first, sectors);
                }
            }
            Step::Forget => harness.array.forget_cache(),
            Step::Other(other) => apply_steps(harness, std::slice::from_ref(other)),
        }
        harness.array.assert_invariants();
    }
    harness.run_to_quiescence();
    let counts = harness.array.counters();
    let left = counts.read_ahead_blocks - counts.read_ahead_used;
    assert!(counts.read_ahead_dropped <= left, "{counts:?}");
    counts.read_ahead_used as u32
}

fn read_in_order<A: Array<Bytes>, W: Watch<A>>(harness: &mut Harness<A, W>) {
    for lun in harness.driver.host.luns.clone() {
        for first in lun.clone().step_by(24) {
            harness.read(first, 24.min(lun.end - first) as u32);
            if harness.commands_out() > 40 {
                harness.drain();
            }
        }
    }
    harness.run_to_quiescence();
}

#[test]
fn write_anywhere_reads_its_writes_while_it_reads_ahead() {
    let cases = (any_write_anywhere(), any_window(), any_steps());
    cases_that_test(1024, 5_000, cases, |(config, window, steps)| {
        let mut harness = fresh_write_anywhere(config);
        harness.array.set_read_ahead(window);
        let used = run(&mut harness, &steps);
        prop_assert_eq!(harness.array.aggregate().verify(), Ok(()));
        read_in_order(&mut harness);
        Ok(used)
    });
}

#[test]
fn in_place_reads_its_writes_while_it_reads_ahead() {
    let window = prop_oneof![3 => any_window(), 1 => Just(0)];
    let read_cache = prop_oneof![Just(0u64), Just(16 << 10), Just(200 << 10)];
    let cases = (any_in_place(), window, read_cache, any_steps());
    cases_that_test(1024, 5_000, cases, |(config, window, read_cache, steps)| {
        let destages_all = config.destage_low_sectors == 0;
        let mut harness = fresh_in_place(config);
        harness.array.set_read_cache(window, read_cache);
        let used = run(&mut harness, &steps);
        if destages_all {
            lun_is_as_acknowledged(&harness);
        }
        read_in_order(&mut harness);
        Ok(used)
    });
}
