//! What a check of an in-place array finds, and what a scrub makes of it.

use strewn_array::Holds;
use strewn_live::check::Problem;
use strewn_live::device::DeviceIndex;
use strewn_live::format::{ROW_DATA_BLOCKS, SUPERBLOCK_SLOTS, checksum_block, device_block};
use strewn_live::offline::BlockPlace;
use strewn_live::store::BadBlock;
use strewn_raid::{ChunkLocation, Dbn, SpindleIndex};

use crate::in_place_rig::{BLOCK, Random, Rig, Setting};

/// A block of the LUN that the tests do harm to, and another of its row.
const HARMED: u64 = 9;

/// An array whose LUN is full, and that was shut down.
fn full(seed: u64) -> Rig {
    let mut random = Random::new(seed);
    let setting = Setting { sets: vec![6], lun_blocks: 61, ..Setting::any(&mut random) };
    let mut rig = Rig::of(seed, random, setting);
    rig.start();
    rig.write(0..61 * 8, false);
    rig.settle();
    rig.shut_down();
    rig.check();
    rig
}

/// Where the harmed block is, and its parity.
fn places(rig: &Rig) -> [BlockPlace; 2] {
    let ChunkLocation { spindle, sector_on_spindle, parity_spindle, parity_sector, .. } =
        rig.setting.config().layout.locate(HARMED * 8);
    [(spindle, sector_on_spindle), (parity_spindle, parity_sector)]
        .map(|(spindle, sector)| BlockPlace { spindle, dbn: Dbn(sector / 8) })
}

fn device(spindle: SpindleIndex) -> DeviceIndex {
    DeviceIndex(spindle.0)
}

fn corrupt(rig: &Rig, place: BlockPlace) {
    rig.devices().corrupt(device(place.spindle), device_block(place.dbn) * BLOCK as u64 + 77, 4);
}

/// Writes the harmed block, and has the writes to `place` never have happened: of the block and of its checksum.
fn write_and_lose(rig: &mut Rig, place: BlockPlace) {
    let blocks = [device_block(place.dbn), checksum_block(place.dbn.0 / ROW_DATA_BLOCKS)];
    let device = device(place.spindle);
    let before = blocks.map(|block| {
        let mut bytes = vec![0; BLOCK];
        rig.devices().disk(device).read(block * BLOCK as u64, &mut bytes).unwrap();
        bytes
    });
    rig.start();
    rig.write(HARMED * 8..HARMED * 8 + 8, false);
    rig.settle();
    rig.shut_down();
    for (block, bytes) in blocks.into_iter().zip(before) {
        rig.devices().disk_mut(device).write(block * BLOCK as u64, &bytes);
    }
}

fn restart_and_verify(rig: &mut Rig) {
    rig.start();
    rig.verify();
    rig.shut_down();
    rig.check();
}

#[test]
fn a_wrong_block_is_found_and_computed() {
    let mut rig = full(1);
    for (place, holds) in places(&rig).into_iter().zip([Holds::Lun(HARMED), Holds::Parity]) {
        corrupt(&rig, place);
        let findings = rig.report().findings;
        assert!(
            matches!(&findings[..], [Problem::Block { holds: found, place: at, .. }] if (*found, *at) == (holds, place)),
            "{findings:?}"
        );
        let scrubbed = rig.scrub();
        assert_eq!((scrubbed.bad_blocks, scrubbed.repaired_blocks), (1, 1));
        assert!(scrubbed.gone.is_empty() && scrubbed.parity_repaired == 0);
        rig.check();
        assert!(rig.scrub().is_clean());
    }
    restart_and_verify(&mut rig);
}

#[test]
fn a_checksum_block_that_cannot_be_read_is_written_anew() {
    let mut rig = full(2);
    let [place, _] = places(&rig);
    let offset = checksum_block(place.dbn.0 / ROW_DATA_BLOCKS) * BLOCK as u64;
    rig.devices().make_unreadable(device(place.spindle), offset, 512);
    let unreadable = BadBlock::ChecksumUnreadable.to_string();
    let findings = rig.report().findings;
    assert!(findings.len() > 10);
    for found in findings {
        assert!(matches!(&found, Problem::Block { why, .. } if *why == unreadable), "{found}");
    }
    assert!(rig.scrub().repaired_blocks > 10);
    restart_and_verify(&mut rig);
}

#[test]
fn two_wrong_blocks_of_a_row_are_gone_and_stay_so() {
    let mut rig = full(3);
    let [place, parity] = places(&rig);
    corrupt(&rig, place);
    corrupt(&rig, parity);
    let gone = Problem::Gone { holds: Holds::Lun(HARMED), place };
    assert!(rig.report().findings.contains(&gone));
    let scrubbed = rig.scrub();
    assert_eq!((scrubbed.bad_blocks, scrubbed.repaired_blocks), (2, 0));
    assert_eq!(scrubbed.gone, [(Holds::Lun(HARMED), place)]);
    assert!(rig.report().findings.contains(&gone));
}

#[test]
fn a_lost_write_of_parity_is_told_and_made_good() {
    let mut rig = full(4);
    let [_, parity] = places(&rig);
    write_and_lose(&mut rig, parity);
    let findings = rig.report().findings;
    assert!(
        matches!(&findings[..], [Problem::ParityInPlace { is_older: true, parity: at, of }] if *at == parity && of.contains(&HARMED)),
        "{findings:?}"
    );
    let scrubbed = rig.scrub();
    assert_eq!((scrubbed.bad_blocks, scrubbed.parity_repaired), (0, 1));
    assert_eq!(scrubbed.lost_writes, []);
    restart_and_verify(&mut rig);
}

/// Nothing in place tells when the block is read, but the stripe does not agree.
#[test]
fn a_lost_write_of_data_is_told_by_check_and_scrub() {
    let mut rig = full(5);
    let [place, parity] = places(&rig);
    write_and_lose(&mut rig, place);
    let findings = rig.report().findings;
    assert!(
        matches!(&findings[..], [Problem::ParityInPlace { is_older: false, parity: at, of }] if *at == parity && of.contains(&HARMED)),
        "{findings:?}"
    );
    let scrubbed = rig.scrub();
    assert_eq!((scrubbed.bad_blocks, scrubbed.parity_repaired), (0, 1));
    let [lost] = &scrubbed.lost_writes[..] else { panic!("{scrubbed:?}") };
    assert!(lost.parity == parity && lost.among.contains(&HARMED));
    rig.check();
}

#[test]
fn a_damaged_label_and_superblock_are_found() {
    let mut rig = full(6);
    let one = DeviceIndex(1);
    for block in SUPERBLOCK_SLOTS {
        rig.devices().corrupt(one, block * BLOCK as u64 + 40, 1);
    }
    rig.devices().corrupt(one, 600, 1);
    let findings = rig.report().findings;
    assert!(
        matches!(
            &findings[..],
            [
                Problem::Label { device: DeviceIndex(1), block: 0, .. },
                Problem::Superblock { spindle: SpindleIndex(1), .. }
            ]
        ),
        "{findings:?}"
    );
    // A start writes both again.
    restart_and_verify(&mut rig);
}

#[test]
fn a_lost_spindle_is_no_finding_and_what_it_takes_with_it_is() {
    let mut rig = full(7);
    let [place, parity] = places(&rig);
    rig.start();
    rig.devices().lose_device(device(parity.spindle), "lost");
    rig.write(0..61 * 8, false);
    rig.settle();
    rig.shut_down();
    let report = rig.report();
    assert_eq!(report.findings, []);
    assert!(report.blocks_missing > 0);
    corrupt(&rig, place);
    assert!(rig.report().findings.contains(&Problem::Gone { holds: Holds::Lun(HARMED), place }));
    assert_eq!(rig.scrub().gone, [(Holds::Lun(HARMED), place)]);
}
