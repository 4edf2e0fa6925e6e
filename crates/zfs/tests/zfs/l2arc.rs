//! The L2ARC in an array, beside a pool without one.

use strewn_array::{Array, Direction};
use strewn_base::Rng;
use strewn_zfs::{L2arcConfig, ZfsConfig};

use crate::machine::{Machine, SECTORS_A_BLOCK, raid_z2};

const MIB: u64 = 1 << 20;
const VOLUME: u64 = 128 * MIB;
const BLOCKS: u64 = VOLUME / 8_192;

fn l2arc(bytes: u64) -> L2arcConfig {
    let mut device = L2arcConfig::new(bytes, 100_000, 500_000_000);
    device.options.write_max_bytes = 4 * MIB;
    L2arcConfig { feed_interval_ns: 100_000_000, write_bytes_per_s: 400_000_000, ..device }
}

/// A filled volume, of which an eighth fits the ARC.
fn pool(l2arc: Option<L2arcConfig>) -> ZfsConfig {
    let mut config = raid_z2(VOLUME);
    config.volumes[0].filled_bytes = VOLUME;
    config.arc_bytes = VOLUME / 8;
    config.dirty_limit_bytes = VOLUME / 16;
    config.l2arc = l2arc;
    config
}

/// Reads blocks one after the other. Returns the milliseconds that each took on average.
fn read(machine: &mut Machine, blocks: impl Iterator<Item = u64>) -> f64 {
    let (began_ns, mut count) = (machine.drives.now_ns, 0);
    for block in blocks {
        machine.issue(Direction::Read, block * SECTORS_A_BLOCK, SECTORS_A_BLOCK);
        let issued = u64::from(machine.issued);
        machine.run_until(|machine| machine.drives.answered >= issued);
        count += 1;
    }
    (machine.drives.now_ns - began_ns) as f64 / 1e6 / f64::from(count)
}

fn random(seed: u64, count: u64, blocks: u64) -> impl Iterator<Item = u64> {
    let mut rng = Rng::new(seed);
    (0..count).map(move |_| rng.below(blocks))
}

#[test]
fn what_the_arc_lacks_is_read_from_the_l2arc_once_it_is_there() {
    let mut without = Machine::new(pool(None));
    let mut with = Machine::new(pool(Some(l2arc(256 * MIB))));
    let half = BLOCKS / 2;
    for seed in 0..3 {
        read(&mut without, random(seed, 20_000, half));
        read(&mut with, random(seed, 20_000, half));
    }
    let before = *with.array.counters();
    let slow_ms = read(&mut without, random(9, 5_000, half));
    let fast_ms = read(&mut with, random(9, 5_000, half));
    let now = with.array.counters().since(&before);
    assert_eq!(without.array.counters().l2arc_lookups, 0);
    // Three quarters are not in the ARC, and nearly all of them are on the device.
    assert!(now.l2arc_lookups > 3_000, "{now:?}");
    assert!(now.l2arc_hits * 100 > now.l2arc_lookups * 95, "{now:?}");
    assert!(fast_ms * 8.0 < slow_ms, "{fast_ms} and {slow_ms} ms");
    // A hit takes its latency and 8 KiB at 500 MB/s: 0.116 ms, of three reads in four.
    assert!(fast_ms > 0.07, "{fast_ms}");
    let sizes = with.array.layout().pool;
    assert!(sizes.l2arc_bytes <= 256 * MIB && sizes.l2arc_bytes > VOLUME / 4, "{sizes:?}");
    assert!(sizes.l2arc_header_bytes > 0, "{sizes:?}");
}

#[test]
fn a_device_that_is_too_small_has_what_was_read_last() {
    let mut device = l2arc(16 * MIB);
    // Of each list the 2 MiB that are evicted next are searched. If it were more than the device has, this would be
    // written over and over with what the ARC has.
    device.options.write_max_bytes = MIB / 8;
    let mut machine = Machine::new(pool(Some(device)));
    read(&mut machine, random(1, 20_000, BLOCKS));
    let counters = *machine.array.counters();
    assert!(counters.l2arc_written_bytes > 16 * MIB, "{}", counters.l2arc_written_bytes);
    assert!(machine.array.layout().pool.l2arc_bytes <= 16 * MIB);
    let percent = counters.l2arc_hits * 100 / counters.l2arc_lookups;
    assert!((2..30).contains(&percent), "{percent}");
}

#[test]
fn what_is_overwritten_is_read_in_its_new_version() {
    let mut machine = Machine::new(pool(Some(l2arc(256 * MIB))));
    read(&mut machine, 0..1_000);
    read(&mut machine, random(1, 20_000, BLOCKS));
    // On the device and not in memory; then written, and out of memory again.
    let held = |machine: &mut Machine, block: u64| {
        let before = *machine.array.counters();
        read(machine, [block].into_iter());
        let now = machine.array.counters().since(&before);
        (now.l2arc_lookups > 0).then_some(now.l2arc_hits > 0)
    };
    let block = (0..1_000).find(|block| held(&mut machine, *block) == Some(true)).unwrap();
    machine.issue(Direction::Write, block * SECTORS_A_BLOCK, SECTORS_A_BLOCK);
    let until_ns = machine.drives.now_ns + 6_000_000_000;
    machine.run_until(|machine| machine.drives.now_ns > until_ns);
    let before = machine.array.layout().pool.l2arc_bytes;
    // It may be fed again, as what was written; but it is never the old version that is read.
    machine.issue(Direction::Write, block * SECTORS_A_BLOCK, SECTORS_A_BLOCK);
    assert_eq!(before - machine.array.layout().pool.l2arc_bytes, 8_192);
}
