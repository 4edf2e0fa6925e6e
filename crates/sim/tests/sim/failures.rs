//! Spindles that fail under load: every operation is still answered, the laws hold, and rebuilds are complete.

use std::ops::ControlFlow;
use std::sync::Arc;

use proptest::prelude::*;
use strewn_alloc::AllocationShape;
use strewn_array::in_place::{
    DiskGroupConfig, InPlace, InPlaceConfig, LunConfig, LunLayout, Raid0Layout,
};
use strewn_array::write_anywhere::{VolumeConfig, WriteAnywhere, WriteAnywhereConfig};
use strewn_array::{AnyArray, LogSize, ProcessorCosts, Rebuild};
use strewn_raid::{Parity, ParityGroup, SpindleIndex, VraidConfig, VraidLayout};
use strewn_sim::{Host, Segment, Simulation, SimulationError, Spindles};
use strewn_spindle::{Drive, Profile, Scheduler};
use strewn_workload::{AccessSpecification, AccessStream};

pub const SECOND_NS: u64 = 1_000_000_000;
const COSTS: ProcessorCosts = ProcessorCosts {
    host_operation_ns: 100_000,
    spindle_command_ns: 50_000,
    per_sector_ps: 250_000,
    write_back_percent: 0,
    write_back: strewn_array::WriteBackCosts::NONE,
    interrupt_ns: 0,
};

pub fn drive() -> Arc<Drive> {
    let profile = Profile::shipped("seagate-cheetah-15k5-st3146855fc").unwrap();
    Arc::new(Drive::new(&profile).unwrap())
}

/// Creates a file of 64 MiB on spindles of 64 MiB, which are rebuilt in seconds.
fn write_anywhere(parity: Parity, data_spindles: u16, rebuild: Rebuild) -> WriteAnywhere<()> {
    let config = config(ParityGroup::new(parity, data_spindles, 16_384).unwrap());
    WriteAnywhere::new(config).unwrap().with_rebuild(rebuild)
}

/// A small array on this group, for tests to change.
pub fn config(group: ParityGroup) -> WriteAnywhereConfig {
    WriteAnywhereConfig {
        shape: AllocationShape { area_stripes: 256, tetris_stripes: 64, chunk_blocks: 64 },
        consistency_point_interval_ns: 2 * SECOND_NS,
        protected_blocks: 500,
        dirty_limit_blocks: 400,
        delayed_free_blocks: 500,
        processor: COSTS,
        ..WriteAnywhereConfig::new(
            vec![group],
            vec![VolumeConfig::of_one_lun(60_000, 16_384)],
            LogSize { half_bytes: 2 << 20, record_header_bytes: 160 },
            1_000,
        )
    }
}

/// Creates a LUN of 128 MiB on VRAID-5; each spindle has room for as much again.
fn in_place(redundancy_sets: Vec<u16>, rebuild: Rebuild) -> InPlace<()> {
    let spindles: u64 = redundancy_sets.iter().copied().map(u64::from).sum();
    let spindle_sectors = (512 << 20) / spindles / 512;
    let layout =
        VraidLayout::new(VraidConfig::new(redundancy_sets), spindle_sectors * 512).unwrap();
    on_layout(layout.into(), spindle_sectors, rebuild)
}

fn on_layout(layout: LunLayout, spindle_sectors: u64, rebuild: Rebuild) -> InPlace<()> {
    let array = InPlace::new(InPlaceConfig {
        destage_low_sectors: 1_000,
        processor: COSTS,
        ..InPlaceConfig::new(
            vec![DiskGroupConfig::new(layout, 16).with_rebuild(rebuild)],
            vec![LunConfig { file_sectors: 1 << 17, ..LunConfig::whole(1 << 18) }],
            spindle_sectors,
            10_000,
        )
    });
    array.unwrap()
}

pub fn simulation<A: AnyArray<()>>(array: A, outstanding: u32, seed: u64) -> Simulation<A> {
    let spindles = Spindles::new(drive(), Scheduler::Sptf, 4);
    let specification = AccessSpecification::shipped("file-server").unwrap();
    let accesses = AccessStream::new(&specification, 0, 1 << 17, seed).unwrap();
    Simulation::new(array, &spindles, accesses, outstanding).unwrap()
}

pub fn segment<A: AnyArray<()>, H: Host>(
    simulation: &mut Simulation<A, H>,
    seconds: u64,
) -> Result<Segment, SimulationError> {
    let segment =
        simulation.run_segment(seconds * SECOND_NS, &mut |_| ControlFlow::Continue(()))?;
    let laws = segment.laws;
    assert!(laws.littles_law_error <= 0.001 + laws.under_way, "{laws:?}");
    // In segments of a few seconds, the commands in service at either end matter too.
    let under_way = 15e6 * f64::from(segment.data_spindles.spindles);
    let busy_ns = (segment.data_spindles.busy_ns + segment.parity_spindles.busy_ns) as f64;
    assert!(laws.utilization_law_error <= 0.001 + under_way / busy_ns, "{laws:?}");
    assert!(segment.operations > 0, "nothing is answered any more");
    assert!(segment.response.max_ns < 5 * SECOND_NS, "an operation hangs: {:?}", segment.response);
    Ok(segment)
}

/// Asserts that commands sent and completed agree, except for those in flight at either end.
fn counts_agree(segment: &Segment) {
    let counters = &segment.counters;
    let sent = counters.spindle_reads() + counters.spindle_writes();
    let done = segment.data_spindles.commands + segment.parity_spindles.commands;
    assert!(sent.abs_diff(done) < 2_000, "{sent} sent, {done} done");
}

#[test]
fn a_spare_is_rebuilt_and_the_array_is_as_fast_as_before() {
    let rebuild = Rebuild { spares: 1, steps_in_flight: 2 };
    let mut simulation = simulation(write_anywhere(Parity::RaidDp, 4, rebuild), 20, 1);
    simulation.fail_at(20 * SECOND_NS, SpindleIndex(1));
    let before = segment(&mut simulation, 20).unwrap();
    assert!(before.failures.is_empty());
    assert_eq!(before.counters.recovery_reads + before.counters.rebuild_reads, 0);

    let during = segment(&mut simulation, 5).unwrap();
    let failure = during.failures[0];
    assert_eq!((failure.spindle, failure.at_ns), (SpindleIndex(1), 20 * SECOND_NS));
    assert_eq!(failure.rebuild_began_ns, Some(20 * SECOND_NS));
    assert!(during.counters.degraded_reads > 0);
    // Four other blocks reconstruct a lost one: three of data and one of row parity.
    assert_eq!(during.counters.recovery_reads % 4, 0);
    assert!(during.counters.rebuild_writes > 0);
    counts_agree(&during);

    let mut last = during.clone();
    while last.failures[0].is_open() {
        assert!(last.index < 30, "the rebuild does not end: {:?}", last.failures);
        last = segment(&mut simulation, 5).unwrap();
    }
    let after = segment(&mut simulation, 20).unwrap();
    assert_eq!(after.failures[0].rebuilt, 1.0);
    assert_eq!(after.counters.degraded_reads + after.counters.rebuild_reads, 0);
    let rate = |segment: &Segment| segment.operations as f64 * 1e9 / segment.length_ns as f64;
    assert!(rate(&during) < 0.95 * rate(&before), "{} and {}", rate(&during), rate(&before));
    assert!(rate(&after) > 1.1 * rate(&during), "{} and {}", rate(&after), rate(&during));
}

#[test]
fn a_rebuild_reads_and_writes_every_stripe_once() {
    let rebuild = Rebuild { spares: 1, steps_in_flight: 3 };
    let mut simulation = simulation(write_anywhere(Parity::Raid4, 3, rebuild), 4, 1);
    simulation.fail_at(SECOND_NS, SpindleIndex(3));
    let segment = segment(&mut simulation, 120).unwrap();
    assert!(!segment.failures[0].is_open());
    let steps = 16_384 / 64;
    assert_eq!(segment.counters.rebuild_writes, steps);
    assert_eq!(segment.counters.rebuild_reads, 3 * steps);
    // No read needs the lost parity.
    assert_eq!(segment.counters.degraded_reads, 0);
}

#[test]
fn without_a_spare_raid_dp_lives_with_two_lost_spindles_and_not_with_three() {
    let mut simulation = simulation(write_anywhere(Parity::RaidDp, 4, Rebuild::default()), 20, 2);
    for (second, spindle) in [(5, 0), (10, 5), (30, 2)] {
        simulation.fail_at(second * SECOND_NS, SpindleIndex(spindle));
    }
    let segment_of_two = segment(&mut simulation, 30).unwrap();
    assert_eq!(segment_of_two.failures.len(), 2);
    assert!(segment_of_two.failures.iter().all(|failure| failure.rebuild_began_ns.is_none()));
    assert_eq!(segment_of_two.counters.rebuild_writes, 0);
    let Err(SimulationError::DataLost(lost)) = segment(&mut simulation, 10) else {
        panic!("three lost spindles are survived")
    };
    assert_eq!(lost.at_ns, 30 * SECOND_NS);
    assert_eq!(lost.spindles, [0, 5, 2].map(SpindleIndex));
    assert_eq!((lost.stripes, lost.stripes_in_all), (16_384, 16_384));
    // Two of four data spindles are lost, and the file is spread evenly over all four.
    assert!((20 << 20..=44 << 20).contains(&lost.lun_bytes), "{lost}");
}

#[test]
fn what_is_rebuilt_in_time_is_not_lost() {
    let rebuild = Rebuild { spares: 2, steps_in_flight: 4 };
    let mut simulation = simulation(write_anywhere(Parity::Raid4, 4, rebuild), 4, 3);
    simulation.fail_at(SECOND_NS, SpindleIndex(0));
    while segment(&mut simulation, 1).unwrap().failures.first().is_none_or(|one| one.rebuilt < 0.4)
    {
    }
    simulation.fail_at(0, SpindleIndex(1));
    let Err(SimulationError::DataLost(lost)) = segment(&mut simulation, 1) else {
        panic!("two lost spindles of RAID-4 are survived")
    };
    let share = lost.stripes as f64 / lost.stripes_in_all as f64;
    assert!((0.2..=0.6).contains(&share), "{share} of the stripes are lost");
}

#[test]
fn vraid_rebuilds_onto_its_reserve_and_then_bears_another_loss() {
    let rebuild = Rebuild { spares: 2, steps_in_flight: 2 };
    let mut simulation = simulation(in_place(vec![8], rebuild), 20, 1);
    simulation.fail_at(10 * SECOND_NS, SpindleIndex(3));
    let before = segment(&mut simulation, 10).unwrap();
    let during = segment(&mut simulation, 2).unwrap();
    assert!(during.failures[0].rebuilt > 0.0 && during.failures[0].is_open());
    assert!(during.counters.degraded_reads > 0);
    assert_eq!(during.counters.rebuild_reads / 4, during.counters.rebuild_writes);
    counts_agree(&during);
    let mut last = during.clone();
    while last.failures[0].is_open() {
        assert!(last.index < 50, "the rebuild does not end: {:?}", last.failures);
        last = segment(&mut simulation, 2).unwrap();
    }
    let after = segment(&mut simulation, 10).unwrap();
    assert_eq!(after.counters.degraded_reads + after.counters.rebuild_reads, 0);
    assert!(after.operations > before.operations / 2);

    // The second spindle's own data and the data rebuilt onto it must both be rebuilt.
    simulation.fail_at(0, SpindleIndex(4));
    let again_ns = SECOND_NS * (10 + 2 * u64::from(last.index - 1) + 10);
    let mut last = segment(&mut simulation, 1).unwrap();
    assert_eq!(last.failures[1].at_ns, again_ns);
    assert!(
        last.failures[0].rebuilt_ns.is_none_or(|at_ns| at_ns > again_ns),
        "{:?}",
        last.failures
    );
    while last.failures.iter().any(|failure| failure.is_open()) {
        assert!(last.index < 100, "the rebuild does not end: {:?}", last.failures);
        last = segment(&mut simulation, 2).unwrap();
    }
}

#[test]
fn without_parity_a_lost_spindle_is_lost_data() {
    let bytes = 128 << 20;
    let layout = Raid0Layout::new(4, 128 << 10, 2 << 20, bytes).unwrap();
    let array = on_layout(layout.into(), bytes / 512, Rebuild::default());
    let mut simulation = simulation(array, 20, 1);
    simulation.fail_at(5 * SECOND_NS, SpindleIndex(2));
    let before = segment(&mut simulation, 5).unwrap();
    assert_eq!((before.counters.parity_update_reads, before.counters.parity_writes), (0, 0));
    assert!(before.counters.data_writes > 0);
    let Err(SimulationError::DataLost(lost)) = segment(&mut simulation, 5) else {
        panic!("the run goes on")
    };
    // A quarter of the LUN's 1,024 chunks.
    assert_eq!((lost.stripes, lost.stripes_in_all, lost.lun_bytes), (256, 1_024, 32 << 20));
    assert_eq!(lost.spindles, [SpindleIndex(2)]);
}

#[test]
fn two_spindles_of_a_redundancy_set_are_one_too_many_and_of_two_sets_are_not() {
    let mut apart = simulation(in_place(vec![6, 6], Rebuild::default()), 20, 1);
    apart.fail_at(SECOND_NS, SpindleIndex(0));
    apart.fail_at(2 * SECOND_NS, SpindleIndex(6));
    let segment_of_two = segment(&mut apart, 10).unwrap();
    assert_eq!(segment_of_two.failures.len(), 2);
    assert_eq!(segment_of_two.counters.rebuild_writes, 0);

    let mut together = simulation(in_place(vec![6, 6], Rebuild::default()), 20, 1);
    together.fail_at(SECOND_NS, SpindleIndex(0));
    together.fail_at(2 * SECOND_NS, SpindleIndex(5));
    let Err(SimulationError::DataLost(lost)) = segment(&mut together, 10) else {
        panic!("two lost spindles of a set are survived")
    };
    assert_eq!(lost.stripes_in_all, (1 << 18) / 1024);
    // An RStore has five of the six spindles: four of six RStores have both lost spindles, and only one of the two sets
    // is hit.
    assert!((64..=128).contains(&lost.stripes), "{lost}");
    assert!(lost.lun_bytes > 0 && lost.lun_bytes <= lost.stripes * (256 << 10), "{lost}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn write_anywhere_answers_under_any_two_failures(
        seed: u64,
        outstanding in 1..60u32,
        times_ms in prop::array::uniform2(0..8_000u64),
        spindles in prop::sample::subsequence((0..7u16).collect::<Vec<_>>(), 2),
        spares in 0..3u16,
        steps_in_flight in 1..6u32,
    ) {
        let run = || {
            let rebuild = Rebuild { spares, steps_in_flight };
            let array = write_anywhere(Parity::RaidDp, 5, rebuild);
            let mut simulation = simulation(array, outstanding, seed);
            for (at_ms, spindle) in times_ms.iter().zip(&spindles) {
                simulation.fail_at(at_ms * 1_000_000, SpindleIndex(*spindle));
            }
            (0..4).map(|_| segment(&mut simulation, 3).unwrap()).collect::<Vec<_>>()
        };
        let segments = run();
        prop_assert_eq!(segments[3].failures.len(), 2);
        segments.iter().for_each(counts_agree);
        for (once, twice) in segments.iter().zip(run()) {
            prop_assert_eq!(once.operations, twice.operations);
            prop_assert_eq!(once.counters, twice.counters);
            prop_assert_eq!(&once.failures, &twice.failures);
        }
    }

    #[test]
    fn in_place_answers_under_failures_in_two_sets(
        seed: u64,
        outstanding in 1..60u32,
        times_ms in prop::array::uniform2(0..8_000u64),
        spindles in (0..6u16, 6..14u16),
        spares in 0..3u16,
        steps_in_flight in 1..6u32,
    ) {
        let rebuild = Rebuild { spares, steps_in_flight };
        let mut simulation = simulation(in_place(vec![6, 8], rebuild), outstanding, seed);
        for (at_ms, spindle) in times_ms.iter().zip([spindles.0, spindles.1]) {
            simulation.fail_at(at_ms * 1_000_000, SpindleIndex(spindle));
        }
        for _ in 0..4 {
            counts_agree(&segment(&mut simulation, 3).unwrap());
        }
    }
}
