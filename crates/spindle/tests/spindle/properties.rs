//! What holds for any addresses, arrivals and scheduler.

use std::collections::HashSet;
use std::sync::{Arc, LazyLock};

use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use strewn_spindle::{Command, CommandError, Direction, Drive, Profile};
use strewn_spindle::{Scheduler, SimulatedSpindle, SpindleError};

static CHEETAH: LazyLock<Arc<Drive>> = LazyLock::new(|| {
    let profile = Profile::shipped("seagate-cheetah-15k5-st3146855fc").unwrap();
    Arc::new(Drive::new(&profile).unwrap())
});

const CAPACITY_SECTORS: u64 = 286_749_487;

/// Longest possible overhead, seek, rotation and transfer of a command of one track, in ns.
const LONGEST_SERVICE_NS: u64 = 17_000_000;

fn schedulers() -> impl Strategy<Value = Scheduler> {
    prop_oneof![
        Just(Scheduler::Fcfs),
        Just(Scheduler::Sstf),
        Just(Scheduler::CLook),
        Just(Scheduler::Sptf),
        Just(Scheduler::AgedSptf { credit_us_per_ms: Scheduler::DEFAULT_CREDIT_US_PER_MS }),
    ]
}

fn commands() -> impl Strategy<Value = Command> {
    (0..CAPACITY_SECTORS - 2048, 1..2048_u32, any::<bool>()).prop_map(|(lba, sectors, write)| {
        let direction = if write { Direction::Write } else { Direction::Read };
        Command { lba, sectors, direction }
    })
}

/// Cases that failed once are kept beside this file.
fn with_regressions() -> ProptestConfig {
    let persistence = FileFailurePersistence::WithSource("regressions");
    ProptestConfig { failure_persistence: Some(Box::new(persistence)), ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(with_regressions())]

    #[test]
    fn no_two_sectors_share_a_place(
        from in 0..CAPACITY_SECTORS - 4000,
        others in prop::collection::hash_set(0..CAPACITY_SECTORS, 0..200),
    ) {
        let mut lbas: HashSet<u64> = (from..from + 4000).collect();
        lbas.extend(&others);
        let places: HashSet<_> = lbas.iter().map(|&lba| CHEETAH.locate(lba)).collect();
        prop_assert_eq!(places.len(), lbas.len());
    }

    #[test]
    fn a_drive_that_is_replaced_gives_back_what_it_has_not_done(
        scheduler in schedulers(),
        depth in 1..20_u32,
        commands in prop::collection::vec((commands(), 0..3_000_000_u64), 1..60),
        completed in 0..60_usize,
        after_ns in 0..20_000_000_u64,
    ) {
        let mut spindle = SimulatedSpindle::new(Arc::clone(&CHEETAH), scheduler, depth).unwrap();
        let mut arrival_ns = 0;
        for (tag, (command, gap_ns)) in commands.iter().enumerate() {
            arrival_ns += gap_ns;
            spindle.submit(arrival_ns, *command, tag).unwrap();
        }
        let mut done = HashSet::new();
        let mut service_ns = 0;
        let mut now_ns = 0;
        for completion in std::iter::from_fn(|| spindle.complete()).take(completed) {
            done.insert(completion.tag);
            service_ns += completion.service_ns;
            now_ns = completion.at_ns;
        }
        now_ns = (now_ns + after_ns).min(spindle.next_completion_ns());
        let replaced = spindle.replace(now_ns);
        for (command, tag) in &replaced.commands {
            prop_assert!(done.insert(*tag), "{tag} is done and given back");
            prop_assert_eq!(command, &commands[*tag].0);
        }
        prop_assert_eq!(done.len(), commands.len());
        prop_assert_eq!(spindle.busy_ns_until(now_ns), service_ns + replaced.served_ns);

        // The new one begins where a new one does.
        prop_assert_eq!((spindle.outstanding(), spindle.next_completion_ns()), (0, u64::MAX));
        spindle.submit(arrival_ns.max(now_ns), commands[0].0, 0).unwrap();
        prop_assert_eq!(spindle.complete().map(|completion| completion.tag), Some(0));
    }

    #[test]
    fn each_command_completes_once_and_time_adds_up(
        scheduler in schedulers(),
        depth in 1..=64_u32,
        submitted in prop::collection::vec((0..20_000_000_u64, commands()), 1..200),
    ) {
        let mut spindle = SimulatedSpindle::new(Arc::clone(&CHEETAH), scheduler, depth).unwrap();
        let mut completions = Vec::new();
        let mut arrival_ns = 0;
        for (tag, (gap_ns, command)) in submitted.iter().enumerate() {
            arrival_ns += gap_ns;
            while spindle.next_completion_ns() < arrival_ns {
                completions.push(spindle.complete().unwrap());
            }
            spindle.submit(arrival_ns, *command, tag).unwrap();
        }
        while let Some(done) = spindle.complete() {
            completions.push(done);
        }
        let tags: HashSet<usize> = completions.iter().map(|done| done.tag).collect();
        prop_assert_eq!(tags.len(), submitted.len());
        prop_assert_eq!(completions.len(), submitted.len());
        prop_assert_eq!(spindle.outstanding(), 0);
        let mut free_ns = 0;
        for done in &completions {
            // One at a time, none before its arrival.
            prop_assert!(done.at_ns - done.service_ns >= free_ns.max(done.arrived_ns));
            free_ns = done.at_ns;
        }
        let statistics = spindle.statistics();
        let service_ns: u64 = completions.iter().map(|done| done.service_ns).sum();
        prop_assert_eq!(statistics.busy_ns, service_ns);
        prop_assert_eq!(spindle.busy_ns_until(free_ns), service_ns);
        let residence_ns: u64 = completions.iter().map(|done| done.at_ns - done.arrived_ns).sum();
        prop_assert_eq!(statistics.residence_ns, residence_ns);
        let parts_ns = statistics.overhead_ns
            + statistics.seek_ns
            + statistics.rotation_ns
            + statistics.transfer_ns;
        prop_assert!(parts_ns.abs_diff(service_ns) <= submitted.len() as u64 + 4);
        let sectors: u64 = submitted.iter().map(|(_, command)| u64::from(command.sectors)).sum();
        prop_assert_eq!(statistics.read_sectors + statistics.write_sectors, sectors);
        prop_assert_eq!(statistics.reads + statistics.writes, submitted.len() as u64);
    }

    #[test]
    fn first_come_is_first_served_at_any_depth(
        depth in 1..=256_u32,
        lbas in prop::collection::vec(0..CAPACITY_SECTORS, 2..300),
    ) {
        let mut spindle =
            SimulatedSpindle::new(Arc::clone(&CHEETAH), Scheduler::Fcfs, depth).unwrap();
        for (tag, &lba) in lbas.iter().enumerate() {
            spindle.submit(0, Command { lba, sectors: 1, direction: Direction::Read }, tag).unwrap();
        }
        for tag in 0..lbas.len() {
            prop_assert_eq!(spindle.complete().unwrap().tag, tag);
        }
    }
}

/// Serves one far sector beside a stream of near ones that never ends, and says how long it took.
fn far_wait_ns(scheduler: Scheduler, patience_ns: u64) -> Option<u64> {
    let mut spindle = SimulatedSpindle::new(Arc::clone(&CHEETAH), scheduler, 64).unwrap();
    let near = |number: u64| Command {
        lba: number * 7919 % 60_000,
        sectors: 1,
        direction: Direction::Read,
    };
    for number in 0..63 {
        spindle.submit(0, near(number), false).unwrap();
    }
    let far = Command { lba: CAPACITY_SECTORS - 1, sectors: 1, direction: Direction::Read };
    spindle.submit(0, far, true).unwrap();
    for number in 63.. {
        let done = spindle.complete().unwrap();
        if done.tag {
            return Some(done.at_ns);
        }
        if done.at_ns > patience_ns {
            break;
        }
        spindle.submit(done.at_ns, near(number), false).unwrap();
    }
    None
}

#[test]
fn aged_sptf_starves_none_where_sptf_does() {
    let patience_ns = 60_000_000_000;
    assert_eq!(far_wait_ns(Scheduler::Sptf, patience_ns), None);
    for credit_us_per_ms in [Scheduler::DEFAULT_CREDIT_US_PER_MS, 60] {
        let waited_ns = far_wait_ns(Scheduler::AgedSptf { credit_us_per_ms }, patience_ns).unwrap();
        // Once the credit passes any positioning time, only the 63 that were there go first.
        let bound_ns = (LONGEST_SERVICE_NS * 1000).div_ceil(u64::from(credit_us_per_ms))
            + 64 * LONGEST_SERVICE_NS;
        assert!(waited_ns <= bound_ns, "{waited_ns} ns at a credit of {credit_us_per_ms}");
    }
}

#[test]
fn c_look_sweeps_inward_and_starts_again_outermost() {
    let mut spindle = SimulatedSpindle::new(Arc::clone(&CHEETAH), Scheduler::CLook, 16).unwrap();
    let lbas = [150_000_000, 10_000_000, 200_000_000, 90_000_000, 280_000_000];
    for lba in lbas {
        spindle.submit(0, Command { lba, sectors: 8, direction: Direction::Read }, lba).unwrap();
    }
    let order: Vec<u64> = std::iter::from_fn(|| spindle.complete()).map(|done| done.tag).collect();
    assert_eq!(order, [150_000_000, 200_000_000, 280_000_000, 10_000_000, 90_000_000]);
}

#[test]
fn reading_on_loses_no_revolution() {
    let mut spindle = SimulatedSpindle::new(Arc::clone(&CHEETAH), Scheduler::Fcfs, 1).unwrap();
    let reads = 1200 / 8;
    for number in 0..reads {
        let command = Command { lba: number * 8, sectors: 8, direction: Direction::Read };
        spindle.submit(0, command, ()).unwrap();
    }
    let last = std::iter::from_fn(|| spindle.complete()).last().unwrap();
    let revolution_ns = 3_994_674;
    assert!(last.at_ns.abs_diff(revolution_ns) < 1000, "{} ns", last.at_ns);
}

#[test]
fn an_idle_spindle_starts_a_command_when_it_arrives() {
    let mut spindle = SimulatedSpindle::new(Arc::clone(&CHEETAH), Scheduler::Sptf, 4).unwrap();
    let command = Command { lba: 5_000_000, sectors: 8, direction: Direction::Write };
    assert_eq!(spindle.next_completion_ns(), u64::MAX);
    spindle.submit(1_000_000_000, command, 'a').unwrap();
    spindle.submit(2_000_000_000, command, 'b').unwrap();
    assert_eq!(spindle.busy_ns_until(1_000_000_000), 0);
    assert_eq!(spindle.busy_ns_until(1_000_500_000), 500_000);
    let first = spindle.complete().unwrap();
    assert_eq!((first.tag, first.at_ns), ('a', 1_000_000_000 + first.service_ns));
    let second = spindle.complete().unwrap();
    assert_eq!((second.tag, second.at_ns), ('b', 2_000_000_000 + second.service_ns));
    assert_eq!(spindle.complete(), None);
}

#[test]
fn refused_commands_leave_the_spindle_as_it_was() {
    let mut spindle = SimulatedSpindle::new(Arc::clone(&CHEETAH), Scheduler::Sptf, 4).unwrap();
    let command = |lba, sectors| Command { lba, sectors, direction: Direction::Read };
    assert!(spindle.submit(9, command(0, 0), ()).is_err());
    assert!(spindle.submit(9, command(CAPACITY_SECTORS, 1), ()).is_err());
    assert_eq!(spindle.outstanding(), 0);
    spindle.submit(5, command(0, 1), ()).unwrap();
    let decreases = CommandError::ArrivalDecreases { arrival_ns: 4, latest_ns: 5 };
    assert_eq!(spindle.submit(4, command(0, 1), ()), Err(decreases));
    assert_eq!(spindle.outstanding(), 1);
}

#[test]
fn a_depth_of_none_or_too_many_is_refused() {
    for depth in [0, 257, u32::MAX] {
        let spindle = SimulatedSpindle::<()>::new(Arc::clone(&CHEETAH), Scheduler::Fcfs, depth);
        assert_eq!(spindle.unwrap_err(), SpindleError::Depth { depth });
    }
}

proptest! {
    /// Commands that arrive in the order of their submission, or are submitted in another order: the drive serves them
    /// alike, and its totals are the same.
    #[test]
    fn a_command_that_overtakes_is_served_as_if_submitted_in_order(
        depth in 1..6u32,
        gaps in prop::collection::vec((1..6_000_000u64, 0..CAPACITY_SECTORS / 8, any::<bool>(), any::<u16>()), 1..60),
        batch in 1..12usize,
        completions in 0..12usize,
    ) {
        let mut in_order = SimulatedSpindle::new(Arc::clone(&CHEETAH), Scheduler::Sptf, depth).unwrap();
        let mut shuffled = in_order.clone();
        let mut now_ns = 0;
        for (batch_number, batch) in gaps.chunks(batch).enumerate() {
            let mut arrival_ns = now_ns;
            let mut commands = Vec::new();
            for (number, &(gap_ns, block, is_read, order)) in batch.iter().enumerate() {
                arrival_ns += gap_ns;
                let direction = if is_read { Direction::Read } else { Direction::Write };
                let command = Command { lba: block * 8, sectors: 8, direction };
                commands.push((arrival_ns, command, (batch_number, number), order));
            }
            for &(arrival_ns, command, tag, _) in &commands {
                in_order.submit_overtaking(arrival_ns, command, tag).unwrap();
            }
            commands.sort_by_key(|(.., order)| *order);
            for &(arrival_ns, command, tag, _) in &commands {
                shuffled.submit_overtaking(arrival_ns, command, tag).unwrap();
            }
            for _ in 0..completions {
                prop_assert_eq!(in_order.next_completion_ns(), shuffled.next_completion_ns());
                let done = in_order.complete();
                prop_assert_eq!(done, shuffled.complete());
                now_ns = done.map_or(now_ns, |done| done.at_ns);
            }
        }
        let rest: Vec<_> = std::iter::from_fn(|| in_order.complete()).collect();
        prop_assert_eq!(rest, std::iter::from_fn(|| shuffled.complete()).collect::<Vec<_>>());
        prop_assert_eq!(in_order.statistics(), shuffled.statistics());
    }
}
