//! Writes that a drive reported as done and never did, beside a lost spindle: two faults, which RAID-DP covers.

use strewn_base::Rng;
use strewn_live::check::{Inconsistency, check_write_anywhere};
use strewn_live::device::{DeviceIndex, Devices, SimulatedDevices, SimulatedDisk};
use strewn_live::format::{
    ENTRY_BYTES, MemberState, ROW_DATA_BLOCKS, Superblock, checksum_block, device_block,
};
use strewn_live::restart::{RestartError, newest_superblock, restart_write_anywhere};
use strewn_raid::{Dbn, Parity};

use super::{Array, BLOCK, LUN_BLOCKS, config, fresh_devices, read, write};

pub(super) fn bytes(block: u64, round: u32) -> Vec<u8> {
    let one = (block as u32).wrapping_mul(0x9e37_79b9) ^ round.wrapping_mul(0x85eb_ca6b);
    one.to_le_bytes().repeat(BLOCK / 4)
}

pub(super) fn overwrite(array: &mut Array, rng: &mut Rng, rounds: &mut [u32], times: u32) {
    for _ in 0..times {
        let block = rng.below(LUN_BLOCKS.into());
        rounds[block as usize] += 1;
        write(array, block * 8, bytes(block, rounds[block as usize]));
    }
}

pub(super) fn check(array: &mut Array, rounds: &[u32]) {
    for (block, round) in (0u64..).zip(rounds) {
        assert!(read(array, block * 8, 8) == bytes(block, *round), "block {block}");
    }
}

/// Puts half of the blocks that changed back as they were, each with its checksum; returns how many.
pub(super) fn take_back(
    disk: &mut SimulatedDisk,
    before: &SimulatedDisk,
    blocks: u64,
    rng: &mut Rng,
) -> u32 {
    let block_of = |disk: &SimulatedDisk, block: u64| {
        let mut bytes = vec![0; BLOCK];
        disk.read(block * BLOCK as u64, &mut bytes).unwrap();
        bytes
    };
    let mut taken_back = 0;
    for dbn in 0..blocks {
        let (place, checksums) = (device_block(Dbn(dbn)), checksum_block(dbn / ROW_DATA_BLOCKS));
        let old = block_of(before, place);
        if old != block_of(disk, place) && rng.one_in(2) {
            let entry = (dbn % ROW_DATA_BLOCKS) as usize * ENTRY_BYTES;
            let entry = entry..entry + ENTRY_BYTES;
            let mut entries = block_of(disk, checksums);
            entries[entry.clone()].copy_from_slice(&block_of(before, checksums)[entry]);
            disk.write(place * BLOCK as u64, &old);
            disk.write(checksums * BLOCK as u64, &entries);
            taken_back += 1;
        }
    }
    taken_back
}

/// A free block may be an old one, and no pointer tells. Parity was brought up to date with it, and then the blocks of
/// the lost spindle could not be computed any more.
#[test]
fn regression_parity_is_not_computed_from_old_free_blocks() {
    for seed in 0..6 {
        println!("seed {seed}");
        let mut rng = Rng::new(seed);
        let config = config(Parity::RaidDp, 3);
        let (devices, beginning) = fresh_devices(seed, &config);
        let mut array = restart_write_anywhere(devices, &beginning, &config).unwrap();
        let mut rounds = vec![0; LUN_BLOCKS as usize];
        (0..u64::from(LUN_BLOCKS)).for_each(|block| write(&mut array, block * 8, bytes(block, 0)));
        overwrite(&mut array, &mut rng, &mut rounds, 3_000);
        array.shut_down().unwrap();
        let before = array.into_devices().disks();
        let devices = SimulatedDevices::new(seed, before.clone());
        let mut array = restart_write_anywhere(devices, &beginning, &config).unwrap();
        overwrite(&mut array, &mut rng, &mut rounds, 2_000);
        array.shut_down().unwrap();
        let mut disks = array.into_devices().disks();

        let old = rng.below(3) as usize;
        let lost = DeviceIndex((old as u16 + 1 + rng.below(2) as u16) % 3);
        let blocks = config.single_group().blocks_per_spindle();
        assert!(take_back(&mut disks[old], &before[old], blocks, &mut rng) > 100);
        let mut devices = SimulatedDevices::new(seed, disks);
        devices.close(lost);
        let mut array = restart_write_anywhere(devices, &beginning, &config).unwrap();
        overwrite(&mut array, &mut rng, &mut rounds, 1_500);
        array.shut_down().unwrap();
        let mut options = beginning;
        options.label = array.engine().label().clone();
        let mut devices = array.into_devices();
        devices.close(lost);
        let mut array = restart_write_anywhere(devices, &options, &config).unwrap();
        check(&mut array, &rounds);
    }
}

/// A spindle was put back as it was earlier in the same run, and taken for whole. One consistency point behind is what
/// a power loss leaves; two is stale.
#[test]
fn regression_a_spindle_two_consistency_points_behind_is_marked_as_failed() {
    for behind in 0..4 {
        let config = config(Parity::Raid4, 3);
        let (devices, mut options) = fresh_devices(41, &config);
        let mut array = restart_write_anywhere(devices, &options, &config).unwrap();
        (0..300).for_each(|block| write(&mut array, block * 8, bytes(block, 0)));
        array.shut_down().unwrap();
        options.label = array.engine().label().clone();
        let mut devices = array.into_devices();
        let superblock = newest_superblock(&mut devices, &options.label).unwrap();
        for spindle in [0, 2, 3] {
            for consistency_point in
                superblock.consistency_point..=superblock.consistency_point + behind
            {
                let superblock = Superblock { consistency_point, ..superblock.clone() };
                let offset = superblock.slot() * BLOCK as u64;
                devices.disk_mut(DeviceIndex(spindle)).write(offset, superblock.encode().bytes());
            }
        }
        let findings = check_write_anywhere(&mut devices, &options.label, &config).findings;
        let is_of_one = |found: &Inconsistency| found.spindle().map(|one| one.0) == Some(1);
        assert!(findings.len() == usize::from(behind > 0) && findings.iter().all(is_of_one));

        let is_stale = behind >= 2;
        let mut without = SimulatedDevices::new(42, devices.disks());
        without.close(DeviceIndex(0));
        match restart_write_anywhere(without, &options, &config) {
            Err(error @ RestartError::Stale(_)) => assert!(is_stale && error.is_refusal()),
            Err(error) => panic!("{error}"),
            Ok(_) => assert!(!is_stale),
        }
        let mut array = restart_write_anywhere(devices, &options, &config).unwrap();
        let state = array.engine().label().members[1].state;
        assert_eq!(state, if is_stale { MemberState::Failed } else { MemberState::Present });
        for block in 0..300 {
            assert!(read(&mut array, block * 8, 8) == bytes(block, 0), "block {block}");
        }
    }
}
