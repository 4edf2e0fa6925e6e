//! Space by itself: places, numbers, snapshots and what volumes may claim, in random order, against counts made anew.

use strewn_base::Rng;
use strewn_volume::{SnapshotId, VolumeId};

use super::super::fixture::{LUN_BLOCKS, config};
use super::snapshots::LeftPlace;
use super::{Placed, Space};

/// Gives some blocks of the LUN new places, as a consistency point does, and takes the snapshots that were asked for.
fn move_blocks(space: &mut Space, rng: &mut Rng) {
    let mut keys: Vec<u32> =
        (0..rng.within(1..200)).map(|_| rng.below(LUN_BLOCKS.into()) as u32).collect();
    keys.sort_unstable();
    keys.dedup();
    space.begin_snapshots();
    space.aggregate.begin(keys.len() as u64).unwrap();
    for key in keys {
        let Placed { vbn, before, number } = space.place(key).unwrap();
        let (number, before) = (number.unwrap(), before.unwrap());
        assert_ne!(vbn, before, "a block in use was given its own place");
        let left = match space.snapshots.is_some() {
            true => space.record_replacement(key, Some((number.before, before))),
            false => LeftPlace::Free,
        };
        if left == LeftPlace::Free {
            space.volumes.hold_back(number.before, before);
        }
    }
    for vbn in space.continue_deletions(200).0 {
        space.aggregate.free_at_commit(vbn).unwrap();
    }
    while let Some((_, blocks)) = space.volumes.reclaim(space.delayed_frees_allowed()) {
        for vbn in blocks {
            space.aggregate.free_at_commit(vbn).unwrap();
        }
    }
    space.aggregate.finish();
    while space.aggregate.next_tetris().is_some() {}
    space.aggregate.commit().unwrap();
    space.on_snapshots_committed();
    space.note_room();
}

#[test]
fn numbers_claims_and_room_are_what_counting_finds() {
    for seed in 0..30 {
        let mut rng = Rng::new(seed);
        let mut space = Space::laid_out(config(), false).unwrap();
        let volume = VolumeId(0);
        let mut taken: Vec<SnapshotId> = Vec::new();
        for step in 0..40 {
            let context = format!("seed {seed}, step {step}");
            match rng.below(6) {
                0 => {
                    if let Ok(asked) = space.ask_for_snapshots(&[volume], 0) {
                        move_blocks(&mut space, &mut rng);
                        taken.extend(asked.into_iter().map(|(_, snapshot)| snapshot));
                    }
                }
                1 if !taken.is_empty() => {
                    let snapshot = taken.swap_remove(rng.below(taken.len() as u64) as usize);
                    assert!(space.delete_snapshot(volume, snapshot), "{context}");
                    assert!(!space.delete_snapshot(volume, snapshot), "{context}: deleted twice");
                }
                _ => move_blocks(&mut space, &mut rng),
            }
            space.note_room();
            space.assert_numbers_agree();
            space.assert_reservations_agree();
            let counts = space.aggregate.counts();
            assert!(space.room_blocks <= counts.free, "{context}: more room than free blocks");
            let metadata = u64::from(space.keys.metadata_blocks());
            assert!(
                counts.free < metadata || space.room_blocks + metadata <= counts.free,
                "{context}: no room is kept for metadata"
            );
        }
    }
}

#[test]
fn a_write_has_room_exactly_up_to_the_last_place() {
    let mut space = Space::laid_out(config(), false).unwrap();
    space.note_room();
    let dirty = strewn_alloc::SummaryBitmap::new(LUN_BLOCKS.into());
    let room = space.room_blocks as u32;
    assert!(space.has_room(0..=0, &dirty, room - 1));
    assert!(!space.has_room(0..=0, &dirty, room));
    assert!(space.has_room(0..=9, &dirty, room - 10));
    assert!(!space.has_room(0..=9, &dirty, room - 9));
}
