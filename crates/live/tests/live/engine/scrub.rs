//! What a scrub makes of a write-anywhere array that was shut down.

use std::collections::BTreeSet;

use strewn_array::BlockContents;
use strewn_array::write_anywhere::WriteAnywhereConfig;
use strewn_array::write_anywhere::metadata::Pointer;
use strewn_base::Rng;
use strewn_live::check::{Inconsistency, check_write_anywhere};
use strewn_live::device::{DeviceIndex, Devices, SimulatedDevices, SimulatedDisk};
use strewn_live::format::{
    ENTRY_BYTES, Label, MemberState, ROW_DATA_BLOCKS, checksum_block, device_block,
};
use strewn_live::offline::OfflineArray;
use strewn_live::restart::{
    RestartOptions, newest_superblock, read_tree, restart_write_anywhere, store_of,
};
use strewn_live::scrub::{ScrubReport, scrub};
use strewn_raid::{Dbn, Parity, SpindleIndex};

use super::old_blocks::{bytes, check, overwrite, take_back};
use super::{BLOCK, LUN_BLOCKS, config, fresh_devices, read, write};

/// The blocks in use of an array at rest, and its last consistency point.
fn in_use(
    devices: &mut SimulatedDevices,
    label: &Label,
    config: &WriteAnywhereConfig,
) -> (Vec<(BlockContents, Pointer)>, u64) {
    let superblock = newest_superblock(devices, label).unwrap();
    let store = store_of(devices, label).unwrap();
    let tree = read_tree(&mut OfflineArray::new(devices, store), config, &superblock).unwrap();
    (tree.in_use().collect(), superblock.consistency_point)
}

fn scrubbed(
    devices: &mut SimulatedDevices,
    label: &Label,
    config: &WriteAnywhereConfig,
) -> ScrubReport {
    let (blocks, consistency_point) = in_use(devices, label, config);
    let store = store_of(devices, label).unwrap();
    let mut offline = OfflineArray::new(devices, store);
    scrub(&mut offline, config, &blocks, consistency_point, |_| true).unwrap()
}

/// An array that was overwritten at random, shut down, and overwritten and shut down again.
struct Aged {
    config: WriteAnywhereConfig,
    options: RestartOptions,
    before: Vec<SimulatedDisk>,
    disks: Vec<SimulatedDisk>,
    rounds: Vec<u32>,
}

impl Aged {
    fn new(seed: u64, parity: Parity, data_spindles: u16) -> Self {
        let mut rng = Rng::new(seed);
        let config = config(parity, data_spindles);
        let (devices, mut options) = fresh_devices(seed, &config);
        let mut array = restart_write_anywhere(devices, &options, &config).unwrap();
        let mut rounds = vec![0; LUN_BLOCKS as usize];
        (0..u64::from(LUN_BLOCKS)).for_each(|block| write(&mut array, block * 8, bytes(block, 0)));
        overwrite(&mut array, &mut rng, &mut rounds, 2_000);
        array.shut_down().unwrap();
        let before = array.into_devices().disks();
        let devices = SimulatedDevices::new(seed, before.clone());
        let mut array = restart_write_anywhere(devices, &options, &config).unwrap();
        overwrite(&mut array, &mut rng, &mut rounds, 1_500);
        array.shut_down().unwrap();
        options.label = array.engine().label().clone();
        let disks = array.into_devices().disks();
        Self { config, options, before, disks, rounds }
    }

    fn spindles(&self) -> u16 {
        self.config.single_group().spindles()
    }

    /// The devices without the writes since `before` of about half of the blocks of these spindles.
    fn with_lost_writes(&self, spindles: &[u16], rng: &mut Rng) -> SimulatedDevices {
        let mut disks = self.disks.clone();
        for &spindle in spindles {
            let (spindle, blocks) =
                (usize::from(spindle), self.config.single_group().blocks_per_spindle());
            assert!(take_back(&mut disks[spindle], &self.before[spindle], blocks, rng) > 50);
        }
        SimulatedDevices::new(1, disks)
    }

    /// Scrubs the devices, checks that nothing is left, and reads everything without the spindles `lost`.
    fn scrub_and_lose(&self, mut devices: SimulatedDevices, lost: &[u16]) {
        let label = &self.options.label;
        let found = scrubbed(&mut devices, label, &self.config);
        assert!(found.bad_blocks + found.parity_repaired > 0, "{found:?}");
        assert_eq!(found.bad_blocks, found.repaired_blocks);
        assert_eq!((&found.gone[..], &found.left[..]), (&[][..], &[][..]));
        assert_eq!(check_write_anywhere(&mut devices, label, &self.config).findings, []);
        assert!(scrubbed(&mut devices, label, &self.config).is_clean());
        lost.iter().for_each(|spindle| devices.close(DeviceIndex(*spindle)));
        let mut array = restart_write_anywhere(devices, &self.options, &self.config).unwrap();
        check(&mut array, &self.rounds);
    }
}

/// A scrub computed a block from stale parity, or left parity stale beside a block that it had repaired, and called
/// blocks gone that reads compute. Another double failure then lost data.
#[test]
fn regression_lost_writes_on_as_many_spindles_as_parity_covers_are_repaired() {
    for (parity, faults) in [(Parity::RaidDp, 2), (Parity::Raid4, 1)] {
        let array = Aged::new(5, parity, 3);
        let mut rng = Rng::new(6);
        let spindles = 0..array.spindles();
        for stale in spindles.clone().flat_map(|one| spindles.clone().map(move |two| [one, two])) {
            let stale: BTreeSet<u16> = stale.into_iter().take(faults).collect();
            if stale.len() < faults || (faults == 2 && rng.one_in(2)) {
                continue;
            }
            let stale: Vec<u16> = stale.into_iter().collect();
            println!("{parity:?}: {stale:?}");
            let devices = array.with_lost_writes(&stale, &mut rng);
            let others = spindles.clone().filter(|spindle| !stale.contains(spindle));
            let mut lost: Vec<u16> = others.collect();
            while lost.len() > faults {
                lost.swap_remove(rng.below(lost.len() as u64) as usize);
            }
            array.scrub_and_lose(devices, &lost);
        }
    }
}

/// With a spindle lost, the lost blocks are computed, and parity that does not match them is repaired.
#[test]
fn lost_writes_beside_a_lost_spindle_are_repaired() {
    let array = Aged::new(7, Parity::RaidDp, 3);
    let mut rng = Rng::new(8);
    for stale in 0..5 {
        let lost = (stale + 1 + rng.below(4) as u16) % 5;
        let mut devices = array.with_lost_writes(&[stale], &mut rng);
        devices.close(DeviceIndex(lost));
        let mut label = array.options.label.clone();
        label.members[usize::from(lost)].state = MemberState::Failed;
        let found = scrubbed(&mut devices, &label, &array.config);
        assert!(found.bad_blocks + found.parity_repaired > 0, "{found:?}");
        assert_eq!((&found.gone[..], &found.left[..]), (&[][..], &[][..]));
        assert!(scrubbed(&mut devices, &label, &array.config).is_clean());
        let other = (lost + 1 + rng.below(4) as u16) % 5;
        devices.close(DeviceIndex(other));
        println!("{stale} stale, {lost} lost, then {other}");
        let mut array_without =
            restart_write_anywhere(devices, &array.options, &array.config).unwrap();
        check(&mut array_without, &array.rounds);
    }
}

/// More is stale than parity covers: the scrub says so for blocks of lost spindles too, and a read refuses them.
#[test]
fn blocks_of_a_lost_spindle_that_cannot_be_computed_are_gone() {
    let array = Aged::new(9, Parity::Raid4, 3);
    let mut devices = array.with_lost_writes(&[1], &mut Rng::new(10));
    devices.close(DeviceIndex(2));
    let mut label = array.options.label.clone();
    label.members[2].state = MemberState::Failed;
    // The tree above the blocks is whole.
    let (blocks, consistency_point) = in_use(
        &mut SimulatedDevices::new(1, array.disks.clone()),
        &array.options.label,
        &array.config,
    );
    let store = store_of(&mut devices, &label).unwrap();
    let mut offline = OfflineArray::new(&mut devices, store);
    let found = scrub(&mut offline, &array.config, &blocks, consistency_point, |_| true).unwrap();
    assert!(found.gone.iter().any(|(_, place)| place.spindle == SpindleIndex(2)), "{found:?}");
    assert!(found.gone.iter().any(|(_, place)| place.spindle == SpindleIndex(1)), "{found:?}");
}

/// A drive dropped the first write of a block of zeros: its contents are right, and its entry is not. The check had a
/// finding that no scrub repaired.
#[test]
fn regression_blocks_of_zeros_whose_first_write_was_lost_are_repaired() {
    for parity in [Parity::Raid4, Parity::RaidDp] {
        let config = config(parity, 4);
        let (devices, mut options) = fresh_devices(31, &config);
        let mut array = restart_write_anywhere(devices, &options, &config).unwrap();
        // The zones are initialized, and written once more.
        write(&mut array, 0, vec![1; 200 * BLOCK]);
        array.shut_down().unwrap();
        let before = array.into_devices().disks();
        let devices = SimulatedDevices::new(32, before.clone());
        let mut array = restart_write_anywhere(devices, &options, &config).unwrap();
        write(&mut array, 8 * 1_000, vec![0; 200 * BLOCK]);
        array.shut_down().unwrap();
        options.label = array.engine().label().clone();
        let mut disks = array.into_devices().disks();
        let blocks = config.single_group().blocks_per_spindle();
        assert!(lose_zeros(&mut disks[1], &before[1], blocks) > 10);
        let mut devices = SimulatedDevices::new(33, disks);
        let findings = check_write_anywhere(&mut devices, &options.label, &config).findings;
        assert!(matches!(findings[0], Inconsistency::Block { .. }), "{findings:?}");

        // Without parity to compute them from, they are right all the same.
        let mut degraded = SimulatedDevices::new(34, devices.disks());
        let lost = 0..if parity == Parity::Raid4 { 1 } else { 2 };
        let mut label = options.label.clone();
        for spindle in lost {
            let parity = usize::from(config.single_group().spindles()) - 1 - spindle;
            degraded.close(DeviceIndex(parity as u16));
            label.members[parity].state = MemberState::Failed;
        }
        for (label, devices) in [(&label, &mut degraded), (&options.label, &mut devices)] {
            let found = scrubbed(devices, label, &config);
            assert_eq!(found.bad_blocks as usize, findings.len());
            assert_eq!((found.repaired_blocks, found.gone.len()), (found.bad_blocks, 0));
            assert!(scrubbed(devices, label, &config).is_clean());
        }
        assert_eq!(check_write_anywhere(&mut devices, &options.label, &config).findings, []);
        let mut array = restart_write_anywhere(devices, &options, &config).unwrap();
        assert!(read(&mut array, 8 * 1_000, 8 * 200) == vec![0; 200 * BLOCK]);
    }
}

/// Puts the entries of blocks of zeros back as they were; returns how many.
fn lose_zeros(disk: &mut SimulatedDisk, before: &SimulatedDisk, blocks: u64) -> u32 {
    let block_of = |disk: &SimulatedDisk, block: u64| {
        let mut bytes = vec![0; BLOCK];
        disk.read(block * BLOCK as u64, &mut bytes).unwrap();
        bytes
    };
    let mut lost = 0;
    for dbn in 0..blocks {
        let (place, checksums) = (device_block(Dbn(dbn)), checksum_block(dbn / ROW_DATA_BLOCKS));
        let entry = (dbn % ROW_DATA_BLOCKS) as usize * ENTRY_BYTES;
        let entry = entry..entry + ENTRY_BYTES;
        let (old, mut entries) = (block_of(before, checksums), block_of(disk, checksums));
        if block_of(disk, place) == [0; BLOCK] && old[entry.clone()] != entries[entry.clone()] {
            entries[entry.clone()].copy_from_slice(&old[entry]);
            disk.write(checksums * BLOCK as u64, &entries);
            lost += 1;
        }
    }
    lost
}

/// Free blocks that are bad, more than parity covers: nothing is lost, and the stripe is protected again.
#[test]
fn bad_free_blocks_do_not_leave_a_stripe_without_parity() {
    for (parity, bad) in [(Parity::Raid4, 2), (Parity::RaidDp, 3)] {
        let array = Aged::new(11, parity, 4);
        let mut devices = SimulatedDevices::new(1, array.disks.clone());
        let label = &array.options.label;
        let (blocks, _) = in_use(&mut devices, label, &array.config);
        let group = array.config.single_group();
        let used: BTreeSet<(u64, u16)> = blocks
            .iter()
            .map(|(_, one)| group.locate(one.vbn))
            .map(|place| (place.dbn.0, place.spindle.0))
            .collect();
        let mut spoiled = 0;
        for stripe in 0..group.stripes() {
            let free: Vec<u16> = (0..4).filter(|one| !used.contains(&(stripe, *one))).collect();
            if free.len() >= bad && free.len() < 4 {
                for spindle in &free[..bad] {
                    let offset = device_block(Dbn(stripe)) * BLOCK as u64;
                    devices.disk_mut(DeviceIndex(*spindle)).write(offset, &[7; BLOCK]);
                }
                spoiled += 1;
            }
        }
        assert!(spoiled > 0, "{parity:?}");
        let lost: Vec<u16> = (0..if parity == Parity::Raid4 { 1 } else { 2 }).collect();
        array.scrub_and_lose(devices, &lost);
    }
}

/// A write that a crash has left half done leaves its checksum damaged where nothing is in use, or not: the last
/// stripes of an array that is nearly empty, and its first.
#[test]
fn regression_stripes_without_anything_in_use_are_left_alone() {
    let config = config(Parity::RaidDp, 5);
    let (devices, mut beginning) = fresh_devices(21, &config);
    let mut array = restart_write_anywhere(devices, &beginning, &config).unwrap();
    (0..500).for_each(|block| write(&mut array, block * 8, vec![block as u8; BLOCK]));
    array.shut_down().unwrap();
    beginning.label = array.engine().label().clone();
    let mut devices = array.into_devices();
    let before = scrubbed(&mut devices, &beginning.label, &config);
    assert!(before.is_clean() && before.stripes > 100, "{before:?}");

    let rows = config.single_group().stripes() / ROW_DATA_BLOCKS;
    let (blocks, _) = in_use(&mut devices, &beginning.label, &config);
    let used: Vec<u64> = blocks
        .iter()
        .map(|(_, one)| config.single_group().locate(one.vbn).dbn.0 / ROW_DATA_BLOCKS)
        .collect();
    let unused = (0..rows).find(|row| !used.contains(row)).unwrap();
    for (row, is_used) in [(unused, false), (used[0], true)] {
        devices.disk_mut(DeviceIndex(0)).write(checksum_block(row) * BLOCK as u64, &[9; BLOCK]);
        let found = scrubbed(&mut devices, &beginning.label, &config);
        assert_eq!(found.bad_blocks > 0, is_used, "{found:?}");
        assert_eq!((found.bad_blocks, found.gone.len()), (found.repaired_blocks, 0));
    }
}
