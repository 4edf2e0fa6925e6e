//! What a choice and a whole simulated command cost.
#![allow(missing_docs, clippy::unwrap_used)]

use std::hint::black_box;
use std::sync::Arc;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use strewn_base::Rng;
use strewn_spindle::{Command, Direction, Drive, Profile, Scheduler, SimulatedSpindle};

/// The share of the drive that commands fall on: what a fresh array uses.
const SPAN_DIVISOR: u64 = 10;

struct ClosedLoop {
    spindle: SimulatedSpindle<u32>,
    random: Rng,
    blocks: u64,
}

impl ClosedLoop {
    fn new(drive: &Arc<Drive>, scheduler: Scheduler, outstanding: u32) -> Self {
        let depth = outstanding.min(strewn_spindle::MAX_DEPTH);
        let mut closed_loop = Self {
            spindle: SimulatedSpindle::new(Arc::clone(drive), scheduler, depth).unwrap(),
            random: Rng::new(1),
            blocks: drive.capacity_sectors() / SPAN_DIVISOR / 8,
        };
        for tag in 0..outstanding {
            closed_loop.submit(0, tag);
        }
        closed_loop
    }

    fn submit(&mut self, at_ns: u64, tag: u32) {
        let lba = self.random.bits() % self.blocks * 8;
        let command = Command { lba, sectors: 8, direction: Direction::Read };
        self.spindle.submit(at_ns, command, tag).unwrap();
    }

    fn turn(&mut self) -> u64 {
        let done = self.spindle.complete().unwrap();
        self.submit(done.at_ns, done.tag);
        done.at_ns
    }
}

fn closed_loops(criterion: &mut Criterion) {
    let profile = Profile::shipped("seagate-cheetah-15k5-st3146855fc").unwrap();
    let drive = Arc::new(Drive::new(&profile).unwrap());
    let mut group = criterion.benchmark_group("closed loop, 4 KiB reads");
    group.throughput(Throughput::Elements(1));
    // One more than it chooses among: the one in service.
    for (scheduler, candidates) in [
        (Scheduler::Fcfs, 15),
        (Scheduler::Sptf, 4),
        (Scheduler::Sptf, 15),
        (Scheduler::Sptf, 16),
        (Scheduler::Sptf, 64),
        (Scheduler::Sptf, 256),
        (Scheduler::AgedSptf { credit_us_per_ms: Scheduler::DEFAULT_CREDIT_US_PER_MS }, 16),
        (Scheduler::CLook, 16),
    ] {
        let name = format!("{scheduler} among");
        group.bench_function(BenchmarkId::new(name, candidates), |bencher| {
            let mut closed_loop = ClosedLoop::new(&drive, scheduler, candidates + 1);
            bencher.iter(|| black_box(closed_loop.turn()));
        });
    }
    group.finish();
}

fn locations(criterion: &mut Criterion) {
    let profile = Profile::shipped("seagate-cheetah-15k5-st3146855fc").unwrap();
    let drive = Drive::new(&profile).unwrap();
    let mut random = Rng::new(2);
    let capacity_sectors = drive.capacity_sectors();
    criterion.bench_function("locate", |bencher| {
        bencher.iter(|| black_box(drive.locate(random.bits() % capacity_sectors)));
    });
}

criterion_group!(benches, closed_loops, locations);
criterion_main!(benches);
