//! Vdevs of other classes and sizes, and vdevs that are added.

use strewn_array::{Array, Direction, GroupMeasures, Growable};
use strewn_base::state::{SavedState, StateReader, StateWriter};
use strewn_raid::SpindleIndex;
use strewn_zfs::{AllocationClass, Redundancy, Spilled, Vdev, ZfsArray, ZfsConfig};

use crate::machine::{Machine, SECTORS_A_BLOCK, raid_z2};

const MIB: u64 = 1 << 20;
const VOLUME: u64 = 256 * MIB;

fn mirror(drive_bytes: u64) -> Vdev {
    let redundancy = Redundancy::Mirror { drives: 2 };
    Vdev { redundancy, ashift: 12, drive_bytes, scale_down: 1 }
}

/// A mirror with a filled volume, and further vdevs.
fn pool(further: &[(AllocationClass, u64)]) -> ZfsConfig {
    let mut config = raid_z2(VOLUME);
    config.volumes[0].filled_bytes = VOLUME;
    config.vdevs = vec![mirror(1_024 * MIB)];
    config.classes = vec![AllocationClass::Normal];
    for (class, drive_bytes) in further {
        config.vdevs.push(mirror(*drive_bytes));
        config.classes.push(*class);
    }
    config
}

fn overwrite(machine: &mut Machine, blocks: impl Iterator<Item = u64>) {
    for block in blocks {
        machine.issue(Direction::Write, block * SECTORS_A_BLOCK, SECTORS_A_BLOCK);
        let issued = u64::from(machine.issued);
        machine.run_until(|machine| machine.drives.answered + machine.drives.refused >= issued);
    }
    machine.run_until(|_| false);
}

/// Blocks of 4 KiB in use on each vdev that is there.
fn in_use(array: &ZfsArray) -> Vec<u64> {
    let of = |group: GroupMeasures| group.free_blocks.map(|free| group.blocks - free);
    array.groups().into_iter().filter_map(of).collect()
}

#[test]
fn metadata_goes_to_special_vdevs_and_data_does_not() {
    let without = Machine::new(pool(&[]));
    let with = Machine::new(pool(&[(AllocationClass::Special, 512 * MIB)]));
    let all = in_use(&without.array)[0];
    let [data, metadata] = in_use(&with.array)[..] else { panic!("each vdev is measured") };
    assert_eq!(data, VOLUME / 4_096, "data alone");
    assert!(metadata > 0 && all > data, "{metadata} of metadata, {all} of all");
    assert_eq!(with.array.spilled(), Spilled::default());
}

#[test]
fn small_blocks_fill_special_vdevs_until_the_rest_is_kept_for_metadata() {
    let mut config = pool(&[(AllocationClass::Special, 160 * MIB)]);
    config.special_small_bytes = 8_192;
    config.dirty_limit_bytes = 16 * MIB;
    let machine = Machine::new(config);
    let special = &machine.array.groups()[1];
    let used = 1.0 - special.free_blocks.unwrap() as f64 / special.blocks as f64;
    assert!((0.75..0.90).contains(&used), "{used}");
    let Spilled { data, metadata } = machine.array.spilled();
    assert!(data > 1_000, "{data}");
    assert_eq!(metadata, 0);
    // One byte less, and all data is too large.
    let mut config = pool(&[(AllocationClass::Special, 160 * MIB)]);
    config.special_small_bytes = 8_191;
    assert_eq!(in_use(&Machine::new(config).array)[0], VOLUME / 4_096);
}

#[test]
fn metadata_that_finds_special_vdevs_full_goes_to_normal_ones_and_is_counted() {
    let mut config = pool(&[(AllocationClass::Special, 64 * MIB)]);
    // All of the special vdev but the reserve is data; the log of space maps and indirect blocks have the rest.
    config.special_small_bytes = 8_192;
    config.dirty_limit_bytes = 1_024 * MIB;
    let machine = Machine::new(config);
    assert!(machine.array.spilled().metadata > 0, "{:?}", machine.array.spilled());
}

#[test]
fn what_spills_during_a_run_is_counted_beside_what_filling_spilled() {
    let mut config = pool(&[(AllocationClass::Special, 160 * MIB)]);
    config.special_small_bytes = 8_192;
    config.dirty_limit_bytes = 16 * MIB;
    let mut machine = Machine::new(config);
    let filled = machine.array.spilled().data;
    assert_eq!(machine.array.counters().spilled_data_blocks, 0);
    assert_eq!(machine.array.layout().pool.spilled_blocks, filled);
    // What is on the special vdev may be written there again only when what it replaces is free.
    overwrite(&mut machine, (0..1_000).map(|block| block * 31));
    let spilled = machine.array.counters().spilled_data_blocks;
    assert!(spilled > 100, "{spilled}");
    assert_eq!(machine.array.layout().pool.spilled_blocks, filled + spilled);
}

#[test]
fn log_blocks_go_to_log_vdevs_in_turn_and_nothing_else_does() {
    let logs = [(AllocationClass::Log, 128 * MIB), (AllocationClass::Log, 128 * MIB)];
    let mut config = pool(&logs);
    config.is_synchronous = true;
    let mut machine = Machine::new(config);
    assert_eq!(in_use(&machine.array)[1..], [0, 0]);
    for block in 0..40 {
        machine.issue(Direction::Write, block * 7 * SECTORS_A_BLOCK, SECTORS_A_BLOCK);
        machine.run_until(|machine| machine.drives.answered > block);
    }
    machine.array.layout();
    let before = machine.drives.writes;
    machine.run_until(|_| false);
    assert!(machine.drives.writes > before);
    // What is allocated shows with the next transaction group.
    overwrite(&mut machine, [3].into_iter());
    let [_, first, second] = in_use(&machine.array)[..] else { panic!("three vdevs") };
    assert!(first > 0 && first.abs_diff(second) <= 4, "{first} and {second}");
}

#[test]
fn metadata_moves_to_a_late_special_vdev_only_as_it_is_rewritten() {
    let from_the_start = Machine::new(pool(&[(AllocationClass::Special, 512 * MIB)]));
    let all_metadata = in_use(&from_the_start.array)[1];
    let mut config = pool(&[(AllocationClass::Special, 512 * MIB)]);
    config.late_vdevs = 1;
    let mut machine = Machine::new(config);
    let before = in_use(&machine.array);
    assert!(machine.array.add_group(0, &mut machine.drives));
    assert_eq!(in_use(&machine.array), [before[0], 0], "nothing moves by itself");
    // It may be allocated from when the transaction group is synced that has added it. Then one block changes one
    // indirect block of the 32, and what every transaction group writes.
    overwrite(&mut machine, [0].into_iter());
    assert_eq!(in_use(&machine.array)[1], 0);
    overwrite(&mut machine, [0].into_iter());
    let after_one = in_use(&machine.array)[1];
    assert!(0 < after_one && after_one < all_metadata / 2, "{after_one} of {all_metadata}");
    // Each indirect block is rewritten.
    for _ in 0..4 {
        overwrite(&mut machine, (0..32).map(|indirect| indirect * 1_024));
    }
    let after = in_use(&machine.array);
    assert!(after[1] * 10 > all_metadata * 9, "{} of {all_metadata}", after[1]);
    assert!(after[0] < before[0], "what was on the normal vdev is freed: {after:?}, {before:?}");
    assert_eq!(machine.array.spilled(), Spilled::default());
}

#[test]
fn log_blocks_go_to_a_late_log_vdev_from_the_next_one_on() {
    let mut config = pool(&[(AllocationClass::Log, 128 * MIB)]);
    config.is_synchronous = true;
    config.late_vdevs = 1;
    let mut machine = Machine::new(config);
    overwrite(&mut machine, 0..10);
    assert!(machine.array.add_group(machine.drives.now_ns, &mut machine.drives));
    // It may be allocated from when the transaction group is synced that has added it.
    overwrite(&mut machine, 0..1);
    let on_log = machine.drives.writes_of(2..4);
    assert_eq!(on_log, 0);
    let answered = machine.drives.answered;
    machine.issue(Direction::Write, 0, SECTORS_A_BLOCK);
    machine.run_until(|machine| machine.drives.answered > answered);
    assert_eq!(machine.drives.writes_of(2..4), 2, "a log block on both drives of the log mirror");
}

#[test]
fn without_its_log_vdev_a_pool_goes_on() {
    let mut config = pool(&[(AllocationClass::Log, 128 * MIB)]);
    config.is_synchronous = true;
    let mut machine = Machine::new(config);
    overwrite(&mut machine, 0..10);
    for spindle in [2, 3] {
        let lost = machine.array.spindle_failed(
            machine.drives.now_ns,
            SpindleIndex(spindle),
            &mut machine.drives,
        );
        assert_eq!(lost, Ok(()));
    }
    let (writes, answered) = (machine.drives.writes, machine.drives.answered);
    machine.issue(Direction::Write, 0, SECTORS_A_BLOCK);
    machine.run_until(|machine| machine.drives.answered > answered);
    assert_eq!(
        machine.drives.writes - writes,
        2,
        "a log block on both drives of the mirror that is left"
    );
}

#[test]
fn without_its_special_vdev_a_pool_is_lost() {
    let mut machine = Machine::new(pool(&[(AllocationClass::Special, 512 * MIB)]));
    let mut fail =
        |spindle| machine.array.spindle_failed(0, SpindleIndex(spindle), &mut machine.drives);
    assert_eq!(fail(2), Ok(()));
    let lost = fail(3).unwrap_err();
    assert_eq!((lost.stripes, lost.lun_bytes), (lost.stripes_in_all, VOLUME));
}

#[test]
fn a_vdev_that_is_added_gets_more_than_its_share_and_a_saved_run_knows_it() {
    let mut config = pool(&[(AllocationClass::Normal, 2_048 * MIB)]);
    config.late_vdevs = 1;
    let mut machine = Machine::new(config.clone());
    assert_eq!(machine.array.groups()[1].free_blocks, None);
    overwrite(&mut machine, (0..300).map(|block| block * 37));
    let before = in_use(&machine.array)[0];
    assert!(machine.array.add_group(machine.drives.now_ns, &mut machine.drives));
    assert!(!machine.array.add_group(machine.drives.now_ns, &mut machine.drives));
    for _ in 0..4 {
        overwrite(&mut machine, (0..4_000).map(|block| block * 37 % 32_768));
    }
    let [old, new] = in_use(&machine.array)[..] else { panic!("two vdevs") };
    assert!(old < before, "{old} of {before}");
    // It is larger and emptier, so nearly all goes there.
    assert!(new > 4_000, "{new}");

    let mut bytes = Vec::new();
    let mut writer = StateWriter::new(&mut bytes);
    machine.array.save(&mut writer).unwrap();
    writer.finish().unwrap();
    let mut built = ZfsArray::new(config).unwrap();
    let mut reader = StateReader::new(&bytes);
    built.restore(&mut reader).unwrap();
    reader.finish().unwrap();
    assert_eq!(in_use(&built), [old, new]);
    assert_eq!(built.layout(), machine.array.layout());
}
