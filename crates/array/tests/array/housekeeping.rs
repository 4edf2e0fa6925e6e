//! Read-gap aggregation, delayed frees reclaimed at a pace, and background scans.

use strewn_array::Array;
use strewn_array::write_anywhere::{
    BackgroundScan, BackgroundWork, WriteAnywhere, WriteAnywhereConfig,
};
use strewn_base::BLOCK_SECTORS;

use crate::harness::Harness;
use crate::payloads::Bytes;
use crate::write_anywhere::{ConsistencyPointWatch, fresh_array, roomy};

const MILLISECOND_NS: u64 = 1_000_000;

type Bench = Harness<WriteAnywhere<Bytes>, ConsistencyPointWatch>;

/// A file of which every `each`th block of the first 60 was rewritten, with hardly any cache.
fn rewritten(each: u64, most_gap: u32) -> Bench {
    let config = WriteAnywhereConfig { cache_blocks: 2, protected_blocks: 0, ..roomy(4, 500) };
    let mut harness = fresh_array(config, |array| array.with_read_gap_aggregation(most_gap));
    for block in (0..60).step_by(each as usize) {
        harness.write(block * BLOCK_SECTORS, BLOCK_SECTORS as u32);
    }
    harness.run_to_quiescence();
    harness.new_events();
    harness
}

/// The commands for the data of blocks `first` to `first + blocks`, by their blocks, ascending.
fn read(harness: &mut Bench, first: u64, blocks: u64) -> Vec<u32> {
    let before = harness.array.counters().data_reads;
    harness.read(first * BLOCK_SECTORS, (blocks * BLOCK_SECTORS) as u32);
    harness.run_to_quiescence();
    let reads = (harness.array.counters().data_reads - before) as usize;
    let commands = harness.new_commands();
    // The indirect block comes first.
    let data = &commands[commands.len() - reads..];
    let mut lengths: Vec<u32> = data.iter().map(|one| one.sectors / BLOCK_SECTORS as u32).collect();
    lengths.sort_unstable();
    lengths
}

#[test]
fn a_read_aggregates_runs_whose_gap_is_small_enough() {
    // Blocks 24, 28, 32 and 36 were rewritten together, and lie in one place.
    assert_eq!(read(&mut rewritten(4, 0), 24, 16), [1, 1, 1, 1, 3, 3, 3, 3]);
    let mut harness = rewritten(4, 1);
    assert_eq!(read(&mut harness, 24, 16), [4, 15]);
    let counters = harness.array.counters();
    assert_eq!((counters.aggregated_reads, counters.gap_blocks), (2, 3));
    // Three blocks in a row were rewritten out of each six: a gap of two blocks is not enough.
    let rows = |most_gap| {
        let mut harness = rewritten(1_000, most_gap);
        for block in (6..40).step_by(6) {
            harness.write(block * BLOCK_SECTORS, 3 * BLOCK_SECTORS as u32);
        }
        harness.run_to_quiescence();
        harness.new_events();
        read(&mut harness, 25, 16).len()
    };
    assert_eq!((rows(0), rows(2) - rows(3)), (6, 2));
}

#[test]
fn what_is_read_of_gaps_is_not_kept() {
    let config = roomy(4, 500);
    let mut harness = fresh_array(config, |array| array.with_read_gap_aggregation(16));
    // Block 9 is cached, so it is a gap.
    harness.read(9 * BLOCK_SECTORS, 8);
    harness.run_to_quiescence();
    harness.new_events();
    harness.read(8 * BLOCK_SECTORS, 24);
    harness.run_to_quiescence();
    let commands = harness.new_commands();
    assert_eq!(commands.iter().map(|one| one.sectors).collect::<Vec<_>>(), [24]);
    // Now all three are.
    harness.read(8 * BLOCK_SECTORS, 24);
    assert_eq!(harness.new_commands(), []);
}

/// A file of 1,000 blocks that is rewritten from 40 ms on, all of it every 100 ms, beside `work`.
fn under_rewriting(work: BackgroundWork, delayed_free_blocks: u64) -> Vec<u64> {
    let config = WriteAnywhereConfig { delayed_free_blocks, ..roomy(4, 1_000) };
    let mut harness = fresh_array(config, |array| array.with_background(work));
    let mut freed = Vec::new();
    for step in 0..40 {
        let block = step % 10 * 100;
        harness.write(block * BLOCK_SECTORS, 100 * BLOCK_SECTORS as u32);
        // To the next consistency point.
        let consistency_points = harness.array.counters().consistency_points;
        while harness.array.counters().consistency_points == consistency_points {
            harness.fire_timer();
            harness.drain();
        }
        freed.push(harness.array.aggregate().counts().used);
    }
    freed
}

#[test]
fn a_paced_scan_frees_what_a_bound_would_hold_back() {
    let never = under_rewriting(BackgroundWork::default(), 10_000);
    assert!(never.windows(2).all(|two| two[0] < two[1]), "{never:?}");
    let reclaim_interval_ns = 100 * MILLISECOND_NS;
    let paced = under_rewriting(BackgroundWork { reclaim_interval_ns, scan: None }, 10_000);
    let (first, most) = (never[0], *paced.iter().max().unwrap());
    // The volume has one region, which is come to every 100 ms: ten consistency points of 100 blocks, and their
    // metadata.
    assert!(most < first + 10 * 250, "{first} blocks in use, and then up to {most}: {paced:?}");
    // It is no more than paced: between two visits the blocks are held back.
    assert!(most > first + 5 * 100, "{paced:?}");
}

#[test]
fn a_background_scan_keeps_to_its_time_and_its_rate() {
    let scan = BackgroundScan {
        blocks_per_second: 1_000,
        begins_ns: 20 * MILLISECOND_NS,
        ends_ns: 50 * MILLISECOND_NS,
        ..BackgroundScan::default()
    };
    let work = BackgroundWork { reclaim_interval_ns: 0, scan: Some(scan) };
    let config = WriteAnywhereConfig { cache_blocks: 1, protected_blocks: 0, ..roomy(4, 500) };
    let mut harness = fresh_array(config, |array| array.with_background(work));
    let mut looked_at_ms = Vec::new();
    while harness.driver.now_ns < 100 * MILLISECOND_NS {
        harness.fire_timer();
        harness.drain();
        for _ in harness.new_commands() {
            looked_at_ms.push(harness.driver.now_ns / MILLISECOND_NS);
        }
    }
    let counters = harness.array.counters();
    let all = counters.map_scan_reads + counters.map_scan_hits;
    assert!((29..=31).contains(&all), "{counters:?}");
    assert_eq!(looked_at_ms.len() as u64, counters.map_scan_reads);
    assert!(looked_at_ms.iter().all(|at_ms| (20..51).contains(at_ms)), "{looked_at_ms:?}");
    // Blocks that a scan looks at do not push others out.
    assert!(counters.map_scan_reads > counters.map_scan_hits);
}

#[test]
fn a_scan_whose_reads_do_not_come_back_waits() {
    let scan = BackgroundScan {
        blocks_per_second: 1_000,
        reads_in_flight: 3,
        ..BackgroundScan::default()
    };
    let work = BackgroundWork { reclaim_interval_ns: 0, scan: Some(scan) };
    let config = WriteAnywhereConfig { cache_blocks: 1, protected_blocks: 0, ..roomy(4, 500) };
    let mut harness = fresh_array(config, |array| array.with_background(work));
    for _ in 0..100 {
        harness.fire_timer();
    }
    assert_eq!(harness.commands_out(), 3);
    harness.complete(0);
    for _ in 0..100 {
        harness.fire_timer();
    }
    assert_eq!(harness.commands_out(), 3);
}
