//! Relocation: contents stay, whatever happens meanwhile; layouts get better; areas get empty.

use proptest::prelude::*;
use strewn_alloc::AllocationShape;
use strewn_array::write_anywhere::{
    ReallocationScan, RelocationConfig, VolumeConfig, WriteAnywhere, WriteAnywhereConfig,
};
use strewn_array::{Array, LogSize};
use strewn_base::BLOCK_SECTORS;
use strewn_base::Rng;
use strewn_raid::{Parity, ParityGroup};
use strewn_testing::cases;

use crate::harness::{Harness, Watch};
use crate::payloads::Bytes;
use crate::read_your_writes::{any_steps, apply_steps, read_everything};
use crate::write_anywhere::{
    any_write_anywhere, fresh_relocating, roomy, spindles_are_as_acknowledged, unwatched,
};

const MILLISECOND_NS: u64 = 1_000_000;

/// One scan of everything that is not as good as new, from `begins_ns` on.
fn scan(begins_ns: u64, threshold: f64) -> ReallocationScan {
    let (every_ns, blocks_per_s, stretch_blocks) = (None, 1e6, 512);
    ReallocationScan { begins_ns, every_ns, blocks_per_s, stretch_blocks, threshold }
}

fn any_relocation() -> impl Strategy<Value = RelocationConfig> {
    let scan = (1..200_000u64, prop::option::of(50_000_000..100_000_000u64), 1..64u32, 0..3u32)
        .prop_map(|(begins_ns, every_ns, stretch_blocks, threshold)| ReallocationScan {
            begins_ns,
            every_ns,
            blocks_per_s: 1e6,
            stretch_blocks,
            threshold: threshold.into(),
        });
    let cleaned = prop::option::of(1..100u32);
    (any::<bool>(), prop::option::of(scan), cleaned, 1..9u32).prop_map(
        |(after_reads, scan, cleaned_blocks, reads_in_flight)| RelocationConfig {
            after_reads,
            scan,
            cleaned_blocks,
            reads_in_flight,
        },
    )
}

/// Time passes until nothing is dirty and the first scan has ended.
fn come_to_rest<W: Watch<WriteAnywhere<Bytes>>>(harness: &mut Harness<WriteAnywhere<Bytes>, W>) {
    for _ in 0..100_000 {
        harness.drain();
        harness.new_events();
        let progress = harness.array.scan_progress();
        let has_scanned = progress.is_none_or(|progress| progress.ended_ns.is_some());
        if has_scanned && harness.array.is_clean() {
            return;
        }
        harness.fire_timer();
    }
    panic!("the array never comes to rest");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(64, 512)))]

    #[test]
    fn whatever_is_relocated_what_was_acknowledged_stays(
        config in any_write_anywhere(),
        relocation in any_relocation(),
        steps in any_steps(),
    ) {
        let mut harness = fresh_relocating(config, relocation);
        apply_steps(&mut harness, &steps);
        come_to_rest(&mut harness);
        spindles_are_as_acknowledged(&harness);
        prop_assert_eq!(harness.array.aggregate().verify(), Ok(()));
        read_everything(&mut harness);
    }
}

/// Too large to be looked at after each event: what the host reads is checked.
type Bench = Harness<WriteAnywhere<Bytes>>;

/// Spindles on which a LUN of 3,000 blocks takes a tenth.
fn spacious() -> WriteAnywhereConfig {
    let group = ParityGroup::new(Parity::RaidDp, 4, 8_192).unwrap();
    WriteAnywhereConfig {
        groups: vec![group],
        shape: AllocationShape { area_stripes: 512, ..AllocationShape::default() },
        log: LogSize { half_bytes: 1 << 20, record_header_bytes: 0 },
        cache_blocks: 2_000,
        ..roomy(4, 3_000)
    }
}

fn age(harness: &mut Bench, seed: u64, writes: u32) {
    println!("seed {seed}");
    let mut rng = Rng::new(seed);
    let blocks = harness.driver.host.acknowledged.len() as u64 / BLOCK_SECTORS;
    for _ in 0..writes {
        harness.write(rng.below(blocks) * BLOCK_SECTORS, BLOCK_SECTORS as u32);
        harness.drain();
        harness.new_events();
    }
}

fn score(harness: &Bench) -> f64 {
    harness.array.layout().luns[0].file.score
}

/// Reads the LUN in order, and returns the spindle commands that it took.
fn read_in_order(harness: &mut Bench) -> u64 {
    harness.array.forget_cache();
    let before = harness.array.counters().data_reads;
    read_everything_of(harness);
    harness.array.counters().data_reads - before
}

fn read_everything_of(harness: &mut Bench) {
    let sectors = harness.driver.host.acknowledged.len() as u64;
    for first in (0..sectors).step_by(128) {
        harness.read(first, (sectors - first).min(128) as u32);
        harness.drain();
    }
}

#[test]
fn a_full_scan_makes_the_layout_as_good_as_new() {
    let relocation =
        RelocationConfig { scan: Some(scan(500 * MILLISECOND_NS, 0.0)), ..RelocationConfig::NONE };
    let mut harness = unwatched(spacious(), relocation);
    let fresh = score(&harness);
    age(&mut harness, 1, 6_000);
    let aged = score(&harness);
    assert!(aged < 0.3, "{aged}");
    assert_eq!(harness.array.scan_progress().unwrap().begun, 0);
    harness.fire_timer();
    harness.drain();
    let rewritten = harness.array.layout().luns[0].rewritten;
    come_to_rest(&mut harness);
    let counters = *harness.array.counters();
    assert!(counters.scan_blocks >= 2_700, "{counters:?}");
    assert!(counters.scan_reads > 300 && counters.scan_reads <= counters.scan_blocks);
    let again = score(&harness);
    assert!(again > fresh - 0.01, "{again}, {fresh} when new");
    // Relocation is no host's write.
    assert_eq!(harness.array.layout().luns[0].rewritten, rewritten);
    let progress = harness.array.scan_progress().unwrap();
    assert_eq!((progress.begun, progress.passed), (1, 1.0));
    read_everything(&mut harness);
}

#[test]
fn a_scan_leaves_what_is_good_enough() {
    let relocation =
        RelocationConfig { scan: Some(scan(100 * MILLISECOND_NS, 4.0)), ..RelocationConfig::NONE };
    let mut harness = unwatched(spacious(), relocation);
    // Half of the LUN is scattered, and a block here and there of the rest.
    let mut rng = Rng::new(2);
    for number in 0..3_000 {
        let block = if number % 100 == 0 { 1_536 + rng.below(1_464) } else { rng.below(1_536) };
        harness.write(block * BLOCK_SECTORS, BLOCK_SECTORS as u32);
        harness.drain();
    }
    come_to_rest(&mut harness);
    let counters = harness.array.counters();
    assert_eq!(counters.scan_blocks, 1_536, "{counters:?}");
}

#[test]
fn scans_recur() {
    let every_ns = Some(50 * MILLISECOND_NS);
    let scan = ReallocationScan { every_ns, ..scan(10 * MILLISECOND_NS, 0.0) };
    let relocation = RelocationConfig { scan: Some(scan), ..RelocationConfig::NONE };
    let mut harness = unwatched(spacious(), relocation);
    while harness.driver.now_ns < 400 * MILLISECOND_NS {
        harness.drain();
        harness.fire_timer();
    }
    let progress = harness.array.scan_progress().unwrap();
    assert!((7..=8).contains(&progress.begun), "{progress:?}");
    // New as it is, hardly anything is moved, and nothing twice.
    assert!(harness.array.counters().scan_blocks <= 512);
}

#[test]
fn what_was_read_in_order_is_relocated_and_reads_well_the_next_time() {
    let relocation = RelocationConfig { after_reads: true, ..RelocationConfig::NONE };
    for relocation in [RelocationConfig::NONE, relocation] {
        let mut harness = unwatched(spacious(), relocation);
        let fresh = read_in_order(&mut harness);
        age(&mut harness, 3, 6_000);
        let aged = read_in_order(&mut harness);
        come_to_rest(&mut harness);
        let again = read_in_order(&mut harness);
        assert!(aged > 10 * fresh, "{aged} commands, {fresh} when new");
        let counters = harness.array.counters();
        if relocation.after_reads {
            assert!(again < 2 * fresh, "{again} commands, {aged} before, {fresh} when new");
            assert!(counters.read_reallocation_blocks > 2_500);
            // They were in the cache.
            assert!(counters.read_reallocation_reads < 300, "{counters:?}");
        } else {
            assert!(again > 10 * fresh && counters.read_reallocation_blocks == 0);
        }
        read_everything(&mut harness);
    }
}

#[test]
fn random_reads_relocate_nothing() {
    let relocation = RelocationConfig { after_reads: true, ..RelocationConfig::NONE };
    let mut harness = unwatched(spacious(), relocation);
    age(&mut harness, 4, 3_000);
    let mut rng = Rng::new(4);
    for _ in 0..3_000 {
        let first = rng.below(2_984) * BLOCK_SECTORS + rng.below(8);
        harness.read(first, 1 + rng.below(120) as u32);
        harness.drain();
    }
    assert_eq!(harness.array.counters().read_reallocation_blocks, 0);
}

/// Four fifths full: eighty areas, of which the LUN takes 63.
fn tight() -> WriteAnywhereConfig {
    let group = ParityGroup::new(Parity::RaidDp, 4, 5_120).unwrap();
    WriteAnywhereConfig {
        groups: vec![group],
        shape: AllocationShape { area_stripes: 64, tetris_stripes: 64, chunk_blocks: 64 },
        volumes: vec![VolumeConfig::of_one_lun(40_000, 16_000)],
        log: LogSize { half_bytes: 1 << 20, record_header_bytes: 0 },
        cache_blocks: 2_000,
        dirty_limit_blocks: 1_000,
        ..roomy(4, 16_000)
    }
}

#[test]
fn cleaning_brings_full_stripes_back() {
    let cleaning = RelocationConfig { cleaned_blocks: Some(4_096), ..RelocationConfig::NONE };
    let mut shares = Vec::new();
    for relocation in [RelocationConfig::NONE, cleaning] {
        let mut harness = unwatched(tight(), relocation);
        age(&mut harness, 5, 20_000);
        let before = *harness.array.counters();
        age(&mut harness, 6, 10_000);
        let counters = harness.array.counters().since(&before);
        shares.push(counters.full_stripes as f64 / counters.stripes_written as f64);
        println!("{counters:?}");
        come_to_rest(&mut harness);
        read_everything(&mut harness);
        assert_eq!(harness.array.aggregate().verify(), Ok(()));
    }
    assert!(shares[1] > 0.65 && shares[0] < 0.1, "full stripes: {shares:?}");
}

#[test]
fn an_array_that_nothing_is_written_to_cleans_nothing() {
    let cleaning = RelocationConfig { cleaned_blocks: Some(4_096), ..RelocationConfig::NONE };
    let mut harness = unwatched(tight(), cleaning);
    age(&mut harness, 7, 20_000);
    come_to_rest(&mut harness);
    let before = *harness.array.counters();
    for _ in 0..100 {
        harness.fire_timer();
        harness.drain();
    }
    assert_eq!(harness.array.counters().since(&before).spindle_writes(), 0);
}
