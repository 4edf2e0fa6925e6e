//! A mirrored log: faults of one of its two devices lose nothing.

use strewn_array::write_anywhere::{WriteAnywhere, WriteAnywhereConfig};
use strewn_live::data::Data;
use strewn_live::device::{DeviceIndex, Devices, SimulatedDevices, SimulatedDisk};
use strewn_live::engine::{Answer, HostRequest, RequestId, TargetId};
use strewn_live::format::{FEATURE_MIRRORED_LOG, Identity, Member, MemberState};
use strewn_live::log::{LogDeviceFinding, LogReadError};
use strewn_live::restart::{RestartError, RestartOptions, restart_write_anywhere};
use strewn_live::running::RunningArray;
use strewn_raid::Parity;

use super::{BLOCK, config, fresh_devices, read, write};

type Array = RunningArray<SimulatedDevices, WriteAnywhere<Data>>;

/// The byte that the last write of a test consists of.
const LAST: u8 = 0xa5;
const WRITES: u64 = 20;

/// Devices of a new array with a mirrored log.
fn mirrored(seed: u64, config: &WriteAnywhereConfig) -> (SimulatedDevices, RestartOptions) {
    let (devices, mut beginning) = fresh_devices(seed, config);
    let label = &mut beginning.label;
    label.incompatible_features |= FEATURE_MIRRORED_LOG;
    label.logs.push(Member { identity: Identity([98; 16]), state: MemberState::Present });
    let mut disks = devices.disks();
    let log = label.log_layout().device_blocks();
    disks.push(SimulatedDisk::zeroed(log * BLOCK as u64));
    (SimulatedDevices::new(seed, disks), beginning)
}

fn logs(config: &WriteAnywhereConfig) -> [DeviceIndex; 2] {
    let spindles = config.single_group().spindles();
    [DeviceIndex(spindles), DeviceIndex(spindles + 1)]
}

fn start(
    devices: SimulatedDevices,
    beginning: &RestartOptions,
    config: &WriteAnywhereConfig,
) -> Result<Array, RestartError> {
    restart_write_anywhere(devices, beginning, config)
}

fn write_blocks(array: &mut Array) {
    for block in 0..WRITES {
        write(array, block * 8, vec![block as u8; BLOCK]);
    }
    write(array, WRITES * 8, vec![LAST; BLOCK]);
}

fn check_blocks(array: &mut Array) {
    for block in 0..WRITES {
        assert_eq!(read(array, block * 8, 8), [block as u8; BLOCK], "block {block}");
    }
    assert_eq!(read(array, WRITES * 8, 8), [LAST; BLOCK]);
}

/// What the devices hold after writes and a power loss.
fn crashed(seed: u64, config: &WriteAnywhereConfig) -> (SimulatedDevices, RestartOptions) {
    let (devices, beginning) = mirrored(seed, config);
    let mut array = start(devices, &beginning, config).unwrap();
    write_blocks(&mut array);
    let mut devices = array.into_devices();
    devices.crash();
    (devices, beginning)
}

/// The record of the last write on a device.
fn last_record(devices: &SimulatedDevices, log: DeviceIndex) -> u64 {
    let mut places = (0..).map(|block| block * BLOCK as u64);
    let is_last = |at: &u64| {
        let mut block = [0; BLOCK];
        devices.disk(log).read(*at, &mut block).unwrap();
        block.iter().filter(|byte| **byte == LAST).count() > BLOCK / 2
    };
    places.find(is_last).unwrap()
}

fn erase(devices: &mut SimulatedDevices, log: DeviceIndex, beginning: &RestartOptions) {
    let layout = beginning.label.log_layout();
    for half in layout.redo_halves() {
        devices.erase(log, half, layout.redo_half_blocks * BLOCK as u64);
    }
    for half in layout.halves() {
        devices.erase(log, half, layout.half_bytes());
    }
}

#[test]
fn a_bit_of_the_last_record_flipped_on_one_device_loses_nothing() {
    let config = config(Parity::RaidDp, 3);
    for log in logs(&config) {
        let (mut devices, beginning) = crashed(21, &config);
        let at = last_record(&devices, log);
        devices.corrupt(log, at + BLOCK as u64 / 2, 1);
        let mut array = start(devices, &beginning, &config).unwrap();
        check_blocks(&mut array);
        assert_eq!(array.log_findings(), [], "a power loss leaves the same");
    }
}

#[test]
fn either_device_erased_loses_nothing_and_is_told() {
    let config = config(Parity::RaidDp, 3);
    for log in logs(&config) {
        let (mut devices, beginning) = crashed(22, &config);
        erase(&mut devices, log, &beginning);
        let mut array = start(devices, &beginning, &config).unwrap();
        check_blocks(&mut array);
        assert!(matches!(
            array.log_findings(),
            [LogDeviceFinding::Lacks { device, records: WRITES.. }] if *device == log
        ));
        // Both have everything, and are in use again.
        let [a, b] = logs(&config).map(|log| last_record(array.devices(), log));
        assert_eq!(a, b);
        write(&mut array, 0, vec![9; BLOCK]);
        assert!(array.engine().label().logs.iter().all(|log| log.state == MemberState::Present));
    }
}

/// Records damaged here on one device, there on the other: each is whole on one of them.
#[test]
fn each_record_is_read_from_the_device_that_has_it_whole() {
    let config = config(Parity::RaidDp, 3);
    let (mut devices, beginning) = crashed(23, &config);
    let [a, b] = logs(&config);
    let last = last_record(&devices, a);
    // A record of one block begins every two blocks.
    for (back, log) in [(0, a), (2, b), (4, a), (6, b), (14, a)] {
        devices.corrupt(log, last - back * BLOCK as u64 + 100, 1);
    }
    check_blocks(&mut start(devices, &beginning, &config).unwrap());
}

#[test]
fn damage_to_both_devices_is_refused_as_that_of_a_single_one() {
    let config = config(Parity::RaidDp, 3);
    let (mut devices, beginning) = crashed(24, &config);
    for log in logs(&config) {
        erase(&mut devices, log, &beginning);
    }
    let refused = start(devices, &beginning, &config).map(|_| ()).unwrap_err();
    assert!(matches!(refused, RestartError::LogBreaksOff(_)), "{refused}");
}

#[test]
fn devices_of_different_histories_are_refused() {
    let config = config(Parity::RaidDp, 3);
    let [_, b] = logs(&config);
    let (devices, beginning) = mirrored(25, &config);
    let mut array = start(devices, &beginning, &config).unwrap();
    write(&mut array, 0, vec![1; BLOCK]);
    write_blocks(&mut array);
    let other = array.devices().disk(b).clone();
    let (mut devices, beginning) = crashed(25, &config);
    devices.replace(b, other);
    let refused = start(devices, &beginning, &config).map(|_| ()).unwrap_err();
    assert!(matches!(refused, RestartError::Log(LogReadError::Differ(_))), "{refused}");
}

#[test]
fn a_device_that_does_not_return_is_marked_as_failed_and_not_read_again() {
    let config = config(Parity::RaidDp, 3);
    for (position, log) in logs(&config).into_iter().enumerate() {
        let (mut devices, mut beginning) = crashed(26, &config);
        let away = devices.disk(log).clone();
        devices.close(log);
        let mut array = start(devices, &beginning, &config).unwrap();
        check_blocks(&mut array);
        assert!(matches!(array.log_findings(), [LogDeviceFinding::Failed { .. }]));
        beginning.label = array.engine().label().clone();
        assert_eq!(beginning.label.logs[position].state, MemberState::Failed);
        write(&mut array, 0, vec![7; BLOCK]);
        let mut devices = array.into_devices();
        devices.crash();
        // It returns with what it had.
        devices.replace(log, away);
        let mut array = start(devices, &beginning, &config).unwrap();
        assert_eq!(read(&mut array, 0, 8), [7; BLOCK]);
    }
}

/// While the array runs. No write is acknowledged before the labels say that the device has failed.
#[test]
fn a_device_that_fails_is_marked_as_failed_before_a_write_is_acknowledged_without_it() {
    let config = config(Parity::RaidDp, 3);
    for (position, log) in logs(&config).into_iter().enumerate() {
        let (devices, mut beginning) = mirrored(27, &config);
        let mut array = start(devices, &beginning, &config).unwrap();
        write(&mut array, 0, vec![1; BLOCK]);
        let before = array.engine().label().sequence;
        array.devices_mut().lose_device(log, "pulled");
        let data = vec![2; BLOCK];
        array.submit(
            RequestId(5),
            TargetId::FIRST_LUN,
            HostRequest::Write { first_sector: 0, data },
        );
        let mut answers = Vec::new();
        while answers.is_empty() {
            array.poll(None);
            array.engine_mut().take_answers(&mut answers);
        }
        assert_eq!(answers, [(RequestId(5), Ok(Answer::Done))]);
        for spindle in 0..config.single_group().spindles() {
            let mut block = [0; BLOCK];
            array.devices().disk(DeviceIndex(spindle)).read(0, &mut block).unwrap();
            let label = strewn_live::format::Label::decode(&block).unwrap();
            assert_eq!(label.logs[position].state, MemberState::Failed);
            assert_eq!(label.sequence, before + 1);
        }
        write_blocks(&mut array);
        beginning.label = array.engine().label().clone();
        let mut devices = array.into_devices();
        devices.crash();
        check_blocks(&mut start(devices, &beginning, &config).unwrap());
    }
}

#[test]
fn an_array_whose_log_has_lost_both_devices_stops() {
    let config = config(Parity::RaidDp, 3);
    let (devices, beginning) = mirrored(28, &config);
    let mut array = start(devices, &beginning, &config).unwrap();
    write(&mut array, 0, vec![1; BLOCK]);
    for log in logs(&config) {
        array.devices_mut().lose_device(log, "pulled");
    }
    let data = vec![2; BLOCK];
    let answer =
        array.ask(RequestId(5), TargetId::FIRST_LUN, HostRequest::Write { first_sector: 0, data });
    assert!(answer.is_err());
    assert!(array.engine().stopped().is_some());
}
