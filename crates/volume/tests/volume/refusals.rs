//! Mistakes of a caller: each is an error by value or a documented panic, the same in debug and release, and none loses
//! blocks or falsifies a count.

use std::panic::{AssertUnwindSafe, catch_unwind};

use strewn_alloc::{Aggregate, AggregateOptions, AllocationShape, OutOfSpace};
use strewn_raid::{Parity, ParityGroup, Vbn};
use strewn_volume::{Fbn, Region, VirtualSpace, VolumeError, VolumeId, Volumes};

/// Volumes in a group of two data spindles.
fn volumes(stripes: u64) -> Volumes {
    let shape = AllocationShape { area_stripes: 64, ..AllocationShape::default() };
    let options = AggregateOptions { shape, ..AggregateOptions::default() };
    let group = ParityGroup::new(Parity::RaidDp, 2, stripes).unwrap();
    Volumes::new(Aggregate::new([group], options).unwrap()).unwrap()
}

fn panics<T>(what: impl FnOnce() -> T) -> bool {
    catch_unwind(AssertUnwindSafe(what)).is_err()
}

#[test]
fn a_deleted_snapshot_s_blocks_are_not_lost_when_the_next_consistency_point_is_abandoned() {
    let mut volumes = volumes(64);
    let volume = volumes.create_volume(1_000).unwrap();
    volumes.begin(60).unwrap();
    let file = volumes.create_file(volume).unwrap();
    let all = Vec::from_iter((0..60).map(Fbn));
    volumes.write_all(volume, file, &all).unwrap();
    volumes.discard_plan();
    volumes.commit().unwrap();
    let snapshot = volumes.snapshot(volume).unwrap();
    volumes.begin(60).unwrap();
    volumes.write_all(volume, file, &all).unwrap();
    volumes.discard_plan();
    volumes.commit().unwrap();
    volumes.delete_snapshot(volume, snapshot).unwrap();
    while volumes.background_step(7).unwrap() > 0 {}
    volumes.begin(60).unwrap();
    let full = volumes.write_all(volume, file, &all).unwrap_err();
    assert!(matches!(full, VolumeError::OutOfSpace(OutOfSpace { needed: 60, free: 8 })), "{full}");
    volumes.write_all(volume, file, &all[..8]).unwrap();
    volumes.abandon().unwrap();
    volumes.verify().unwrap();
    volumes.begin(0).unwrap();
    assert_eq!(volumes.commit(), Ok(60));
    volumes.verify().unwrap();
    assert_eq!(volumes.aggregate().free_blocks(), 68);
}

#[test]
fn a_number_that_is_not_in_use_is_not_released() {
    let mut space = VirtualSpace::new([100]).unwrap();
    let (region, _) = space.allocate(VolumeId(0)).unwrap();
    let (delayed, _) = space.allocate(VolumeId(0)).unwrap();
    space.hold_back(delayed, Vbn(1));
    space.release(region);
    assert!(panics(|| space.release(region)), "what is left is a delayed free");
    assert!(panics(|| space.hold_back(region, Vbn(2))));
    assert!(panics(|| space.release(Region(1))));
    assert_eq!(space.numbers_used(region), 1);
}

#[test]
fn volumes_are_not_committed_while_part_of_the_plan_is_left() {
    let mut volumes = volumes(128);
    let volume = volumes.create_volume(100).unwrap();
    volumes.begin(10).unwrap();
    let file = volumes.create_file(volume).unwrap();
    volumes.write_all(volume, file, &Vec::from_iter((0..10).map(Fbn))).unwrap();
    assert_eq!(volumes.commit(), Err(VolumeError::PlanLeft { tetrises: 1 }));
    // Nothing is lost: the plan can still be taken.
    let plan = volumes.finish().unwrap();
    assert_eq!(plan.iter().map(|tetris| tetris.blocks()).sum::<u32>(), 10);
    assert_eq!(volumes.commit(), Ok(0));
    volumes.verify().unwrap();
}

#[test]
fn volumes_are_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<Volumes>();
}
