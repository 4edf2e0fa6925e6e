//! Dead lists against plain copies of every image, in random orders of overwriting, taking and deleting: with exact
//! entries, and with those of a volume whose numbers are known by region.
//!
//! proptest prints the history to which it shrank a failure, and the seed that repeats it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use proptest::prelude::*;
use proptest::sample::Index;
use strewn_raid::Vbn;
use strewn_volume::{
    DeadLists, Region, SnapshotDeletion, SnapshotId, SpaceSnapshots, VirtualSpace, VolumeId,
};

const KEYS: usize = 40;

#[derive(Debug, Clone)]
enum Step {
    /// Gives keys from one on a new block each.
    Overwrite(Index, usize),
    /// Takes a key's block away.
    Unmap(Index),
    Take,
    Delete(Index),
    /// Continues deletions.
    Work(u64),
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (any::<Index>(), 1..15usize).prop_map(|(key, keys)| Step::Overwrite(key, keys)),
        1 => any::<Index>().prop_map(Step::Unmap),
        3 => Just(Step::Take),
        3 => any::<Index>().prop_map(Step::Delete),
        4 => prop_oneof![1..9u64, Just(u64::MAX)].prop_map(Step::Work),
    ]
}

/// Someone who keeps dead lists. Blocks are numbered as they are written.
trait Owner {
    /// Key `key` gets `block`, or none. Returns the block that is free now, if one is.
    fn replace(&mut self, key: usize, block: Option<u32>) -> Option<u32>;
    fn take(&mut self) -> SnapshotId;
    fn delete(&mut self, snapshot: SnapshotId) -> bool;
    /// The blocks that are free now; `None` if nothing was left to do.
    fn work(&mut self, most: u64) -> Option<Vec<u32>>;
    fn blocks(&self) -> u64;
    fn kept(&self) -> Vec<SnapshotId>;
    fn held_by_alone(&self, snapshot: SnapshotId) -> Option<u64>;
}

/// Entries are blocks, whose births are kept apart, as a container map does.
#[derive(Default)]
struct Exact {
    active: BTreeMap<usize, u32>,
    births: BTreeMap<u32, u32>,
    lists: DeadLists<u32>,
    deletions: VecDeque<SnapshotDeletion>,
}

impl Owner for Exact {
    fn replace(&mut self, key: usize, block: Option<u32>) -> Option<u32> {
        let before = match block {
            Some(block) => {
                self.births.insert(block, self.lists.time());
                self.active.insert(key, block)
            }
            None => self.active.remove(&key),
        }?;
        self.lists.leave(self.births[&before], before)
    }

    fn take(&mut self) -> SnapshotId {
        self.lists.take(())
    }

    fn delete(&mut self, snapshot: SnapshotId) -> bool {
        let deletion = self.lists.delete(snapshot);
        self.deletions.extend(deletion);
        deletion.is_some()
    }

    fn work(&mut self, most: u64) -> Option<Vec<u32>> {
        let deletion = self.deletions.front_mut()?;
        let (mut freed, births) = (Vec::new(), &self.births);
        let birth_of = |block: &u32| births[block];
        let (used, gone) = self.lists.delete_step(deletion, most, birth_of, |one| freed.push(one));
        assert!((1..=most.saturating_add(1)).contains(&used), "{used} of {most}");
        if gone.is_some() {
            self.deletions.pop_front();
        }
        Some(freed)
    }

    fn blocks(&self) -> u64 {
        self.lists.blocks()
    }

    fn kept(&self) -> Vec<SnapshotId> {
        self.lists.kept().map(|(snapshot, ())| snapshot).collect()
    }

    fn held_by_alone(&self, snapshot: SnapshotId) -> Option<u64> {
        self.lists.held_by_alone(snapshot, |block| self.births[block])
    }
}

const VOLUME: VolumeId = VolumeId(0);

struct ByRegion {
    active: BTreeMap<usize, (Region, u32)>,
    space: VirtualSpace,
    snapshots: SpaceSnapshots,
}

impl ByRegion {
    fn new() -> Self {
        let space = VirtualSpace::new([1_000_000]).unwrap();
        Self { active: BTreeMap::new(), space, snapshots: SpaceSnapshots::new(1, KEYS) }
    }

    fn reclaimed(&mut self) -> Vec<u32> {
        let regions = std::iter::from_fn(|| self.space.reclaim(0));
        regions.flat_map(|(_, blocks)| blocks).map(|vbn| vbn.0 as u32).collect()
    }
}

impl Owner for ByRegion {
    fn replace(&mut self, key: usize, block: Option<u32>) -> Option<u32> {
        let new = block.map(|block| (self.space.allocate(VOLUME).unwrap().0, block));
        let before = match new {
            Some(new) => self.active.insert(key, new),
            None => self.active.remove(&key),
        };
        let before = before.map(|(region, block)| (region, Vbn(block.into())));
        let is_held = self.snapshots.record_replacement(VOLUME, key as u32, before);
        let (region, vbn) = before.filter(|_| !is_held)?;
        self.space.hold_back(region, vbn);
        self.reclaimed().pop()
    }

    fn take(&mut self) -> SnapshotId {
        let expected = self.snapshots.next(VOLUME);
        let taken = self.snapshots.take(VOLUME);
        assert_eq!(taken, expected);
        taken.unwrap()
    }

    fn delete(&mut self, snapshot: SnapshotId) -> bool {
        self.snapshots.delete(VOLUME, snapshot)
    }

    fn work(&mut self, most: u64) -> Option<Vec<u32>> {
        let was_left = self.snapshots.is_work_left();
        let space = &mut self.space;
        let visited =
            self.snapshots.delete_step(most, |_, region, vbn| space.hold_back(region, vbn));
        assert!(visited <= most && (visited > 0) == was_left);
        was_left.then(|| self.reclaimed())
    }

    fn blocks(&self) -> u64 {
        self.snapshots.blocks()
    }

    fn kept(&self) -> Vec<SnapshotId> {
        self.snapshots.kept(VOLUME).collect()
    }

    fn held_by_alone(&self, snapshot: SnapshotId) -> Option<u64> {
        self.snapshots.held_by_alone(VOLUME, snapshot)
    }
}

/// Copies of the images, and the blocks that must not be free.
#[derive(Default)]
struct Model {
    active: BTreeMap<usize, u32>,
    snapshots: BTreeMap<SnapshotId, BTreeSet<u32>>,
    written: u32,
    free: BTreeSet<u32>,
}

impl Model {
    fn held(&self) -> BTreeSet<u32> {
        self.snapshots.values().flatten().copied().collect()
    }

    fn frees(&mut self, freed: impl IntoIterator<Item = u32>) {
        let held = self.held();
        for block in freed {
            assert!(!held.contains(&block), "block {block} is free, and a snapshot holds it");
            assert!(self.active.values().all(|active| *active != block), "{block} is in use");
            assert!(self.free.insert(block), "block {block} is freed twice");
        }
    }

    fn replace(&mut self, owner: &mut impl Owner, key: usize, block: Option<u32>) {
        match block {
            Some(block) => self.active.insert(key, block),
            None => self.active.remove(&key),
        };
        let freed = owner.replace(key, block);
        self.frees(freed);
    }

    fn check(&self, owner: &impl Owner) {
        assert!(owner.kept().iter().eq(self.snapshots.keys()));
        for (snapshot, blocks) in &self.snapshots {
            let in_others = |block: &&u32| {
                let others = self.snapshots.iter().filter(|(other, _)| *other != snapshot);
                others.flat_map(|(_, others)| others).any(|other| other == *block)
            };
            let is_active = |block: &&u32| self.active.values().any(|active| active == *block);
            let alone = blocks.iter().filter(|block| !in_others(block) && !is_active(block));
            assert_eq!(owner.held_by_alone(*snapshot), Some(alone.count() as u64), "{snapshot}");
        }
    }
}

fn run(mut owner: impl Owner, steps: &[Step]) {
    let mut model = Model::default();
    for step in steps {
        match step {
            Step::Overwrite(first, keys) => {
                let first = first.index(KEYS);
                for key in first..(first + keys).min(KEYS) {
                    model.written += 1;
                    let block = model.written;
                    model.replace(&mut owner, key, Some(block));
                }
            }
            Step::Unmap(key) => model.replace(&mut owner, key.index(KEYS), None),
            Step::Take => {
                let image = model.active.values().copied().collect();
                assert!(model.snapshots.insert(owner.take(), image).is_none());
            }
            Step::Delete(which) => {
                let ids: Vec<SnapshotId> = model.snapshots.keys().copied().collect();
                if !ids.is_empty() {
                    let id = *which.get(&ids);
                    model.snapshots.remove(&id);
                    assert!(owner.delete(id) && !owner.delete(id));
                }
            }
            Step::Work(most) => {
                let freed = owner.work(*most);
                model.frees(freed.into_iter().flatten());
            }
        }
        model.check(&owner);
    }
    // Without deletions under way, exactly what is in some image is not free.
    while let Some(freed) = owner.work(3) {
        model.frees(freed);
    }
    let held = model.held();
    let active: BTreeSet<u32> = model.active.values().copied().collect();
    assert_eq!(owner.blocks(), held.difference(&active).count() as u64);
    let used = held.union(&active).count();
    assert_eq!(model.free.len() + used, model.written as usize);
    // And once no snapshot is left, everything else is.
    for id in std::mem::take(&mut model.snapshots).into_keys() {
        assert!(owner.delete(id));
    }
    while let Some(freed) = owner.work(u64::MAX) {
        model.frees(freed);
    }
    assert_eq!(owner.blocks(), 0);
    assert_eq!(model.free.len() + active.len(), model.written as usize);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn exact_dead_lists_are_what_copies_of_the_images_say(
        steps in prop::collection::vec(any_step(), 1..80),
    ) {
        run(Exact::default(), &steps);
    }

    #[test]
    fn dead_lists_by_region_are_what_copies_of_the_images_say(
        steps in prop::collection::vec(any_step(), 1..80),
    ) {
        run(ByRegion::new(), &steps);
    }
}

#[test]
fn births_of_16_bits_last_for_65534_snapshots() {
    let mut owner = ByRegion::new();
    for taken in 1..=SpaceSnapshots::MOST {
        let block = owner.replace(0, Some(taken));
        assert_eq!(block, None, "the key had none");
        let snapshot = owner.take();
        assert!(owner.delete(snapshot));
        let freed: Vec<u32> = std::iter::from_fn(|| owner.work(u64::MAX)).flatten().collect();
        assert_eq!(freed, [0; 0], "the active image has it");
        owner.replace(0, None);
    }
    assert_eq!((owner.snapshots.next(VOLUME), owner.snapshots.take(VOLUME)), (None, None));
}
