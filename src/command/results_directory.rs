//! Reading the results of a run.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use strewn::results::{LayoutMap, Results, ResultsError};
use strewn::terminal::{self, Failure};

use super::output_files::{MAP, RESULTS, SCENARIO};
use super::provenance;

/// The files of a run that a report is built from.
pub(crate) struct ResultsDirectory {
    pub(crate) results: Results,
    pub(crate) map: Option<LayoutMap>,
    pub(crate) scenario: Option<String>,
}

/// Reads the directory of a run; older versions wrote no map and no scenario.
pub(crate) fn read(directory: &Path) -> Result<ResultsDirectory, Failure> {
    if directory.is_file() {
        return Err(Failure::bad_input(
            format!("{} is a file, not a directory of results", directory.display()),
            "give the directory that it is in",
        ));
    }
    let results = results(directory)?;
    let path = directory.join(MAP);
    let map = text(&path)?
        .map(|text| LayoutMap::from_json(&text).map_err(|error| unreadable(&path, &error)));
    let map = map.transpose()?;
    if let Some(map) = &map
        && (&map.scenario, map.seed) != (&results.scenario, results.seed)
    {
        return Err(Failure::bad_input(
            format!("{} is of another run than {RESULTS} beside it", path.display()),
            format!("move {MAP} away, or bring back the one of this run"),
        ));
    }
    Ok(ResultsDirectory { results, map, scenario: text(&directory.join(SCENARIO))? })
}

/// Reads the results in a directory or a file, and warns if they are not what a run wrote there.
pub(crate) fn results(path: &Path) -> Result<Results, Failure> {
    let (results, edited) = results_and_edits(path)?;
    if let Some(edited) = edited {
        terminal::say(&format!("warning: {edited}"));
    }
    Ok(results)
}

/// Reads the results in a directory or a file. Also returns a sentence if they are not what a run wrote there.
pub(crate) fn results_and_edits(path: &Path) -> Result<(Results, Option<String>), Failure> {
    let file = if path.is_dir() { path.join(RESULTS) } else { path.to_owned() };
    let Some(text) = text(&file)? else {
        return Err(if path.is_dir() {
            let help = match in_a_subdirectory(path) {
                Some(below) => format!("did you mean {}?", below.display()),
                None => "give a directory that `strewn run SCENARIO --out DIR` wrote".to_owned(),
            };
            Failure::bad_input(format!("there is no {RESULTS} in {}", path.display()), help)
        } else {
            Failure::bad_input(
                format!("there is no {}", path.display()),
                format!(
                    "give a directory that `strewn run SCENARIO --out DIR` wrote, or its {RESULTS}"
                ),
            )
        });
    };
    let results = Results::from_json(&text).map_err(|error| unreadable(&file, &error))?;
    let edited = provenance::are_as_written(&file, &text) == Some(false);
    let edited = edited.then(|| {
        let (file, beside) = (file.display(), provenance::FILE);
        format!("{file} was changed after its run: it has not the digest in {beside} beside it")
    });
    Ok((results, edited))
}

/// Reads a file; returns `None` if it does not exist.
fn text(path: &Path) -> Result<Option<String>, Failure> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Failure::bad_input(
            format!("{} cannot be read: {error}", path.display()),
            "give results that you may read",
        )),
    }
}

fn unreadable(path: &Path, error: &ResultsError) -> Failure {
    let help = match error {
        ResultsError::Schema { found, readable, .. } if *found > u64::from(*readable) => {
            "a newer Strewn wrote it: read it with that one".to_owned()
        }
        ResultsError::Schema { .. } => "run the scenario again with this Strewn".to_owned(),
        ResultsError::Json { message, .. } if message.contains("EOF") => {
            "the file ends too early: was it copied in whole? The run can be repeated from its scenario and seed".to_owned()
        }
        _ => "give a file that Strewn wrote, unchanged".to_owned(),
    };
    Failure::bad_input(format!("{}: {error}", path.display()), help)
}

/// Returns a subdirectory of `path` that contains results.
fn in_a_subdirectory(path: &Path) -> Option<PathBuf> {
    let mut below: Vec<PathBuf> = path
        .read_dir()
        .ok()?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.join(RESULTS).is_file())
        .collect();
    below.sort();
    below.into_iter().next()
}
