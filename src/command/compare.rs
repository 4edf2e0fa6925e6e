//! `strewn compare`.

use std::path::Path;

use strewn::report;
use strewn::results::{self, Metric, Results};
use strewn::terminal::{self, Ending, Failure};

use super::arguments::{CompareArguments, Format};
use super::out_directory::OutDirectory;
use super::output_files::{picture, picture_names};
use super::results_directory;

const JSON: &str = "comparison.json";
const CSV: &str = "comparison.csv";
/// The charts, by the stem of their files.
const CHARTS: [(&str, Metric); 2] = [("iops", Metric::Iops), ("response", Metric::ResponseMs)];

/// Compares runs side by side.
pub(crate) fn compare(arguments: &CompareArguments) -> Result<Ending, Failure> {
    arguments.pictures.check_against(arguments.out.as_deref())?;
    let all: Vec<Results> = arguments
        .runs
        .iter()
        .map(|run| results_directory::results(run))
        .collect::<Result<_, _>>()?;
    let runs: Vec<(String, &Results)> = names(&arguments.runs).into_iter().zip(&all).collect();
    let compared = results::compare_runs(&runs).map_err(|error| {
        Failure::bad_input(
            error.to_string(),
            "give runs that have an array of the same name, or one array each",
        )
    })?;
    let failed = |error: &dyn std::fmt::Display| Failure::failed(error.to_string());
    let json = compared.to_json_string().map_err(|error| failed(&error))?;
    let printed = || match arguments.format.format() {
        Format::Csv => Ok(report::runs_csv(&compared)),
        _ => arguments.format.tables_or(|| Ok(json.clone()), || report::runs_tables(&compared)),
    };
    if let Some(out) = &arguments.out {
        let charts = CHARTS.iter().flat_map(|(stem, _)| picture_names(stem, &arguments.pictures));
        let names = [JSON, CSV].map(str::to_owned).into_iter().chain(charts).collect();
        let out = OutDirectory::check(out, arguments.force, names)?;
        let mut files = vec![
            (JSON.to_owned(), json.clone().into_bytes()),
            (CSV.to_owned(), report::runs_csv(&compared).into_bytes()),
        ];
        for (stem, metric) in CHARTS {
            let svg = report::runs_chart(&runs, metric, arguments.pictures.style());
            let svg = svg.map_err(|error| {
                failed(&error).with_help("give a larger --chart-size, or fewer runs")
            })?;
            files.extend(picture(stem, svg, &arguments.pictures)?);
        }
        // Print first, whether or not there is room for the files.
        terminal::print(&printed()?)?;
        out.write(&files, |_| "make room, and repeat the command".to_owned())?;
        let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
        let said = format!("Written into {}: {}.", out.path().display(), names.join(", "));
        match arguments.format.is_for_programs() {
            true => terminal::say_to_person(&said),
            false => terminal::print(&format!("\n{said}\n"))?,
        }
        return Ok(Ending::Complete);
    }
    terminal::print(&printed()?)?;
    Ok(Ending::Complete)
}

/// Returns a name for each run: the last part of its path if no other run shares it, or the whole path.
fn names(paths: &[impl AsRef<Path>]) -> Vec<String> {
    let short = |path: &Path| {
        let path = if path.file_name().is_some_and(|name| name == "results.json") {
            path.parent().unwrap_or(path)
        } else {
            path
        };
        path.file_name().map(|name| name.to_string_lossy().into_owned())
    };
    let shorts: Vec<Option<String>> = paths.iter().map(|path| short(path.as_ref())).collect();
    let mut names: Vec<String> = Vec::new();
    for (path, short) in paths.iter().zip(&shorts) {
        let alone = shorts.iter().filter(|other| *other == short).count() == 1;
        let name = short.clone().filter(|_| alone);
        let name = name.unwrap_or_else(|| path.as_ref().display().to_string());
        // A run given twice is compared as two runs.
        let again = (2..).map(|number| format!("{name} ({number})"));
        let mut tries = std::iter::once(name.clone()).chain(again);
        names.extend(tries.find(|name| !names.contains(name)));
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_told_apart_by_their_names() {
        assert_eq!(names(&["out/a", "out/b/results.json"]), ["a", "b"]);
        assert_eq!(names(&["one/a", "two/a"]), ["one/a", "two/a"]);
        assert_eq!(names(&["a", "a", "a"]), ["a", "a (2)", "a (3)"]);
        assert_eq!(names(&["."]), ["."]);
    }
}
