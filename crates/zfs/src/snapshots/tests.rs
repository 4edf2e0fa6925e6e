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
    /// A volume, and its clones.
    volumes: Vec<Volume>,
    order: AllocationOrder,
    /// What each snapshot has of each volume.
    snapshots: BTreeMap<u32, Vec<Places>>,
    /// What the snapshot has that clones are made of.
    origin: Places,
}

impl Model {
    fn new(redundancy: Redundancy, seed: u64) -> Self {
        let vdev = Vdev { redundancy, ashift: 12, drive_bytes: 256 << 20, scale_down: 1 };
        let shape =
            VolumeShape { blocks: 3_000, block_bytes: BLOCK_BYTES, stored_bytes: BLOCK_BYTES };
        Self {
            pool: Pool::new(&[vdev], PoolOptions::default()),
            volumes: vec![Volume::new(shape)],
            order: AllocationOrder::new(Some(32), seed),
            snapshots: BTreeMap::new(),
            origin: Places::new(),
        }
    }

    fn make_clones(&mut self, count: u64) {
        self.origin = places(&self.volumes[0]);
        for _ in 0..count {
            let clone = self.volumes[0].clone_of(&self.pool);
            assert_eq!(places(&clone), self.origin);
            self.volumes.push(clone);
        }
    }

    fn txg(&mut self, dirty: Vec<Vec<u32>>, takes_snapshot: bool, frees: u64) {
        for (volume, dirty) in self.volumes.iter_mut().zip(dirty) {
            volume.snapshots_mut().free_some(&mut self.pool, frees);
            volume.sync(&mut self.pool, dirty, &mut self.order, &mut Vec::new()).unwrap();
        }
        if takes_snapshot {
            let ids = self.volumes.iter_mut().map(|volume| volume.take_snapshot(&self.pool));
            let ids = BTreeSet::from_iter(ids);
            assert_eq!(ids.len(), 1, "a snapshot of all volumes has one name");
            let of_volumes = self.volumes.iter().map(places).collect();
            assert_eq!(self.snapshots.insert(*ids.first().unwrap(), of_volumes), None);
        }
        self.pool.sync_pass();
        self.pool.sync_done();
    }

    fn delete(&mut self, id: u32) {
        for volume in &mut self.volumes {
            assert!(volume.snapshots_mut().delete(id));
            assert!(!volume.snapshots_mut().delete(id));
        }
        self.snapshots.remove(&id);
    }

    /// What the pool has is what the volumes and their snapshots have, and nothing else.
    fn check(&mut self, case: &str) {
        let mut in_use = self.origin.clone();
        for (number, volume) in self.volumes.iter().enumerate() {
            let mut held = Places::new();
            volume.snapshots().for_each_held(|block, bytes| {
                assert_eq!(held.insert(block.place(), bytes), None, "{case}: held twice");
            });
            let live = places(volume);
            let mut by_snapshots = Places::new();
            self.snapshots.values().for_each(|places| by_snapshots.extend(&places[number]));
            // The origin's blocks are held by it alone.
            match number {
                0 => by_snapshots.extend(&self.origin),
                _ => by_snapshots.retain(|place, _| !self.origin.contains_key(place)),
            }
            by_snapshots.retain(|place, _| !live.contains_key(place));
            let (kept, freeing): (Places, Places) =
                held.iter().partition(|(place, _)| by_snapshots.contains_key(place));
            assert_eq!(kept, by_snapshots, "{case}, volume {number}");
            assert_eq!(freeing.is_empty(), !volume.snapshots().is_freeing(), "{case}");
            let bytes: u64 = held.values().map(|bytes| u64::from(*bytes)).sum();
            let snapshots = volume.snapshots();
            let told = (snapshots.held_blocks(), snapshots.held_bytes());
            assert_eq!(told, (held.len() as u64, bytes), "{case}, volume {number}");
            in_use.extend(live);
            in_use.extend(held);
        }
        let allocated: u64 = in_use
            .iter()
            .map(|((vdev, _), bytes)| self.pool.allocated_bytes(*vdev, (*bytes).into()))
            .sum();
        // What was freed lately counts as in use.
        assert_eq!(self.pool.allocated() - self.pool.deferred(), allocated, "{case}");
        for (vdev, offset) in in_use.keys() {
            assert!(self.pool.is_in_use(*vdev, *offset), "{case}: {offset} of {vdev} is free");
        }
    }
}

#[test]
fn the_pool_keeps_what_volumes_and_their_snapshots_have_and_frees_the_rest() {
    let kinds = [Redundancy::Mirror { drives: 1 }, Redundancy::RaidZ { drives: 6, parity: 2 }];
    for (seed, redundancy) in (0..12).zip(kinds.into_iter().cycle()) {
        let mut rng = Rng::new(seed);
        let mut model = Model::new(redundancy, seed);
        if seed % 3 == 2 {
            model.txg(vec![(0..2_000).collect()], false, 0);
            model.make_clones(1 + rng.below(3));
        }
        for step in 0..200 {
            let case = format!("seed {seed}, step {step}");
            let mut some = |_: &Volume| {
                let some = (0..rng.below(60)).map(|_| rng.below(3_000) as u32);
                BTreeSet::from_iter(some).into_iter().collect()
            };
            let dirty = model.volumes.iter().map(&mut some).collect();
            let takes_snapshot = rng.below(4) == 0 && model.snapshots.len() < 8;
            model.txg(dirty, takes_snapshot, rng.below(3) * 40);
            if rng.below(5) == 0 && !model.snapshots.is_empty() {
                let at = rng.below(model.snapshots.len() as u64) as usize;
                let id = model.snapshots.keys().copied().nth(at).unwrap();
                model.delete(id);
            }
            model.check(&case);
        }
        // Without snapshots nothing is left but the volumes, and what clones are made of.
        for id in Vec::from_iter(model.snapshots.keys().copied()) {
            model.delete(id);
        }
        while model.volumes.iter().any(|volume| volume.snapshots().is_freeing()) {
            model.txg(vec![Vec::new(); model.volumes.len()], false, 100);
        }
        model.check(&format!("seed {seed}, end"));
        for volume in &model.volumes {
            let holds = model.origin.is_empty() || volume.snapshots().is_clone();
            assert!(!holds || volume.snapshots().held_blocks() == 0, "seed {seed}");
        }
    }
}

#[test]
fn the_first_overwrite_of_a_snapshot_costs_its_blocks_and_no_other() {
    let mut model = Model::new(Redundancy::Mirror { drives: 1 }, 1);
    model.txg(vec![(0..1_000).collect()], true, 0);
    let unshared = |model: &Model| model.volumes[0].unshared_blocks();
    assert_eq!(unshared(&model), 0);
    model.txg(vec![(0..100).collect()], false, 0);
    model.txg(vec![(0..100).collect()], false, 0);
    assert_eq!(unshared(&model), 100);
    let mut data = 0;
    model.volumes[0].snapshots().for_each_held(|_, bytes| data += u32::from(bytes == BLOCK_BYTES));
    assert_eq!(data, 100, "what was born after the snapshot is freed");
}
