//! `strewn sweep-point`: the runs of one task of a cluster.

use strewn::sweep::{Store, SweepEnd, SweepOptions, run_points};
use strewn::terminal::{self, Ending, Failure, SweepTerminal};

use super::arguments::SweepPointArguments;

/// Where clusters say which task of an array this is.
const INDICES: [&str; 2] = ["SLURM_ARRAY_TASK_ID", "JOB_COMPLETION_INDEX"];

/// Runs the runs of a task that are not there.
pub(crate) fn sweep_point(arguments: &SweepPointArguments) -> Result<Ending, Failure> {
    let store = Store::new(&arguments.directory);
    let index = index(arguments.index)?;
    let each = arguments.runs_each.max(1);
    let first = index.saturating_mul(each);
    let plan = store.read_part(first..first.saturating_add(each))?;
    if plan.points.is_empty() {
        let count = plan.study.run_count();
        return Err(Failure::bad_input(
            format!("there is no task {index}: {count} runs, {each} a task"),
            format!("give an index from 0 to {}", count.div_ceil(each).saturating_sub(1)),
        ));
    }
    let terminal = SweepTerminal::watch();
    let options = SweepOptions { jobs: 1, save: arguments.save, most: None };
    let end = run_points(&plan, &store, &options, &terminal)?;
    drop(terminal);
    let SweepEnd { present, done, failed, is_stopped } = end;
    terminal::say(&format!("{done} runs done, {present} were there"));
    match failed.into_iter().next() {
        Some((_, error)) => Err(error.into()),
        None if is_stopped => Ok(Ending::Interrupted),
        None => Ok(Ending::Complete),
    }
}

fn index(given: Option<usize>) -> Result<usize, Failure> {
    let help = "give --index N, or run it as a task of an array";
    if let Some(index) = given {
        return Ok(index);
    }
    for name in INDICES {
        if let Some(value) = std::env::var_os(name) {
            let value = value.to_string_lossy();
            return value
                .parse()
                .map_err(|_| Failure::bad_input(format!("{name}={value} is no number"), help));
        }
    }
    Err(Failure::bad_input(format!("neither {} nor {} is set", INDICES[0], INDICES[1]), help))
}
