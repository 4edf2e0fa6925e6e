//! What a check of an in-place array finds, and what a scrub makes of it.

use strewn_array::BlockContents;
use strewn_base::Rng;
use strewn_live::check::Inconsistency;
use strewn_live::device::DeviceIndex;
use strewn_live::engine::{HostRequest, RequestError, RequestId, TargetId};
use strewn_live::format::{
    MemberState, ROW_DATA_BLOCKS, SUPERBLOCK_SLOTS, Superblock, checksum_block, device_block,
};
use strewn_live::offline::SpindleBlock;
use strewn_live::store::BadBlock;
use strewn_raid::{ChunkLocation, Dbn, SpindleIndex, StripedLayout};

use super::in_place_rig::{BLOCK, Rig, Setting};

/// A block of the LUN that the tests do harm to, and another of its row.
const HARMED: u64 = 9;

/// An array whose LUN is full, and that was shut down.
fn full(seed: u64) -> Rig {
    let mut rng = Rng::new(seed);
    let setting = Setting { sets: vec![6], lun_blocks: 61, ..Setting::any(&mut rng) };
    let mut rig = Rig::of(seed, rng, setting);
    rig.start();
    rig.write(0..61 * 8, false);
    rig.settle();
    rig.shut_down();
    rig.check();
    rig
}

/// Where the harmed block is, and its parity.
fn places(rig: &Rig) -> [SpindleBlock; 2] {
    let ChunkLocation { spindle, sector_on_spindle, parity_spindle, parity_sector, .. } =
        rig.setting.config().single_group().layout.locate(HARMED * 8);
    [(spindle, sector_on_spindle), (parity_spindle, parity_sector)]
        .map(|(spindle, sector)| SpindleBlock { spindle, dbn: Dbn(sector / 8) })
}

fn device(spindle: SpindleIndex) -> DeviceIndex {
    DeviceIndex(spindle.0)
}

fn corrupt(rig: &Rig, place: SpindleBlock) {
    rig.devices().corrupt(device(place.spindle), device_block(place.dbn) * BLOCK as u64 + 77, 4);
}

/// What is at a block's place, and its checksum block.
fn bytes_at(rig: &Rig, place: SpindleBlock) -> [Vec<u8>; 2] {
    blocks_of(place).map(|block| {
        let mut bytes = vec![0; BLOCK];
        rig.devices().disk(device(place.spindle)).read(block * BLOCK as u64, &mut bytes).unwrap();
        bytes
    })
}

/// Has what was written to a block and its checksum block since then never have been.
fn put_back(rig: &Rig, place: SpindleBlock, before: [Vec<u8>; 2]) {
    for (block, bytes) in blocks_of(place).into_iter().zip(before) {
        rig.devices().disk_mut(device(place.spindle)).write(block * BLOCK as u64, &bytes);
    }
}

fn blocks_of(place: SpindleBlock) -> [u64; 2] {
    [device_block(place.dbn), checksum_block(place.dbn.0 / ROW_DATA_BLOCKS)]
}

/// Writes the harmed block, and has the writes to `place` never have happened: of the block and of its checksum.
fn write_and_lose(rig: &mut Rig, place: SpindleBlock) {
    let before = bytes_at(rig, place);
    rig.start();
    rig.write(HARMED * 8..HARMED * 8 + 8, false);
    rig.settle();
    rig.shut_down();
    put_back(rig, place, before);
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
    for (place, holds) in
        places(&rig).into_iter().zip([BlockContents::lun(HARMED), BlockContents::Parity])
    {
        corrupt(&rig, place);
        let findings = rig.report().findings;
        assert!(
            matches!(
                &findings[..],
                [Inconsistency::Block { holds: found, place: at, .. }] if (*found, *at) == (holds, place)
            ),
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
        assert!(
            matches!(&found, Inconsistency::Block { why, .. } if *why == unreadable),
            "{found}"
        );
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
    let gone = Inconsistency::Lost { holds: BlockContents::lun(HARMED), place };
    assert!(rig.report().findings.contains(&gone));
    let scrubbed = rig.scrub();
    assert_eq!((scrubbed.bad_blocks, scrubbed.repaired_blocks), (2, 0));
    assert_eq!(scrubbed.gone, [(BlockContents::lun(HARMED), place)]);
    assert!(rig.report().findings.contains(&gone));
}

#[test]
fn a_lost_write_of_parity_is_told_and_made_good() {
    let mut rig = full(4);
    let [_, parity] = places(&rig);
    write_and_lose(&mut rig, parity);
    assert_stale(&mut rig, BlockContents::Parity, parity);
    scrub_makes_good(&mut rig);
    restart_and_verify(&mut rig);
}

#[test]
fn a_lost_write_of_data_is_told_and_made_good() {
    let mut rig = full(5);
    let [place, _] = places(&rig);
    write_and_lose(&mut rig, place);
    assert_stale(&mut rig, BlockContents::lun(HARMED), place);
    scrub_makes_good(&mut rig);
    restart_and_verify(&mut rig);
}

/// What the host reads is what it wrote, and is written again, also when it is read with others, and after a write of
/// another block of the stripe.
#[test]
fn a_lost_write_is_noticed_when_the_block_is_read_or_its_stripe_written() {
    for (seed, lost) in [(8, 0), (9, 1), (10, 0), (11, 1)] {
        let mut rig = full(seed);
        let place = places(&rig)[lost];
        write_and_lose(&mut rig, place);
        rig.start();
        if seed >= 10 {
            // In the next chunk of the stripe.
            let other = HARMED + 2;
            rig.write(other * 8..other * 8 + 8, false);
            rig.settle();
            rig.clean();
        }
        rig.verify();
        rig.shut_down();
        if lost == 0 || seed >= 10 {
            rig.check();
        } else {
            // Nothing was asked of parity.
            assert_stale(&mut rig, BlockContents::Parity, place);
        }
    }
}

/// Also while the array goes on, without looking at the stripe anew.
#[test]
fn a_write_that_is_lost_while_the_array_runs_is_noticed() {
    for lost in 0..2 {
        let mut rig = full(12);
        let place = places(&rig)[lost];
        rig.start();
        rig.verify();
        let before = bytes_at(&rig, place);
        rig.write(HARMED * 8..HARMED * 8 + 8, false);
        rig.settle();
        rig.clean();
        put_back(&rig, place, before);
        rig.verify();
        rig.write(HARMED * 8..HARMED * 8 + 8, false);
        rig.settle();
        rig.clean();
        rig.verify();
        rig.shut_down();
        rig.check();
    }
}

/// The block's entry is zeros then, as that of a block that was never written.
#[test]
fn a_first_write_that_is_lost_is_noticed() {
    for (seed, lost) in [(13, 0), (14, 1)] {
        let mut rng = Rng::new(seed);
        let setting = Setting { sets: vec![5], lun_blocks: 61, ..Setting::any(&mut rng) };
        let mut rig = Rig::of(seed, rng, setting);
        rig.start();
        rig.shut_down();
        let place = places(&rig)[lost];
        write_and_lose(&mut rig, place);
        rig.start();
        rig.verify();
        rig.shut_down();
        // The entries of its neighbours, whose blocks were never written, were lost with it.
        let scrubbed = rig.scrub();
        assert!(scrubbed.bad_blocks > 0 && scrubbed.gone.is_empty(), "{scrubbed:?}");
        assert_eq!(scrubbed.bad_blocks, scrubbed.repaired_blocks);
        rig.check();
        assert!(rig.scrub().is_clean());
        restart_and_verify(&mut rig);
    }
}

/// A drive dropped the first write of parity that is zeros: its contents are right by chance. It was not found, and
/// blocks of the stripe were refused as soon as a spindle was lost.
#[test]
fn regression_a_first_write_of_zeros_that_is_lost_is_repaired() {
    let mut rng = Rng::new(16);
    let setting = Setting { sets: vec![5], lun_blocks: 61, ..Setting::any(&mut rng) };
    let mut rig = Rig::of(16, rng, setting);
    rig.start();
    rig.shut_down();
    let [place, parity] = places(&rig);
    let before = bytes_at(&rig, parity);
    rig.start();
    rig.write(0..61 * 8, true);
    rig.settle();
    rig.shut_down();
    rig.check();
    put_back(&rig, parity, before);
    let findings = rig.report().findings;
    let is_of_parity = |found: &Inconsistency| {
        matches!(found, Inconsistency::Block { holds: BlockContents::Parity, place, .. }
            if *place == parity)
    };
    assert!(findings.iter().any(is_of_parity), "{findings:?}");
    let scrubbed = rig.scrub();
    assert!(scrubbed.bad_blocks > 0 && scrubbed.gone.is_empty() && scrubbed.left.is_empty());
    assert_eq!(scrubbed.bad_blocks, scrubbed.repaired_blocks);
    rig.check();
    assert!(rig.scrub().is_clean());
    rig.devices().lose_device(device(place.spindle), "lost");
    rig.start();
    rig.verify();
}

/// With a spindle gone there is nothing to compute the block from: it is refused, and so is what would be computed from
/// it.
#[test]
fn a_lost_write_beside_a_lost_spindle_is_refused() {
    let mut rig = full(15);
    let [place, parity] = places(&rig);
    write_and_lose(&mut rig, place);
    let other = (0..6).map(SpindleIndex).find(|one| {
        let layout = rig.setting.config().single_group().layout.clone();
        let (stripe, _) = layout.stripe_on(place.spindle, place.dbn.0 * 8).unwrap();
        let units = layout.stripe(stripe);
        *one != place.spindle
            && *one != parity.spindle
            && units.units().any(|(_, unit)| unit.spindle == *one)
    });
    rig.devices().lose_device(device(other.unwrap()), "lost");
    rig.start();
    let answer = rig.running().ask(
        RequestId(u64::MAX),
        TargetId::FIRST_LUN,
        HostRequest::Read(HARMED * 8..HARMED * 8 + 8),
    );
    assert!(matches!(answer, Err(RequestError::BlocksGone)), "{answer:?}");
}

fn assert_stale(rig: &mut Rig, holds: BlockContents, place: SpindleBlock) {
    let findings = rig.report().findings;
    assert!(
        matches!(&findings[..], [Inconsistency::Block { holds: found, place: at, why }]
            if *found == holds && *at == place && why.contains("stale")),
        "{findings:?}"
    );
}

fn scrub_makes_good(rig: &mut Rig) {
    let scrubbed = rig.scrub();
    assert_eq!((scrubbed.bad_blocks, scrubbed.repaired_blocks), (1, 1));
    assert!(scrubbed.lost_writes.is_empty() && scrubbed.gone.is_empty());
    rig.check();
    assert!(rig.scrub().is_clean());
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
                Inconsistency::Label { device: DeviceIndex(1), block: 0, .. },
                Inconsistency::Superblock { spindle: SpindleIndex(1), .. }
            ]
        ),
        "{findings:?}"
    );
    // A start writes both again.
    restart_and_verify(&mut rig);
}

#[test]
fn a_superblock_that_was_being_written_is_no_finding_and_a_missing_one_is() {
    let mut rig = full(6);
    rig.start();
    rig.write(0..8, false);
    rig.settle();
    rig.crash();
    let read = |rig: &Rig, slot: u64| {
        let mut bytes = vec![0; BLOCK];
        rig.devices().disk(DeviceIndex(1)).read(slot * BLOCK as u64, &mut bytes).unwrap();
        Superblock::decode(&bytes).unwrap()
    };
    let [one, other] = SUPERBLOCK_SLOTS.map(|slot| read(&rig, slot));
    let (newest, before) =
        if one.consistency_point > other.consistency_point { (one, other) } else { (other, one) };
    assert!(!newest.clean);
    let write = |rig: &Rig, superblock: &Superblock, slot: u64| {
        let bytes = superblock.encode();
        rig.devices().disk_mut(DeviceIndex(1)).write(slot * BLOCK as u64, bytes.bytes());
    };
    // What the newest would have overwritten.
    let older = Superblock { consistency_point: newest.consistency_point - 2, ..before.clone() };
    write(&rig, &older, newest.slot());
    let report = rig.report();
    assert_eq!(report.findings, []);
    let of_one = |found: &Inconsistency| matches!(found, Inconsistency::Superblock { spindle, .. } if spindle.0 == 1);
    assert!(matches!(&report.interrupted[..], [found] if of_one(found)), "{report:?}");
    // The same if power failed within its block, at any sector.
    for sectors in 0..8 {
        let mut torn = newest.encode();
        torn.bytes_mut()[sectors * 512..].copy_from_slice(&older.encode().bytes()[sectors * 512..]);
        let offset = newest.slot() * BLOCK as u64;
        rig.devices().disk_mut(DeviceIndex(1)).write(offset, torn.bytes());
        let report = rig.report();
        assert_eq!(report.findings, [], "torn after {sectors} sectors");
        assert_eq!(report.interrupted.len(), usize::from(sectors < 8), "{report:?}");
    }
    write(&rig, &older, newest.slot());
    // It lacks two.
    write(
        &rig,
        &Superblock { consistency_point: newest.consistency_point - 3, ..before.clone() },
        before.slot(),
    );
    let report = rig.report();
    assert!(matches!(&report.findings[..], [found] if of_one(found)), "{report:?}");
    assert_eq!(report.interrupted, []);
    // One behind is completed.
    write(&rig, &before, before.slot());
    restart_and_verify(&mut rig);
    // The array is shut down, so all spindles have the newest.
    let newest = SUPERBLOCK_SLOTS.map(|slot| read(&rig, slot));
    let newest = newest.into_iter().max_by_key(|one| one.consistency_point).unwrap();
    assert!(newest.clean);
    write(
        &rig,
        &Superblock { consistency_point: newest.consistency_point - 2, ..newest.clone() },
        newest.slot(),
    );
    let report = rig.report();
    assert!(matches!(&report.findings[..], [found] if of_one(found)), "{report:?}");
    // Two behind is stale.
    let older = Superblock { consistency_point: newest.consistency_point - 3, ..newest };
    write(&rig, &older, older.slot());
    rig.start();
    assert_eq!(rig.running().engine().label().members[1].state, MemberState::Failed);
    rig.verify();
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
    assert!(
        rig.report()
            .findings
            .contains(&Inconsistency::Lost { holds: BlockContents::lun(HARMED), place })
    );
    assert_eq!(rig.scrub().gone, [(BlockContents::lun(HARMED), place)]);
}
