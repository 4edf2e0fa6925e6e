//! Pools with snapshots, and with scans of their volumes, under a host.

use strewn_array::{Array, Direction, SnapshotMeasures, Snapshots};
use strewn_base::state::{SavedState, StateReader, StateWriter};
use strewn_zfs::{ScanKind, VolumeScanConfig, ZfsArray, ZfsConfig};

use crate::machine::{Machine, SECTORS_A_BLOCK, raid_z2};
use crate::volumes::SplitMix;

const MIB: u64 = 1 << 20;
const SECOND_NS: u64 = 1_000_000_000;

fn filled(volume_bytes: u64) -> ZfsConfig {
    let mut config = raid_z2(volume_bytes);
    config.volumes[0].filled_bytes = volume_bytes;
    config.dirty_limit_bytes = 16 * MIB;
    config
}

fn scan(kind: ScanKind) -> Option<VolumeScanConfig> {
    Some(VolumeScanConfig { begins_ns: SECOND_NS, ..VolumeScanConfig::new(kind) })
}

fn held(machine: &Machine) -> SnapshotMeasures {
    machine.array.snapshot_measures().unwrap()
}

fn take(machine: &mut Machine) -> strewn_array::SnapshotId {
    let volumes = machine.array.snapshot_volumes();
    let now_ns = machine.drives.now_ns;
    machine.array.begin_snapshots(now_ns, &volumes, &mut machine.drives).unwrap()[0].1
}

fn write_at_random(machine: &mut Machine, random: &mut SplitMix, writes: u32) {
    let blocks = machine.blocks();
    for _ in 0..writes {
        machine.issue(Direction::Write, random.next() % blocks * SECTORS_A_BLOCK, SECTORS_A_BLOCK);
    }
    machine.run_until(|_| false);
}

#[test]
fn a_snapshot_holds_what_is_overwritten_until_it_is_deleted() {
    let mut machine = Machine::new(filled(32 * MIB));
    assert_eq!(machine.array.snapshot_measures(), None, "it never had one");
    let first = take(&mut machine);
    let volume = machine.array.snapshot_volumes()[0];
    machine.run_until(|_| false);
    assert_eq!((held(&machine).kept, held(&machine).blocks), (1, 0));
    for block in 0..1_000 {
        machine.issue(Direction::Write, block * SECTORS_A_BLOCK, SECTORS_A_BLOCK);
    }
    machine.run_until(|_| false);
    // 1,000 blocks of 8 KiB, and what led to them.
    let blocks = held(&machine).blocks;
    assert!((2_000..2_100).contains(&blocks), "{blocks} blocks of 4 KiB");
    let used = held(&machine).used;
    assert!(machine.array.expire_snapshot(volume, first));
    assert!(!machine.array.expire_snapshot(volume, first));
    // The next event begins what frees the blocks; it goes on by itself.
    machine.issue(Direction::Write, 0, SECTORS_A_BLOCK);
    machine.run_until(|_| false);
    assert_eq!((held(&machine).kept, held(&machine).blocks), (0, 0));
    // Whole ones of 4 KiB.
    assert!(machine.array.counters().snapshot_blocks_freed + 1 >= blocks);
    // Frees wait for two transaction groups.
    for _ in 0..3 {
        machine.issue(Direction::Write, 0, SECTORS_A_BLOCK);
        machine.run_until(|_| false);
    }
    assert!(held(&machine).used < used, "the pool has them again");
}

/// A volume reserves what it takes to overwrite it; a sparse one does not, and its writes fail when snapshots have
/// filled the pool.
#[test]
fn snapshots_are_refused_or_fill_the_pool() {
    for seed in 1..=3 {
        let mut random = SplitMix(seed);
        let mut config = filled(500 * MIB);
        config.reserves = true;
        let mut machine = Machine::new(config.clone());
        let volumes = machine.array.snapshot_volumes();
        let refused = machine.array.begin_snapshots(0, &volumes, &mut machine.drives);
        assert!(refused.is_err(), "1.5 of 3 GiB are in use");
        assert_eq!(machine.array.counters().snapshots_refused, 1);
        config.reserves = false;
        let mut machine = Machine::new(config);
        let first = take(&mut machine);
        while machine.drives.refused == 0 {
            write_at_random(&mut machine, &mut random, 500);
            assert!(machine.drives.answered < 100_000, "seed {seed}: the pool never fills");
        }
        assert!(held(&machine).used > 0.9, "seed {seed}: {:?}", held(&machine));
        // Reads go on, and with the snapshot gone, so do writes.
        assert!(machine.array.expire_snapshot(volumes[0], first));
        machine.issue(Direction::Read, 0, SECTORS_A_BLOCK);
        machine.run_until(|_| false);
        let refused = machine.drives.refused;
        write_at_random(&mut machine, &mut random, 500);
        assert_eq!(machine.drives.refused, refused, "seed {seed}");
    }
}

#[test]
fn a_rewrite_puts_neighbours_together_again() {
    let mut config = filled(32 * MIB);
    config.scan = scan(ScanKind::Rewrite);
    config.scan.as_mut().unwrap().begins_ns = 3_600 * SECOND_NS;
    config.throttle_slots = None;
    let mut machine = Machine::new(config);
    let mut random = SplitMix(7);
    let extents = |machine: &Machine| machine.array.layout().luns[0].file.extents;
    for _ in 0..4 {
        for _ in 0..1_000 {
            let block = random.next() % machine.blocks();
            machine.issue(Direction::Write, block * SECTORS_A_BLOCK, SECTORS_A_BLOCK);
        }
        machine.run_until(|machine| machine.drives.answered == u64::from(machine.issued));
        machine.run_until(|machine| machine.drives.now_ns > 3_000 * SECOND_NS || machine.is_idle());
    }
    let aged = extents(&machine);
    let written = machine.drives.writes;
    machine.run_until(|_| false);
    let progress = machine.array.scan_progress().unwrap();
    assert_eq!((progress.begun, progress.passed), (1, 1.0));
    assert!(progress.ended_ns.is_some());
    assert_eq!(machine.array.layout().luns[0].rewritten, Some(1.0));
    assert_eq!(machine.array.counters().scan_blocks, 32 * MIB / 4_096);
    assert!(machine.drives.writes > written + 100);
    let rewritten = extents(&machine);
    assert!(rewritten * 3 < aged, "{aged} extents before, {rewritten} after");
}

#[test]
fn a_rewrite_beside_a_snapshot_takes_the_volume_once_more() {
    let mut config = filled(32 * MIB);
    config.scan = scan(ScanKind::Rewrite);
    let mut machine = Machine::new(config);
    take(&mut machine);
    machine.array.start(0, &mut machine.drives);
    machine.run_until(|_| false);
    let blocks = held(&machine).blocks;
    assert!((8_192..8_400).contains(&blocks), "{blocks} of 8,192 blocks of 4 KiB");
}

#[test]
fn sending_reads_all_and_writes_nothing_at_the_pace_that_it_has() {
    let mut config = filled(32 * MIB);
    config.scan = scan(ScanKind::Send);
    config.scan.as_mut().unwrap().bytes_per_s = Some(4 * MIB);
    let mut machine = Machine::new(config);
    machine.array.start(0, &mut machine.drives);
    machine.run_until(|_| false);
    let progress = machine.array.scan_progress().unwrap();
    let seconds = progress.ended_ns.unwrap() as f64 / 1e9;
    assert!((8.7..9.3).contains(&seconds), "32 MiB at 4 MiB/s, after a second: {seconds} s");
    assert_eq!(machine.drives.writes, 0);
    assert!(machine.array.counters().scan_reads > 0);
}

/// The state of an array in words: saved, restored into a new one, and run on beside the first.
fn goes_on_alike(config: &ZfsConfig, case: &str, prepare: impl Fn(&mut Machine)) {
    let mut one = Machine::new(config.clone());
    one.array.start(0, &mut one.drives);
    prepare(&mut one);
    let mut bytes = Vec::new();
    let mut writer = StateWriter::new(&mut bytes);
    one.array.save(&mut writer).unwrap();
    writer.finish().unwrap();
    let mut array = ZfsArray::new(config.clone()).unwrap();
    let mut reader = StateReader::new(&bytes);
    array.restore(&mut reader).unwrap();
    reader.finish().unwrap();
    let mut other = one.with(array);
    for machine in [&mut one, &mut other] {
        let mut random = SplitMix(11);
        for _ in 0..200 {
            machine.issue(
                Direction::Write,
                random.next() % machine.blocks() * SECTORS_A_BLOCK,
                SECTORS_A_BLOCK,
            );
        }
        machine.run_until(|_| false);
    }
    assert_eq!(one.drives.now_ns, other.drives.now_ns, "{case}");
    assert_eq!(one.array.counters(), other.array.counters(), "{case}");
    assert_eq!(one.array.snapshot_measures(), other.array.snapshot_measures(), "{case}");
    assert_eq!(one.array.scan_progress(), other.array.scan_progress(), "{case}");
    assert_eq!(one.array.layout(), other.array.layout(), "{case}");
}

#[test]
fn arrays_are_saved_in_the_middle_of_it() {
    for kind in [ScanKind::Rewrite, ScanKind::Send] {
        let mut config = filled(16 * MIB);
        config.arc_bytes = 16 * MIB;
        config.scan = scan(kind);
        goes_on_alike(&config, &format!("{kind:?}"), |machine| {
            take(machine);
            machine.run_until(|machine| {
                machine.array.scan_progress().is_some_and(|scan| scan.passed > 0.4)
            });
            let passed = machine.array.scan_progress().unwrap().passed;
            assert!(passed < 1.0, "{kind:?}: it is in the middle");
        });
    }
    let config = filled(16 * MIB);
    goes_on_alike(&config, "snapshots", |machine| {
        let mut random = SplitMix(5);
        let first = take(machine);
        write_at_random(machine, &mut random, 300);
        take(machine);
        write_at_random(machine, &mut random, 300);
        let volume = machine.array.snapshot_volumes()[0];
        assert!(machine.array.expire_snapshot(volume, first));
        // One that is asked for, and not taken yet.
        machine.issue(Direction::Write, 0, SECTORS_A_BLOCK);
        take(machine);
    });
}

#[test]
fn a_scan_goes_on_without_its_cache_and_with_a_drive_less() {
    for kind in [ScanKind::Rewrite, ScanKind::Send] {
        let mut config = filled(32 * MIB);
        (config.arc_bytes, config.scan) = (16 * MIB, scan(kind));
        config.scan.as_mut().unwrap().bytes_per_s = Some(8 * MIB);
        let mut machine = Machine::new(config);
        machine.array.start(0, &mut machine.drives);
        let passed = |machine: &Machine| machine.array.scan_progress().unwrap().passed;
        machine.run_until(|machine| passed(machine) > 0.2);
        machine.array.forget_cache();
        machine.run_until(|machine| passed(machine) > 0.5);
        machine.fail(2);
        machine.run_until(|_| false);
        assert_eq!(passed(&machine), 1.0, "{kind:?}");
        assert!(machine.array.counters().degraded_reads > 0, "{kind:?}");
    }
}
