//! Mistakes of a caller: each is an error by value or a documented panic, the same in debug and release, and none loses
//! blocks or falsifies a count.

use std::panic::{AssertUnwindSafe, catch_unwind};

use strewn_alloc::{
    Aggregate, AggregateError, AggregateOptions, AllocationShape, BlockSize, GroupIndex,
    MOST_BLOCKS, OutOfMemory, OutOfSpace, PolicyName, SetPolicyError,
};
use strewn_raid::{Parity, ParityGroup, Vbn};
use strewn_volume::{CleaningPlan, Fbn, Region, VirtualSpace, VolumeError, VolumeId, Volumes};

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

#[test]
fn a_volume_has_a_block_and_no_more_than_an_aggregate() {
    let mut volumes = volumes(64);
    let volume = volumes.create_volume(10).unwrap();
    let snapshot = volumes.snapshot(volume).unwrap();
    for blocks in [0, MOST_BLOCKS + 1, u64::MAX] {
        let refused = VolumeError::VolumeBlocks(blocks);
        assert_eq!(volumes.create_volume(blocks), Err(refused.clone()));
        assert_eq!(volumes.clone_volume(volume, snapshot, blocks), Err(refused));
    }
    assert_eq!(
        VolumeError::VolumeBlocks(0).to_string(),
        "a volume of 0 blocks: it takes 1 to 1099511627776 (2^40)"
    );
    volumes.delete_snapshot(volume, snapshot).unwrap();
}

#[test]
fn blocks_that_hold_no_page_are_named() {
    for bytes in [512, 2_048] {
        let block_size = BlockSize::new(bytes).unwrap();
        let options = AggregateOptions { block_size, ..AggregateOptions::default() };
        let group = ParityGroup::new(Parity::RaidDp, 2, 64).unwrap();
        let refused = Volumes::persistent(Aggregate::new([group], options).unwrap()).unwrap_err();
        assert_eq!(refused, VolumeError::BlockTooSmall { bytes: bytes.into() });
        assert!(refused.to_string().contains("4096"), "{refused}");
    }
}

/// Visits counted in steps of any size are as many, and at most one step ends a job without another visit.
#[test]
fn background_steps_count_what_they_visit() {
    let visits = |most: u64| {
        let mut volumes = volumes(4_096);
        let volume = volumes.create_volume(5_000).unwrap();
        volumes.begin(3_000).unwrap();
        let file = volumes.create_file(volume).unwrap();
        volumes.write_all(volume, file, &Vec::from_iter((0..3_000).map(Fbn))).unwrap();
        volumes.discard_plan();
        volumes.commit().unwrap();
        let snapshot = volumes.snapshot(volume).unwrap();
        volumes.begin(1_000).unwrap();
        volumes.write_all(volume, file, &Vec::from_iter((0..1_000).map(Fbn))).unwrap();
        volumes.discard_plan();
        volumes.commit().unwrap();
        volumes.delete_snapshot(volume, snapshot).unwrap();
        volumes.destroy_volume(volume).unwrap();
        // A volume that was never written has nothing to visit.
        let empty = volumes.create_volume(5_000).unwrap();
        volumes.destroy_volume(empty).unwrap();
        let mut steps = Vec::new();
        while volumes.is_background_work_left() {
            let visited = volumes.background_step(most).unwrap();
            assert!((1..=most).contains(&visited), "{visited} of {most}");
            steps.push(visited);
        }
        assert_eq!(volumes.background_step(most), Ok(0));
        volumes.verify().unwrap();
        steps
    };
    // The 5,000 slots of the container map, once; the nodes of the trees, and the ends of three jobs.
    for most in [u64::MAX, u64::MAX - 1, 1 << 40, 100_000, 700, 1] {
        let steps = visits(most);
        let all: u64 = steps.iter().sum();
        assert!((5_000..5_200).contains(&all), "{all} visits in steps of {most}");
        assert_eq!(steps.len() == 1, most >= 100_000, "{} steps of {most}", steps.len());
    }
}

#[test]
fn steps_without_a_limit_go_to_the_end() {
    let mut volumes = volumes(4_096);
    let volume = volumes.create_volume(5_000).unwrap();
    volumes.begin(3_000).unwrap();
    let file = volumes.create_file(volume).unwrap();
    volumes.write_all(volume, file, &Vec::from_iter((0..3_000).map(Fbn))).unwrap();
    volumes.discard_plan();
    volumes.commit().unwrap();
    let plan = CleaningPlan::new(&volumes, 1);
    let mut cleaning = plan.start(&mut volumes).unwrap();
    let mut moves = 0;
    while let Some(item) = cleaning.next_item(&volumes, u64::MAX) {
        assert!(!item.is_empty());
        moves += item.len();
    }
    assert!(moves > 0);
}

#[test]
fn a_mounted_or_new_store_takes_a_policy_of_its_own() {
    let mut volumes = volumes(128);
    volumes.set_policy(GroupIndex(0), PolicyName::FirstFit.policy()).unwrap();
    let refused = volumes.set_policy(GroupIndex(1), PolicyName::FirstFit.policy());
    let nowhere = SetPolicyError::NoSuchGroup(GroupIndex(1));
    assert_eq!(refused, Err(VolumeError::SetPolicy(nowhere)));
    volumes.begin(0).unwrap();
    let refused = volumes.set_policy(GroupIndex(0), PolicyName::FirstFit.policy());
    assert_eq!(refused, Err(VolumeError::ConsistencyPointOpen));
}

#[test]
fn an_error_leads_to_its_cause() {
    let cause = OutOfMemory { bytes: 12 };
    let error = VolumeError::Size(AggregateError::OutOfMemory(cause));
    let source = std::error::Error::source(&error).unwrap();
    assert_eq!(source.downcast_ref(), Some(&cause));
}

/// The name of the variable that turns the test below into its own child.
const IN_A_PROCESS_OF_ITS_OWN: &str = "STREWN_TEST_VOLUMES_BEYOND_MEMORY";

/// Whether a system grants as much memory as maps of 2^40 blocks take depends on its settings. So the test sets a
/// limit.
#[cfg(unix)]
#[test]
fn regression_volumes_and_aggregates_that_do_not_fit_memory_are_refused() {
    if std::env::var_os(IN_A_PROCESS_OF_ITS_OWN).is_none() {
        let child = std::process::Command::new("sh")
            .args(["-c", "ulimit -v 2000000; exec \"$0\" \"$@\""])
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", "--nocapture", "--test-threads", "1"])
            .arg("refusals::regression_volumes_and_aggregates_that_do_not_fit_memory_are_refused")
            .env(IN_A_PROCESS_OF_ITS_OWN, "1")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&child.stdout) + String::from_utf8_lossy(&child.stderr);
        assert!(child.status.success() && said.contains("1 passed"), "{said}");
        return;
    }
    const BLOCKS: u64 = 1 << 40;
    let is_refused = |error: &AggregateError| {
        // A bit for each block at least.
        matches!(error, AggregateError::OutOfMemory(OutOfMemory { bytes }) if *bytes > BLOCKS / 8)
    };
    let group = |blocks| ParityGroup::new(Parity::RaidDp, 4, blocks).unwrap();
    let too_large = Aggregate::<()>::new([group(BLOCKS / 4)], AggregateOptions::default());
    assert!(is_refused(&too_large.unwrap_err()));
    let aggregate = Aggregate::new([group(8_192)], AggregateOptions::default()).unwrap();
    let mut volumes = Volumes::persistent(aggregate).unwrap();
    let refused =
        |error: VolumeError| matches!(&error, VolumeError::Size(error) if is_refused(error));
    assert!(refused(volumes.create_volume(BLOCKS).unwrap_err()));
    let volume = volumes.create_volume(1_000).unwrap();
    let snapshot = volumes.snapshot(volume).unwrap();
    assert!(refused(volumes.clone_volume(volume, snapshot, BLOCKS).unwrap_err()));
    assert_eq!(volumes.ids().count(), 1);
}
