//! Spindles that are lost at any moment.

use std::collections::BTreeSet;

use strewn_array::BlockContents;
use strewn_live::device::{DeviceIndex, Devices, SimulatedDisk};
use strewn_live::format::BlockTag;
use strewn_live::store::{SpindleWriteError, StoreEvent, Token};
use strewn_raid::{Dbn, SpindleIndex};

use super::rig::{Rig, SPINDLES};

/// Whatever was asked is answered once, and a loss is said once.
#[test]
fn everything_is_answered_once() {
    for seed in 0..200 {
        let mut rig = Rig::new(seed);
        let mut asked = BTreeSet::new();
        let mut losses = 0;
        for round in 0..6_u64 {
            for block in 0..rig.rng.below(12) {
                let token = rig.token();
                asked.insert(token);
                let spindle = SpindleIndex(rig.rng.below(u64::from(SPINDLES)) as u16);
                // Writes of one round are of different blocks, some of them in part.
                let first = block * 240 + rig.rng.below(8);
                match rig.rng.below(7) {
                    0 => rig.store.flush(token),
                    1 | 2 => rig.store.read(token, spindle, first, 100),
                    3 => rig.store.read_checksums(token, spindle, Dbn(first / 8), 100),
                    _ => {
                        let sectors = 1 + rig.rng.below(220) as usize;
                        let blocks = (first as usize % 8 + sectors).div_ceil(8);
                        let bytes = vec![round as u8; sectors * 512];
                        rig.store.write(
                            token,
                            spindle,
                            first,
                            &[&bytes],
                            &vec![BlockTag::from(BlockContents::Parity); blocks],
                            1,
                        );
                    }
                }
                if rig.rng.one_in(2) {
                    rig.submit();
                }
            }
            let spindle = SpindleIndex(rig.rng.below(u64::from(SPINDLES)) as u16);
            let device = DeviceIndex(spindle.0);
            let is_lost = rig.rng.one_in(2);
            if is_lost {
                rig.submit();
                rig.devices.lose_device(device, "pulled");
            }
            let mut said = 0;
            for finished in rig.finish_all() {
                let token = match finished {
                    StoreEvent::SpindleLost(lost) => {
                        assert_eq!(lost, spindle);
                        said += 1;
                        continue;
                    }
                    StoreEvent::Read { token, result } => {
                        assert!(result.is_ok() || result == Err(SpindleWriteError::SpindleLost));
                        token
                    }
                    StoreEvent::ChecksumsRead { token, result } => {
                        assert!(result.is_ok() || result == Err(SpindleWriteError::SpindleLost));
                        token
                    }
                    StoreEvent::Write { token, result } | StoreEvent::Flush { token, result } => {
                        // A replacement has no entries yet, and a part of a block cannot be written without them.
                        let is_bad = matches!(result, Err(SpindleWriteError::BadBlocks { .. }));
                        assert!(
                            result.is_ok()
                                || result == Err(SpindleWriteError::SpindleLost)
                                || rig.zone_rows > 0 && is_bad,
                            "{result:?}"
                        );
                        token
                    }
                    StoreEvent::Superblock { .. } => panic!("none was asked for"),
                };
                assert!(asked.remove(&token), "{token:?} is answered twice");
            }
            assert_eq!(asked, BTreeSet::<Token>::new());
            assert!(said <= u32::from(is_lost));
            losses += said;
            if is_lost {
                let blank = SimulatedDisk::zeroed(rig.size());
                rig.devices.replace(device, blank);
                rig.store.admit_spindle(spindle);
                rig.store.on_losses_recorded();
            }
        }
        println!("{losses} losses");
    }
}

/// A zone was initialized without a lost spindle before the labels said that it is lost. If the power failed then, the
/// spindle returned, and what was never written there counted as erased.
#[test]
fn regression_zones_are_initialized_without_a_spindle_once_the_labels_have_its_loss() {
    let mut rig = (0..).map(Rig::new).find(|rig| rig.zone_rows > 0).unwrap();
    rig.devices.lose_device(DeviceIndex(1), "pulled");
    let tag = [BlockTag::from(BlockContents::Parity)];
    rig.store.write(Token(1), SpindleIndex(0), 0, &[&[7; 4096]], &tag, 1);
    let mut events = Vec::new();
    loop {
        rig.submit();
        let Some(done) = rig.devices.step() else { break };
        rig.store.done(done);
        rig.store.take_events(&mut events);
    }
    assert!(matches!(events[..], [StoreEvent::SpindleLost(SpindleIndex(1))]), "{events:?}");
    assert!(rig.store.waits_for_labels());
    rig.store.on_losses_recorded();
    let events = rig.finish_all();
    assert!(matches!(events[..], [StoreEvent::Write { token: Token(1), result: Ok(()) }]));
}
