//! `strewn study`.

use std::fs;
use std::path::Path;

use strewn::QUICK_SCALE_DOWN;
use strewn::report::{PredictionVerdict, StudyText, Sweep};
use strewn::studies;
use strewn::sweep::{self, Plan, Store, SweepEnd, SweepOptions};
use strewn::terminal::{self, Ending, Failure, SweepTerminal};

use super::arguments::StudyArguments;
use super::sweep_files::{self, write};

/// Runs studies that ship, one after another.
pub(crate) fn study(arguments: &StudyArguments) -> Result<Ending, Failure> {
    if arguments.list {
        return list();
    }
    let names: Vec<&str> = match arguments.all {
        true => studies::names().collect(),
        false => arguments.names.iter().map(String::as_str).collect(),
    };
    let plans = names.iter().map(|name| planned(name, arguments.quick));
    let plans: Vec<Plan> = plans.collect::<Result<_, _>>()?;
    let out = arguments.out.as_deref().unwrap_or(Path::new("."));
    arguments.pictures.check_against(Some(out))?;
    for plan in &plans {
        let directory = out.join(&plan.study.name);
        let (sweep, end) = run(plan, &directory, arguments)?;
        if let Some((_, error)) = end.failed.into_iter().next() {
            return Err(error.into());
        }
        if end.is_stopped {
            terminal::say("to go on: the same command");
            return Ok(Ending::Interrupted);
        }
        if let Some(pages) = &arguments.pages {
            write_page(pages, plan, &sweep)?;
        }
    }
    Ok(Ending::Complete)
}

fn list() -> Result<Ending, Failure> {
    let mut text = String::new();
    for name in studies::names() {
        let plan = planned(name, false)?;
        text += &format!("{name:24} {}, {} runs\n", plan.study.title, plan.points.len());
    }
    terminal::print(&text)?;
    Ok(Ending::Complete)
}

fn planned(name: &str, quick: bool) -> Result<Plan, Failure> {
    let study = studies::study(name).ok_or_else(|| {
        let names: Vec<&str> = studies::names().collect();
        Failure::bad_input(
            format!("no study \"{name}\" ships"),
            format!("there are {}. A study of your own: strewn sweep STUDY.toml", names.join(", ")),
        )
    })??;
    let scale_down = quick.then(|| study.scale_down().max(QUICK_SCALE_DOWN));
    Ok(study.plan(scale_down)?)
}

fn run(
    plan: &Plan,
    directory: &Path,
    arguments: &StudyArguments,
) -> Result<(Sweep, SweepEnd), Failure> {
    let store = Store::new(directory);
    store.write_plan(plan)?;
    let options =
        SweepOptions { jobs: arguments.jobs.unwrap_or_default(), ..SweepOptions::default() };
    let terminal = SweepTerminal::watch();
    let end = sweep::run_points(plan, &store, &options, &terminal)?;
    drop(terminal);
    let sweep = sweep::collect(plan, &store, &end)?;
    sweep_files::publish(&sweep, plan, directory, false, &arguments.pictures)?;
    terminal::print(&judged(&sweep, &plan.study.text))?;
    Ok((sweep, end))
}

/// What came of the predictions, in a line each.
fn judged(sweep: &Sweep, text: &StudyText) -> String {
    let line = |prediction| {
        let judged = sweep.judge(prediction);
        let verdict = match judged.verdict {
            PredictionVerdict::Held => "held",
            PredictionVerdict::Failed => "FAILED",
            PredictionVerdict::NotMeasured => "not measured",
        };
        let mean = judged.mean.map(|mean| format!(" ({mean:.4} {})", judged.unit));
        format!("{verdict}{}: {}\n", mean.unwrap_or_default(), prediction.text)
    };
    text.predictions.iter().map(line).collect()
}

/// Writes a study's page and charts.
fn write_page(pages: &Path, plan: &Plan, sweep: &Sweep) -> Result<(), Failure> {
    let name = &plan.study.name;
    fs::create_dir_all(pages).map_err(|error| {
        Failure::failed(format!("cannot create {}: {error}", pages.display()))
            .with_help("give a directory that you may write to")
    })?;
    for (file, bytes) in sweep::page(sweep, &plan.study)? {
        write(pages, &file, &bytes)?;
    }
    terminal::say(&format!("{}: written", pages.join(format!("{name}.md")).display()));
    Ok(())
}
