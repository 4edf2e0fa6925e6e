//! Read-ahead and the read cache with bytes: whatever overtakes whatever, a read returns what was acknowledged.

use proptest::prelude::*;
use proptest::sample::Index;
use strewn_array::Array;

use crate::cases::cases_that_test;
use crate::harness::{Harness, Watch};
use crate::in_place::{any_in_place, fresh_in_place, lun_is_as_acknowledged};
use crate::payloads::Bytes;
use crate::read_your_writes::{Happening as Other, let_happen};
use crate::write_anywhere::{any_write_anywhere, fresh_write_anywhere};

/// What happens next.
#[derive(Debug, Clone)]
enum Happening {
    /// One of three streams goes on.
    GoOn(usize, u32),
    /// It begins elsewhere.
    Jump(usize, Index),
    /// A write near the place of a stream.
    WriteNear(usize, u32, u32),
    Forget,
    Other(Other),
}

fn any_happenings() -> impl Strategy<Value = Vec<Happening>> {
    let sectors = || prop_oneof![4 => 1..=20u32, 1 => 1..=80u32];
    let happening = prop_oneof![
        12 => (0..3usize, sectors()).prop_map(|(stream, size)| Happening::GoOn(stream, size)),
        1 => (0..3usize, any::<Index>()).prop_map(|(stream, to)| Happening::Jump(stream, to)),
        2 => (any::<Index>(), sectors()).prop_map(|(at, size)| Happening::Other(Other::Read(at, size))),
        4 => (0..3usize, 0..200u32, sectors())
            .prop_map(|(stream, ahead, size)| Happening::WriteNear(stream, ahead, size)),
        2 => (any::<Index>(), sectors()).prop_map(|(at, size)| Happening::Other(Other::Write(at, size))),
        6 => any::<Index>().prop_map(|command| Happening::Other(Other::Execute(command))),
        16 => any::<Index>().prop_map(|command| Happening::Other(Other::Complete(command))),
        4 => Just(Happening::Other(Other::CompleteNewest)),
        1 => Just(Happening::Other(Other::Drain)),
        2 => Just(Happening::Other(Other::Timer)),
        1 => Just(Happening::Forget),
    ];
    prop::collection::vec(happening, 1..400)
}

fn any_window() -> impl Strategy<Value = u64> {
    prop_oneof![Just(8u64 << 10), Just(32 << 10), Just(128 << 10), Just(1 << 20)]
}

/// Does them, and returns how many blocks were read ahead and used.
fn run<A: Array<Bytes>, W: Watch<A>>(harness: &mut Harness<A, W>, happenings: &[Happening]) -> u32 {
    let lun_sectors = harness.driver.host.acknowledged.len();
    let mut streams = [0; 3];
    // What does not fit its LUN ends with it.
    let most = |harness: &Harness<A, W>, first: u64, sectors: u32| {
        let (_, lun) = harness.driver.host.lun_of(first)?;
        Some(sectors.min((lun.end - first) as u32))
    };
    for happening in happenings {
        match happening {
            Happening::GoOn(stream, sectors) => {
                let first = streams[*stream];
                if let Some(sectors) = most(harness, first, *sectors) {
                    harness.read(first, sectors);
                    streams[*stream] = (first + u64::from(sectors)) % lun_sectors as u64;
                } else {
                    streams[*stream] = 0;
                }
            }
            Happening::Jump(stream, to) => streams[*stream] = to.index(lun_sectors) as u64,
            Happening::WriteNear(stream, ahead, sectors) => {
                let first = (streams[*stream] + u64::from(*ahead)) % lun_sectors as u64;
                if let Some(sectors) = most(harness, first, *sectors) {
                    harness.write(first, sectors);
                }
            }
            Happening::Forget => harness.array.forget_cache(),
            Happening::Other(other) => let_happen(harness, std::slice::from_ref(other)),
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
    let cases = (any_write_anywhere(), any_window(), any_happenings());
    cases_that_test(1024, 5_000, cases, |(config, window, happenings)| {
        let mut harness = fresh_write_anywhere(config);
        harness.array.set_read_ahead(window);
        let used = run(&mut harness, &happenings);
        prop_assert_eq!(harness.array.aggregate().verify(), Ok(()));
        read_in_order(&mut harness);
        Ok(used)
    });
}

#[test]
fn in_place_reads_its_writes_while_it_reads_ahead() {
    let window = prop_oneof![3 => any_window(), 1 => Just(0)];
    let read_cache = prop_oneof![Just(0u64), Just(16 << 10), Just(200 << 10)];
    let cases = (any_in_place(), window, read_cache, any_happenings());
    cases_that_test(1024, 5_000, cases, |(config, window, read_cache, happenings)| {
        let destages_all = config.destage_low_sectors == 0;
        let mut harness = fresh_in_place(config);
        harness.array.set_read_cache(window, read_cache);
        let used = run(&mut harness, &happenings);
        if destages_all {
            lun_is_as_acknowledged(&harness);
        }
        read_in_order(&mut harness);
        Ok(used)
    });
}
