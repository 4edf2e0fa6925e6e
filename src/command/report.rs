//! `strewn report`.

use strewn::results;
use strewn::terminal::{self, Ending, Failure};

use super::arguments::ReportArguments;
use super::out_directory::OutDirectory;
use super::output_files::{self, Shown};
use super::results_directory::{self, ResultsDirectory};

/// Rebuilds every file that is derived from the results in a directory.
pub(crate) fn report(arguments: &ReportArguments) -> Result<Ending, Failure> {
    let Some(directory) = &arguments.results else {
        terminal::print(&results::glossary())?;
        return Ok(Ending::Complete);
    };
    let ResultsDirectory { results, map, scenario } = results_directory::read(directory)?;
    let into = arguments.out.as_deref().unwrap_or(directory);
    arguments.table.check_against(Some(into))?;
    let formats = match arguments.table.table {
        Some(format) => vec![format],
        None => output_files::formats_in(directory),
    };
    let names = output_files::names_of_report(&arguments.pictures, &formats);
    let out = match &arguments.out {
        Some(out) => OutDirectory::check(out, arguments.force, names)?,
        // The inputs of the report are not among the names, so they stay.
        None => OutDirectory::check(directory, true, names)?,
    };
    let shown = Shown { results: &results, map: map.as_ref(), scenario: scenario.as_deref() };
    let files =
        output_files::of_report(&shown, &arguments.pictures, &formats, &arguments.table.columns())?;
    out.write(&files, |_| "make room, and repeat the command".to_owned())?;
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    let into = out.path().display();
    terminal::print(&format!("Written into {into}: {}.\n", names.join(", ")))?;
    if map.is_none() {
        terminal::print("No map: the results have no map.json.\n")?;
    }
    Ok(Ending::Complete)
}
