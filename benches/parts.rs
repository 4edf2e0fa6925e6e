//! The cost of each part of the simulator alone, and of a simulated second of the main job's arrays at a sixty-fourth
//! of full scale.
//!
//! All of this fits in the processor's caches. At full scale, maps and caches do not: `strewn bench` measures that.

#![allow(missing_docs)]

use std::fmt::Display;
use std::hint::black_box;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use strewn::alloc::{Aggregate, AggregateOptions};
use strewn::raid::{Parity, ParityGroup, Vbn, VraidConfig, VraidLayout};
use strewn::scenario::{FurtherGroup, Scenario, WriteAnywhere};
use strewn::sim::NextCompletions;
use strewn::simulate;
use strewn::spindle::{Command, Direction, Drive, Profile, Scheduler, SimulatedSpindle};
use strewn::workload::{AccessSpecification, AccessStream};
use strewn_base::{BLOCK_SECTORS, Rng, SECTOR_BYTES};

const SCALE_DOWN: u32 = 64;
const SECOND_NS: u64 = 1_000_000_000;

fn expected<T, E: Display>(result: Result<T, E>) -> T {
    result.unwrap_or_else(|error| panic!("{error}"))
}

fn cheetah() -> Arc<Drive> {
    let profile = Profile::shipped("seagate-cheetah-15k5-st3146855fc");
    Arc::new(expected(Drive::new(&expected(profile.ok_or("the profile ships")))))
}

/// Each spindle's next completion, and the earliest of them.
fn event_queue(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("event_queue");
    for spindles in [20_u16, 80, 320] {
        let mut next = NextCompletions::new(spindles.into());
        let mut rng = Rng::new(1);
        (0..spindles).for_each(|spindle| next.set(spindle, rng.bits() >> 40));
        group.bench_function(BenchmarkId::from_parameter(spindles), |bencher| {
            bencher.iter(|| {
                if let Some(spindle) = next.earliest() {
                    next.set(spindle, next.earliest_ns() + (rng.bits() >> 40));
                }
            });
        });
    }
    group.finish();
}

/// Locating a command on the platters, and positioning from the one before it.
fn positioning(criterion: &mut Criterion) {
    let (drive, mut rng) = (cheetah(), Rng::new(1));
    let blocks = drive.capacity_sectors() / BLOCK_SECTORS;
    let mut here = drive.locate(0);
    criterion.bench_function("positioning", |bencher| {
        bencher.iter(|| {
            let there = drive.locate(rng.below(blocks) * BLOCK_SECTORS);
            let positioning = drive.positioning(0, here.track, here.angle, there);
            here = there;
            black_box(positioning)
        });
    });
}

/// One command of a spindle that chooses the shortest positioning time at each queue depth.
fn dispatch(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("dispatch");
    group.throughput(Throughput::Elements(1));
    for depth in [8_u32, 16, 32] {
        let (drive, mut rng) = (cheetah(), Rng::new(1));
        let blocks = drive.capacity_sectors() / 10 / BLOCK_SECTORS;
        let spindle = SimulatedSpindle::new(Arc::clone(&drive), Scheduler::Sptf, depth);
        let mut spindle = expected(spindle);
        let mut submit = move |spindle: &mut SimulatedSpindle<u32>, at_ns| {
            let lba = rng.below(blocks) * BLOCK_SECTORS;
            let command =
                Command { lba, sectors: BLOCK_SECTORS as u32, direction: Direction::Read };
            expected(spindle.submit(at_ns, command, 0));
        };
        (0..depth).for_each(|_| submit(&mut spindle, 0));
        group.bench_function(BenchmarkId::from_parameter(depth), |bencher| {
            bencher.iter(|| {
                if let Some(done) = spindle.complete() {
                    submit(&mut spindle, done.at_ns);
                }
            });
        });
    }
    group.finish();
}

/// A consistency point that moves 8,192 blocks of an aggregate half full of scattered data.
fn consistency_point(criterion: &mut Criterion) {
    const MOVED: usize = 8192;
    let group = expected(ParityGroup::new(Parity::RaidDp, 18, 65_536));
    let mut aggregate = expected(Aggregate::<u32>::new([group], AggregateOptions::default()));
    let mut file = Vec::new();
    let blocks = (aggregate.total_blocks() / 2) as u32;
    expected(aggregate.begin(blocks.into()));
    let all = Vec::from_iter(0..blocks);
    expected(aggregate.allocate_all(&all, |_, vbn: Vbn| file.push(vbn)));
    aggregate.discard_plan();
    aggregate.commit().expect("a consistency point is open, and its plan discarded");
    let mut rng = Rng::new(1);
    let mut draw = || -> Vec<u32> {
        let mut moved = Vec::from_iter((0..MOVED).map(|_| rng.below(blocks.into()) as u32));
        moved.sort_unstable();
        moved.dedup();
        moved
    };
    let mut benchmarks = criterion.benchmark_group("consistency_point");
    benchmarks.throughput(Throughput::Elements(MOVED as u64));
    benchmarks.bench_function("8192", |bencher| {
        bencher.iter_batched(
            &mut draw,
            |moved| {
                expected(aggregate.begin(MOVED as u64));
                let mut places = Vec::with_capacity(MOVED);
                expected(aggregate.allocate_all(&moved, |_, vbn| places.push(vbn)));
                for (block, place) in moved.iter().zip(places) {
                    let old = std::mem::replace(&mut file[*block as usize], place);
                    expected(aggregate.free_at_commit(old));
                }
                aggregate.finish();
                while let Some(tetris) = aggregate.next_tetris() {
                    black_box(tetris.runs().count());
                }
                expected(aggregate.commit())
            },
            BatchSize::SmallInput,
        );
    });
    benchmarks.finish();
}

/// Where a sector of a LUN lies in the fixed layout.
fn vraid_mapping(criterion: &mut Criterion) {
    let config = VraidConfig::new(vec![10, 10]);
    let layout = expected(VraidLayout::new(config, 286_749_488 * SECTOR_BYTES));
    let (mut rng, sectors) = (Rng::new(1), layout.lun_capacity_sectors());
    criterion.bench_function("vraid_mapping", |bencher| {
        bencher.iter(|| black_box(layout.locate(rng.below(sectors))));
    });
}

/// An access of the File Server pattern.
fn drawing(criterion: &mut Criterion) {
    let specification = AccessSpecification::shipped("file-server");
    let specification = expected(specification.ok_or("the specification ships"));
    let mut stream = expected(AccessStream::new(&specification, 0, 100 << 21, 1));
    criterion.bench_function("drawing", |bencher| bencher.iter(|| stream.next_access()));
}

/// Handing a number to a thread on another core and back: the cost of letting a second core serve the spindles.
fn handoff(criterion: &mut Criterion) {
    let (there, back) = (AtomicU64::new(0), AtomicU64::new(0));
    let wait_for = |cell: &AtomicU64, number| {
        while cell.load(Ordering::Acquire) != number {
            std::hint::spin_loop();
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 1.. {
                while there.load(Ordering::Acquire) < number {
                    std::hint::spin_loop();
                }
                if there.load(Ordering::Acquire) == u64::MAX {
                    break;
                }
                back.store(number, Ordering::Release);
            }
        });
        let mut number = 0;
        criterion.bench_function("handoff_there_and_back", |bencher| {
            bencher.iter(|| {
                number += 1;
                there.store(number, Ordering::Release);
                wait_for(&back, number);
            });
        });
        there.store(u64::MAX, Ordering::Release);
    });
}

/// Simulates an array, one second of virtual time an iteration.
fn seconds(criterion: &mut Criterion, scenario: &Scenario, index: usize, array: String) {
    let mut simulation = expected(simulate(scenario, index));
    let mut second = || {
        let segment = simulation.run_segment(SECOND_NS, &mut |_| ControlFlow::Continue(()));
        expected(segment).operations
    };
    let mut group = criterion.benchmark_group("simulated_second");
    group.throughput(Throughput::Elements(second()));
    group.bench_function(array, |bencher| bencher.iter(&mut second));
    group.finish();
}

fn simulated_second(criterion: &mut Criterion) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/making-sense-of-wafl-4.toml");
    let scenario = match Scenario::load(path) {
        Ok(scenario) => scenario.scaled_down(SCALE_DOWN).0,
        Err(error) => panic!("{error:?}"),
    };
    for index in 0..scenario.arrays.len() {
        let array = scenario.arrays[index].name.clone();
        seconds(criterion, &scenario, index, array);
        // The write-anywhere array again, with four times the spindles.
        let mut larger = scenario.clone();
        if let Some(layout) = larger.arrays[index].layout.get_mut::<WriteAnywhere>() {
            let WriteAnywhere { parity, data_spindles, .. } = *layout;
            layout.further_groups = vec![FurtherGroup { parity, data_spindles, at_ns: None }; 3];
            let array = format!("{}, 4 parity groups", larger.arrays[index].name);
            seconds(criterion, &larger, index, array);
        }
    }
}

criterion_group!(
    benches,
    event_queue,
    positioning,
    dispatch,
    consistency_point,
    vraid_mapping,
    drawing,
    handoff,
    simulated_second
);
criterion_main!(benches);
