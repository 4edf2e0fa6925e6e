//! Devices that do wrong in silence.

use strewn_live::device::simulated::{Fault, FaultRates};
use strewn_live::device::{BLOCK_BYTES, DeviceIndex};
use strewn_live::format::{checksum_block, device_block};
use strewn_live::store::{BadBlock, BlockState};
use strewn_raid::Dbn;

use super::rig::{Block, Rig, SPINDLES, Version, fits};

/// A block that is not bad is what it was at some time.
fn never_anything_else(
    state: &BlockState,
    may_be: &[Version],
    block: &Block,
    offset: usize,
    bytes: &[u8],
) {
    let zeros = matches!(state, BlockState::NeverWritten) && bytes.iter().all(|byte| *byte == 0);
    let mut versions = may_be.iter().chain([&block.safe]).chain(&block.since);
    let known = versions.any(|version| fits(state, version, offset, bytes));
    assert!(state.is_bad() || zeros || known, "{state:?} never was");
}

#[test]
fn wrong_blocks_are_bad_or_old() {
    let mut bad_writes = 0;
    for seed in 0..60 {
        let mut rig = Rig::new(seed);
        rig.judge = Box::new(never_anything_else);
        for _ in 0..300 {
            // A write of a part of a block that is bad is refused; of one that is old it is another version than the
            // model's, so that parts are written only while nothing is wrong.
            let spindle = rig.rng.below(u64::from(SPINDLES)) as u16;
            let (first, count) = (rig.rng.below(300), 1 + rig.rng.below(90));
            if rig.rng.one_in(2) {
                let from = first * 8 + rig.random_sector();
                rig.read(spindle, from, count * 8);
            } else if rig.can_write(spindle, first * 8, count * 8) {
                rig.write(spindle, first * 8, count * 8);
            }
            if rig.rng.one_in(20) {
                let rates = FaultRates {
                    unreadable_per_million: 20_000,
                    corrupted_per_million: 20_000,
                    misdirected_per_million: 20_000,
                    lost_per_million: 20_000,
                    // Without an initialization map it cannot be told from what was never written.
                    erased_per_million: if rig.zone_rows > 0 { 5_000 } else { 0 },
                    lost_in_a_row: 0,
                };
                let on = rig.rng.one_in(2);
                for spindle in 0..SPINDLES {
                    let rates = if on { rates } else { FaultRates::default() };
                    rig.devices.set_fault_rates(DeviceIndex(spindle), rates);
                }
            }
            rig.submit();
            for _ in 0..rig.rng.below(6) {
                rig.step();
            }
        }
        rig.run_dry();
        rig.read_everything();
        let faults = rig.devices.injected();
        bad_writes += faults
            .iter()
            .filter(|of| matches!(of.fault, Fault::Misdirected { .. } | Fault::LostWrite { .. }))
            .count();
    }
    assert!(bad_writes > 100);
}

/// Each kind of damage, by its name.
#[test]
fn damage_has_a_name() {
    let offset = |block: u64| block * BLOCK_BYTES as u64;
    type Case = (&'static str, fn(&mut Rig, u64), fn(&BlockState) -> bool);
    let cases: [Case; 6] = [
        (
            "a bit of the data",
            |rig, at| rig.devices.corrupt(DeviceIndex(0), at + 77, 4),
            |state| matches!(state, BlockState::Bad(BadBlock::WrongChecksum { .. })),
        ),
        (
            "an unreadable block",
            |rig, at| rig.devices.make_unreadable(DeviceIndex(0), at, 512),
            |state| matches!(state, BlockState::Bad(BadBlock::Unreadable)),
        ),
        (
            "a lost write of data",
            |rig, _| {
                rig.devices.lose_next_write(DeviceIndex(0));
                rig.write(0, 70 * 8, 8);
            },
            |state| matches!(state, BlockState::Bad(BadBlock::WrongChecksum { .. })),
        ),
        (
            "a misdirected write of data",
            |rig, _| {
                rig.devices.misdirect_next_write(DeviceIndex(0));
                rig.write(0, 70 * 8, 8);
            },
            |state| matches!(state, BlockState::Bad(BadBlock::WrongChecksum { .. })),
        ),
        (
            "a bit of the entry",
            |rig, _| {
                let at = checksum_block(1) * BLOCK_BYTES as u64 + 6 * 64 + 9;
                rig.devices.corrupt(DeviceIndex(0), at, 1);
            },
            |state| matches!(state, BlockState::Bad(BadBlock::BadEntry(_))),
        ),
        (
            "an unreadable checksum block",
            |rig, _| {
                let at = checksum_block(1) * BLOCK_BYTES as u64;
                rig.devices.make_unreadable(DeviceIndex(0), at, 512);
            },
            |state| matches!(state, BlockState::Bad(BadBlock::ChecksumUnreadable)),
        ),
    ];
    for (name, damage, is_it) in cases {
        let mut rig = Rig::new(1);
        rig.write(0, 60 * 8, 20 * 8);
        rig.run_dry();
        rig.restart();
        damage(&mut rig, offset(device_block(Dbn(70))));
        // The first to be done is the data's.
        rig.submit_in_order();
        rig.run_dry();
        rig.restart();
        let outcome = rig.read_now(0, 60 * 8, 20 * 8).unwrap();
        assert!(is_it(&outcome.blocks[10]), "{name}: {:?}", outcome.blocks[10]);
        let others_bad = outcome.blocks.iter().filter(|state| state.is_bad()).count() - 1;
        let whole_row = name == "an unreadable checksum block";
        // What a misdirected write lands on is bad as well, if it was written.
        assert!(others_bad <= if whole_row { 15 } else { 1 }, "{name}: {others_bad} others");
    }
}

/// What is zeros for the most part lands on a checksum block: its blocks are not taken for such as were never written.
#[test]
fn a_superblock_over_a_checksum_block_leaves_no_block_never_written() {
    let mut rig = Rig::new(1);
    rig.write(0, 64 * 8, 64 * 8);
    rig.run_dry();
    let mut over = vec![0; BLOCK_BYTES];
    over[..88].fill(7);
    rig.devices.disk_mut(DeviceIndex(0)).write(checksum_block(1) * BLOCK_BYTES as u64, &over);
    rig.restart();
    let outcome = rig.read_now(0, 64 * 8, 64 * 8).unwrap();
    assert!(outcome.blocks.iter().all(BlockState::is_bad), "{:?}", outcome.blocks);
    // Nor are they when those that show the damage are written again.
    rig.write(0, 64 * 8, 2 * 8);
    rig.run_dry();
    rig.restart();
    let outcome = rig.read_now(0, 64 * 8, 64 * 8).unwrap();
    let bad: Vec<bool> = outcome.blocks.iter().map(BlockState::is_bad).collect();
    assert!(bad[2..].iter().all(|bad| *bad) && !bad[0] && !bad[1], "{bad:?}");
}
