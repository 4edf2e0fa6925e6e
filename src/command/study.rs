//! `strewn study`.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use strewn::report::{StudySource, markdown_in_lines, predictions_sentence, study_finding};
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
        list_of_findings(pages, arguments.all)?;
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
    let mut findings = Vec::new();
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
            findings.push((name.clone(), finding(plan, &sweep)?));
        }
    }
    // A list is begun only by all studies; others go on with it.
    if let Some(pages) = &arguments.pages
        && let Some([head, list, tail]) = list_of_findings(pages, arguments.all)?
    {
        let list = in_list(&list, &findings);
        let text = format!("{head}{}\n{list}{}{tail}", LIST[0], LIST[1]);
        Store::new(pages).write(LIST_PAGE, text.as_bytes())?;
    }
    Ok(Ending::Complete)
}

/// The page with the list of findings.
const LIST_PAGE: &str = "README.md";

/// Where the list is in it.
const LIST: [&str; 2] =
    ["<!-- findings, by strewn study --all -->\n", "<!-- end of findings -->\n"];

/// A study in the list: its title, its finding, and how its predictions came out.
fn finding(plan: &Plan, sweep: &Sweep) -> Result<String, Failure> {
    let PlannedStudy { name, title, text, .. } = &plan.study;
    let found = study_finding(text, sweep).map_err(|error| {
        Failure::failed(format!("{name}: {error}")).with_help("correct the study's file")
    })?;
    let found = markdown_in_lines(found.as_deref().unwrap_or(&text.question).trim());
    let held = predictions_sentence(sweep, text);
    let held = held.map_or_else(String::new, |held| format!("*{held}*\n\n"));
    Ok(format!("### [{title}]({name}.md)\n\n{found}\n\n{held}"))
}

/// What is before the list of findings in README.md, the list, and what is behind it. `None` if there is none, unless
/// one `begins`.
fn list_of_findings(pages: &Path, begins: bool) -> Result<Option<[String; 3]>, Failure> {
    let path = pages.join(LIST_PAGE);
    let text = match fs::read_to_string(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Ok(begins.then(Default::default));
        }
        read => read.map_err(|error| {
            Failure::bad_input(format!("{}: {error}", path.display()), "move it away")
        })?,
    };
    let parts = text.split_once(LIST[0]).and_then(|(head, rest)| {
        let (list, tail) = rest.split_once(LIST[1])?;
        Some([head, list, tail].map(str::to_owned))
    });
    if parts.is_none() && begins {
        return Err(Failure::bad_input(
            format!("{} has no place for the findings", path.display()),
            format!("add the lines {} and {}", LIST[0].trim(), LIST[1].trim()),
        ));
    }
    if parts.is_some() {
        check_replaceable(&path, "move it away, or give another directory")?;
    }
    Ok(parts)
}

/// A list with new findings, in the order of the studies.
fn in_list(list: &str, findings: &[(String, String)]) -> String {
    let link = |name: &str| format!("]({name}.md)\n");
    let listed = |name: &str| {
        let mut sections = list.split("### ").skip(1);
        let found = sections.find(|section| section.contains(&link(name)));
        found.map(|section| format!("### {}\n\n", section.trim_end()))
    };
    let new = |name: &str| findings.iter().find(|(of, _)| of == name).map(|(_, text)| text.clone());
    studies::names().filter_map(|name| new(name).or_else(|| listed(name))).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_takes_the_place_of_its_study_in_the_list() {
        let section = |name: &str, text: &str| format!("### [A title]({name}.md)\n\n{text}\n\n");
        let names: Vec<&str> = studies::names().take(4).collect();
        let list = section(names[0], "One [b](x.md).") + &section(names[2], "Three.\n\n*1 of 1.*");
        let new = |name: &str, text: &str| (name.to_owned(), section(name, text));
        let findings = [new(names[3], "Four."), new(names[0], "Uno.")];
        let expected = section(names[0], "Uno.")
            + &section(names[2], "Three.\n\n*1 of 1.*")
            + &section(names[3], "Four.");
        assert_eq!(in_list(&format!("\n{list}"), &findings), expected);
    }
}
