//! The cache against two lists and a set of pinned blocks, and itself after it was saved.

use super::*;
use proptest::prelude::*;
use std::collections::{BTreeMap, VecDeque};

const KEYS: u32 = 24;

#[test]
fn blocks_used_twice_stay_while_a_stream_of_blocks_used_once_passes() {
    let mut cache = BufferCache::new(10_000, 100, 50);
    for key in 0..40 {
        cache.insert(key);
        assert!(cache.touch(key));
    }
    for key in 1_000..9_000 {
        cache.insert(key);
    }
    assert!((0..40).all(|key| cache.contains(key)));
    assert!((8_940..9_000).all(|key| cache.contains(key)));
    assert!(!cache.contains(8_939));
}

#[test]
fn a_protected_block_that_is_not_used_again_gives_way_to_others() {
    let mut cache = BufferCache::new(10_000, 100, 50);
    for key in 0..200 {
        cache.insert(key);
        cache.touch(key);
    }
    assert!((150..200).all(|key| cache.contains(key)));
    for key in 1_000..1_100 {
        cache.insert(key);
    }
    assert!(!cache.contains(149) && cache.contains(150));
}

#[test]
fn regression_a_cache_that_pinned_blocks_overfilled_returns_to_its_capacity() {
    let mut cache = BufferCache::new(100, 4, 2);
    for key in 0..20 {
        cache.write(key);
        cache.begin_flush(key);
    }
    assert_eq!(cache.blocks, 20);
    for key in 0..20 {
        cache.end_flush(key);
    }
    assert_eq!(cache.blocks, 4);
}

#[test]
fn blocks_used_over_and_over_leave_in_the_order_of_their_last_uses() {
    let mut cache = BufferCache::new(200, 100, 60);
    for round in 0..100 {
        for key in 100..200 {
            cache.insert((key * 7 + round) % 100 + 100);
        }
    }
    // Used last: (199 * 7 + 99) % 100 + 100, and those before it; 40 of them are no longer protected.
    let used: Vec<u32> = (100..200).map(|key| (key * 7 + 99) % 100 + 100).collect();
    for (place, key) in (0..40).enumerate() {
        assert_eq!(cache.insert(key), Evicted(Some(used[place])));
    }
}

#[test]
fn a_block_is_held_more_often_than_its_state_counts() {
    let mut cache = BufferCache::new(10, 1, 0);
    for _ in 0..5_000 {
        cache.insert_run(3, 1, true, |_, _| {});
    }
    let mut cache = restored(&cache, 0);
    for _ in 0..4_999 {
        assert_eq!(cache.release(3), Evicted(None));
        assert_eq!(cache.insert(4), Evicted(None));
        assert!(cache.discard(4) && cache.contains(3));
    }
    cache.release(3);
    assert_eq!(cache.insert(4), Evicted(Some(3)));
}

#[test]
fn saved_blocks_that_cannot_be_are_refused() {
    let mut saved = BufferCache::new(20, 10, 5);
    for key in 0..10 {
        saved.insert(key);
    }
    for (keys, capacity) in [(9, 10), (20, 9)] {
        let mut cache = BufferCache::new(keys, capacity, 5);
        assert!(cache.restore(&mut StateReader::new(&state_of(&saved))).is_err());
    }
}

fn state_of(cache: &BufferCache) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = StateWriter::new(&mut bytes);
    cache.save(&mut writer).unwrap();
    writer.finish().unwrap();
    bytes
}

/// A cache like `saved` whose lists have segments of so many places.
fn like(saved: &BufferCache, segment_bits: u32) -> BufferCache {
    let (capacity, protected_capacity) = (saved.capacity as u32, saved.protected_capacity as u32);
    let mut cache = BufferCache::new(saved.states.keys(), capacity, protected_capacity);
    cache.probation.set_segment_bits(segment_bits);
    cache.protection.set_segment_bits(segment_bits);
    cache
}

/// The cache after it was saved and restored.
fn restored(saved: &BufferCache, segment_bits: u32) -> BufferCache {
    let bytes = state_of(saved);
    let mut cache = like(saved, segment_bits);
    let mut reader = StateReader::new(&bytes);
    cache.restore(&mut reader).unwrap();
    reader.finish().unwrap();
    assert_eq!(state_of(&cache), bytes);
    cache
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Touch,
    Insert,
    Write,
    BeginFlush,
    EndFlush,
    Hold,
    Release,
    Discard,
    SaveAndRestore,
}

#[derive(Debug, Clone, Copy, Default)]
struct Block {
    dirty: bool,
    flushing: bool,
    protected: bool,
    holds: u32,
}

impl Block {
    fn is_pinned(&self) -> bool {
        self.dirty || self.flushing || self.holds > 0
    }
}

/// The same cache in plain lists, most recently used first.
#[derive(Debug, Default)]
struct Model {
    capacity: usize,
    protected_capacity: usize,
    blocks: BTreeMap<u32, Block>,
    probation: VecDeque<u32>,
    protected: VecDeque<u32>,
}

impl Model {
    fn unlink(&mut self, key: u32) {
        self.probation.retain(|other| *other != key);
        self.protected.retain(|other| *other != key);
    }

    fn link(&mut self, key: u32) {
        if !self.blocks[&key].protected {
            return self.probation.push_front(key);
        }
        self.protected.push_front(key);
        if self.protected.len() > self.protected_capacity {
            let spilled = self.protected.pop_back().unwrap();
            self.blocks.get_mut(&spilled).unwrap().protected = false;
            self.probation.push_front(spilled);
        }
    }

    fn evict(&mut self) -> Option<u32> {
        let victim = self.probation.pop_back().or_else(|| self.protected.pop_back())?;
        self.blocks.remove(&victim);
        Some(victim)
    }

    fn make_room(&mut self) -> Option<u32> {
        if self.blocks.len() < self.capacity { None } else { self.evict() }
    }

    /// Changes a block, which leaves or enters the lists with that.
    fn change(&mut self, key: u32, change: impl FnOnce(&mut Block)) -> Option<u32> {
        self.unlink(key);
        let was_pinned = self.blocks[&key].is_pinned();
        let block = self.blocks.get_mut(&key).unwrap();
        change(block);
        if block.is_pinned() {
            return None;
        }
        self.link(key);
        if was_pinned && self.blocks.len() > self.capacity { self.evict() } else { None }
    }
}

proptest! {
    #[test]
    fn behaves_like_two_lists_and_pinned_blocks(
        capacity in 1..10usize,
        protected_capacity in 0..10usize,
        segment_bits in 0..3u32,
        steps in prop::collection::vec((prop_oneof![
            Just(Step::Touch), Just(Step::Insert), Just(Step::Write), Just(Step::BeginFlush),
            Just(Step::EndFlush), Just(Step::Hold), Just(Step::Release), Just(Step::Discard),
            Just(Step::SaveAndRestore),
        ], 0..KEYS), 1..400),
    ) {
        let cache = BufferCache::new(KEYS, capacity as u32, protected_capacity as u32);
        let mut cache = like(&cache, segment_bits);
        let mut model = Model { capacity, protected_capacity, ..Model::default() };
        for (step, key) in steps {
            let block = model.blocks.get(&key).copied();
            let is = |what: fn(&Block) -> bool| block.as_ref().is_some_and(what);
            match step {
                Step::Touch => {
                    prop_assert_eq!(cache.touch(key), block.is_some());
                    if block.is_some() {
                        model.change(key, |block| block.protected = true);
                    }
                }
                Step::Insert => {
                    let evicted = cache.insert(key);
                    let expected = if block.is_some() {
                        model.change(key, |block| block.protected = true);
                        None
                    } else {
                        let evicted = model.make_room();
                        model.blocks.insert(key, Block::default());
                        model.link(key);
                        evicted
                    };
                    prop_assert_eq!(evicted, Evicted(expected));
                }
                Step::Write => {
                    let (newly_dirty, evicted) = cache.write(key);
                    prop_assert_eq!(newly_dirty, !is(|block| block.dirty));
                    let expected = if block.is_some() { None } else { model.make_room() };
                    prop_assert_eq!(evicted, Evicted(expected));
                    model.unlink(key);
                    model.blocks.entry(key).or_default().dirty = true;
                }
                Step::BeginFlush if is(|block| block.dirty && !block.flushing) => {
                    cache.begin_flush(key);
                    model.change(key, |block| (block.dirty, block.flushing) = (false, true));
                }
                Step::EndFlush if is(|block| block.flushing) => {
                    let expected = model.change(key, |block| block.flushing = false);
                    prop_assert_eq!(cache.end_flush(key), Evicted(expected));
                }
                Step::Hold if block.is_some() => {
                    cache.hold(key);
                    model.change(key, |block| block.holds += 1);
                }
                Step::Release if is(|block| block.holds > 0) => {
                    let expected = model.change(key, |block| block.holds -= 1);
                    prop_assert_eq!(cache.release(key), Evicted(expected));
                }
                Step::Discard if block.is_some() => {
                    let is_needed = is(|block| block.flushing || block.holds > 0);
                    prop_assert_eq!(cache.discard(key), !is_needed);
                    if is_needed {
                        model.blocks.entry(key).or_default().dirty = false;
                    } else {
                        model.unlink(key);
                        model.blocks.remove(&key);
                    }
                }
                Step::SaveAndRestore => cache = restored(&cache, segment_bits),
                Step::BeginFlush
                | Step::EndFlush
                | Step::Hold
                | Step::Release
                | Step::Discard => {}
            }
            let dirty = model.blocks.values().filter(|block| block.dirty).count();
            prop_assert_eq!(cache.dirty_blocks() as usize, dirty);
            prop_assert_eq!(cache.blocks, model.blocks.len());
            cache.assert_invariants();
            for key in 0..KEYS {
                let block = model.blocks.get(&key);
                prop_assert_eq!(cache.contains(key), block.is_some());
                prop_assert_eq!(cache.is_flushing(key), block.is_some_and(|block| block.flushing));
            }
        }
    }
}
