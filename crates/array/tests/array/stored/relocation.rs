//! Relocation in the durable format: with spindles lost, with blocks that cannot be read, and across restarts.

use super::*;

use strewn_array::write_anywhere::{ReallocationScan, RelocationConfig};

/// Everything at once, with a scan that begins at once and again and again.
fn busy(mut harness: Harness) -> Harness {
    let scan = ReallocationScan {
        begins_ns: 1,
        every_ns: Some(1_000_000),
        blocks_per_s: 1e6,
        stretch_blocks: 16,
        threshold: 0.0,
    };
    harness.array = harness.array.with_relocation(RelocationConfig {
        after_reads: true,
        scan: Some(scan),
        cleaned_blocks: Some(40),
        reads_in_flight: 4,
    });
    harness.array.start(0, &mut harness.driver);
    harness
}

fn relocated(harness: &Harness) -> u32 {
    let counters = harness.array.counters();
    (counters.read_reallocation_blocks + counters.scan_blocks + counters.cleaning_blocks) as u32
}

#[test]
fn a_restart_finds_what_was_acknowledged() {
    let histories = prop::collection::vec(any_history(), 2..4);
    cases_that_test(64, 64, (any_config(), histories), |(config, histories)| {
        let mut harness = busy(Harness::empty(config));
        let mut moved = 0;
        for history in &histories {
            for step in history {
                apply(&mut harness, step);
                harness.fire_timer();
            }
            harness.bring_to_spindles();
            harness.parity_is_right(&BTreeSet::new());
            harness.bitmap_is_right();
            moved += relocated(&harness);
            harness = busy(harness.restored());
            harness.read_everything();
            prop_assert_eq!(harness.array.aggregate().verify(), Ok(()));
        }
        Ok(moved)
    });
}

#[test]
fn blocks_that_cannot_be_read_stay_where_they_are_and_are_never_wrong() {
    let lost = any::<Option<Index>>();
    let strategy = (any_config(), any_history(), any_bad_blocks(400), lost, any_history());
    cases_that_test(64, 64, strategy, |(config, before, bad, lost, after)| {
        let mut harness = Harness::empty(config);
        for step in &before {
            apply(&mut harness, step);
        }
        harness.bring_to_spindles();
        harness = busy(harness);
        if let Some(which) = lost {
            harness.lose(SpindleIndex(which.index(harness.array.spindles().into()) as u16));
        }
        for (spindle, stripe, kind) in &bad {
            let spindle = spindle.index(harness.array.spindles().into()) as u16;
            harness.spoil(spindle, stripe.index(200) as u64, *kind);
        }
        harness.may_refuse = true;
        for step in &after {
            apply(&mut harness, step);
            harness.fire_timer();
        }
        for _ in 0..50 {
            harness.drain();
            harness.fire_timer();
        }
        harness.bring_to_spindles();
        harness.read_everything();
        Ok(relocated(&harness))
    });
}

#[test]
fn with_spindles_lost_everything_is_relocated_all_the_same() {
    for (parity, step) in [(Parity::Raid4, 7), (Parity::RaidDp, 11)] {
        let mut harness = Harness::empty(config(parity, 4, 600));
        for block in 0..600u64 {
            harness.write_at(block * step % 600 * 8, 8);
            harness.drain();
        }
        harness.bring_to_spindles();
        harness = busy(harness);
        harness.lose(SpindleIndex(1));
        for _ in 0..200 {
            harness.fire_timer();
            harness.drain();
        }
        harness.bring_to_spindles();
        assert!(relocated(&harness) >= 500, "{:?}", harness.array.counters());
        let lost = harness.driver.lost.clone();
        harness.parity_is_right(&lost);
        harness.read_everything();
    }
}
