//! What a wire costs a simulation, and what it takes to save one, at full scale.
//!
//! `cargo bench --bench machine` runs the FAS2050 of `scenarios/iscsi.toml` on a wire that costs nothing, over Fibre
//! Channel and over iSCSI, by turns, one segment each. The ratio is that of times for an operation. It then saves the
//! state that the first one came to, as `strewn run --save` does after each segment, and reads it back.

#![allow(missing_docs)]

use std::fmt::Display;
use std::fs::File;
use std::io::Read;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;

use strewn::scenario::Scenario;
use strewn::simulate;
use strewn_base::state::{StateReader, StateWriter};

const TURNS: usize = 5;
const SEGMENT_NS: u64 = 1_200_000_000_000;

fn expected<T, E: Display>(result: Result<T, E>) -> T {
    result.unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the nanoseconds for an operation of the first segment.
fn one_segment(scenario: &Scenario, index: usize) -> f64 {
    let mut simulation = expected(simulate(scenario, index));
    let started = Instant::now();
    let measured = simulation.run_segment(SEGMENT_NS, &mut |_| ControlFlow::Continue(()));
    let operations = expected(measured).operations;
    started.elapsed().as_nanos() as f64 / operations as f64
}

/// Returns the seconds to save the state after the first segment to `path` and to restore it, and its bytes.
fn save_and_restore(scenario: &Scenario, path: &Path) -> (Vec<f64>, Vec<f64>, u64) {
    let mut simulation = expected(simulate(scenario, 0));
    expected(simulation.run_segment(SEGMENT_NS, &mut |_| ControlFlow::Continue(())));
    let (mut saved, mut restored, mut bytes) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..TURNS {
        let started = Instant::now();
        let mut file = expected(File::create(path));
        let mut writer = StateWriter::new(&mut file);
        expected(simulation.save(&mut writer));
        expected(writer.finish());
        expected(file.sync_all());
        saved.push(started.elapsed().as_secs_f64());
        let started = Instant::now();
        bytes.clear();
        expected(File::open(path).and_then(|mut file| file.read_to_end(&mut bytes)));
        let mut reader = StateReader::new(&bytes);
        expected(simulation.restore(&mut reader));
        restored.push(started.elapsed().as_secs_f64());
    }
    (saved, restored, bytes.len() as u64)
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/iscsi.toml");
    let scenario = expected(Scenario::load(path));
    let mut times: Vec<Vec<f64>> = vec![Vec::new(); scenario.arrays.len()];
    for _ in 0..TURNS {
        for (index, times) in times.iter_mut().enumerate() {
            times.push(one_segment(&scenario, index));
        }
    }
    for (array, of_array) in scenario.arrays.iter().zip(&times) {
        let ratios = of_array.iter().zip(&times[0]).map(|(time, plain)| time / plain);
        let ratio = median(&mut ratios.collect::<Vec<_>>());
        let time_ns = median(&mut of_array.clone());
        println!("{}: {time_ns:.0} ns an operation, {ratio:.2} times", array.name);
    }
    let file = std::env::temp_dir().join(format!("strewn-bench-{}.state", std::process::id()));
    let (mut saved, mut restored, bytes) = save_and_restore(&scenario, &file);
    expected(std::fs::remove_file(&file));
    println!(
        "{}: saved in {:.2} s, {:.0} MB, and restored in {:.2} s",
        scenario.arrays[0].name,
        median(&mut saved),
        bytes as f64 / 1e6,
        median(&mut restored)
    );
}
