//! Mending brings what its plan said, and touches nothing but the places of blocks.

use std::collections::BTreeSet;

use strewn_alloc::{Aggregate, AggregateOptions, AllocationShape, PolicyName};
use strewn_raid::{Parity, ParityGroup, Vbn};
use strewn_volume::{
    BlockSource, CleaningPlan, Fbn, FileId, FileReallocation, Gain, Move, VolumeError, VolumeId,
    Volumes,
};

struct Scattered {
    volumes: Volumes,
    volume: VolumeId,
    file: FileId,
}

/// A file of `blocks` blocks, laid out in order and then rewritten here and there.
fn scattered(policy: PolicyName, blocks: u64, rewrites: u64) -> Scattered {
    let group = ParityGroup::new(Parity::RaidDp, 4, 16_384).unwrap();
    let shape = AllocationShape { area_stripes: 512, ..Default::default() };
    let options = AggregateOptions { shape, policy, ..Default::default() };
    let mut volumes = Volumes::new(Aggregate::new([group], options).unwrap()).unwrap();
    let volume = volumes.create_volume(60_000).unwrap();
    volumes.begin(blocks).unwrap();
    let file = volumes.create_file(volume).unwrap();
    let fbns: Vec<Fbn> = (0..blocks).map(Fbn).collect();
    volumes.write_all(volume, file, &fbns).unwrap();
    volumes.discard_plan();
    volumes.commit().unwrap();
    for turn in 0..rewrites {
        volumes.begin(64).unwrap();
        let mut fbns: Vec<Fbn> =
            (0..64).map(|index| Fbn((turn * 64 + index) * 7_919 % blocks)).collect();
        fbns.sort_unstable();
        volumes.write_all(volume, file, &fbns).unwrap();
        volumes.discard_plan();
        volumes.commit().unwrap();
    }
    Scattered { volumes, volume, file }
}

impl Scattered {
    fn extents(&self, fbns: std::ops::Range<u64>) -> u64 {
        let image = self.volumes.image(self.volume).unwrap();
        let mut last: Option<(Fbn, Vbn)> = None;
        let mut extents = 0;
        for (fbn, vbn) in image.blocks_from(self.file, Fbn(fbns.start)) {
            if fbn.0 >= fbns.end {
                break;
            }
            let dbn = self.volumes.aggregate().locate(vbn).unwrap().location.dbn.0;
            let follows = last.is_some_and(|(before, lies)| {
                before.0 + 1 == fbn.0 && lies.0 + 1 == vbn.0 && dbn != 0
            });
            extents += u64::from(!follows);
            last = Some((fbn, vbn));
        }
        extents
    }

    /// Does one item in a consistency point of its own.
    fn relocate(&mut self, item: &[Move]) -> u64 {
        self.volumes.begin(u64::MAX).unwrap();
        let moved = self.volumes.relocate(item).unwrap();
        let plan = self.volumes.finish().unwrap();
        let contents = plan.iter().flat_map(|tetris| tetris.contents.iter().copied());
        let from: BTreeSet<BlockSource> = contents.collect();
        assert_eq!(from, item.iter().map(|one| BlockSource::Moved(one.from)).collect());
        self.volumes.discard_plan();
        self.volumes.commit().unwrap();
        self.volumes.verify().unwrap();
        moved
    }

    fn do_all(&mut self, mut mending: FileReallocation, item_blocks: u64) -> u64 {
        let mut moved = 0;
        while let Some(item) = mending.next_item(&self.volumes, item_blocks) {
            moved += self.relocate(&item);
        }
        moved
    }
}

#[test]
fn full_reallocation_brings_the_extents_it_said() {
    for policy in PolicyName::ALL {
        let mut scattered = scattered(policy, 8_192, 60);
        let (volume, file) = (scattered.volume, scattered.file);
        let mending = FileReallocation::full(&scattered.volumes, volume, file).unwrap();
        let gain = mending.gain();
        assert_eq!(gain.extents_before, scattered.extents(0..8_192), "{policy}");
        assert_eq!(gain.blocks_to_move, 8_192);
        assert_eq!(scattered.do_all(mending, 2_048), 8_192);
        let extents = scattered.extents(0..8_192);
        // What is emptiest in the end lies apart from what was when the plan was made.
        let close = gain.extents_after.abs_diff(extents) <= gain.extents_after / 10;
        assert!(close || policy == PolicyName::FirstFit, "{policy}: {gain}, {extents} in the end");
        if policy == PolicyName::EmptiestArea {
            assert_eq!((gain.extents_before, gain.extents_after, extents), (7_688, 128, 128));
        }
    }
}

#[test]
fn only_segments_above_the_threshold_move() {
    let mut scattered = scattered(PolicyName::EmptiestArea, 8_192, 0);
    let (volume, file) = (scattered.volume, scattered.file);
    // Two segments of 64 are made worse, one of them much.
    for fbns in [vec![70], (640..704).step_by(2).collect()] {
        scattered.volumes.begin(u64::MAX).unwrap();
        let fbns: Vec<Fbn> = fbns.into_iter().map(Fbn).collect();
        scattered.volumes.write_all(volume, file, &fbns).unwrap();
        scattered.volumes.discard_plan();
        scattered.volumes.commit().unwrap();
    }
    let plan = |scattered: &Scattered, most| {
        FileReallocation::above_threshold(&scattered.volumes, volume, file, 64, most).unwrap()
    };
    assert_eq!(plan(&scattered, 100).gain().blocks_to_move, 0);
    assert!(!plan(&scattered, 100).gain().is_worthwhile());
    let mending = plan(&scattered, 4);
    let expected = Gain {
        blocks_to_move: 64,
        extents_before: 128 + 2 + 63,
        extents_after: 128 + 2,
        areas_emptied: 0,
    };
    assert_eq!(mending.gain(), expected);
    assert_eq!(scattered.do_all(mending, 16), 64);
    assert_eq!(scattered.extents(0..8_192), 128 + 2);
    assert_eq!(scattered.extents(640..704), 1);
}

#[test]
fn what_was_read_in_pieces_is_read_in_one_the_next_time() {
    let mut scattered = scattered(PolicyName::EmptiestArea, 8_192, 60);
    let (volume, file) = (scattered.volume, scattered.file);
    let read = Fbn(1_000)..Fbn(1_016);
    let mending =
        FileReallocation::after_read(&scattered.volumes, volume, file, read.clone(), 2).unwrap();
    assert_eq!(mending.gain().extents_before, scattered.extents(1_000..1_016));
    assert!(mending.gain().is_worthwhile());
    assert_eq!(scattered.do_all(mending, 64), 16);
    assert!(scattered.extents(1_000..1_016) <= 2);
    let mut again =
        FileReallocation::after_read(&scattered.volumes, volume, file, read, 2).unwrap();
    assert_eq!(again.next_item(&scattered.volumes, 64).unwrap_or_default(), []);
}

#[test]
fn an_item_outlives_what_happens_to_its_blocks() {
    let mut scattered = scattered(PolicyName::EmptiestArea, 1_024, 10);
    let (volume, file) = (scattered.volume, scattered.file);
    let mut mending = FileReallocation::full(&scattered.volumes, volume, file).unwrap();
    let item = mending.next_item(&scattered.volumes, 100).unwrap();
    assert_eq!(item.len(), 100);
    let volumes = &mut scattered.volumes;
    volumes.begin(100).unwrap();
    let fbns: Vec<Fbn> = (0..30).map(Fbn).collect();
    volumes.write_all(volume, file, &fbns).unwrap();
    volumes.punch(volume, file, Fbn(30)..Fbn(40)).unwrap();
    assert_eq!(volumes.relocate(&item), Ok(60));
    assert_eq!(volumes.relocate(&item), Ok(0), "they have moved");
    volumes.abandon().unwrap();
    volumes.verify().unwrap();
    volumes.begin(100).unwrap();
    assert_eq!(volumes.relocate(&item), Ok(100), "they are where they were");
    volumes.delete_file(volume, file).unwrap();
    volumes.discard_plan();
    volumes.commit().unwrap();
    volumes.verify().unwrap();
    assert_eq!(mending.next_item(volumes, 100), None, "the file is gone");
}

#[test]
fn snapshots_and_clones_do_not_grow_and_move_along() {
    let mut scattered = scattered(PolicyName::EmptiestArea, 4_096, 30);
    let (volume, file) = (scattered.volume, scattered.file);
    let snapshot = scattered.volumes.snapshot(volume).unwrap();
    let clone = scattered.volumes.clone_volume(volume, snapshot, 5_000).unwrap();
    let space = scattered.volumes.space();
    // From the clone's side, though it owns none of the blocks.
    let mending = FileReallocation::full(&scattered.volumes, clone, file).unwrap();
    assert_eq!(scattered.do_all(mending, 1_024), 4_096);
    assert_eq!(scattered.volumes.space(), space);
    let lies =
        |image: strewn_volume::Image<'_>| image.blocks_from(file, Fbn(0)).collect::<Vec<_>>();
    let volumes = &scattered.volumes;
    let active = lies(volumes.image(volume).unwrap());
    assert_eq!(lies(volumes.image_of(volume, snapshot).unwrap()), active);
    assert_eq!(lies(volumes.image(clone).unwrap()), active);
    assert!(scattered.extents(0..4_096) <= 4_096 / 64 + 4);
}

#[test]
fn segment_cleaning_empties_the_areas_it_picked() {
    for policy in PolicyName::ALL {
        let mut scattered = scattered(policy, 8_192, 100);
        let (volume, file) = (scattered.volume, scattered.file);
        let snapshot = scattered.volumes.snapshot(volume).unwrap();
        scattered.volumes.begin(0).unwrap();
        scattered.volumes.punch(volume, file, Fbn(100)..Fbn(5_000)).unwrap();
        scattered.volumes.discard_plan();
        scattered.volumes.commit().unwrap();
        scattered.volumes.delete_snapshot(volume, snapshot).unwrap();
        while scattered.volumes.background_step(500).unwrap() > 0 {}
        scattered.volumes.begin(0).unwrap();
        scattered.volumes.discard_plan();
        scattered.volumes.commit().unwrap();

        let plan = CleaningPlan::new(&scattered.volumes, 2);
        let (gain, areas) = (plan.gain(), plan.areas().to_vec());
        assert_eq!(gain.areas_emptied, 2, "{policy}");
        let space = scattered.volumes.space();
        let mut cleaning = plan.start(&mut scattered.volumes).unwrap();
        let mut moved = 0;
        while let Some(item) = cleaning.next_item(&scattered.volumes, 64) {
            assert!(item.len() <= 64);
            moved += scattered.relocate(&item);
        }
        assert_eq!(moved, gain.blocks_to_move, "{policy}");
        for (group, area) in &areas {
            let free = scattered.volumes.aggregate().free_map(*group).areas().free_blocks_in(*area);
            assert_eq!(free, 4 * 512, "{policy}: area {area} is empty");
        }
        assert_eq!(scattered.volumes.space(), space);

        // They are filled again once the cleaning is dropped, and not before.
        let is_in_areas = |scattered: &Scattered, fbns: std::ops::Range<u64>| {
            fbns.filter(|fbn| {
                let name = strewn_volume::BlockName { volume, file, fbn: Fbn(*fbn) };
                let place = scattered
                    .volumes
                    .locate(name)
                    .and_then(|vbn| scattered.volumes.aggregate().locate(vbn))
                    .unwrap();
                areas.contains(&(place.group, (place.location.dbn.0 / 512) as u32))
            })
            .count()
        };
        let fill = |scattered: &mut Scattered, fbns: std::ops::Range<u64>| {
            let fbns: Vec<Fbn> = fbns.map(Fbn).collect();
            scattered.volumes.begin(u64::MAX).unwrap();
            scattered.volumes.write_all(volume, file, &fbns).unwrap();
            scattered.volumes.discard_plan();
            scattered.volumes.commit().unwrap();
        };
        fill(&mut scattered, 10_000..40_000);
        assert_eq!(is_in_areas(&scattered, 10_000..40_000), 0, "{policy}");
        drop(cleaning);
        let rest =
            scattered.volumes.space_of(volume).unwrap().free.min(scattered.volumes.space().free);
        fill(&mut scattered, 40_000..40_000 + rest);
        assert!(is_in_areas(&scattered, 40_000..40_000 + rest) > 0, "{policy}");
        scattered.volumes.verify().unwrap();
    }
}

#[test]
fn mending_leaves_reserved_blocks_alone() {
    let mut scattered = scattered(PolicyName::EmptiestArea, 4_096, 10);
    let (volume, file) = (scattered.volume, scattered.file);
    let other = scattered.volumes.create_volume(100_000).unwrap();
    let free = scattered.volumes.space().free;
    scattered.volumes.reserve(other, free - 99).unwrap();
    let mut mending = FileReallocation::full(&scattered.volumes, volume, file).unwrap();
    let item = mending.next_item(&scattered.volumes, 100).unwrap();
    scattered.volumes.begin(100).unwrap();
    let space = scattered.volumes.space();
    assert!(matches!(scattered.volumes.relocate(&item), Err(VolumeError::OutOfSpace(_))));
    assert_eq!(scattered.volumes.space(), space);
    assert_eq!(scattered.volumes.relocate(&item[..99]), Ok(99));
    scattered.volumes.discard_plan();
    scattered.volumes.commit().unwrap();
    assert!(matches!(
        CleaningPlan::new(&scattered.volumes, 3).start(&mut scattered.volumes),
        Err(VolumeError::OutOfSpace(_))
    ));
}
