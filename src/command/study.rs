//! `strewn study`.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use strewn::report::{StudySource, predictions_sentence, study_finding};
use strewn::results::Sweep;
use strewn::studies;
use strewn::sweep::{Plan, PlannedStudy, Store, SweepEnd};
use strewn::terminal::{self, Ending, Failure};

use super::arguments::StudyArguments;
use super::out_directory::check_replaceable;
use super::sweep_files;
use super::sweep_work::{check_directory, check_work, estimated, run_plan};

/// Runs studies that ship, one after another.
pub(crate) fn study(arguments: &StudyArguments) -> Result<Ending, Failure> {
    if arguments.list {
        return list();
    }
    let names: Vec<&str> = match arguments.all {
        true => studies::names().collect(),
        false => arguments.names.iter().map(String::as_str).collect(),
    };
    if let Some(pages) = &arguments.pages {
        names.iter().try_for_each(|name| sweep_files::check_page(pages, &format!("{name}.md")))?;
        if arguments.all {
            place_of_findings(pages)?;
        }
    }
    let plans = names.iter().map(|name| planned(name, arguments.quick));
    let plans: Vec<Plan> = plans.collect::<Result<_, _>>()?;
    let out = arguments.out.as_deref().unwrap_or(Path::new("."));
    arguments.pictures.check_against(Some(out))?;
    check_work(&arguments.work)?;
    let store = |plan: &Plan| Store::new(out.join(&plan.study.name));
    for plan in &plans {
        let store = store(plan);
        check_directory(store.directory(), &store, arguments.work.dry_run)?;
        estimated(plan, &store, &arguments.work, true)?;
    }
    if arguments.work.dry_run {
        return Ok(Ending::Complete);
    }
    let mut findings = String::new();
    for plan in &plans {
        let (sweep, end) = run(plan, &store(plan), arguments)?;
        if Ending::of_runs(end)? == Ending::Interrupted {
            terminal::say("to go on: the same command");
            return Ok(Ending::Interrupted);
        }
        if let Some(pages) = &arguments.pages {
            let name = &plan.study.name;
            let source = StudySource {
                command: format!("strewn study {name}"),
                link: Some(format!("../../scenarios/studies/{name}.toml")),
            };
            sweep_files::write_page(pages, plan, &sweep, &source)?;
            findings += &finding(plan, &sweep)?;
        }
    }
    match &arguments.pages {
        Some(pages) if arguments.all => list_findings(pages, &findings),
        _ => Ok(Ending::Complete),
    }
}

/// Where the list of findings is in README.md.
const LIST: [&str; 2] =
    ["<!-- findings, by strewn study --all -->\n", "<!-- end of findings -->\n"];

/// A study in the list: its title, its finding, and how its predictions came out.
fn finding(plan: &Plan, sweep: &Sweep) -> Result<String, Failure> {
    let PlannedStudy { name, title, text, .. } = &plan.study;
    let found = study_finding(text, sweep).map_err(|error| {
        Failure::failed(format!("{name}: {error}")).with_help("correct the study's file")
    })?;
    let found =
        found.map_or_else(|| text.question.trim().to_owned(), |found| found.trim().to_owned());
    let held = predictions_sentence(sweep, text);
    let held = held.map_or_else(String::new, |held| format!("*{held}*\n\n"));
    Ok(format!("### [{title}]({name}.md)\n\n{found}\n\n{held}"))
}

/// What is before and after the list of findings in README.md: nothing, if there is none yet.
fn place_of_findings(pages: &Path) -> Result<(String, String), Failure> {
    let path = pages.join("README.md");
    check_replaceable(&path, "move it away, or give another directory")?;
    let text = match fs::read_to_string(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Default::default()),
        read => read.map_err(|error| {
            Failure::bad_input(format!("{}: {error}", path.display()), "move it away")
        })?,
    };
    let parts = text.split_once(LIST[0]).and_then(|(head, rest)| {
        let (_, tail) = rest.split_once(LIST[1])?;
        Some((head.to_owned(), tail.to_owned()))
    });
    parts.ok_or_else(|| {
        Failure::bad_input(
            format!("{} has no place for the findings", path.display()),
            format!("add the lines {} and {}", LIST[0].trim(), LIST[1].trim()),
        )
    })
}

fn list_findings(pages: &Path, findings: &str) -> Result<Ending, Failure> {
    let (head, tail) = place_of_findings(pages)?;
    let text = format!("{head}{}\n{findings}{}{tail}", LIST[0], LIST[1]);
    Store::new(pages).write("README.md", text.as_bytes())?;
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
    Ok(study.plan(quick.then(|| study.quick_scale_down()))?)
}

fn run(
    plan: &Plan,
    store: &Store,
    arguments: &StudyArguments,
) -> Result<(Sweep, SweepEnd), Failure> {
    store.write_plan(plan)?;
    let (sweep, end) = run_plan(plan, store, &arguments.work)?;
    sweep_files::publish(&sweep, plan, store, &arguments.format, &arguments.pictures)?;
    Ok((sweep, end))
}
