//! `strewn sweep`.

use std::path::{Path, PathBuf};

use strewn::results::Sweep;
use strewn::sweep::{
    Estimate, KUBERNETES_JOB, Plan, SLURM_SCRIPT, Store, Study, SweepEnd, kubernetes_job,
    shell_word, slurm_script,
};
use strewn::terminal::{self, Ending, Failure};

use super::arguments::SweepArguments;
use super::sweep_files;
use super::sweep_work::{check_directory, check_work, estimated, run_plan};

/// Runs a study, or writes what runs it on a cluster.
pub(crate) fn sweep(arguments: &SweepArguments) -> Result<Ending, Failure> {
    let directory = arguments.resume.as_deref().or(arguments.out.as_deref());
    let directory = directory.unwrap_or(Path::new("."));
    let store = Store::new(directory);
    arguments.pictures.check_against(Some(directory))?;
    let plan = match &arguments.study {
        Some(path) => {
            check_directory(directory, &store, arguments.work.dry_run)?;
            let study = Study::load(path)?;
            study.plan(arguments.quick.then(|| study.quick_scale_down()))?
        }
        None => store.read_plan()?,
    };
    let is_here = !arguments.plan && !arguments.slurm && arguments.kubernetes.is_none();
    if is_here {
        check_work(&arguments.work)?;
    }
    if let Some(pages) = &arguments.pages {
        sweep_files::check_page(pages, &format!("{}.md", plan.study.name))?;
    }
    let estimate = estimated(&plan, &store, &arguments.work, is_here)?;
    if arguments.work.dry_run {
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
        return for_cluster(arguments, &plan, &estimate, &store);
    }
    let (collected, end) = run_plan(&plan, &store, &arguments.work)?;
    sweep_files::publish(&collected, &plan, &store, &arguments.format, &arguments.pictures)?;
    if let Some(pages) = &arguments.pages {
        let source = sweep_files::source_of(&plan, pages);
        sweep_files::write_page(pages, &plan, &collected, &source)?;
    }
    ending(&collected, end, directory)
}

/// Writes what runs the plan on a cluster.
fn for_cluster(
    arguments: &SweepArguments,
    plan: &Plan,
    estimate: &Estimate,
    store: &Store,
) -> Result<Ending, Failure> {
    let directory = store.directory();
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
            (KUBERNETES_JOB, job, "kubectl apply -f")
        }
        None => {
            let strewn = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("strewn"));
            let script = slurm_script(plan, estimate, &absolute, &strewn);
            (SLURM_SCRIPT, script, "sbatch")
        }
    };
    let path = directory.join(name);
    store.write_script(name, &text)?;
    terminal::print(&format!(
        "Written: {}. Submit it: {submit} {}\nWhen it is done: strewn sweep --resume {}\n",
        path.display(),
        shell_word(&path),
        shell_word(directory)
    ))?;
    Ok(Ending::Complete)
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
