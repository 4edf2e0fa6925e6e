//! Cases worth reading by themselves.

use strewn_alloc::{Aggregate, AggregateOptions, OutOfSpace};
use strewn_raid::{Parity, ParityGroup};
use strewn_volume::{BlockSource, Fbn, FileId, VolumeError, VolumeId, Volumes};

fn volumes(data_spindles: u16, stripes: u64) -> Volumes {
    let group = ParityGroup::new(Parity::RaidDp, data_spindles, stripes).unwrap();
    Volumes::new(Aggregate::new([group], AggregateOptions::default()).unwrap()).unwrap()
}

fn fbns(range: std::ops::Range<u64>) -> Vec<Fbn> {
    range.map(Fbn).collect()
}

/// Writes `range` in a consistency point of its own, to the first file of a volume, made if it is not there.
fn write(volumes: &mut Volumes, volume: VolumeId, range: std::ops::Range<u64>) -> FileId {
    volumes.begin(range.end - range.start).unwrap();
    let first = volumes.image(volume).unwrap().files().next();
    let file = first.unwrap_or_else(|| volumes.create_file(volume).unwrap());
    volumes.write_all(volume, file, &fbns(range)).unwrap();
    volumes.discard_plan();
    volumes.commit().unwrap();
    file
}

fn finish_background(volumes: &mut Volumes) {
    while volumes.background_step(10).unwrap() > 0 {
        volumes.verify().unwrap();
    }
    volumes.begin(0).unwrap();
    volumes.discard_plan();
    volumes.commit().unwrap();
}

#[test]
fn the_last_free_block_can_be_written_and_the_next_cannot() {
    let mut volumes = volumes(1, 1);
    let volume = volumes.create_volume(10).unwrap();
    let file = write(&mut volumes, volume, 0..1);
    volumes.begin(1).unwrap();
    let before = volumes.space();
    assert_eq!(
        volumes.write(volume, file, Fbn(0)),
        Err(VolumeError::OutOfSpace(OutOfSpace { needed: 1, free: 0 })),
        "the block it would replace is free only with the commit"
    );
    assert_eq!(volumes.space(), before);
    assert_eq!(volumes.punch(volume, file, Fbn(0)..Fbn(1)), Ok(1));
    volumes.discard_plan();
    volumes.commit().unwrap();
    write(&mut volumes, volume, 0..1);
    volumes.verify().unwrap();
}

#[test]
fn what_does_not_fit_as_a_whole_is_not_begun() {
    let mut volumes = volumes(2, 50);
    let (small, large) =
        (volumes.create_volume(30).unwrap(), volumes.create_volume(1_000).unwrap());
    let (file, other) = (write(&mut volumes, small, 0..20), write(&mut volumes, large, 0..60));
    volumes.begin(0).unwrap();
    let before = volumes.space();
    let full = VolumeError::VolumeFull { volume: small, needed: 11, free: 10 };
    assert_eq!(volumes.write_all(small, file, &fbns(15..26)), Err(full));
    let full = VolumeError::OutOfSpace(OutOfSpace { needed: 21, free: 20 });
    assert_eq!(volumes.write_all(large, other, &fbns(50..71)), Err(full));
    assert_eq!(volumes.space(), before);
    assert_eq!(volumes.finish().unwrap(), []);
    volumes.discard_plan();
    volumes.commit().unwrap();
    volumes.verify().unwrap();
}

#[test]
fn a_block_written_twice_in_a_consistency_point_is_written_once() {
    let mut volumes = volumes(2, 200);
    let volume = volumes.create_volume(100).unwrap();
    let file = write(&mut volumes, volume, 0..10);
    volumes.begin(2).unwrap();
    let first = volumes.write(volume, file, Fbn(3)).unwrap();
    assert_eq!(volumes.write(volume, file, Fbn(3)), Ok(first));
    volumes.write_all(volume, file, &[Fbn(4), Fbn(3), Fbn(4)]).unwrap();
    let plan = volumes.finish().unwrap();
    let contents: Vec<BlockSource> = plan.into_iter().flat_map(|tetris| tetris.contents).collect();
    assert_eq!(contents.len(), 2);
    assert_eq!(volumes.write(volume, file, Fbn(5)), Err(VolumeError::Finished));
    volumes.discard_plan();
    volumes.commit().unwrap();
}

#[test]
fn reserved_blocks_wait_for_their_volume() {
    let mut volumes = volumes(2, 50);
    let (one, other) = (volumes.create_volume(100).unwrap(), volumes.create_volume(100).unwrap());
    let file = write(&mut volumes, other, 0..10);
    volumes.reserve(one, 60).unwrap();
    let error = VolumeError::OutOfSpace(OutOfSpace { needed: 31, free: 30 });
    assert_eq!(volumes.reserve(other, 31), Err(error.clone()));
    volumes.begin(31).unwrap();
    assert_eq!(volumes.write_all(other, file, &fbns(0..31)), Err(error));
    volumes.write_all(other, file, &fbns(0..30)).unwrap();
    let own = volumes.create_file(one).unwrap();
    volumes.write_all(one, own, &fbns(0..60)).unwrap();
    assert_eq!((volumes.space().free, volumes.space().reserved), (0, 0));
    volumes.abandon().unwrap();
    assert_eq!((volumes.space().free, volumes.space().reserved), (90, 60));
}

#[test]
fn each_snapshot_holds_what_it_alone_has_seen() {
    let mut volumes = volumes(2, 500);
    let volume = volumes.create_volume(900).unwrap();
    let file = write(&mut volumes, volume, 0..100);
    let first = volumes.snapshot(volume).unwrap();
    write(&mut volumes, volume, 0..10);
    let second = volumes.snapshot(volume).unwrap();
    write(&mut volumes, volume, 0..30);
    // 0 to 9 died twice: one generation is in the first alone, one in the second; 10 to 29 are in both.
    assert_eq!(volumes.held_by_alone(volume, first), Ok(10));
    assert_eq!(volumes.held_by_alone(volume, second), Ok(10));
    assert_eq!(volumes.space_of(volume).unwrap().snapshots, 40);
    volumes.delete_snapshot(volume, second).unwrap();
    assert_eq!(volumes.held_by_alone(volume, first), Ok(30), "once the other is quite gone");
    finish_background(&mut volumes);
    assert_eq!(volumes.space_of(volume).unwrap().snapshots, 30);
    let image = volumes.image_of(volume, first).unwrap();
    assert_eq!(image.blocks_from(file, Fbn(0)).count(), 100);
}

#[test]
fn a_clone_of_a_clone_outlives_changes_of_both_origins() {
    let mut volumes = volumes(2, 500);
    let volume = volumes.create_volume(900).unwrap();
    let file = write(&mut volumes, volume, 0..100);
    let snapshot = volumes.snapshot(volume).unwrap();
    let clone = volumes.clone_volume(volume, snapshot, 200).unwrap();
    assert_eq!(volumes.space_of(clone).unwrap().inherited, 100);
    write(&mut volumes, clone, 0..50);
    let of_clone = volumes.snapshot(clone).unwrap();
    let second = volumes.clone_volume(clone, of_clone, 200).unwrap();
    write(&mut volumes, second, 90..100);
    let places = |volumes: &Volumes, volume| {
        volumes.image(volume).unwrap().blocks_from(file, Fbn(0)).collect::<Vec<_>>()
    };
    let before = places(&volumes, second);
    write(&mut volumes, volume, 0..100);
    write(&mut volumes, clone, 0..100);
    assert_eq!(places(&volumes, second), before);
    assert_eq!(before.len(), 100);

    let has_clones = Err(VolumeError::HasClones(volume, snapshot, 1));
    assert_eq!(volumes.delete_snapshot(volume, snapshot), has_clones);
    assert_eq!(volumes.destroy_volume(volume), has_clones);
    assert_eq!(volumes.destroy_volume(clone), Err(VolumeError::HasClones(clone, of_clone, 1)));
    for gone in [second, clone] {
        volumes.destroy_volume(gone).unwrap();
        finish_background(&mut volumes);
    }
    volumes.delete_snapshot(volume, snapshot).unwrap();
    finish_background(&mut volumes);
    assert_eq!(volumes.space().active, 100);
    assert_eq!(volumes.space().free, 900);
}

#[test]
fn a_file_is_deleted_step_by_step_in_several_consistency_points() {
    let mut volumes = volumes(4, 64);
    let volume = volumes.create_volume(100).unwrap();
    let file = write(&mut volumes, volume, 0..10);
    for (left, is_gone) in [(6, false), (2, false), (0, true)] {
        volumes.begin(0).unwrap();
        assert_eq!(volumes.delete_file_step(volume, file, 4), Ok(is_gone));
        volumes.discard_plan();
        volumes.commit().unwrap();
        let image = volumes.image(volume).unwrap();
        assert_eq!((image.blocks_of(file), image.has_file(file)), (left, !is_gone));
        assert_eq!(volumes.space().active, left);
        volumes.verify().unwrap();
    }
    volumes.begin(0).unwrap();
    let again = volumes.delete_file_step(volume, file, 4);
    assert_eq!(again, Err(VolumeError::NoSuchFile(volume, file)));
}

#[test]
fn regression_a_consistency_point_while_a_volume_with_snapshots_is_taken_apart() {
    let mut volumes = volumes(4, 64);
    let volume = volumes.create_volume(6).unwrap();
    let file = write(&mut volumes, volume, 0..6);
    volumes.snapshot(volume).unwrap();
    volumes.begin(0).unwrap();
    volumes.delete_file(volume, file).unwrap();
    volumes.discard_plan();
    volumes.commit().unwrap();
    volumes.destroy_volume(volume).unwrap();
    // One of its six blocks, all of which its snapshot holds, is freed.
    volumes.background_step(1).unwrap();
    volumes.begin(0).unwrap();
    volumes.discard_plan();
    volumes.commit().unwrap();
    assert_eq!(volumes.space().destroyed, 5);
    finish_background(&mut volumes);
    assert_eq!(volumes.space().destroyed, 0);
}
