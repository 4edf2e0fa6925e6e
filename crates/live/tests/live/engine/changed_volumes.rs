//! Regressions of changes to volumes, LUNs and snapshots.

use strewn_array::write_anywhere::WriteAnywhereConfig;
use strewn_live::administration::{Change, ChangeError};
use strewn_live::check::check_write_anywhere;
use strewn_live::device::{DeviceIndex, Devices, SimulatedDevices, SimulatedDisk};
use strewn_live::engine::{Answer, HostRequest, RequestError, RequestId, TargetId};
use strewn_live::restart::{RestartOptions, restart_write_anywhere};
use strewn_live::snapshots::read_image;
use strewn_raid::{Parity, ParityGroup, SpindleIndex};

use super::{Array, BLOCK, config, fresh_devices};

/// An array with room for more LUNs.
fn array(seed: u64) -> (Array, RestartOptions, WriteAnywhereConfig) {
    let mut config = config(Parity::RaidDp, 3);
    config.groups = vec![ParityGroup::new(Parity::RaidDp, 3, 8_192).unwrap()];
    let (devices, beginning) = fresh_devices(seed, &config);
    (restart_write_anywhere(devices, &beginning, &config).unwrap(), beginning, config)
}

fn create_lun(name: &str, blocks: usize) -> Change {
    Change::CreateLun { lun: name.parse().unwrap(), bytes: (blocks * BLOCK) as u64 }
}

fn create_volume(name: &str) -> Change {
    let bytes = Some(100 * BLOCK as u64);
    Change::CreateVolume { volume: name.parse().unwrap(), bytes, thin: true }
}

fn take_snapshot(name: &str) -> Change {
    Change::TakeSnapshot { snapshot: name.parse().unwrap(), taken_unix_seconds: 7 }
}

fn lun(array: &Array, name: &str) -> TargetId {
    array.inventory().lun(&name.parse().unwrap()).unwrap().target
}

fn in_snapshot(array: &Array, name: &str) -> TargetId {
    let inventory = array.inventory();
    inventory.snapshot(&name.parse().unwrap()).unwrap().luns[0].target.unwrap()
}

fn write(array: &mut Array, target: TargetId, bytes: &[u8]) -> Result<Answer, RequestError> {
    let request = HostRequest::Write { first_sector: 0, data: bytes.to_vec() };
    array.ask(RequestId(1), target, request)
}

fn read(array: &mut Array, target: TargetId, blocks: usize) -> Vec<u8> {
    match array.ask(RequestId(1), target, HostRequest::Read(0..blocks as u64 * 8)) {
        Ok(Answer::Bytes(bytes)) => bytes,
        other => panic!("{other:?}"),
    }
}

fn shut_down(mut array: Array, beginning: &mut RestartOptions) -> SimulatedDevices {
    array.shut_down().unwrap();
    beginning.label = array.engine().label().clone();
    array.into_devices()
}

fn assert_consistent(
    devices: &mut SimulatedDevices,
    beginning: &RestartOptions,
    config: &WriteAnywhereConfig,
) {
    assert_eq!(check_write_anywhere(devices, &beginning.label, config).findings, []);
}

/// A LUN of one block hung from its inode if it was the only one of the array, and had an indirect block otherwise; a
/// snapshot was read as if its LUNs were the only ones.
#[test]
fn regression_a_snapshot_of_a_lun_of_one_block_is_read() {
    let (mut array, mut beginning, config) = array(1);
    let (old, new) = (vec![1; BLOCK], vec![2; BLOCK]);
    array.administer(create_volume("a")).unwrap();
    array.administer(create_lun("a/one", 1)).unwrap();
    let one = lun(&array, "a/one");
    write(&mut array, one, &old).unwrap();
    array.administer(take_snapshot("a@monday")).unwrap();
    // Then it is the only one, and then it is not.
    array.administer(Change::DeleteLun { lun: "volume/lun".parse().unwrap() }).unwrap();
    array.administer(take_snapshot("a@tuesday")).unwrap();
    array.administer(create_lun("volume/lun", 10)).unwrap();
    write(&mut array, one, &new).unwrap();
    let mut devices = shut_down(array, &mut beginning);
    assert_consistent(&mut devices, &beginning, &config);
    for name in ["a@monday", "a@tuesday"] {
        let mut image = Vec::new();
        let snapshot = name.parse().unwrap();
        let label = &beginning.label;
        let lun = (&snapshot, "one");
        let block = |number: u32, bytes: &[u8]| {
            image.push((number, bytes.to_vec()));
            Ok(())
        };
        read_image(&mut devices, label, &config, lun, |_| Ok(()), block).unwrap();
        assert_eq!(image, [(0, old.clone())], "{name}");
    }
    let mut array = restart_write_anywhere(devices, &beginning, &config).unwrap();
    assert_eq!(read(&mut array, one, 1), new);
    for name in ["a@monday", "a@tuesday"] {
        let target = in_snapshot(&array, name);
        assert_eq!(read(&mut array, target, 1), old, "{name}");
    }
}

/// Blocks of a LUN that is gone were rebuilt without their names, or with those of other blocks.
#[test]
fn regression_blocks_that_only_snapshots_hold_are_rebuilt_as_what_they_are() {
    for is_restarted in [false, true] {
        let (mut array, mut beginning, config) = array(2);
        let bytes: Vec<u8> = (0..90 * BLOCK).map(|at| (at / BLOCK) as u8).collect();
        array.administer(create_volume("a")).unwrap();
        array.administer(create_lun("a/x", 90)).unwrap();
        let target = lun(&array, "a/x");
        write(&mut array, target, &bytes).unwrap();
        array.administer(take_snapshot("a@monday")).unwrap();
        array.administer(Change::DeleteLun { lun: "a/x".parse().unwrap() }).unwrap();
        // Its keys are those of other blocks now.
        array.administer(create_lun("a/y", 80)).unwrap();
        if is_restarted {
            let devices = shut_down(array, &mut beginning);
            array = restart_write_anywhere(devices, &beginning, &config).unwrap();
        }
        for spindle in [0, 1] {
            let device = DeviceIndex(spindle);
            array.devices_mut().lose_device(device, "it broke");
            let target = lun(&array, "a/y");
            write(&mut array, target, &bytes[..BLOCK]).unwrap();
            array.catch_up().unwrap();
            let blank = SimulatedDisk::zeroed(array.devices().size_bytes(device));
            array.devices_mut().replace(device, blank);
            let now_ns = array.now_ns();
            array.engine_mut().replaced(now_ns, SpindleIndex(spindle));
            array.clean().unwrap();
            while array.engine().is_rebuilding() {
                array.poll(None);
            }
        }
        let mut devices = shut_down(array, &mut beginning);
        assert_consistent(&mut devices, &beginning, &config);
        let mut array = restart_write_anywhere(devices, &beginning, &config).unwrap();
        let target = in_snapshot(&array, "a@monday");
        assert!(read(&mut array, target, 90) == bytes);
    }
}

/// A change could not be written for lack of space. When there was space again, writes to a new LUN could be
/// acknowledged before the change was durable; after a power loss, the array did not start.
#[test]
fn regression_nothing_is_acknowledged_before_the_change_that_it_needs() {
    let mut config = config(Parity::RaidDp, 3);
    // A consistency point has many tetrises, one after the other.
    config.groups = vec![ParityGroup::new(Parity::RaidDp, 3, 8_192).unwrap()];
    config.shape.tetris_stripes = 4;
    config.shape.chunk_blocks = 4;
    config.tetrises_in_flight = 1;
    let spindles = [0, 1, 2, 3, 4].map(DeviceIndex);
    let mut has_clone = [0, 0];
    for polls in 0..120 {
        let (devices, beginning) = fresh_devices(3, &config);
        let mut array = restart_write_anywhere(devices, &beginning, &config).unwrap();
        let first = TargetId::FIRST_LUN;
        for at in 0..8 {
            let request = HostRequest::Write { first_sector: at * 4_096, data: vec![1; BLOCK] };
            array.ask(RequestId(1), first, request).unwrap();
            array.administer(create_volume(&format!("v{at}"))).unwrap();
        }
        array.administer(take_snapshot("volume@monday")).unwrap();
        spindles.iter().for_each(|one| array.devices_mut().set_full(*one, true));
        let (volume, of) = ("a".parse().unwrap(), "volume@monday".parse().unwrap());
        let refused = array.administer(Change::CreateClone { volume, of });
        assert!(matches!(refused, Err(ChangeError::NoSpace(_))), "{refused:?}");
        spindles.iter().for_each(|one| array.devices_mut().set_full(*one, false));
        let (clone, bytes) = (lun(&array, "a/lun"), vec![9; 3 * BLOCK]);
        // It is refused until then.
        let mut is_written = false;
        for _ in 0..polls {
            array.poll(None);
            is_written = is_written || write(&mut array, clone, &bytes).is_ok();
        }
        let mut devices = array.into_devices();
        devices.crash();
        let mut array = restart_write_anywhere(devices, &beginning, &config).unwrap();
        let is_there = array.inventory().lun(&"a/lun".parse().unwrap()).is_some();
        has_clone[usize::from(is_there)] += 1;
        assert!(is_there || !is_written);
        if is_written {
            assert!(read(&mut array, clone, 3) == bytes);
        }
    }
    assert!(has_clone.iter().all(|count| *count > 0), "{has_clone:?}");
}
