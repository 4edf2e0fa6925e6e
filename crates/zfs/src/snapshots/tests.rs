//! Volumes with snapshots against the plain sets of blocks that each of them has.

use std::collections::{BTreeMap, BTreeSet};

use strewn_base::Rng;

use crate::{AllocationOrder, Pool, PoolOptions, Redundancy, Vdev, Volume, VolumeShape};

/// Places of copies, with their bytes.
type Places = BTreeMap<(u16, u64), u32>;

const BLOCK_BYTES: u32 = 8 << 10;

fn places(volume: &Volume) -> Places {
    let mut places = Places::new();
    volume.for_each_written(|_, _, block, bytes| {
        assert_eq!(places.insert(block.place(), bytes), None, "a place has one block");
    });
    places
}

struct Model {
    pool: Pool,
    volume: Volume,
    order: AllocationOrder,
    /// What each snapshot has.
    snapshots: BTreeMap<u32, Places>,
}

impl Model {
    fn new(redundancy: Redundancy, seed: u64) -> Self {
        let vdev = Vdev { redundancy, ashift: 12, drive_bytes: 256 << 20, scale_down: 1 };
        let shape =
            VolumeShape { blocks: 3_000, block_bytes: BLOCK_BYTES, stored_bytes: BLOCK_BYTES };
        Self {
            pool: Pool::new(&[vdev], PoolOptions::default()),
            volume: Volume::new(shape),
            order: AllocationOrder::new(Some(32), seed),
            snapshots: BTreeMap::new(),
        }
    }

    fn txg(&mut self, dirty: Vec<u32>, takes_snapshot: bool, frees: u64) {
        self.volume.snapshots_mut().free_some(&mut self.pool, frees);
        self.volume.sync(&mut self.pool, dirty, &mut self.order, &mut Vec::new()).unwrap();
        if takes_snapshot {
            let id = self.volume.take_snapshot(&self.pool);
            assert_eq!(self.snapshots.insert(id, places(&self.volume)), None);
        }
        self.pool.sync_pass();
        self.pool.sync_done();
    }

    fn delete(&mut self, id: u32) {
        assert!(self.volume.snapshots_mut().delete(id));
        assert!(!self.volume.snapshots_mut().delete(id));
        self.snapshots.remove(&id);
    }

    /// What the pool has is what the volume and its snapshots have, and nothing else.
    fn check(&mut self, case: &str) {
        let mut held = Places::new();
        self.volume.snapshots().for_each_held(|block, bytes| {
            assert_eq!(held.insert(block.place(), bytes), None, "{case}: held twice");
        });
        let live = places(&self.volume);
        let by_snapshots: BTreeSet<_> = self.snapshots.values().flatten().collect();
        let only_by_snapshots: Places = by_snapshots
            .into_iter()
            .filter(|(place, _)| !live.contains_key(place))
            .map(|(place, bytes)| (*place, *bytes))
            .collect();
        let (kept, freeing): (Places, Places) =
            held.iter().partition(|(place, _)| only_by_snapshots.contains_key(place));
        assert_eq!(kept, only_by_snapshots, "{case}");
        assert_eq!(freeing.is_empty(), !self.volume.snapshots().is_freeing(), "{case}");
        let bytes: u64 = held.values().map(|bytes| u64::from(*bytes)).sum();
        let snapshots = self.volume.snapshots();
        assert_eq!((snapshots.held_blocks(), snapshots.held_bytes()), (held.len() as u64, bytes));
        let in_use = live.iter().chain(&held);
        let allocated: u64 = in_use
            .map(|((vdev, _), bytes)| self.pool.allocated_bytes(*vdev, (*bytes).into()))
            .sum();
        // What was freed lately counts as in use.
        assert_eq!(self.pool.allocated() - self.pool.deferred(), allocated, "{case}");
        for (vdev, offset) in live.keys().chain(held.keys()) {
            assert!(self.pool.is_in_use(*vdev, *offset), "{case}: {offset} of {vdev} is free");
        }
    }
}

#[test]
fn the_pool_keeps_what_the_volume_and_its_snapshots_have_and_frees_the_rest() {
    let kinds = [Redundancy::Mirror { drives: 1 }, Redundancy::RaidZ { drives: 6, parity: 2 }];
    for (seed, redundancy) in (0..12).zip(kinds.into_iter().cycle()) {
        let mut rng = Rng::new(seed);
        let mut model = Model::new(redundancy, seed);
        for step in 0..200 {
            let case = format!("seed {seed}, step {step}");
            let dirty = BTreeSet::from_iter((0..rng.below(60)).map(|_| rng.below(3_000) as u32));
            let takes_snapshot = rng.below(4) == 0 && model.snapshots.len() < 8;
            model.txg(dirty.into_iter().collect(), takes_snapshot, rng.below(3) * 40);
            if rng.below(5) == 0 && !model.snapshots.is_empty() {
                let at = rng.below(model.snapshots.len() as u64) as usize;
                let id = model.snapshots.keys().copied().nth(at).unwrap();
                model.delete(id);
            }
            model.check(&case);
        }
        // Without snapshots nothing is left but the volume.
        for id in Vec::from_iter(model.snapshots.keys().copied()) {
            model.delete(id);
        }
        while model.volume.snapshots().is_freeing() {
            model.txg(Vec::new(), false, 100);
        }
        model.check(&format!("seed {seed}, end"));
        assert_eq!(model.volume.snapshots().held_blocks(), 0, "seed {seed}");
    }
}

#[test]
fn the_first_overwrite_of_a_snapshot_costs_its_blocks_and_no_other() {
    let mut model = Model::new(Redundancy::Mirror { drives: 1 }, 1);
    model.txg((0..1_000).collect(), true, 0);
    assert_eq!(model.volume.unshared_blocks(), 0);
    model.txg((0..100).collect(), false, 0);
    model.txg((0..100).collect(), false, 0);
    assert_eq!(model.volume.unshared_blocks(), 100);
    let mut data = 0;
    model.volume.snapshots().for_each_held(|_, bytes| data += u32::from(bytes == BLOCK_BYTES));
    assert_eq!(data, 100, "what was born after the snapshot is freed");
}
