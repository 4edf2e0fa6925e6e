//! `strewn bench`.

use std::time::Duration;

use strewn::report::cost_tables;
use strewn::results::figures_json;
use strewn::terminal::{self, Ending, Failure};
use strewn::{QUICK_SCALE_DOWN, RunError};

use super::arguments::BenchArguments;
use super::scenario_file;

/// Simulates each array for a while, and prints its cost.
pub(crate) fn bench(arguments: &BenchArguments) -> Result<Ending, Failure> {
    let mut scenario = scenario_file::load(&arguments.scenario)?;
    let scale_down = if arguments.quick { Some(QUICK_SCALE_DOWN) } else { arguments.scale_down };
    if let Some(by) = scale_down {
        (scenario, _) = scenario.scaled_down(by);
    }
    let names = || scenario.arrays.iter().map(|array| array.name.as_str());
    if let Some(unknown) = arguments.array.iter().find(|name| !names().any(|known| known == **name))
    {
        return Err(Failure::bad_input(
            format!("the scenario has no array \"{unknown}\""),
            format!("its arrays are: {}", names().collect::<Vec<_>>().join(", ")),
        ));
    }
    let stop = terminal::stop_when_interrupted();
    let chosen = |name| arguments.array.is_empty() || arguments.array.iter().any(|one| one == name);
    let mut costs = Vec::new();
    for index in (0..scenario.arrays.len()).filter(|&index| chosen(&scenario.arrays[index].name)) {
        let wall = Duration::from_secs_f64(arguments.seconds);
        let cost = strewn::measure_cost(&scenario, index, wall, &stop).map_err(|error| match error {
            RunError::Memory(memory) => {
                let by = memory.needed_bytes.div_ceil(memory.available_bytes.max(1));
                let by = by.saturating_mul(u64::from(scale_down.unwrap_or(1))).next_power_of_two();
                Failure::from(RunError::from(memory)).with_help(format!(
                    "measure a smaller one: --scale-down {by}, and run that: strewn run --scale-down {by}"
                ))
            }
            error => error.into(),
        })?;
        costs.push(cost);
        if stop() {
            return Err(Failure::stopped("stopped before everything was measured"));
        }
    }
    terminal::print(&arguments.format.tables_or(|| figures_json(&costs), || cost_tables(&costs))?)?;
    Ok(Ending::Complete)
}
