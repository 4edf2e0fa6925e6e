//! Snapshots on schedule: taken in time, kept as many as asked for, and no part of a run without them.

use std::ops::ControlFlow;

use strewn_array::write_anywhere::{VolumeConfig, WriteAnywhere, WriteAnywhereConfig};
use strewn_array::{Format, ProcessorCosts, VolumeId};
use strewn_raid::{Parity, ParityGroup, SpindleIndex};
use strewn_sim::{Segment, Simulation, Spindles};
use strewn_spindle::Scheduler;
use strewn_workload::{AccessSpecification, AccessStream};

use crate::failures::{config, drive};

const SECOND_NS: u64 = 1_000_000_000;
const FILE_BLOCKS: u32 = 16_384;

fn simulation(format: Format, stripes: u64) -> Simulation<WriteAnywhere<()>> {
    simulation_of(format, stripes, vec![VolumeConfig::of_one_lun(200_000, FILE_BLOCKS)])
}

fn simulation_of(
    format: Format,
    stripes: u64,
    volumes: Vec<VolumeConfig>,
) -> Simulation<WriteAnywhere<()>> {
    let array = WriteAnywhere::new(WriteAnywhereConfig {
        volumes,
        format,
        processor: ProcessorCosts { host_operation_ns: 100_000, ..ProcessorCosts::default() },
        ..config(ParityGroup::new(Parity::RaidDp, 5, stripes).unwrap())
    });
    let spindles = Spindles::new(drive(), Scheduler::Sptf, 4);
    let mix = AccessSpecification::shipped("file-server").unwrap();
    let stream = AccessStream::new(&mix, 0, u64::from(FILE_BLOCKS) * 8, 7).unwrap();
    Simulation::new(array.unwrap(), &spindles, stream, 12).unwrap()
}

fn run(simulation: &mut Simulation<WriteAnywhere<()>>, segments: u32) -> Vec<Segment> {
    let mut one =
        |_| simulation.run_segment(10 * SECOND_NS, &mut |_| ControlFlow::Continue(())).unwrap();
    let segments: Vec<Segment> = (0..segments).map(&mut one).collect();
    assert!(segments.iter().all(|segment| segment.laws.hold()));
    segments
}

#[test]
fn as_many_as_asked_for_are_kept_and_what_they_held_comes_back() {
    for format in [Format::Modelled, Format::Durable] {
        let mut with = simulation(format, 40_000);
        with.snapshot_every(10 * SECOND_NS, 3);
        let segments = run(&mut with, 12);
        let of = |index: usize| segments[index].snapshots.unwrap();
        // The first is due at the end of the first segment, which is the beginning of the second.
        assert_eq!(segments[0].snapshots, None);
        let kept: Vec<u32> = (1..12).map(|index| of(index).kept).collect();
        assert_eq!(kept, [1, 2, 3, 3, 3, 3, 3, 3, 3, 3, 3], "{format:?}");
        assert!(segments[1..].iter().all(|segment| segment.counters.snapshots_taken == 1));
        assert!(segments.iter().all(|segment| segment.counters.snapshots_refused == 0));
        // Once one is deleted for each taken, they hold no more; and each holds a part of the file at most.
        let (early, late) = (of(5).blocks as f64, of(11).blocks as f64);
        assert!(late < early * 1.15, "{early} and later {late} blocks");
        assert!(of(3).blocks > of(1).blocks && of(11).blocks < 4 * u64::from(FILE_BLOCKS));
        assert!(segments[6..].iter().all(|segment| segment.counters.snapshot_blocks_freed > 100));
        assert!(of(3).used > of(1).used && of(11).used < 0.6);

        // The same every time, and without snapshots as if there were none.
        let mut again = simulation(format, 40_000);
        again.snapshot_every(10 * SECOND_NS, 3);
        let operations = |run: &[Segment]| -> Vec<u64> {
            run.iter().map(|segment| segment.operations).collect()
        };
        assert_eq!(operations(&run(&mut again, 12)), operations(&segments));
        let without = run(&mut simulation(format, 40_000), 12);
        assert_eq!(without[0].operations, segments[0].operations);
        assert!(without.iter().all(|segment| segment.snapshots.is_none()));
    }
}

#[test]
fn volumes_have_schedules_of_their_own() {
    let volume = VolumeConfig::of_one_lun(200_000, FILE_BLOCKS);
    let mut two = simulation_of(Format::Modelled, 40_000, vec![volume.clone(), volume]);
    two.snapshot_volumes_every(vec![VolumeId(0)], 10 * SECOND_NS, 3);
    two.snapshot_volumes_every(vec![VolumeId(1)], 25 * SECOND_NS, 1);
    let segments = run(&mut two, 8);
    let kept: Vec<[u32; 2]> = segments[1..]
        .iter()
        .map(|segment| [segment.volumes[0].snapshots, segment.volumes[1].snapshots])
        .collect();
    assert_eq!(kept, [[1, 0], [2, 1], [3, 1], [3, 1], [3, 1], [3, 1], [3, 1]]);
    for segment in &segments[1..] {
        let (all, volumes) = (segment.snapshots.unwrap(), &segment.volumes);
        assert_eq!(all.kept, volumes[0].snapshots + volumes[1].snapshots);
        assert_eq!(all.blocks, volumes[0].held + volumes[1].held);
        // The host works on the first alone.
        assert!(volumes[1].held < 100, "{volumes:?}");
    }
    let taken: u64 = segments.iter().map(|segment| segment.counters.snapshots_taken).sum();
    assert_eq!(taken, 7 + 3);
    assert!(segments[7].volumes[0].held > 1_000);
}

#[test]
fn snapshots_that_find_no_room_are_refused_and_counted_and_the_run_goes_on() {
    // Room for the file two and a half times: when one is deleted, its blocks come back too late for the next.
    let mut tight = simulation(Format::Modelled, 8_600);
    tight.snapshot_every(5 * SECOND_NS, 2);
    let segments = run(&mut tight, 20);
    let refused: u64 = segments.iter().map(|segment| segment.counters.snapshots_refused).sum();
    let taken: u64 = segments.iter().map(|segment| segment.counters.snapshots_taken).sum();
    assert!(refused > 0 && taken > 3, "{taken} taken, {refused} refused");
    assert!(segments.iter().all(|segment| segment.operations > 1_000));
}

#[test]
fn snapshots_are_taken_while_a_spindle_is_rebuilt() {
    let mut degraded = simulation(Format::Durable, 40_000);
    degraded.snapshot_every(7 * SECOND_NS, 2);
    degraded.fail_at(14 * SECOND_NS, SpindleIndex(1));
    let segments = run(&mut degraded, 6);
    assert_eq!(segments[5].failures.len(), 1);
    assert_eq!(segments[5].snapshots.unwrap().kept, 2);
}
