//! Measures what a scenario costs to simulate, by simulating a few seconds of it.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use strewn_base::BLOCK_BYTES;
use strewn_results::{PartShare, SimulationCost, rounded};
use strewn_scenario::{Phase, Scenario};
use strewn_sim::{Component, ComponentProbe, Progress, Simulated, SimulationError};

use crate::memory;
use crate::run::simulate;
use crate::run_error::RunError;

/// Sampling interval of the component at work. A few thousand samples a second give shares to a percent, and cost the
/// core that takes them almost nothing.
const LOOK: Duration = Duration::from_micros(200);

/// Significant digits of the measurements; no more are reliable.
const DIGITS: usize = 4;

/// Simulates array number `index` of `scenario` for about `wall`, alone and on one thread, and returns its cost. The
/// beginning of the run is measured: as an array ages, each operation takes more spindle commands. Of a scenario with
/// phases, the beginning of each is, on an array that no other phase has aged.
///
/// # Errors
/// As [`run`](crate::run()), except that published figures are not read and operational laws not checked.
pub fn measure_cost(
    scenario: &Scenario,
    index: usize,
    wall: Duration,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<SimulationCost, RunError> {
    let array = &scenario.arrays[index];
    let alone = Scenario { arrays: vec![array.clone()], ..scenario.clone() };
    memory::check(&alone, 0)?;
    let segment_ns = scenario.segment_ns;
    let parts = each_phase(scenario);
    let wall_of_each = wall / parts.len().max(1) as u32;
    let mut all = Measured::default();
    let (mut set_up, mut whole) = (Duration::ZERO, Duration::ZERO);
    for part in &parts {
        let began = Instant::now();
        let measure = Measure { array: array.name.clone(), wall: wall_of_each, stop, segment_ns };
        let measured = measure.run(simulate(part, index)?)?;
        // The arrays are set up once.
        set_up = set_up.max(began.elapsed().saturating_sub(measured.wall));
        let length = Duration::from_nanos(part.length_ns());
        whole += wall_for(length, measured.simulated, measured.wall);
        all.add(measured);
    }
    let Measured { simulated, wall, operations, commands, looks } = all;

    let wall_seconds = wall.as_secs_f64().max(1e-9);
    let memory_bytes = memory::array_bytes(scenario, array);
    let whole = set_up + whole;
    let ns_per_operation = wall_seconds * 1e9 / operations.max(1) as f64;
    let all_looks = looks.values().sum::<u64>().max(1) as f64;
    let share = |part| {
        let share = looks.get(&part).copied().unwrap_or(0) as f64 / all_looks;
        PartShare {
            part: name(part).to_owned(),
            percent: rounded(share * 100.0, DIGITS),
            ns_per_host_op: rounded(share * ns_per_operation, DIGITS),
        }
    };
    Ok(SimulationCost {
        array: array.name.clone(),
        set_up_seconds: rounded(set_up.as_secs_f64(), DIGITS),
        wall_seconds: rounded(wall_seconds, DIGITS),
        simulated_seconds: rounded(simulated.as_secs_f64(), DIGITS),
        host_ops: operations,
        host_ops_per_second: rounded(operations as f64 / wall_seconds, DIGITS),
        spindle_commands_per_second: rounded(commands as f64 / wall_seconds, DIGITS),
        ns_per_host_op: rounded(ns_per_operation, DIGITS),
        memory_bytes,
        memory_bytes_per_block: rounded(
            memory_bytes as f64 / (scenario.file_bytes(array) / BLOCK_BYTES).max(1) as f64,
            DIGITS,
        ),
        whole_seconds: rounded(whole.as_secs_f64(), DIGITS),
        parts: Component::ALL.map(share).to_vec(),
    })
}

/// Returns a scenario for each phase of `scenario`, in which the others are left out; the scenario itself if it has
/// none.
fn each_phase(scenario: &Scenario) -> Vec<Scenario> {
    let alone = |phase: &Phase| Scenario {
        segments: phase.segments,
        phases: vec![phase.clone()],
        ..scenario.clone()
    };
    match scenario.phases.as_slice() {
        [] => vec![scenario.clone()],
        phases => phases.iter().map(alone).collect(),
    }
}

/// Extrapolates the wall time of `virtual_time`, given that `simulated` took `wall`.
#[must_use]
pub fn wall_for(virtual_time: Duration, simulated: Duration, wall: Duration) -> Duration {
    let ratio = wall.as_secs_f64() / simulated.as_secs_f64().max(1e-9);
    // Saturate: no run waits longer than a duration can hold.
    Duration::try_from_secs_f64(virtual_time.as_secs_f64() * ratio).unwrap_or(Duration::MAX)
}

const fn name(part: Component) -> &'static str {
    match part {
        Component::Events => "what happens next",
        Component::Host => "the host: drawing operations, response times",
        Component::Service => "the array, serving: caches, maps, plans",
        Component::WriteBack => "the array, writing back: allocation, destaging",
        Component::Spindles => "the spindles: queues, choice, positions",
    }
}

struct Measure<'a> {
    array: String,
    wall: Duration,
    stop: &'a (dyn Fn() -> bool + Sync),
    segment_ns: u64,
}

#[derive(Default)]
struct Measured {
    simulated: Duration,
    wall: Duration,
    operations: u64,
    commands: u64,
    looks: HashMap<Component, u64>,
}

impl Measured {
    fn add(&mut self, other: Self) {
        let Self { simulated, wall, operations, commands, looks } = other;
        self.simulated += simulated;
        self.wall += wall;
        self.operations += operations;
        self.commands += commands;
        for (part, count) in looks {
            *self.looks.entry(part).or_default() += count;
        }
    }
}

impl Measure<'_> {
    fn run(self, mut simulation: Box<dyn Simulated>) -> Result<Measured, RunError> {
        let at_work = simulation.component_probe();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let looks = scope.spawn(|| look(&at_work, &done));
            let began = Instant::now();
            let mut last = Progress { now_ns: 0, operations: 0 };
            let mut observe = |progress| {
                last = progress;
                if began.elapsed() >= self.wall || (self.stop)() {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            };
            let ended = loop {
                // A phase ends; nothing else of a scenario's own does.
                if simulation.is_done() {
                    break Ok(());
                }
                match simulation.run_segment(self.segment_ns, &mut observe) {
                    Ok(_) => {}
                    // What was measured until data is lost says what it costs.
                    Err(SimulationError::Stopped | SimulationError::DataLost(_)) => break Ok(()),
                    Err(error) => break Err(error),
                }
            };
            let wall = began.elapsed();
            done.store(true, Ordering::Relaxed);
            let looks = looks.join().unwrap_or_default();
            ended.map_err(|source| RunError::Simulation { array: self.array.clone(), source })?;
            let counters = simulation.counters();
            Ok(Measured {
                simulated: Duration::from_nanos(last.now_ns),
                wall,
                operations: last.operations,
                commands: counters.spindle_reads() + counters.spindle_writes(),
                looks,
            })
        })
    }
}

fn look(at_work: &ComponentProbe, done: &AtomicBool) -> HashMap<Component, u64> {
    let mut looks = HashMap::new();
    while !done.load(Ordering::Relaxed) {
        *looks.entry(at_work.now()).or_default() += 1;
        std::thread::sleep(LOOK);
    }
    looks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_left_follows_from_time_spent() {
        let seconds = Duration::from_secs;
        assert_eq!(wall_for(seconds(1200), seconds(60), seconds(3)), seconds(60));
        assert!(wall_for(seconds(1200), seconds(0), seconds(3)) > seconds(1 << 40));
        assert_eq!(wall_for(seconds(0), seconds(60), seconds(3)), seconds(0));
    }
}
