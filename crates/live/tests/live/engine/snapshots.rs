//! Snapshots of an array over simulated devices, and what a restart makes of frees that were held back.

use strewn_alloc::PolicyName;
use strewn_array::write_anywhere::WriteAnywhereConfig;
use strewn_live::administration::{Change, ChangeError, SnapshotName, VolumeName};
use strewn_live::check::check_write_anywhere;
use strewn_live::device::{DeviceIndex, Devices, SimulatedDevices};
use strewn_live::format::Label;
use strewn_live::restart::{RestartOptions, restart_write_anywhere};
use strewn_live::snapshots::{SnapshotError, read_image};
use strewn_raid::{Parity, ParityGroup};

use super::{Array, BLOCK, LUN_BLOCKS, config, fresh_devices, write};

/// Writes blocks with a byte each that says which and when.
fn write_blocks(array: &mut Array, blocks: impl IntoIterator<Item = u32>, when: u8) {
    for block in blocks {
        let data = vec![block as u8 ^ when; BLOCK];
        write(array, u64::from(block) * 8, data);
    }
}

fn named(name: &str) -> SnapshotName {
    SnapshotName::new(VolumeName::first(), name).unwrap()
}

fn take(array: &mut Array, name: &str, taken_unix_seconds: u64) -> Result<(), ChangeError> {
    array.administer(Change::TakeSnapshot { snapshot: named(name), taken_unix_seconds })
}

fn delete(array: &mut Array, name: &str) -> Result<(), ChangeError> {
    array.administer(Change::DeleteSnapshot { snapshot: named(name) })
}

/// The first byte of each block of a snapshot's image, all of which has it; 0 of those that were never written.
fn image(
    devices: &mut SimulatedDevices,
    label: &Label,
    config: &WriteAnywhereConfig,
    name: &str,
) -> Result<Vec<u8>, SnapshotError> {
    let mut image = vec![0; LUN_BLOCKS as usize];
    let begin = |_| Ok(());
    read_image(devices, label, config, (&named(name), "lun"), begin, |block, bytes| {
        assert!(bytes.iter().all(|byte| *byte == bytes[0]), "block {block}");
        image[block as usize] = bytes[0];
        Ok(())
    })?;
    Ok(image)
}

fn restart(array: Array, beginning: &mut RestartOptions, config: &WriteAnywhereConfig) -> Array {
    beginning.label = array.engine().label().clone();
    restart_write_anywhere(array.into_devices(), beginning, config).unwrap()
}

/// Shuts the array down, and finds nothing wrong with it.
fn checked(
    mut array: Array,
    beginning: &mut RestartOptions,
    config: &WriteAnywhereConfig,
) -> SimulatedDevices {
    array.shut_down().unwrap();
    beginning.label = array.engine().label().clone();
    let mut devices = array.into_devices();
    let report = check_write_anywhere(&mut devices, &beginning.label, config);
    assert_eq!(report.findings, []);
    devices
}

#[test]
fn a_snapshot_has_what_the_lun_had_however_often_that_is_written_over() {
    let mut config = config(Parity::RaidDp, 5);
    config.groups = vec![ParityGroup::new(Parity::RaidDp, 5, 8_192).unwrap()];
    let (devices, mut beginning) = fresh_devices(11, &config);
    let mut array = restart_write_anywhere(devices, &beginning, &config).unwrap();
    write_blocks(&mut array, (0..LUN_BLOCKS).filter(|block| block % 3 != 0), 1);
    take(&mut array, "monday", 1_000).unwrap();
    write_blocks(&mut array, (0..LUN_BLOCKS).filter(|block| block % 2 == 0), 2);
    let mut array = restart(array, &mut beginning, &config);
    take(&mut array, "tuesday \u{e4}", 2_000).unwrap();
    assert!(matches!(take(&mut array, "monday", 0), Err(ChangeError::Exists(_))));
    // The catalog could not be read back, and no start would succeed again.
    for never in [1 << 63, u64::MAX] {
        assert!(matches!(take(&mut array, "never", never), Err(ChangeError::Impossible(_))));
    }
    take(&mut array, "last", (1 << 63) - 1).unwrap();
    for when in 3..7 {
        write_blocks(&mut array, 0..LUN_BLOCKS, when);
        array = restart(array, &mut beginning, &config);
    }

    let monday: Vec<u8> =
        (0..LUN_BLOCKS).map(|block| if block % 3 == 0 { 0 } else { block as u8 ^ 1 }).collect();
    let tuesday = monday.iter().zip(0..LUN_BLOCKS);
    let tuesday: Vec<u8> = tuesday
        .map(|(before, block)| if block % 2 == 0 { block as u8 ^ 2 } else { *before })
        .collect();
    let mut devices = checked(array, &mut beginning, &config);
    // Two spindles are lost, and what they had is computed.
    for lost in [1, 4] {
        assert_eq!(image(&mut devices, &beginning.label, &config, "monday").unwrap(), monday);
        assert_eq!(
            image(&mut devices, &beginning.label, &config, "tuesday \u{e4}").unwrap(),
            tuesday
        );
        devices.close(DeviceIndex(lost));
    }
}

#[test]
fn what_only_a_deleted_snapshot_held_is_free() {
    let config = config(Parity::Raid4, 6);
    let (devices, mut beginning) = fresh_devices(12, &config);
    let mut array = restart_write_anywhere(devices, &beginning, &config).unwrap();
    write_blocks(&mut array, 0..LUN_BLOCKS, 1);
    take(&mut array, "one", 0).unwrap();
    write_blocks(&mut array, 0..LUN_BLOCKS / 2, 2);
    take(&mut array, "two", 0).unwrap();
    write_blocks(&mut array, 0..LUN_BLOCKS, 3);
    delete(&mut array, "one").unwrap();
    assert!(matches!(delete(&mut array, "one"), Err(ChangeError::NoSuchSnapshot(_))));
    // Before any consistency point: what it held is in use and nobody's.
    let devices = checked(array, &mut beginning, &config);
    let mut array = restart_write_anywhere(devices, &beginning, &config).unwrap();
    write_blocks(&mut array, 7..9, 4);
    let mut devices = checked(array, &mut beginning, &config);
    let two = image(&mut devices, &beginning.label, &config, "two").unwrap();
    for (block, found) in (0..).zip(two) {
        assert_eq!(found, block as u8 ^ if block < LUN_BLOCKS / 2 { 2 } else { 1 });
    }
    assert!(matches!(
        image(&mut devices, &beginning.label, &config, "one"),
        Err(SnapshotError::NoSuchSnapshot(_))
    ));
    // One, two, three, … as long as the array runs: none leaves anything behind.
    let mut array = restart_write_anywhere(devices, &beginning, &config).unwrap();
    delete(&mut array, "two").unwrap();
    for when in 10..30 {
        write_blocks(&mut array, 0..LUN_BLOCKS, when);
        take(&mut array, "again", 0).unwrap();
        write_blocks(&mut array, 0..LUN_BLOCKS, when + 1);
        delete(&mut array, "again").unwrap();
    }
    checked(array, &mut beginning, &config);
}

#[test]
fn a_snapshot_without_room_for_the_lun_beside_it_is_refused() {
    let config = config(Parity::RaidDp, 4);
    let (devices, mut beginning) = fresh_devices(13, &config);
    let mut array = restart_write_anywhere(devices, &beginning, &config).unwrap();
    let mut taken = 0;
    let lacking = loop {
        write_blocks(&mut array, 0..LUN_BLOCKS, taken + 1);
        match take(&mut array, &taken.to_string(), 0) {
            Ok(()) => taken += 1,
            Err(ChangeError::NoRoom { lacking_bytes }) => break lacking_bytes / BLOCK as u64,
            Err(error) => panic!("{error}"),
        }
    };
    assert!((1..=u64::from(LUN_BLOCKS)).contains(&lacking), "{lacking}");
    assert!(taken >= 1);
    // And what there are leave the array room enough.
    for when in 0..10 {
        write_blocks(&mut array, 0..LUN_BLOCKS, 100 + when);
    }
    checked(array, &mut beginning, &config);
}

#[test]
fn regression_a_restart_leaves_no_block_in_use_whose_free_was_held_back() {
    let mut config = config(Parity::Raid4, 4);
    // Three blocks of bitmap, one behind the other on one spindle, so that a consistency point does not write all of
    // them.
    config.groups = vec![ParityGroup::new(Parity::Raid4, 1, 98_304).unwrap()];
    config.policy = PolicyName::SequentialSweep;
    config.delayed_free_blocks = 2_000;
    let (devices, mut beginning) = fresh_devices(14, &config);
    let mut array = restart_write_anywhere(devices, &beginning, &config).unwrap();
    // So much that all of the bitmap is written at some time.
    for when in 0..30 {
        write_blocks(&mut array, 0..LUN_BLOCKS, when);
    }
    // And away from some of the LUN, whose places are given up then, and held back.
    for when in 30..48 {
        write_blocks(&mut array, 2_000..LUN_BLOCKS, when);
    }
    write_blocks(&mut array, 0..500, 50);
    let devices = checked(array, &mut beginning, &config);
    let mut array = restart_write_anywhere(devices, &beginning, &config).unwrap();
    assert!(array.engine().superblock().root.held_back_blocks > 0);
    write_blocks(&mut array, [4_000], 51);
    checked(array, &mut beginning, &config);
}
