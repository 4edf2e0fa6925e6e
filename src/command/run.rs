//! `strewn run`.

use std::path::Path;

use strewn::RunOptions;
use strewn::report::{self, ArrayResults};
use strewn::scenario::Scenario;
use strewn::terminal::{self, Ending, Failure, Terminal};

use super::also::{self, Collecting};
use super::arguments::RunArguments;
use super::out_directory::OutDirectory;
use super::output_files::{self, Shown};
use super::{load, scenario_file};

/// How many times smaller `--quick` runs: at 8 the shipped scenario takes seconds, and both arrays stay near their
/// full-scale curves (docs/model.md says how near).
const QUICK_SCALE_DOWN: u32 = 8;

/// Runs the scenario, prints its tables or its JSON, and writes its files.
pub(crate) fn run(arguments: &RunArguments) -> Result<Ending, Failure> {
    let (mut scenario, text) = scenario_file::load_with_text(&arguments.scenario)?;
    let mut also_shapes = arguments.also.clone();
    also_shapes.dedup();
    let out = arguments.out.as_deref();
    arguments.pictures.check_against(out)?;
    arguments.table.check_against(out)?;
    let out = out
        .map(|path| {
            let mut names = output_files::names_of_run();
            names.extend(also_shapes.iter().map(|shape| shape.file_name().to_owned()));
            OutDirectory::check(path, arguments.force, names)
        })
        .transpose()?;
    if let Some(log) = &arguments.record_iolog {
        check_log(log, &scenario)?;
    }
    scenario.seed = arguments.seed.unwrap_or(scenario.seed);
    let load = load::read(&arguments.load, &scenario)?;
    let own = load.as_ref().and_then(|load| load::segments(load, scenario.segment_ns));
    scenario.segments = arguments.segments.or(own).unwrap_or(scenario.segments);
    let options = RunOptions {
        jobs: arguments.jobs.unwrap_or_default(),
        scale_down: if arguments.quick { QUICK_SCALE_DOWN } else { 1 },
        load,
        by_direction: !also_shapes.is_empty(),
        record_iolog: arguments.record_iolog.clone(),
    };

    let terminal = Terminal::of_run(&scenario, &options);
    let observer = Collecting::new(&terminal, scenario.arrays.len(), !also_shapes.is_empty());
    let ran = match out {
        Some(_) => strewn::run_with_map(&scenario, &options, &observer)
            .map(|(results, map)| (results, Some(map))),
        None => strewn::run(&scenario, &options, &observer).map(|results| (results, None)),
    };
    let segments = observer.into_segments();
    // Clear the progress bars before anything is printed.
    drop(terminal);
    let (results, map) = ran?;
    let nothing_to_show =
        |array: &ArrayResults| array.segments.is_empty() && array.data_loss.is_none();
    if results.arrays.iter().all(nothing_to_show) {
        return Err(Failure::stopped("stopped before any segment was complete"));
    }

    let json = results.to_json_string().map_err(|error| Failure::failed(error.to_string()))?;
    if let Some(out) = out {
        let shown = Shown { results: &results, map: map.as_ref(), scenario: Some(&text) };
        let files = output_files::of_run(&shown, &json)?;
        let others = output_files::of_report(&shown, &arguments.pictures, arguments.table.format)
            .and_then(|mut others| {
                others.extend(also::files(&also_shapes, &scenario, &results, &segments)?);
                Ok(others)
            });
        output_files::write(out, files, others)?;
    }
    terminal::print(&if arguments.json { json } else { report::all_tables(&results) })?;
    Ok(Ending::of(&results))
}

/// Checks that the logs of operations can be written, and that none exists yet.
fn check_log(log: &Path, scenario: &Scenario) -> Result<(), Failure> {
    let shown = log.display();
    let folder = log.parent().filter(|folder| !folder.as_os_str().is_empty());
    if log.file_name().is_none() || folder.is_some_and(|folder| !folder.is_dir()) {
        return Err(Failure::bad_input(
            format!("--record-iolog {shown}: there is no such directory"),
            "give a file in a directory that is there",
        ));
    }
    for array in &scenario.arrays {
        let file = strewn::iolog_of_array(log, &array.name, scenario.arrays.len());
        if file.symlink_metadata().is_ok() {
            return Err(Failure::bad_input(
                format!("--record-iolog {shown}: {} is there already", file.display()),
                "give another name, or move it away",
            ));
        }
    }
    Ok(())
}
