//! The background by itself: relocation and the map scan, their reads completed in any order.

use strewn_base::Rng;

use super::super::context::Next;
use super::super::fixture::{Surroundings, config};
use super::super::tag::{Owner, TagFields};
use super::map_scan::BackgroundScan;
use super::relocation::{ReallocationScan, RelocationConfig};
use super::{Background, BackgroundWork};

fn complete_one(background: &mut Background, around: &mut Surroundings, rng: &mut Rng) -> bool {
    let Some((fields, command)) = around.driver.any_command(rng, TagFields::unpack) else {
        return false;
    };
    match fields.owner {
        Owner::Relocation => {
            background.on_relocation_read(fields, Some(&()), &mut around.context());
        }
        Owner::Aside => background.on_scan_read_done(),
        owner => panic!("{owner:?} has sent {command:?}"),
    }
    true
}

#[test]
fn what_is_relocated_becomes_dirty_and_is_held_no_longer() {
    for seed in 0..30 {
        let mut rng = Rng::new(seed);
        let mut around = Surroundings::new(config());
        around.memory.dirty.begin_relocating();
        let mut background = Background::default();
        let reads_in_flight = rng.within(1..6) as u32;
        background.set_relocation(RelocationConfig {
            scan: Some(ReallocationScan {
                begins_ns: 0,
                every_ns: None,
                bytes_per_s: 1 << 30,
                stretch_blocks: 64,
                // All that is not in one run is worth moving, and what has just been laid out is not.
                threshold: 0.0,
            }),
            reads_in_flight,
            ..RelocationConfig::NONE
        });
        background.start(0);
        let mut dirty = 0;
        for step in 0..4_000 {
            let context = format!("seed {seed}, step {step}");
            around.now_ns += 1_000_000;
            match rng.one_in(3) {
                true => background.on_timer(&mut around.context()),
                false => drop(complete_one(&mut background, &mut around, &mut rng)),
            }
            assert!(around.driver.commands.len() <= reads_in_flight as usize, "{context}");
            let relocated = around.memory.dirty.relocated();
            assert_eq!(relocated, around.memory.dirty.blocks().count(), "{context}");
            let asked = around.asked();
            let waits = asked.iter().any(|next| matches!(next, Next::AfterRelocation(true)));
            if waits || rng.one_in(50) {
                // A consistency point takes what is dirty.
                for key in around.memory.dirty.take_dirty() {
                    around.memory.cache.begin_flush(key);
                    let evicted = around.memory.cache.end_flush(key);
                    around.memory.forget(evicted, &mut around.counters);
                    dirty += 1;
                }
                around.memory.dirty.reset_relocated();
                background.on_commit(&mut around.context());
                around.asked();
            }
            around.memory.assert_invariants();
        }
        while complete_one(&mut background, &mut around, &mut rng) {}
        assert!(background.is_idle(), "seed {seed}: something is still being relocated");
        let (moved, progress) = (around.counters.scan_blocks, background.scan_progress(4_000));
        assert!(progress.is_some_and(|scan| scan.ended_ns.is_some()), "seed {seed}: {progress:?}");
        assert_eq!(moved, dirty + around.memory.dirty.relocated(), "seed {seed}");
        // Nothing is held: all of it can leave.
        around.memory.dirty.take_dirty().into_iter().for_each(|key| {
            around.memory.cache.begin_flush(key);
            let _ = around.memory.cache.end_flush(key);
        });
        around.memory.discard_clean(&mut around.counters);
        assert_eq!(around.memory.cache.blocks(), 0, "seed {seed}: blocks are held");
    }
}

#[test]
fn a_map_scan_keeps_its_pace_and_its_reads_in_flight() {
    let mut rng = Rng::new(1);
    let mut around = Surroundings::new(config());
    around.memory.discard_clean(&mut around.counters);
    let mut background = Background::default();
    let (blocks_per_second, reads_in_flight) = (1_000, 4);
    let scan = BackgroundScan { blocks_per_second, reads_in_flight, ..BackgroundScan::default() };
    background.set_work(BackgroundWork { reclaim_interval_ns: 0, scan: Some(scan) });
    for _ in 0..2_000 {
        let due_ns = background.due_ns().unwrap();
        assert!(due_ns >= around.now_ns && due_ns <= around.now_ns + 1_000_000);
        around.now_ns = due_ns;
        background.on_timer(&mut around.context());
        assert!(around.driver.commands.len() <= reads_in_flight as usize);
        if rng.one_in(2) {
            complete_one(&mut background, &mut around, &mut rng);
        }
    }
    assert!(around.counters.map_scan_reads > 800 && around.counters.map_scan_hits == 0);
}
