//! Parity groups that are added under load: what a segment counts, and where reads and writes go.

use strewn_array::write_anywhere::{OtherData, WriteAnywhere, WriteAnywhereConfig};
use strewn_array::{Format, Rebuild};
use strewn_raid::{Parity, ParityGroup, SpindleIndex};
use strewn_sim::{Segment, Simulation};

use crate::failures::{SECOND_NS, config, segment, simulation};

/// Creates an array that is nearly full, of four data spindles and one of parity, to which RAID-DP groups of these data
/// spindles can be added.
fn nearly_full(later: &[u16]) -> WriteAnywhere<()> {
    let group = |parity, data| ParityGroup::new(parity, data, 16_384).unwrap();
    let config = config(group(Parity::Raid4, 4));
    let later = later.iter().map(|data| group(Parity::RaidDp, *data));
    let groups: Vec<_> = config.groups.iter().copied().chain(later).collect();
    let full_to_blocks = config.blocks_at_start() * 85 / 100;
    let other_data = Some(OtherData { full_to_blocks, run_blocks: 8, seed: 1 });
    let array = WriteAnywhere::new(WriteAnywhereConfig { groups, other_data, ..config });
    array.unwrap().with_rebuild(Rebuild { spares: 1, steps_in_flight: 2 })
}

fn busy(segment: &Segment, group: usize) -> f64 {
    segment.groups[group].data_spindles.utilization(segment.length_ns)
}

#[test]
fn a_group_counts_from_when_it_is_added_and_takes_the_writes() {
    let mut simulation = simulation(nearly_full(&[3]), 20, 1);
    simulation.add_group_at(25 * SECOND_NS);
    let before = segment(&mut simulation, 10).unwrap();
    let [first, second] = before.groups[..] else { panic!("{:?}", before.groups) };
    assert_eq!((first.data_spindles.spindles, first.parity_spindles.spindles), (4, 1));
    assert_eq!((second.data_spindles.spindles, second.free_blocks), (0, None));
    assert_eq!((second.reads, second.writes), (0, 0));
    assert_eq!(before.data_spindles, first.data_spindles);

    segment(&mut simulation, 10).unwrap();
    // In the middle of this one.
    let during = segment(&mut simulation, 10).unwrap();
    let second = during.groups[1];
    assert_eq!(during.data_spindles.spindles, 7);
    assert_eq!(second.data_spindles.absent_ns, 3 * 5 * SECOND_NS);
    assert!(second.writes > 0 && second.free_blocks < Some(3 * 16_384));
    // Busy time is set against the time that the spindles were there: five seconds.
    let in_use = second.data_spindles.busy_ns as f64 / (3 * 5 * SECOND_NS) as f64;
    assert!((busy(&during, 1) - in_use).abs() < 1e-12);

    let after = segment(&mut simulation, 20).unwrap();
    let [first, second] = after.groups[..] else { panic!("{:?}", after.groups) };
    assert_eq!(second.data_spindles.absent_ns, 0);
    // The superblock stays where it was.
    assert!(second.writes > 4 * first.writes, "{} and {}", first.writes, second.writes);
    assert!(second.reads > 0, "what was written there is read there");
    let commands = |group: &strewn_sim::GroupSegment| {
        group.data_spindles.commands + group.parity_spindles.commands
    };
    let all = after.data_spindles.commands + after.parity_spindles.commands;
    assert_eq!(commands(&first) + commands(&second), all);
    let free = after.layout.free_space.unwrap().free_blocks;
    assert_eq!(first.free_blocks.unwrap() + second.free_blocks.unwrap(), free);
}

#[test]
fn superblocks_of_the_durable_format_do_not_go_to_spindles_that_are_not_there() {
    let group = |data| ParityGroup::new(Parity::RaidDp, data, 16_384).unwrap();
    let config = config(group(4));
    let groups = vec![group(4), group(3)];
    let format = Format::Durable;
    let array = WriteAnywhere::new(WriteAnywhereConfig { groups, format, ..config }).unwrap();
    let mut simulation = simulation(array, 20, 1);
    simulation.add_group_at(10 * SECOND_NS);
    let before = segment(&mut simulation, 10).unwrap();
    assert!(before.counters.consistency_points > 2, "{}", before.counters.consistency_points);
    assert_eq!((before.groups[1].reads, before.groups[1].writes), (0, 0));
    let after = segment(&mut simulation, 10).unwrap();
    assert!(after.groups[1].writes > after.counters.consistency_points * 5);
}

#[test]
fn until_a_group_is_added_an_array_is_as_if_it_had_none_to_come() {
    let ten_seconds = |array| {
        let mut simulation: Simulation<_> = simulation(array, 20, 1);
        let segment = segment(&mut simulation, 10).unwrap();
        (segment.operations, segment.response, segment.counters, segment.data_spindles)
    };
    assert_eq!(ten_seconds(nearly_full(&[])), ten_seconds(nearly_full(&[5, 5])));
}

#[test]
fn groups_are_added_one_after_the_other_and_lose_spindles_of_their_own() {
    let mut simulation = simulation(nearly_full(&[2, 3]), 20, 1);
    simulation.add_group_at(10 * SECOND_NS);
    simulation.add_group_at(5 * SECOND_NS);
    // One of each: 0 to 4, 5 to 8, 9 to 13.
    simulation.fail_at(10 * SECOND_NS, SpindleIndex(10));
    simulation.fail_at(11 * SECOND_NS, SpindleIndex(2));
    let first = segment(&mut simulation, 7).unwrap();
    assert_eq!(first.groups[1].data_spindles.absent_ns, 2 * 5 * SECOND_NS);
    assert_eq!(first.groups[2].free_blocks, None);
    let last = segment(&mut simulation, 60).unwrap();
    let failed: Vec<_> = last.failures.iter().map(|one| (one.spindle.0, one.is_open())).collect();
    assert_eq!(failed, [(10, false), (2, true)], "there was one spare");
    assert!(last.counters.degraded_reads > 0);
}

#[test]
#[should_panic(expected = "has not been added yet")]
fn a_spindle_that_is_not_there_yet_does_not_fail() {
    let mut simulation = simulation(nearly_full(&[2]), 20, 1);
    simulation.add_group_at(3 * SECOND_NS);
    simulation.fail_at(2 * SECOND_NS, SpindleIndex(6));
    let _ = segment(&mut simulation, 5);
}
