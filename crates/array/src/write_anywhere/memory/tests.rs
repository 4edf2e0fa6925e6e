//! Memory by itself: blocks read, written, unmapped and taken by consistency points in random order, against sets.

use std::collections::BTreeSet;

use strewn_base::Rng;

use super::super::fixture::{LUN_BLOCKS, Surroundings, config};
use crate::format::Format;

/// What a set for each reason would say.
#[derive(Default)]
struct Model {
    dirty: BTreeSet<u32>,
    relocated: BTreeSet<u32>,
    unmapped: BTreeSet<u32>,
    rewritten: BTreeSet<u32>,
}

#[test]
fn dirty_relocated_unmapped_and_rewritten_blocks_are_those_of_plain_sets() {
    for seed in 0..40 {
        let mut rng = Rng::new(seed);
        let mut config = config();
        config.format = Format::Durable;
        let mut around = Surroundings::new(config);
        around.memory.dirty.begin_relocating();
        let mut model = Model::default();
        for step in 0..400 {
            let context = format!("seed {seed}, step {step}");
            let key = rng.below(60) as u32;
            let memory = &mut around.memory;
            match rng.below(20) {
                0..8 => {
                    memory.write(key, &mut around.counters);
                    model.dirty.insert(key);
                    model.relocated.remove(&key);
                    model.unmapped.remove(&key);
                }
                8..11 if !model.dirty.contains(&key) && !model.unmapped.contains(&key) => {
                    let (_, evicted) = memory.cache.write(key);
                    memory.forget(evicted, &mut around.counters);
                    memory.dirty.on_relocated(key);
                    model.dirty.insert(key);
                    model.relocated.insert(key);
                }
                11..14 => {
                    memory.unmap(key..=key);
                    model.dirty.remove(&key);
                    model.relocated.remove(&key);
                    model.unmapped.insert(key);
                }
                14..18 => {
                    let map = &around.space.map;
                    memory.fill(key, 1, &(), false, map, &mut around.counters);
                    let is_cached = memory.cache.contains(key);
                    assert!(
                        is_cached != model.unmapped.contains(&key) || is_cached,
                        "{context}: a read has brought an unmapped block back"
                    );
                }
                _ => {
                    let unmapped = memory.dirty.take_unmapped();
                    assert!(unmapped.iter().eq(&model.unmapped), "{context}: unmapped");
                    let taken = memory.dirty.take_dirty();
                    assert!(taken.iter().eq(&model.dirty), "{context}: dirty");
                    assert_eq!(memory.dirty.relocated(), model.relocated.len() as u64, "{context}");
                    for block in &taken {
                        memory.cache.begin_flush(*block);
                        memory.dirty.note_rewritten(*block, None);
                    }
                    memory.dirty.reset_relocated();
                    model.rewritten.extend(model.dirty.difference(&model.relocated));
                    for block in taken {
                        let evicted = memory.cache.end_flush(block);
                        memory.forget(evicted, &mut around.counters);
                    }
                    model = Model { rewritten: model.rewritten, ..Model::default() };
                    assert!(memory.is_clean(), "{context}");
                }
            }
            assert_eq!(memory.dirty.contains(key), model.dirty.contains(&key), "{context}");
            assert_eq!(memory.dirty.is_unmapped(key), model.unmapped.contains(&key), "{context}");
            memory.assert_invariants();
        }
        let rewritten = around.memory.dirty.rewritten(0..LUN_BLOCKS);
        assert_eq!(rewritten, model.rewritten.len() as u64, "seed {seed}: rewritten");
    }
}

#[test]
fn what_was_evicted_is_not_loaded_and_what_is_held_stays() {
    let mut rng = Rng::new(3);
    let mut around = Surroundings::new(config());
    let (map, memory) = (&around.space.map, &mut around.memory);
    memory.fill(5, 1, &(), true, map, &mut around.counters);
    for _ in 0..4_000 {
        let key = rng.within(6..u64::from(LUN_BLOCKS)) as u32;
        memory.fill(key, 1, &(), false, map, &mut around.counters);
    }
    assert!(memory.cache.contains(5), "a block that is held was evicted");
    memory.release(5, &mut around.counters);
    memory.assert_invariants();
}
