//! `strewn sweep`.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use strewn::report::Sweep;
use strewn::sweep::{
    self, Estimate, Plan, Store, Study, SweepEnd, SweepOptions, kubernetes_job, shell_word,
    slurm_script,
};
use strewn::terminal::{self, Ending, Failure, roughly, run_plan};

use super::arguments::SweepArguments;
use super::out_directory::try_to_write;
use super::sweep_files;

/// Runs a study, or writes what runs it on a cluster.
pub(crate) fn sweep(arguments: &SweepArguments) -> Result<Ending, Failure> {
    let directory = arguments.resume.as_deref().or(arguments.out.as_deref());
    let directory = directory.unwrap_or(Path::new("."));
    let store = Store::new(directory);
    arguments.pictures.check_against(Some(directory))?;
    let plan = match &arguments.study {
        Some(path) => {
            check_directory(directory, &store, arguments.dry_run)?;
            let study = Study::load(path)?;
            study.plan(arguments.quick.then(|| study.quick_scale_down()))?
        }
        None => store.read_plan()?,
    };
    let estimate = estimated(&plan, &store, arguments)?;
    if arguments.dry_run {
        return Ok(Ending::Complete);
    }
    if arguments.study.is_some() {
        store.write_plan(&plan)?;
    }
    if arguments.plan {
        terminal::print(&format!(
            "Written: {}/manifest.jsonl, a run a line\n",
            directory.display()
        ))?;
        return Ok(Ending::Complete);
    }
    if arguments.slurm || arguments.kubernetes.is_some() {
        return for_cluster(arguments, &plan, &estimate, directory);
    }
    let options = SweepOptions {
        jobs: arguments.jobs.unwrap_or_default(),
        save: arguments.save,
        most: arguments.max_hours.map(hours),
    };
    let (collected, end) = run_plan(&plan, &store, &options)?;
    sweep_files::publish(&collected, &plan, &store, arguments.json, &arguments.pictures)?;
    ending(&collected, end, directory)
}

/// Says what the missing runs will take, and refuses those that take too long.
fn estimated(plan: &Plan, store: &Store, arguments: &SweepArguments) -> Result<Estimate, Failure> {
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
    let is_here = !arguments.plan && !arguments.slurm && arguments.kubernetes.is_none();
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

/// Refuses a directory that has something else.
fn check_directory(directory: &Path, store: &Store, is_dry_run: bool) -> Result<(), Failure> {
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

/// Writes what runs the plan on a cluster.
fn for_cluster(
    arguments: &SweepArguments,
    plan: &Plan,
    estimate: &Estimate,
    directory: &Path,
) -> Result<Ending, Failure> {
    let absolute = std::path::absolute(directory).unwrap_or_else(|_| directory.to_owned());
    // A line of a batch script ends with its line, whatever it quotes.
    if absolute.to_string_lossy().contains(char::is_control) {
        return Err(Failure::bad_input(
            format!("{absolute:?} has control characters, which no batch script can name"),
            "give a directory without them",
        ));
    }
    let (name, text, submit) = match &arguments.kubernetes {
        Some(image) => {
            let job = kubernetes_job(plan, estimate, image, &arguments.claim);
            ("job.yaml", job, "kubectl apply -f")
        }
        None => {
            let strewn = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("strewn"));
            let script = slurm_script(plan, estimate, &absolute, &strewn);
            ("sweep.sbatch", script, "sbatch")
        }
    };
    let path = directory.join(name);
    fs::write(&path, text).map_err(|error| {
        Failure::failed(format!("cannot write {}: {error}", path.display()))
            .with_help("make room, or give a directory that you may write to")
    })?;
    terminal::print(&format!(
        "Written: {}. Submit it: {submit} {}\nWhen it is done: strewn sweep --resume {}\n",
        path.display(),
        shell_word(&path),
        shell_word(directory)
    ))?;
    Ok(Ending::Complete)
}

fn hours(hours: f64) -> Duration {
    Duration::try_from_secs_f64(3600.0 * hours).unwrap_or(Duration::MAX)
}

/// Says what is missing, and how to go on.
fn ending(sweep: &Sweep, end: SweepEnd, directory: &Path) -> Result<Ending, Failure> {
    let how = format!("to go on: strewn sweep --resume {}", shell_word(directory));
    let failed = end.failed.len();
    if failed > 0 {
        return Err(Failure::failed(format!(
            "{failed} of {} runs failed, as said above; the table has the others",
            sweep.missing.len().max(failed) + end.done + end.present
        ))
        .with_help("correct the study, or leave these values out"));
    }
    if end.is_stopped {
        terminal::say(&how);
        return Ok(Ending::Interrupted);
    }
    Ok(Ending::Complete)
}
