//! A persistent store under the random histories: what was written is mounted, and answers as what was written it.

use std::collections::HashMap;

use proptest::prelude::*;
use strewn_alloc::{Aggregate, AggregateOptions, Tetris};
use strewn_raid::{Parity, ParityGroup, Vbn};
use strewn_volume::{
    BlockSource, Fbn, FileId, METADATA_BYTES, Root, SnapshotId, VolumeError, VolumeId, Volumes,
};

/// Blocks of metadata, and the root.
pub struct Storage {
    /// Groups added last may be unknown to the root.
    pub groups: Vec<ParityGroup>,
    options: AggregateOptions,
    pub blocks: HashMap<Vbn, [u8; METADATA_BYTES]>,
    pub root: Option<[u8; Root::BYTES]>,
}

impl Storage {
    pub fn new(groups: Vec<ParityGroup>, options: AggregateOptions) -> Self {
        Self { groups, options, blocks: HashMap::new(), root: None }
    }

    /// Writes the pages of a plan. Other blocks of the plan overwrite pages that are no longer needed.
    pub fn write(&mut self, volumes: &Volumes, plan: &[Tetris<BlockSource>]) {
        let mut pages = 0;
        for (vbn, source) in plan.iter().flat_map(|tetris| volumes.aggregate().blocks_of(tetris)) {
            self.blocks.remove(&vbn);
            if let BlockSource::Metadata(page) = source {
                self.blocks.insert(vbn, *volumes.metadata_page(page).unwrap());
                pages += 1;
            }
        }
        assert_eq!(pages, volumes.metadata_pages());
    }

    pub fn write_root(&mut self, volumes: &Volumes) {
        self.root = Some(volumes.root().unwrap().to_bytes());
    }

    pub fn mount(&self) -> Result<Volumes, TestCaseError> {
        let root = Root::from_bytes(&self.root.unwrap()).unwrap();
        let read = |vbn: Vbn, bytes: &mut [u8; METADATA_BYTES]| match self.blocks.get(&vbn) {
            Some(block) => {
                *bytes = *block;
                Ok(())
            }
            None => Err("was never written, or overwritten"),
        };
        let mounted = Volumes::mount(self.groups.clone(), self.options, &root, read);
        mounted.map_err(|error| TestCaseError::fail(error.to_string()))
    }
}

/// Whether `mounted` answers as `volumes` does.
pub fn check_same(mounted: &Volumes, volumes: &Volumes) -> Result<(), TestCaseError> {
    prop_assert_eq!(mounted.verify(), Ok(()));
    prop_assert_eq!(mounted.root(), volumes.root());
    prop_assert_eq!(mounted.space(), volumes.space());
    let (ours, theirs) = (mounted.aggregate(), volumes.aggregate());
    prop_assert_eq!(ours.consistency_points(), theirs.consistency_points());
    prop_assert_eq!(ours.counts(), theirs.counts());
    let words = |volumes: &Volumes| {
        let maps = volumes.aggregate().free_maps();
        maps.map(|map| map.words().to_vec()).collect::<Vec<_>>()
    };
    prop_assert_eq!(words(mounted), words(volumes));
    prop_assert_eq!(ours.scores(), theirs.scores());
    let delayed = |volumes: &Volumes| {
        let mut delayed: Vec<Vbn> = volumes.aggregate().delayed_frees().collect();
        delayed.sort_unstable();
        delayed
    };
    prop_assert_eq!(delayed(mounted), delayed(volumes));
    prop_assert!(mounted.ids().eq(volumes.ids()));
    for id in volumes.ids() {
        prop_assert_eq!(mounted.space_of(id), volumes.space_of(id));
        prop_assert_eq!(mounted.origin(id), volumes.origin(id));
        prop_assert_eq!(mounted.volume_name(id), volumes.volume_name(id));
        let snapshots: Vec<_> = volumes.snapshots(id).unwrap().collect();
        prop_assert!(mounted.snapshots(id).unwrap().eq(snapshots.iter().copied()));
        let mut images = vec![(mounted.image(id).unwrap(), volumes.image(id).unwrap())];
        for snapshot in snapshots {
            images.push((
                mounted.image_of(id, snapshot).unwrap(),
                volumes.image_of(id, snapshot).unwrap(),
            ));
            prop_assert_eq!(
                mounted.held_by_alone(id, snapshot),
                volumes.held_by_alone(id, snapshot)
            );
        }
        for (ours, theirs) in images {
            prop_assert_eq!(ours.mapped_blocks(), theirs.mapped_blocks());
            prop_assert!(ours.files().eq(theirs.files()));
            for file in theirs.files() {
                prop_assert_eq!(ours.blocks_of(file), theirs.blocks_of(file));
                prop_assert_eq!(ours.length_of(file), theirs.length_of(file));
                prop_assert_eq!(ours.attributes_of(file), theirs.attributes_of(file));
                let blocks = theirs.blocks_from(file, Fbn(0));
                prop_assert!(ours.blocks_from(file, Fbn(0)).eq(blocks));
                for (fbn, _) in theirs.blocks_from(file, Fbn(0)) {
                    prop_assert_eq!(ours.number(file, fbn), theirs.number(file, fbn));
                }
            }
        }
    }
    Ok(())
}

fn store(stripes: u64) -> (Volumes, Storage) {
    let group = ParityGroup::new(Parity::RaidDp, 4, stripes).unwrap();
    let options = AggregateOptions::default();
    let volumes = Volumes::persistent(Aggregate::new([group], options).unwrap()).unwrap();
    (volumes, Storage::new(vec![group], options))
}

/// Finishes, writes and commits. Returns the pages of metadata written.
fn commit(volumes: &mut Volumes, storage: &mut Storage) -> u64 {
    try_commit(volumes, storage).unwrap()
}

/// Abandons the consistency point if it cannot be finished.
fn try_commit(volumes: &mut Volumes, storage: &mut Storage) -> Result<u64, VolumeError> {
    let plan = match volumes.finish() {
        Ok(plan) => plan,
        Err(refused) => {
            volumes.abandon().unwrap();
            return Err(refused);
        }
    };
    let pages = volumes.metadata_pages();
    storage.write(volumes, &plan);
    storage.write_root(volumes);
    volumes.commit().unwrap();
    Ok(pages)
}

fn fbns(range: impl Iterator<Item = u64>) -> Vec<Fbn> {
    range.map(Fbn).collect()
}

#[test]
fn a_small_consistency_point_of_a_large_store_writes_few_pages() {
    // 400,000 blocks in 50 volumes with 4 snapshots each.
    let (mut volumes, mut storage) = store(1 << 18);
    let ids: Vec<_> = (0..50).map(|_| volumes.create_volume(20_000).unwrap()).collect();
    volumes.begin(400_000).unwrap();
    let mut files = Vec::new();
    for id in &ids {
        files.push(volumes.create_file(*id).unwrap());
        volumes.write_all(*id, files[files.len() - 1], &fbns(0..8_000)).unwrap();
    }
    let pages = commit(&mut volumes, &mut storage);
    assert!((400_000 * 20 / 4_096..2_600).contains(&pages), "{pages} pages for all");
    for _ in 0..4 {
        for id in &ids {
            volumes.snapshot(*id).unwrap();
        }
        volumes.begin(0).unwrap();
        commit(&mut volumes, &mut storage);
    }
    // No change at all: the free maps, which a commit changes itself.
    volumes.begin(0).unwrap();
    let pages = commit(&mut volumes, &mut storage);
    assert!(pages <= 6, "{pages} pages for nothing");
    // A block: a page each of nodes, container map, volumes; two levels above; free maps.
    for fbn in [17, 7_777] {
        volumes.begin(1).unwrap();
        volumes.write(ids[20], files[20], Fbn(fbn)).unwrap();
        let pages = commit(&mut volumes, &mut storage);
        assert!(pages <= 14, "{pages} pages for a block");
    }
    // 100 blocks at random: a page of container map for the old place of each at most, and nodes, 7 on a page.
    volumes.begin(100).unwrap();
    volumes.write_all(ids[7], files[7], &fbns((0..8_000).step_by(80))).unwrap();
    let pages = commit(&mut volumes, &mut storage);
    assert!(pages <= 65, "{pages} pages for 100 blocks");
    check_same(&storage.mount().unwrap(), &volumes).unwrap();
}

#[test]
fn two_mounts_of_one_root_allocate_alike() {
    let (mut volumes, mut storage) = store(4_096);
    let volume = volumes.create_volume(10_000).unwrap();
    volumes.begin(3_000).unwrap();
    let file = volumes.create_file(volume).unwrap();
    volumes.write_all(volume, file, &fbns(0..3_000)).unwrap();
    commit(&mut volumes, &mut storage);
    volumes.snapshot(volume).unwrap();
    volumes.begin(1_000).unwrap();
    volumes.write_all(volume, file, &fbns((0..3_000).step_by(3))).unwrap();
    commit(&mut volumes, &mut storage);
    let [one, other] = [storage.mount().unwrap(), storage.mount().unwrap()].map(|mut mounted| {
        mounted.begin(500).unwrap();
        mounted.write_all(volume, file, &fbns(100..600)).unwrap();
        let plan = mounted.finish().unwrap();
        (plan, mounted.root().cloned())
    });
    assert_eq!(one, other);
}

#[test]
fn a_full_store_can_free_blocks() {
    let (mut volumes, mut storage) = store(512);
    let volume = volumes.create_volume(4_000).unwrap();
    volumes.begin(2_000).unwrap();
    let file = volumes.create_file(volume).unwrap();
    let space = volumes.space();
    let most = space.free - space.metadata_reserve;
    let refused = volumes.write_all(volume, file, &fbns(0..most + 1));
    assert!(matches!(refused, Err(VolumeError::OutOfSpace(_))), "{refused:?}");
    volumes.write_all(volume, file, &fbns(0..most)).unwrap();
    assert_eq!(volumes.commit(), Err(VolumeError::NotFinished));
    commit(&mut volumes, &mut storage);
    volumes.begin(1).unwrap();
    let refused = volumes.write(volume, file, Fbn(0));
    assert!(matches!(refused, Err(VolumeError::OutOfSpace(_))), "{refused:?}");
    volumes.punch(volume, file, Fbn(0)..Fbn(1_000)).unwrap();
    commit(&mut volumes, &mut storage);
    let mut mounted = storage.mount().unwrap();
    check_same(&mounted, &volumes).unwrap();
    mounted.begin(900).unwrap();
    mounted.write_all(volume, file, &fbns(0..900)).unwrap();
    commit(&mut mounted, &mut storage);
}

/// 256 blocks in two groups, with a volume that has an empty file.
fn small_store(delayed_frees: u64) -> (Volumes, Storage, VolumeId, FileId) {
    let groups = [125, 3].map(|stripes| ParityGroup::new(Parity::RaidDp, 2, stripes).unwrap());
    let options = AggregateOptions { delayed_frees, ..AggregateOptions::default() };
    let mut volumes = Volumes::persistent(Aggregate::new(groups, options).unwrap()).unwrap();
    let mut storage = Storage::new(groups.into(), options);
    let volume = volumes.create_volume(1_000).unwrap();
    volumes.begin(0).unwrap();
    let file = volumes.create_file(volume).unwrap();
    commit(&mut volumes, &mut storage);
    (volumes, storage, volume, file)
}

/// Destroys all volumes, and whatever is on the way to that must succeed: after all files are deleted, in small steps,
/// or all at once.
fn empty(volumes: &mut Volumes, storage: &mut Storage, way: u64) {
    let ids: Vec<VolumeId> = volumes.ids().collect();
    for volume in ids.into_iter().rev() {
        if way.is_multiple_of(3) {
            for snapshot in volumes.snapshots(volume).unwrap().collect::<Vec<_>>() {
                volumes.delete_snapshot(volume, snapshot).unwrap();
            }
            while volumes.background_step(1_000).unwrap() > 0 {}
            volumes.begin(0).unwrap();
            commit(volumes, storage);
            volumes.begin(0).unwrap();
            let files: Vec<FileId> = volumes.image(volume).unwrap().files().collect();
            for file in files {
                volumes.delete_file(volume, file).unwrap();
            }
            commit(volumes, storage);
        }
        volumes.destroy_volume(volume).unwrap();
        let steps = if way % 3 == 1 { 20 } else { 100_000 };
        while volumes.background_step(steps).unwrap() > 0 {
            volumes.begin(0).unwrap();
            commit(volumes, storage);
        }
    }
    for _ in 0..2 {
        volumes.begin(0).unwrap();
        commit(volumes, storage);
    }
    let space = volumes.space();
    assert_eq!(space.free + space.pending_free + space.metadata, space.total);
}

#[test]
fn regression_a_store_filled_with_scattered_blocks_can_be_emptied() {
    for (delayed_frees, has_snapshots) in (0..80).map(|case| (case / 2, case % 2 == 1)) {
        let (mut volumes, mut storage, volume, file) = small_store(delayed_frees);
        // Blocks far apart have nodes of their own, so that their metadata take more than the reserve.
        for count in (0..=62).rev() {
            if has_snapshots {
                volumes.snapshot(volume).unwrap();
            }
            volumes.begin(0).unwrap();
            volumes.write_all(volume, file, &fbns((1..=count).map(|fbn| fbn * 100_003))).unwrap();
            let space = volumes.space();
            let most = space.free - space.metadata_reserve;
            volumes.write_all(volume, file, &fbns(200..200 + most)).unwrap();
            if try_commit(&mut volumes, &mut storage).is_ok() {
                break;
            }
        }
        assert!(volumes.space().active > 100, "{:?}", volumes.space());
        // Whatever small is made is refused or leaves enough, and what changes nothing uses nothing up.
        for _ in 0..5 {
            volumes.begin(0).unwrap();
            volumes.create_file(volume).unwrap();
            let _ = try_commit(&mut volumes, &mut storage);
            let _ = volumes.create_volume(1);
        }
        for _ in 0..50 {
            volumes.begin(0).unwrap();
            commit(&mut volumes, &mut storage);
        }
        empty(&mut volumes, &mut storage, delayed_frees);
    }
}

#[test]
fn regression_a_store_full_of_volumes_and_snapshots_can_be_emptied() {
    for case in 0..6 {
        let commits = case % 2 == 1;
        let (mut volumes, mut storage, volume, file) = small_store(3);
        volumes.begin(100).unwrap();
        volumes.write_all(volume, file, &fbns(0..100)).unwrap();
        commit(&mut volumes, &mut storage);
        let mut made = 0;
        let refused = loop {
            let created = match made % 3 {
                0 => volumes.create_volume(10).map(drop),
                1 => volumes.snapshot(volume).map(drop),
                _ => volumes.clone_volume(volume, SnapshotId(1), 10).map(drop),
            };
            if let Err(refused) = created {
                break refused;
            }
            made += 1;
            assert!(made < 10_000, "nothing is refused");
            if commits {
                volumes.begin(0).unwrap();
                commit(&mut volumes, &mut storage);
            }
        };
        assert!(matches!(refused, VolumeError::OutOfSpace(_)), "{refused}");
        assert!(made > 20, "{made} made");
        volumes.begin(0).unwrap();
        commit(&mut volumes, &mut storage);
        let mut mounted = storage.mount().unwrap();
        check_same(&mounted, &volumes).unwrap();
        // Clones, then what they are clones of.
        empty(&mut mounted, &mut storage, case);
    }
}

#[test]
fn regression_what_is_freed_is_no_room_for_new_volumes_before_the_commit() {
    let (mut volumes, mut storage, volume, file) = small_store(0);
    volumes.begin(200).unwrap();
    let space = volumes.space();
    let most = space.free - space.metadata_reserve;
    volumes.write_all(volume, file, &fbns(0..most)).unwrap();
    commit(&mut volumes, &mut storage);
    volumes.destroy_volume(volume).unwrap();
    while volumes.background_step(1_000).unwrap() > 0 {}
    while volumes.create_volume(10).is_ok() {}
    volumes.begin(0).unwrap();
    commit(&mut volumes, &mut storage);
    assert!(volumes.create_volume(10).is_ok(), "there is room now");
    // Nor is what new volumes need there for reservations.
    let (mut volumes, mut storage, volume, _) = small_store(0);
    for _ in 0..40 {
        volumes.create_volume(10).unwrap();
    }
    let space = volumes.space();
    volumes.reserve(volume, space.free - space.metadata_reserve).unwrap();
    volumes.begin(0).unwrap();
    commit(&mut volumes, &mut storage);
    // Less can be reserved at any time.
    let reserved = volumes.space().reserved;
    volumes.reserve(volume, reserved - 1).unwrap();
}
