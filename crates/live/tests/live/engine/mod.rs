//! A whole array, bytes and all, over simulated devices.

mod changed_volumes;
pub mod fresh;
mod in_place;
mod in_place_check;
mod in_place_rig;
mod last_record;
mod mirrored_log;
mod no_space;
mod old_blocks;
mod overlapping;
mod scrub;
mod snapshots;
mod volumes;

use strewn_alloc::AllocationShape;
use strewn_array::write_anywhere::{CacheStart, VolumeConfig, WriteAnywhere, WriteAnywhereConfig};
use strewn_array::{Format, LogSize};
use strewn_live::data::Data;
use strewn_live::device::{DeviceIndex, Devices, SimulatedDevices, SimulatedDisk};
use strewn_live::engine::{Answer, HostRequest, RequestError, RequestId, TargetId};
use strewn_live::format::{LogLayout, MemberState};
use strewn_live::restart::{RestartOptions, restart_write_anywhere};
use strewn_live::running::RunningArray;
use strewn_raid::{Parity, ParityGroup};

const BLOCK: usize = 4096;
const LUN_BLOCKS: u32 = 4_096;
const LOG_HALF_BYTES: u64 = 1 << 20;

fn config(parity: Parity, data_spindles: u16) -> WriteAnywhereConfig {
    let cache_blocks = 1_024;
    WriteAnywhereConfig {
        shape: AllocationShape { area_stripes: 512, tetris_stripes: 64, chunk_blocks: 64 },
        format: Format::Durable,
        protected_blocks: cache_blocks / 2,
        dirty_limit_blocks: cache_blocks / 3,
        delayed_free_blocks: 100,
        cache_start: CacheStart::Empty,
        ..WriteAnywhereConfig::new(
            vec![ParityGroup::new(parity, data_spindles, 4_096).unwrap()],
            vec![VolumeConfig::of_one_lun(
                WriteAnywhereConfig::volume_blocks_for(LUN_BLOCKS.into(), 100, cache_blocks),
                LUN_BLOCKS,
            )],
            LogSize {
                half_bytes: LOG_HALF_BYTES,
                record_header_bytes: LogLayout::ACCOUNTED_RECORD_BYTES,
            },
            cache_blocks,
        )
    }
}

/// Devices with an array that was just made.
fn fresh_devices(seed: u64, config: &WriteAnywhereConfig) -> (SimulatedDevices, RestartOptions) {
    let spindles = config.single_group().spindles();
    let layout = LogLayout::new(LOG_HALF_BYTES, spindles);
    let lun_sectors = u64::from(LUN_BLOCKS) * 8;
    fresh::devices(seed, spindles, config.single_group().blocks_per_spindle(), layout, lun_sectors)
}

type Array = RunningArray<SimulatedDevices, WriteAnywhere<Data>>;

fn write(array: &mut Array, first_sector: u64, data: Vec<u8>) {
    let answer =
        array.ask(RequestId(1), TargetId::FIRST_LUN, HostRequest::Write { first_sector, data });
    assert_eq!(answer, Ok(Answer::Done));
}

fn read(array: &mut Array, first_sector: u64, sectors: u64) -> Vec<u8> {
    match array.ask(
        RequestId(2),
        TargetId::FIRST_LUN,
        HostRequest::Read(first_sector..first_sector + sectors),
    ) {
        Ok(Answer::Bytes(bytes)) => bytes,
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_was_written_is_there_after_a_restart_with_or_without_a_crash() {
    for crash in [false, true] {
        let config = config(Parity::RaidDp, 5);
        let (devices, beginning) = fresh_devices(3, &config);
        let mut array = restart_write_anywhere(devices, &beginning, &config).unwrap();
        let mut shadow = vec![0u8; LUN_BLOCKS as usize * BLOCK];
        let mut state = 12_345u64;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            state >> 33
        };
        for round in 0..1_500u64 {
            let sectors = 1 + next() % 64;
            let first_sector = next() % (u64::from(LUN_BLOCKS) * 8 - sectors);
            let bytes: Vec<u8> =
                (0..sectors * 512).map(|at| (at + round) as u8 ^ (at >> 8) as u8).collect();
            let from = first_sector as usize * 512;
            if round % 7 == 3 {
                let request = HostRequest::Zero(first_sector..first_sector + sectors);
                assert_eq!(array.ask(RequestId(1), TargetId::FIRST_LUN, request), Ok(Answer::Done));
                shadow[from..from + bytes.len()].fill(0);
            } else {
                shadow[from..from + bytes.len()].copy_from_slice(&bytes);
                write(&mut array, first_sector, bytes);
            }
            if round % 5 == 0 {
                assert_eq!(
                    read(&mut array, first_sector, sectors),
                    &shadow[from..from + sectors as usize * 512]
                );
            }
        }
        assert!(array.engine().superblock().consistency_point > 10);
        let devices = if crash {
            let mut devices = array.into_devices();
            devices.crash();
            devices
        } else {
            array.shut_down().unwrap();
            array.into_devices()
        };
        let mut array = restart_write_anywhere(devices, &beginning, &config).unwrap();
        for first_sector in (0..u64::from(LUN_BLOCKS) * 8).step_by(1_024) {
            let from = first_sector as usize * 512;
            let bytes = read(&mut array, first_sector, 1_024);
            assert!(
                bytes == shadow[from..from + 1_024 * 512],
                "at sector {first_sector}, crash {crash}"
            );
        }
        array.shut_down().unwrap();
    }
}

#[test]
fn a_rebuild_does_not_keep_an_array_from_starting_nor_from_being_shut_down() {
    const LOST: u16 = 2;
    let config = config(Parity::RaidDp, 5);
    let (devices, mut beginning) = fresh_devices(4, &config);
    let mut array = restart_write_anywhere(devices, &beginning, &config).unwrap();
    let blocks = u64::from(LUN_BLOCKS);
    let bytes = |block: u64, round: u8| vec![block as u8 ^ round; BLOCK];
    for block in 0..blocks {
        write(&mut array, block * 8, bytes(block, 0));
    }
    array.shut_down().unwrap();

    let mut devices = array.into_devices();
    let blank = SimulatedDisk::zeroed(devices.size_bytes(DeviceIndex(LOST)));
    devices.replace(DeviceIndex(LOST), blank);
    devices.set_slow(DeviceIndex(LOST), 100);
    beginning.label.members[usize::from(LOST)].state = MemberState::Rebuilding;
    for round in 1..4 {
        let mut array = restart_write_anywhere(devices, &beginning, &config).unwrap();
        assert!(array.engine().is_rebuilding(), "start {round} has waited for the rebuild");
        for block in (0..blocks).step_by(61) {
            assert_eq!(read(&mut array, block * 8, 8), bytes(block, round - 1));
            write(&mut array, block * 8, bytes(block, round));
        }
        assert!(array.engine().is_rebuilding(), "there was nothing to interrupt");
        // By order or by a loss of power.
        if round == 2 {
            devices = array.into_devices();
            devices.crash();
        } else {
            array.shut_down().unwrap();
            devices = array.into_devices();
        }
    }
    devices.set_slow(DeviceIndex(LOST), 1);
    let mut array = restart_write_anywhere(devices, &beginning, &config).unwrap();
    while array.engine().is_rebuilding() {
        array.poll(None);
    }
    // What was rebuilt is read when others are lost.
    for other in [0, 1] {
        array.devices_mut().lose_device(DeviceIndex(other), "it broke");
    }
    for block in (0..blocks).step_by(61) {
        assert_eq!(read(&mut array, block * 8, 8), bytes(block, 3));
    }
}

#[test]
fn a_target_that_the_array_does_not_have_is_refused() {
    let config = config(Parity::Raid4, 3);
    let (devices, beginning) = fresh_devices(1, &config);
    let mut array = restart_write_anywhere(devices, &beginning, &config).unwrap();
    for request in [HostRequest::Read(0..8), HostRequest::Flush] {
        for target in [TargetId(0), TargetId(2), TargetId::FIRST_IN_SNAPSHOT] {
            let answer = array.ask(RequestId(0), target, request.clone());
            assert_eq!(answer, Err(RequestError::NoSuchTarget));
            assert_eq!(array.engine().target_sectors(target), None);
        }
    }
    let sectors = array.engine().target_sectors(TargetId::FIRST_LUN);
    assert_eq!(sectors, Some(u64::from(LUN_BLOCKS) * 8));
}
