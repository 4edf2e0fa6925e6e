//! What a host operation costs the simulator: one segment of the main job at a sixty-fourth of full scale, array by
//! array, set-up included.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use strewn::scenario::Scenario;
use strewn::{RunOptions, run};

const SCALE_DOWN: u32 = 64;

fn simulated_segment(criterion: &mut Criterion) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/making-sense-of-wafl-4.toml");
    let mut scenario = match Scenario::load(path) {
        Ok(scenario) => scenario,
        Err(error) => panic!("{error:?}"),
    };
    scenario.segments = 1;
    let options = RunOptions { jobs: 1, scale_down: SCALE_DOWN, ..RunOptions::default() };
    let mut group = criterion.benchmark_group("simulated_segment");
    group.sample_size(10);
    for array in scenario.arrays.clone() {
        let mut alone = scenario.clone();
        alone.arrays.retain(|other| other.name == array.name);
        alone.overhead = None;
        let simulate = || match run(&alone, &options, &()) {
            Ok(results) => results.host_ops,
            Err(error) => panic!("{error}"),
        };
        group.throughput(Throughput::Elements(simulate()));
        group.bench_function(&array.name, |bencher| bencher.iter(simulate));
    }
    group.finish();
}

criterion_group!(benches, simulated_segment);
criterion_main!(benches);
