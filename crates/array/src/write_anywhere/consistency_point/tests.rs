//! Consistency points by themselves: any dirty blocks, their commands completed in any order, against a model of what
//! lies where.

use std::collections::BTreeMap;

use strewn_base::Rng;
use strewn_raid::Vbn;

use super::super::context::{Next, Requested};
use super::super::fixture::{LUN_BLOCKS, Surroundings, config};
use super::super::tag::{Owner, TagFields};
use super::ConsistencyPoints;

const NOTHING: fn(&super::Space) -> Requested =
    |_| Requested { metadata: Vec::new(), empties_areas: false, regions: Vec::new() };

/// Lets one of the commands complete, and carries out what is asked for. Returns whether the consistency point has been
/// committed.
fn complete_one(
    points: &mut ConsistencyPoints<()>,
    around: &mut Surroundings,
    rng: &mut Rng,
) -> bool {
    let (fields, command) =
        around.driver.any_command(rng, TagFields::unpack).expect("it waits for a command");
    let cx = &mut around.context();
    match fields.owner {
        Owner::ConsistencyPointRead => points.on_metadata_read(fields, Some(&()), cx),
        Owner::Tetris => points.on_tetris_command_done(fields, Some(&()), cx),
        owner => panic!("{owner:?} has sent {command:?}"),
    }
    carry_out(points, around)
}

fn carry_out(points: &mut ConsistencyPoints<()>, around: &mut Surroundings) -> bool {
    let mut committed = false;
    let mut asked = around.asked();
    while let Some(next) = asked.pop_front() {
        match next {
            Next::AdvanceConsistencyPoint => {
                points.advance(&mut around.context());
                asked.extend(around.asked());
            }
            Next::AfterCommit => committed = true,
            Next::TurnTo(_) | Next::Log(..) | Next::RelocateAfterCommit => {}
            _ => panic!("a consistency point has asked for what is not its own"),
        }
    }
    committed
}

/// Where all blocks lie.
fn places(around: &Surroundings) -> BTreeMap<u32, Vbn> {
    let keys = 0..around.space.keys.end();
    keys.filter_map(|key| Some((key, around.space.map.get(key)?))).collect()
}

#[test]
fn each_dirty_block_moves_once_and_what_it_leaves_becomes_free() {
    for seed in 0..40 {
        let mut rng = Rng::new(seed);
        let mut around = Surroundings::new(config());
        let mut points = ConsistencyPoints::new();
        for round in 0..8 {
            let context = format!("seed {seed}, round {round}");
            let before = places(&around);
            let mut dirty: Vec<u32> =
                (0..rng.within(1..150)).map(|_| rng.below(LUN_BLOCKS.into()) as u32).collect();
            for key in &dirty {
                around.memory.write(*key, &mut around.counters);
            }
            dirty.sort_unstable();
            dirty.dedup();
            around.now_ns += 1;
            let taken = points.begin(NOTHING, &mut around.context()).unwrap();
            assert_eq!(taken.data_blocks, dirty.len() as u64, "{context}");
            assert!(around.memory.is_clean(), "{context}: something is left dirty");
            around.driver.writes.clear();
            let mut committed = carry_out(&mut points, &mut around);
            while !committed {
                committed = complete_one(&mut points, &mut around, &mut rng);
            }
            let after = places(&around);
            let moved: Vec<u32> = before
                .iter()
                .filter(|(key, vbn)| after.get(key) != Some(vbn))
                .map(|(key, _)| *key)
                .filter(|key| *key < LUN_BLOCKS)
                .collect();
            assert_eq!(moved, dirty, "{context}: the blocks of data that moved");
            let mut at: Vec<Vbn> = after.values().copied().collect();
            at.sort_unstable();
            at.dedup();
            assert_eq!(at.len(), after.len(), "{context}: two blocks lie at one place");
            assert!(at.iter().all(|vbn| !around.space.aggregate.is_free(*vbn)), "{context}");
            // In use is what has a place, both superblocks, and what is freed with a delay.
            let counts = around.space.aggregate.counts();
            let delayed = around.space.volumes.held_back_blocks();
            assert_eq!(counts.total - counts.free, at.len() as u64 + 2 + delayed, "{context}");
            for (_, vbn) in after.iter().filter(|(key, vbn)| before.get(key) != Some(vbn)) {
                let place = around.space.run_at(*vbn);
                for sector in (place.dbn * 8)..(place.dbn * 8 + 8) {
                    let writes = around.driver.writes.get(&(place.spindle, sector));
                    assert_eq!(writes, Some(&1), "{context}: writes of the block at {vbn:?}");
                }
            }
            around.memory.assert_invariants();
            assert!(around.driver.commands.is_empty(), "{context}: commands are left");
        }
    }
}

#[test]
fn without_anything_dirty_none_begins() {
    let mut around = Surroundings::new(config());
    let mut points = ConsistencyPoints::<()>::new();
    assert!(points.begin(NOTHING, &mut around.context()).is_none());
    assert!(!points.is_in_progress() && around.asked().is_empty());
}

#[test]
fn the_commit_waits_for_reads_sent_before_it_began() {
    let mut rng = Rng::new(1);
    let mut around = Surroundings::new(config());
    let mut points = ConsistencyPoints::new();
    let epoch_parity = around.memory.reads.sent();
    around.memory.write(7, &mut around.counters);
    points.begin(NOTHING, &mut around.context()).unwrap();
    assert!(!carry_out(&mut points, &mut around));
    while !around.driver.commands.is_empty() {
        assert!(!complete_one(&mut points, &mut around, &mut rng), "a read may still be late");
    }
    assert!(around.memory.reads.came_back(epoch_parity));
    points.advance(&mut around.context());
    assert!(carry_out(&mut points, &mut around));
}
