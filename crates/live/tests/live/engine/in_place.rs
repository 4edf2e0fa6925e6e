//! The in-place array, over devices that fail.

use strewn_live::device::DeviceIndex;
use strewn_live::engine::{Answer, HostRequest, RequestId, TargetId};
use strewn_live::format::MemberState;

use strewn_base::Rng;

use super::in_place_rig::{Rig, Setting};

/// So many seeds, or the one that the environment asks for.
fn seeds(count: u64) -> std::ops::Range<u64> {
    let one = std::env::var("STREWN_SEED").ok().map(|seed| seed.parse().unwrap());
    one.map_or(0..count, |seed: u64| seed..seed + 1)
}

/// Takes `count` steps, with so many requests under way at most.
fn run_steps(rig: &mut Rig, count: u64, most: usize) {
    for _ in 0..count {
        if rig.under_way() < most && rig.rng.below(3) < 2 {
            rig.anything();
        }
        if rig.rng.below(3) < 2 {
            rig.poll();
        }
    }
}

fn run_some_steps(rig: &mut Rig, most_count: u64) {
    let count = rig.rng.below(most_count);
    let most = 1 + rig.rng.below(20) as usize;
    run_steps(rig, count, most);
}

#[test]
fn a_crash_at_any_time_loses_nothing_that_was_answered() {
    let mut redo_blocks = 0;
    for seed in seeds(300) {
        let mut rig = Rig::new(seed);
        rig.start();
        for _ in 0..3 {
            run_some_steps(&mut rig, 250);
            rig.crash();
            let report = rig.report_of_crash();
            assert_eq!(report.findings, []);
            redo_blocks += report.redo_blocks;
            // It may go again while the array catches up.
            while rig.rng.one_in(2) {
                let fuse = rig.rng.below(120);
                println!("fuse {fuse}");
                let started = rig.try_start(Some(fuse));
                rig.crash();
                drop(started);
                assert_eq!(rig.report_of_crash().findings, []);
            }
            rig.start();
            rig.verify();
        }
        run_some_steps(&mut rig, 50);
        rig.settle();
        rig.shut_down();
        rig.check();
    }
    assert!(redo_blocks > 0);
}

#[test]
fn after_a_clean_shutdown_parity_is_right_and_the_log_is_not_needed() {
    for seed in seeds(60) {
        let mut rig = Rig::new(seed);
        rig.start();
        run_some_steps(&mut rig, 500);
        rig.settle();
        rig.shut_down();
        rig.check();
        rig.start();
        assert!(!rig.running().engine().superblock().clean);
        rig.verify();
    }
}

#[test]
fn a_spindle_is_lost_before_with_or_after_a_crash() {
    let (seeds, mut tested) = (seeds(300), 0);
    for seed in seeds.clone() {
        let mut rig = Rig::new(seed);
        rig.start();
        let lost = rig.rng.below(rig.setting.spindles().into()) as u16;
        let device = DeviceIndex(lost);
        run_some_steps(&mut rig, 150);
        let when = rig.rng.below(3);
        println!("{device:?} is lost: {when}");
        if when == 0 {
            rig.devices().lose_device(device, "lost before");
            run_some_steps(&mut rig, 150);
        }
        rig.crash();
        if when == 1 {
            rig.devices().lose_device(device, "lost with the power");
        }
        while rig.rng.one_in(3) {
            let fuse = rig.rng.below(120);
            println!("fuse {fuse}");
            let started = rig.try_start(Some(fuse));
            rig.crash();
            drop(started);
        }
        rig.start();
        if when == 2 {
            rig.devices().lose_device(device, "lost after");
        }
        rig.verify();
        run_some_steps(&mut rig, 100);
        rig.settle();
        rig.clean();
        rig.verify();
        tested += u64::from(replace_and_check(&mut rig, lost));
    }
    println!("{tested} spindles replaced");
    assert_tested(tested, &seeds, 250);
}

fn state_of(rig: &mut Rig, spindle: u16) -> MemberState {
    rig.running().engine().label().members[usize::from(spindle)].state
}

/// Replaces a lost spindle, under load and with crashes; then all is as if it had never been lost. False if the array
/// does not know that it is lost, because it has asked nothing of it: then nothing is tested.
fn replace_and_check(rig: &mut Rig, lost: u16) -> bool {
    // It may not have been asked for anything since.
    run_some_steps(rig, 60);
    if state_of(rig, lost) == MemberState::Present {
        run_steps(rig, 400, 10);
        rig.settle();
        rig.clean();
    }
    if state_of(rig, lost) != MemberState::Failed {
        return false;
    }
    rig.replace(lost);
    run_some_steps(rig, 100);
    if rig.rng.one_in(2) {
        rig.crash();
        rig.start();
        rig.verify();
        if state_of(rig, lost) == MemberState::Failed {
            // The power went before any label had it.
            rig.replace(lost);
        }
        run_some_steps(rig, 100);
    }
    rig.settle();
    rig.clean();
    if rig.rng.one_in(2) {
        // What is present now must be so without what was in memory.
        rig.crash();
        rig.start();
        rig.verify();
        rig.clean();
    }
    let label = rig.running().engine().label().clone();
    let all_there = label.members.iter().all(|member| member.state == MemberState::Present);
    assert!(all_there, "{:?}", label.members);
    rig.verify();
    rig.shut_down();
    rig.check();
    true
}

/// Asserts that a test whose seeds may come to nothing has tested something: with all its seeds, not with a single one.
fn assert_tested(tested: u64, seeds: &std::ops::Range<u64>, at_least: u64) {
    let is_single = seeds.end - seeds.start == 1;
    assert!(is_single || tested >= at_least, "{tested} of {seeds:?} tested something");
}

#[test]
fn one_spindle_may_have_bad_blocks() {
    for seed in seeds(100) {
        let mut rig = Rig::new(seed);
        rig.start();
        let bad = rig.rng.below(rig.setting.spindles().into()) as u16;
        for round in 0..3 {
            for _ in 0..rig.rng.below(12) {
                rig.spoil(bad);
                run_some_steps(&mut rig, 60);
            }
            if round == 1 || rig.rng.one_in(2) {
                rig.crash();
                rig.start();
            }
            rig.settle();
            rig.verify();
        }
        rig.clean();
        assert_eq!(rig.running().engine().array().bad_blocks().lost, 0);
    }
}

/// A spindle that was lost is there again after the crash. Whether it is believed says the newest label.
#[test]
fn a_lost_spindle_that_comes_back_is_not_believed() {
    let (seeds, mut tested) = (seeds(300), 0);
    for seed in seeds.clone() {
        let mut rig = Rig::new(seed);
        rig.start();
        if rig.rng.one_in(2) {
            rig.have_slow_labels();
        }
        run_some_steps(&mut rig, 150);
        let lost = rig.rng.below(rig.setting.spindles().into()) as u16;
        rig.devices().lose_device(DeviceIndex(lost), "lost for a while");
        run_some_steps(&mut rig, 100);
        rig.crash();
        rig.all_come_back(seed);
        rig.start();
        rig.verify();
        run_some_steps(&mut rig, 100);
        rig.settle();
        rig.clean();
        rig.verify();
        if state_of(&mut rig, lost) == MemberState::Failed {
            tested += u64::from(replace_and_check(&mut rig, lost));
        } else {
            rig.shut_down();
            rig.check();
        }
    }
    println!("{tested} spindles replaced");
    assert_tested(tested, &seeds, 150);
}

/// Halves that take one block, or few.
#[test]
fn a_half_of_the_log_never_gets_more_than_it_takes() {
    for log_half_blocks in 3..40 {
        let seed = log_half_blocks;
        let mut rng = Rng::new(seed);
        let setting = Setting { log_half_blocks, ..Setting::any(&mut rng) };
        let mut rig = Rig::of(seed, rng, setting);
        rig.start();
        let all = rig.setting.lun_blocks * 8;
        for _ in 0..4 {
            rig.write(0..all, false);
            rig.write(3..all - 3, true);
        }
        run_steps(&mut rig, 100, 16);
        rig.settle();
        rig.crash();
        rig.start();
        rig.verify();
        assert!(rig.answered > 8);
        rig.shut_down();
        rig.check();
    }
}

/// Chunks of it do not reach their spindles before it is in the log: after a loss of power some would be there.
#[test]
fn a_write_that_was_not_answered_is_there_wholly_or_not_at_all() {
    let mut rng = Rng::new(1);
    let setting = Setting {
        lun_blocks: 64,
        log_half_blocks: 40,
        destage_low_sectors: 0,
        ..Setting::any(&mut rng)
    };
    let mut rig = Rig::of(1, rng, setting);
    rig.start();
    rig.write(0..128, false);
    rig.settle();
    rig.clean();
    rig.have_slow_log();
    let answered = rig.answered;
    let asked_ns = rig.running().now_ns();
    rig.write(0..128, false);
    while rig.running().now_ns() < asked_ns + 900_000_000 {
        rig.poll();
    }
    assert_eq!(rig.answered, answered);
    rig.crash();
    rig.start();
    let request = HostRequest::Read(0..128);
    let Ok(Answer::Bytes(bytes)) = rig.running().ask(RequestId(0), TargetId::FIRST_LUN, request)
    else {
        panic!("the LUN cannot be read");
    };
    let stamps: Vec<&[u8]> = bytes.chunks(512).map(|sector| &sector[..4]).collect();
    assert!(stamps.iter().all(|stamp| *stamp == stamps[0]), "{stamps:?}");
}

#[test]
fn writes_that_meet_in_a_block_keep_each_others_bytes() {
    let mut rng = Rng::new(1);
    let setting = Setting { lun_blocks: 64, ..Setting::any(&mut rng) };
    let mut rig = Rig::of(1, rng, setting);
    rig.start();
    for round in 0..20 {
        // Every sector of some blocks by a write of its own, all at once.
        for sector in round * 8..round * 8 + 40 {
            rig.write(sector..sector + 1, false);
        }
        rig.settle();
        rig.verify();
    }
    rig.crash();
    rig.start();
    rig.verify();
}

#[test]
fn every_block_has_a_place_and_none_is_given_back() {
    let mut rig = Rig::new(5);
    rig.start();
    rig.write(0..16, false);
    rig.settle();
    let array = rig.running();
    let allocation = array.ask(RequestId(0), TargetId::FIRST_LUN, HostRequest::Allocation(3..90));
    assert_eq!(allocation, Ok(Answer::Allocation(vec![(87, true)])));
    assert_eq!(
        array.ask(RequestId(0), TargetId::FIRST_LUN, HostRequest::Unmap(0..16)),
        Ok(Answer::Done)
    );
    rig.verify();
}
