//! With bytes: what lies where a snapshot holds it is what the host had written then.

use std::collections::BTreeMap;

use strewn_array::write_anywhere::WriteAnywhere;
use strewn_array::{Array, SnapshotId, Snapshots, VolumeId};
use strewn_base::{BLOCK_SECTORS, Rng};
use strewn_raid::{Dbn, ParityGroup, SpindleIndex, Vbn};

use super::{Images, ask, image_of};
use crate::harness::{Event, Harness, MemoryDriver, Watch};
use crate::payloads::Bytes;
use crate::write_anywhere::roomy;

const FILE_BLOCKS: u32 = 600;

struct SnapshotWatch {
    group: ParityGroup,
    images: Images,
    /// The bytes of the file's blocks in each snapshot.
    bytes: BTreeMap<SnapshotId, Vec<Vec<u8>>>,
}

fn block(driver: &MemoryDriver, group: &ParityGroup, vbn: Vbn) -> Vec<u8> {
    let place = group.locate(vbn);
    let first = place.dbn.0 * BLOCK_SECTORS;
    let sectors = first..first + BLOCK_SECTORS;
    sectors.flat_map(|sector| driver.sector(place.spindle.0, sector).to_vec()).collect()
}

impl SnapshotWatch {
    fn blocks_of(&self, driver: &MemoryDriver, snapshot: SnapshotId) -> Vec<Vec<u8>> {
        let file = self.images.kept[&snapshot][..FILE_BLOCKS as usize].iter().flatten();
        file.map(|vbn| block(driver, &self.group, *vbn)).collect()
    }
}

impl Watch<WriteAnywhere<Bytes>> for SnapshotWatch {
    fn saw(&mut self, array: &WriteAnywhere<Bytes>, driver: &MemoryDriver, events: &[Event]) {
        let mut written = Vec::new();
        for event in events {
            let Event::Issued(command) = event else { continue };
            if !command.is_write() || command.spindle >= self.group.data_spindles() {
                continue;
            }
            let first = command.first_sector / BLOCK_SECTORS;
            for dbn in first..first + u64::from(command.sectors) / BLOCK_SECTORS {
                written.push(self.group.vbn(SpindleIndex(command.spindle), Dbn(dbn)));
            }
        }
        self.images.check_writes(&written);
        let now = image_of(array.block_map(), array.keys());
        if let Some(taken) = self.images.look(now, array.counters().snapshots_taken) {
            let bytes = self.blocks_of(driver, taken);
            self.bytes.insert(taken, bytes);
        }
    }
}

fn harness(delayed_free_blocks: u64) -> Harness<WriteAnywhere<Bytes>, SnapshotWatch> {
    let config = strewn_array::write_anywhere::WriteAnywhereConfig {
        delayed_free_blocks,
        ..roomy(4, FILE_BLOCKS)
    };
    let group = *config.single_group();
    let array = WriteAnywhere::new(config).unwrap();
    let images = Images::new(image_of(array.block_map(), array.keys()));
    let watch = SnapshotWatch { group, images, bytes: BTreeMap::new() };
    let lun_sectors = u64::from(FILE_BLOCKS) * BLOCK_SECTORS;
    // The host expects the first version of each sector, which nothing has put there: it only writes.
    Harness::new(array, watch, group.blocks_per_spindle() * BLOCK_SECTORS, lun_sectors)
}

#[test]
fn a_snapshot_has_what_was_acknowledged_when_it_was_asked_for() {
    let mut harness = harness(0);
    harness.write(0, 8 * BLOCK_SECTORS as u32);
    let (now_ns, driver) = (harness.driver.now_ns, &mut harness.driver);
    let first = ask(&mut harness.array, now_ns, driver).unwrap();
    // During its consistency point: not in it.
    let mut expected = harness.driver.host.acknowledged.clone();
    harness.write(4 * BLOCK_SECTORS, 8 * BLOCK_SECTORS as u32);
    let (now_ns, driver) = (harness.driver.now_ns, &mut harness.driver);
    let second = ask(&mut harness.array, now_ns, driver).unwrap();
    let (now_ns, driver) = (harness.driver.now_ns, &mut harness.driver);
    assert_eq!(ask(&mut harness.array, now_ns, driver), Ok(second), "asked for twice");
    assert!(!harness.array.expire_snapshot(VolumeId(0), second), "it is not taken yet");
    harness.drain();
    assert_eq!(harness.array.counters().snapshots_taken, 2);
    for snapshot in [first, second] {
        let blocks = &harness.watch.bytes[&snapshot];
        for (sector, version) in (0..12 * BLOCK_SECTORS).zip(&expected) {
            if *version > 0 {
                let at = (sector % BLOCK_SECTORS) as usize * 512;
                let found = &blocks[(sector / BLOCK_SECTORS) as usize][at..at + 512];
                assert_eq!(found, crate::bytes::content(sector, *version), "sector {sector}");
            }
        }
        expected = harness.driver.host.acknowledged.clone();
    }
    assert_ne!(harness.watch.bytes[&first], harness.watch.bytes[&second]);
}

#[test]
fn blocks_of_snapshots_stay_as_they_are_and_come_back_afterwards() {
    for seed in strewn_testing::seeds(5, 20) {
        println!("seed {seed}");
        let mut rng = Rng::new(seed);
        let delayed = *rng.pick(&[0, 30]);
        let mut harness = harness(delayed);
        harness.write(0, 8);
        harness.run_to_quiescence();
        for _ in 0..300 {
            match rng.below(12) {
                0 => {
                    let (now_ns, driver) = (harness.driver.now_ns, &mut harness.driver);
                    // At most 14 times the file and what hangs from it.
                    if harness.watch.images.kept.len() < 5 {
                        ask(&mut harness.array, now_ns, driver).unwrap();
                    }
                }
                1 => {
                    let kept: Vec<_> = harness.watch.images.kept.keys().copied().collect();
                    if !kept.is_empty() {
                        let gone = *rng.pick(&kept);
                        assert!(harness.array.expire_snapshot(VolumeId(0), gone));
                        assert!(!harness.array.expire_snapshot(VolumeId(0), gone));
                        let image = harness.watch.bytes[&gone].clone();
                        assert!(harness.watch.blocks_of(&harness.driver, gone) == image);
                        harness.watch.images.kept.remove(&gone);
                    }
                }
                2 => harness.fire_timer(),
                3..6 => {
                    for _ in 0..rng.below(60) {
                        let commands = harness.commands_out() as u64;
                        if commands > 0 {
                            harness.complete(rng.below(commands) as usize);
                        }
                    }
                }
                _ => {
                    let first = rng.below(FILE_BLOCKS.into());
                    let blocks = rng.within(1..20).min(u64::from(FILE_BLOCKS) - first);
                    harness.write(first * BLOCK_SECTORS, (blocks * BLOCK_SECTORS) as u32);
                }
            }
        }
        harness.run_to_quiescence();
        for (snapshot, image) in &harness.watch.bytes {
            if harness.watch.images.kept.contains_key(snapshot) {
                let found = harness.watch.blocks_of(&harness.driver, *snapshot);
                assert!(found == *image, "{snapshot} has changed");
            }
        }
        let measures = harness.array.snapshot_measures().unwrap();
        assert_eq!(measures.kept as usize, harness.watch.images.kept.len());
        // The blocks of the volume's bitmap are held as well.
        let beside = harness.watch.images.beside_the_file() as u64;
        assert!((beside..=beside + 20).contains(&measures.blocks), "{beside} of {measures:?}");

        for snapshot in std::mem::take(&mut harness.watch.images.kept).into_keys() {
            assert!(harness.array.expire_snapshot(VolumeId(0), snapshot));
        }
        while harness.array.snapshot_measures().unwrap().blocks > 0 {
            harness.fire_timer();
            harness.run_to_quiescence();
        }
        // One more, for what the last one delayed.
        harness.write(0, 8);
        harness.run_to_quiescence();
        let (map, counts) = (harness.array.block_map(), harness.array.aggregate().counts());
        let placed = (0..harness.array.keys().end()).filter(|key| map.get(*key).is_some()).count();
        // Two superblocks; the volume's metadata that the last consistency point moved stays delayed.
        let delayed_now = counts.used - 2 - placed as u64;
        assert!(delayed_now <= delayed + 10, "{delayed_now} blocks have not come back");
    }
}
