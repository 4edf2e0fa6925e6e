//! What a scrub makes of a write-anywhere array that was shut down.

use strewn_live::device::{DeviceIndex, SimulatedDevices};
use strewn_live::format::{ROW_DATA_BLOCKS, checksum_block};
use strewn_live::offline::OfflineArray;
use strewn_live::restart::{newest_superblock, read_tree, restart_write_anywhere, store_of};
use strewn_live::scrub::{ScrubReport, scrub};
use strewn_raid::Parity;

use super::{BLOCK, config, fresh_devices, write};

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
    let superblock = newest_superblock(&mut devices, &beginning.label).unwrap();
    let scrubbed = |devices: &mut SimulatedDevices| -> ScrubReport {
        let store = store_of(devices, &beginning.label).unwrap();
        let mut offline = OfflineArray::new(devices, store);
        let tree = read_tree(&mut offline, &config, &superblock).unwrap();
        let blocks: Vec<_> = tree.in_use().collect();
        scrub(&mut offline, &config, &blocks, superblock.checkpoint, |_| true).unwrap()
    };
    let before = scrubbed(&mut devices);
    assert!(before.is_clean() && before.stripes > 100, "{before:?}");

    let rows = config.single_group().stripes() / ROW_DATA_BLOCKS;
    let used: Vec<u64> = {
        let store = store_of(&mut devices, &beginning.label).unwrap();
        let mut offline = OfflineArray::new(&mut devices, store);
        let tree = read_tree(&mut offline, &config, &superblock).unwrap();
        let blocks: Vec<_> = tree.in_use().collect();
        blocks
            .iter()
            .map(|(_, one)| config.single_group().locate(one.vbn).dbn.0 / ROW_DATA_BLOCKS)
            .collect()
    };
    let unused = (0..rows).find(|row| !used.contains(row)).unwrap();
    for (row, is_used) in [(unused, false), (used[0], true)] {
        devices.disk_mut(DeviceIndex(0)).write(checksum_block(row) * BLOCK as u64, &[9; BLOCK]);
        let found = scrubbed(&mut devices);
        assert_eq!(found.bad_blocks > 0, is_used, "{found:?}");
        assert_eq!((found.bad_blocks, found.gone.len()), (found.repaired_blocks, 0));
    }
}
