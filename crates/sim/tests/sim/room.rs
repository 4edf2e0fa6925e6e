//! Writes that an array refuses for lack of space: counted, neither measured nor lost, under either host.

use std::ops::ControlFlow;
use std::sync::Arc;

use strewn_alloc::AllocationShape;
use strewn_array::write_anywhere::{OtherData, VolumeConfig, WriteAnywhere, WriteAnywhereConfig};
use strewn_array::{LogSize, LunId, ProcessorCosts};
use strewn_raid::{Parity, ParityGroup};
use strewn_sim::{ClosedLoop, Host, Segment, Simulation, Spindles, Worker, Workers};
use strewn_spindle::{Drive, Profile, Scheduler};
use strewn_workload::{AccessLine, AccessSpecification, AccessStream, Pattern, PatternStream};

const FILE_BLOCKS: u32 = 4_096;
const FILE_SECTORS: u64 = FILE_BLOCKS as u64 * 8;

/// An aggregate that other data leaves some hundred blocks of, beside its metadata.
fn array() -> WriteAnywhere<()> {
    let config = WriteAnywhereConfig {
        shape: AllocationShape { area_stripes: 256, tetris_stripes: 64, chunk_blocks: 64 },
        consistency_point_interval_ns: 1_000_000_000,
        protected_blocks: 512,
        dirty_limit_blocks: 512,
        delayed_free_blocks: 100,
        processor: ProcessorCosts { host_operation_ns: 20_000, ..ProcessorCosts::default() },
        ..WriteAnywhereConfig::new(
            vec![ParityGroup::new(Parity::RaidDp, 4, 4_096).unwrap()],
            vec![VolumeConfig::of_one_lun(65_536, FILE_BLOCKS)],
            LogSize { half_bytes: 4 << 20, record_header_bytes: 160 },
            1_024,
        )
    };
    let metadata = u64::from(config.block_keys().end() - FILE_BLOCKS);
    let full_to_blocks = config.single_group().total_blocks() - metadata - 100;
    let other_data = Some(OtherData { full_to_blocks, run_blocks: 1, seed: 3 });
    WriteAnywhere::new(WriteAnywhereConfig { other_data, ..config }).unwrap()
}

/// Writes of 16 blocks, which find room, and of 1 MiB, which never do.
fn accesses() -> AccessSpecification {
    let line = |bytes| AccessLine {
        bytes,
        percent_of_accesses: 50,
        read_percent: 50,
        random_percent: 100,
    };
    AccessSpecification::new("small and large", vec![line(65_536), line(1 << 20)], 4_096).unwrap()
}

fn run(host: impl Host) -> Vec<Segment> {
    let mut simulation = simulation(array(), host);
    let mut segment =
        || simulation.run_segment(30_000_000_000, &mut |_| ControlFlow::Continue(())).unwrap();
    vec![segment(), segment()]
}

fn simulation<H: Host>(array: WriteAnywhere<()>, host: H) -> Simulation<WriteAnywhere<()>, H> {
    let profile = Profile::shipped("seagate-cheetah-15k5-st3146855fc").unwrap();
    let spindles = Spindles::new(Arc::new(Drive::new(&profile).unwrap()), Scheduler::Sptf, 8);
    Simulation::with_host(array, &spindles, host).unwrap()
}

#[test]
fn refused_writes_are_counted_apart_and_the_host_goes_on() {
    let stream = AccessStream::new(&accesses(), 0, FILE_SECTORS, 5).unwrap();
    let pattern = PatternStream::new(&Pattern::from(&accesses()), 0, FILE_SECTORS, 5).unwrap();
    let workers = Workers::new(vec![Worker::closed_loop(Box::new(pattern), 4)]);
    for segments in [run(ClosedLoop::new(stream, 4)), run(workers)] {
        for segment in segments {
            assert!(segment.laws.hold(), "{:?}", segment.laws);
            let counters = segment.counters;
            assert_eq!(segment.refused, counters.refused_writes);
            // A quarter of the operations are writes of 1 MiB.
            let share = segment.refused as f64 / (segment.refused + segment.operations) as f64;
            assert!((0.2..0.3).contains(&share), "{share} of the operations are refused");
            assert!(
                counters.consistency_points > 10 && counters.stalled_writes > 100,
                "{counters:?}"
            );
        }
    }
}

/// Thin volumes share the usable blocks, whatever is free of the reserve: the data that they hold, with other data and
/// what a thick volume reserves, come to what the reserve leaves, and no further.
#[test]
fn thin_volumes_leave_the_reserve() {
    const LUN_BLOCKS: u32 = 40_000;
    for (reserve_percent, thick_blocks, delayed_free_blocks) in
        [(10.0, 0, 100), (10.0, 2_000, 3_000), (25.0, 0, 0), (0.0, 0, 100)]
    {
        let thin = VolumeConfig {
            reservation_blocks: Some(0),
            ..VolumeConfig::of_one_lun(200_000, LUN_BLOCKS)
        };
        let thick = VolumeConfig::of_one_lun(65_536, thick_blocks);
        let config = WriteAnywhereConfig {
            groups: vec![ParityGroup::new(Parity::Raid4, 4, 8_192).unwrap()],
            other_data: None,
            volumes: std::iter::once(thin).chain((thick_blocks > 0).then_some(thick)).collect(),
            delayed_free_blocks,
            ..array().config().clone()
        };
        let all = config.single_group().total_blocks();
        let mut array = WriteAnywhere::empty(config).unwrap();
        array.set_reserve(reserve_percent);
        let line = AccessLine {
            bytes: 65_536,
            percent_of_accesses: 100,
            read_percent: 0,
            random_percent: 0,
        };
        let writes = AccessSpecification::new("fill", vec![line], 65_536).unwrap();
        let sectors = u64::from(LUN_BLOCKS) * 8;
        let stream = AccessStream::new(&writes, 0, sectors, 5).unwrap();
        let mut simulation = simulation(array, ClosedLoop::new(stream, 4));
        let mut refused = 0;
        for _ in 0..3 {
            let segment =
                simulation.run_segment(20_000_000_000, &mut |_| ControlFlow::Continue(())).unwrap();
            refused += segment.refused;
        }
        let array = simulation.array();
        let held = array.allocated_blocks(LunId(0)) + u64::from(thick_blocks);
        let usable = (all as f64 * (1.0 - reserve_percent / 100.0)) as u64;
        println!("{held} of {usable} usable blocks of {all}; {refused} writes refused");
        assert!(refused > 0 && held <= usable, "{held} blocks of {usable}");
        // Without a reserve, what overwriting needs stays free.
        let most = if reserve_percent > 0.0 { usable } else { all - 3_000 };
        assert!(held + 600 > most, "{held} blocks of {usable}");
    }
}
