//! What `strewn sweep` and `strewn study` do before the first run.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use strewn::results::Sweep;
use strewn::sweep::{self, Estimate, Plan, Point, Store, SweepEnd, SweepOptions};
use strewn::terminal::{self, Failure, SweepTerminal, roughly, run_plan_watched};

use super::arguments::SweepWorkArguments;
#[cfg(unix)]
use super::metrics;
use super::metrics::sweep::{SweepState, SweepWatch};
use super::out_directory::try_to_write;

/// Checks what runs need beside their directory, before anything is written.
pub(crate) fn check_work(arguments: &SweepWorkArguments) -> Result<(), Failure> {
    #[cfg(unix)]
    if let (Some(place), false) = (&arguments.metrics, arguments.dry_run) {
        metrics::check(place)?;
    }
    #[cfg(not(unix))]
    let _ = arguments;
    Ok(())
}

/// Runs what is missing of a plan, shows the progress, also as metrics, and returns the table of all runs.
pub(crate) fn run_plan(
    plan: &Plan,
    store: &Store,
    arguments: &SweepWorkArguments,
) -> Result<(Sweep, SweepEnd), Failure> {
    let options = options(arguments);
    let missing: Vec<&Point> = plan.points.iter().filter(|point| !store.has(point)).collect();
    let jobs = sweep::jobs_that_fit(&missing, options.jobs);
    let present = plan.points.len() - missing.len();
    let state = Arc::new(SweepState::new(present, missing.len(), jobs));
    #[cfg(unix)]
    let _metrics = match &arguments.metrics {
        Some(place) => {
            let state = Arc::clone(&state);
            Some(metrics::serve(place, move || state.page())?)
        }
        None => None,
    };
    let watch = SweepWatch { terminal: SweepTerminal::watch(), state: &state };
    run_plan_watched(plan, store, &options, watch)
}

/// Returns how to do the runs.
fn options(arguments: &SweepWorkArguments) -> SweepOptions {
    SweepOptions {
        jobs: arguments.jobs.unwrap_or_default(),
        save: arguments.save,
        most: arguments.max_hours.map(hours),
    }
}

fn hours(hours: f64) -> Duration {
    Duration::try_from_secs_f64(3600.0 * hours).unwrap_or(Duration::MAX)
}

/// Says what the missing runs will take, and refuses those that take too long to be done here.
pub(crate) fn estimated(
    plan: &Plan,
    store: &Store,
    arguments: &SweepWorkArguments,
    is_here: bool,
) -> Result<Estimate, Failure> {
    let stop = terminal::stop_when_interrupted();
    let estimate = sweep::estimate(plan, store, arguments.jobs.unwrap_or_default(), &stop)?;
    let Estimate { missing, present, jobs, memory_bytes, .. } = estimate;
    let there = match present {
        0 => String::new(),
        present => format!("; {present} are there"),
    };
    let scale = match plan.study.scale_down {
        1 => "full scale".to_owned(),
        by => format!("1/{by} of full scale"),
    };
    if missing == 0 {
        terminal::say(&format!("{}: all {present} runs are there", plan.study.name));
        return Ok(estimate);
    }
    let counted = |count: usize, noun: &str| match count {
        1 => format!("1 {noun}"),
        count => format!("{count} {noun}s"),
    };
    let combinations = counted(plan.study.combinations.len(), "combination");
    let seeds = counted(plan.study.seeds.len(), "seed");
    terminal::say(&format!(
        "{}: {combinations}, {seeds}, {scale}; {missing} runs to do{there}: about {} of processor time, {} with {jobs} at \
         once, {} MiB of memory",
        plan.study.name,
        roughly(estimate.processor_seconds),
        roughly(estimate.wall_seconds()),
        memory_bytes >> 20,
    ));
    if stop() {
        return Err(Failure::stopped("stopped before any run began"));
    }
    match arguments.max_hours {
        Some(most) if is_here && estimate.wall_seconds() > 3600.0 * most => {
            Err(Failure::bad_input(
                format!(
                    "the sweep is estimated to take {}, and --max-hours is {most}",
                    roughly(estimate.wall_seconds())
                ),
                "give more hours, --quick, fewer values or seeds, or a cluster: --slurm",
            ))
        }
        _ => Ok(estimate),
    }
}

/// Refuses a directory that has something else, or in which nothing can be written, as a dry run does not.
pub(crate) fn check_directory(
    directory: &Path,
    store: &Store,
    is_dry_run: bool,
) -> Result<(), Failure> {
    let shown = directory.display();
    if directory.is_file() {
        return Err(Failure::bad_input(
            format!("--out {shown} is not a directory"),
            "give the directory of the sweep",
        ));
    }
    if store.is_foreign() {
        return Err(Failure::bad_input(
            format!("--out {shown}: the directory has other files, and no sweep"),
            "give another directory, which need not be there yet",
        ));
    }
    if is_dry_run {
        return Ok(());
    }
    try_to_write(directory).map_err(|error| {
        Failure::bad_input(
            format!("--out {shown}: nothing can be written there: {error}"),
            "give a directory that you may write to",
        )
    })
}
