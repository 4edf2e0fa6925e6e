//! `strewn run`.

use strewn::RunOptions;
use strewn::report::{self, ArrayResults};
use strewn::terminal::{self, Ending, Failure, Terminal};

use super::arguments::RunArguments;
use super::out_directory::OutDirectory;
use super::output_files::{self, Shown};
use super::scenario_file;

/// How many times smaller `--quick` runs: at 8 the shipped scenario takes seconds, and both arrays stay near their
/// full-scale curves (docs/model.md says how near).
const QUICK_SCALE_DOWN: u32 = 8;

/// Runs the scenario, prints its tables or its JSON, and writes its files.
pub(crate) fn run(arguments: &RunArguments) -> Result<Ending, Failure> {
    let (mut scenario, text) = scenario_file::load_with_text(&arguments.scenario)?;
    let out = arguments.out.as_deref();
    arguments.pictures.check_against(out)?;
    let out = out
        .map(|path| OutDirectory::check(path, arguments.force, output_files::names_of_run()))
        .transpose()?;
    scenario.seed = arguments.seed.unwrap_or(scenario.seed);
    scenario.segments = arguments.segments.unwrap_or(scenario.segments);
    let options = RunOptions {
        jobs: arguments.jobs.unwrap_or_default(),
        scale_down: if arguments.quick { QUICK_SCALE_DOWN } else { 1 },
    };

    let terminal = Terminal::of_run(&scenario, &options);
    let ran = match out {
        Some(_) => strewn::run_with_map(&scenario, &options, &terminal)
            .map(|(results, map)| (results, Some(map))),
        None => strewn::run(&scenario, &options, &terminal).map(|results| (results, None)),
    };
    // Its bars are gone before anything is said.
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
        let mut files = output_files::of_run(&shown, &json)?;
        let pictures = output_files::of_report(&shown, &arguments.pictures);
        // A run is not lost to a picture that cannot be drawn.
        let (pictures, failure) = match pictures {
            Ok(pictures) => (pictures, None),
            Err(failure) => (Vec::new(), Some(failure)),
        };
        files.extend(pictures);
        out.write(&files)?;
        if let Some(failure) = failure {
            let help = format!("the results are there: strewn report {}", out.path().display());
            return Err(failure.with_help(help));
        }
    }
    terminal::print(&if arguments.json { json } else { report::all_tables(&results) })?;
    Ok(Ending::of(&results))
}
