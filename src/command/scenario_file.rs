//! Finding and loading the scenario named on the command line.

use std::io::Read;
use std::path::{Path, PathBuf};

use strewn::scenario::{Disk, Scenario};
use strewn::terminal::Failure;

/// Directory of the shipped scenarios, relative to the root of the project.
const SHIPPED: &str = "scenarios";
const EXTENSION: &str = "toml";
/// Suffix of files of published figures, which are TOML too and lie beside scenarios.
const PUBLISHED_ENDING: &str = ".published.toml";
/// Suffix of files of sensitivities.
const SENSITIVITY_ENDING: &str = ".sensitivity.toml";

/// Files of other tools that people take for scenarios: their endings, what they are, and the flag that takes them.
const OF_OTHER_TOOLS: [(&str, &str, &str); 4] = [
    (".fio", "a fio job file", "--fio-job"),
    (".icf", "an Iometer configuration", "--access-spec"),
    (".csv", "a table or a trace", "--trace"),
    (".gz", "a trace", "--trace"),
];

/// The path that stands for standard input.
pub(crate) const STANDARD_INPUT: &str = "-";
/// Name of standard input in error messages. Paths in such a scenario are relative to the current directory.
const STANDARD_INPUT_NAME: &str = "standard input";

/// Loads the scenario in the file at `path`, or on standard input.
pub(crate) fn load(path: &Path) -> Result<Scenario, Failure> {
    if path == Path::new(STANDARD_INPUT) {
        return Ok(Scenario::parse_with_files(&standard_input()?, STANDARD_INPUT_NAME, &Disk)?);
    }
    if path.is_dir() {
        return Err(directory(path));
    }
    if !path.exists() {
        return Err(missing(path));
    }
    let text = path.to_string_lossy();
    if let Some(scenario) = text.strip_suffix(PUBLISHED_ENDING) {
        return Err(Failure::bad_input(
            format!("{text} has published figures, and is no scenario"),
            format!("give the scenario that names it: perhaps {scenario}.{EXTENSION}"),
        ));
    }
    if let Some(scenario) = text.strip_suffix(SENSITIVITY_ENDING) {
        return Err(Failure::bad_input(
            format!("{text} has sensitivities, and is no scenario"),
            format!("give the scenario beside it: perhaps {scenario}.{EXTENSION}"),
        ));
    }
    let of_tool = OF_OTHER_TOOLS.iter().find(|(ending, ..)| text.ends_with(ending));
    if let Some((_, what, flag)) = of_tool {
        return Err(Failure::bad_input(
            format!("{text} is {what}, and no scenario"),
            format!("give the scenario whose arrays run it: strewn run SCENARIO {flag} {text}"),
        ));
    }
    Ok(Scenario::load(path)?)
}

/// Longest scenario read from standard input; the longest shipped one is some kilobytes.
const LONGEST_BYTES: u64 = 16 << 20;

fn standard_input() -> Result<String, Failure> {
    let mut text = String::new();
    let read = std::io::stdin().lock().take(LONGEST_BYTES + 1).read_to_string(&mut text);
    match read {
        Ok(read) if read as u64 > LONGEST_BYTES => Err(Failure::bad_input(
            "standard input goes on beyond 16 MiB: that is no scenario",
            "give a scenario's TOML, or the path of its file",
        )),
        Ok(_) => Ok(text),
        Err(error) => Err(Failure::bad_input(
            format!("standard input cannot be read as text: {error}"),
            "give a scenario's TOML in UTF-8, or the path of its file",
        )),
    }
}

/// Loads the scenario in the file at `path`, or on standard input, with its text.
pub(crate) fn load_with_text(path: &Path) -> Result<(Scenario, String), Failure> {
    if path == Path::new(STANDARD_INPUT) {
        let text = standard_input()?;
        return Ok((Scenario::parse_with_files(&text, STANDARD_INPUT_NAME, &Disk)?, text));
    }
    let scenario = load(path)?;
    // The loader keeps no text, and its errors are better than ours, so the file is read a second time.
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::failed(format!("cannot read {}: {error}", path.display())))?;
    Ok((scenario, text))
}

/// Returns the name that errors give the scenario at `path`, from whose folder its paths start.
pub(crate) fn name(path: &Path) -> &Path {
    if path == Path::new(STANDARD_INPUT) { Path::new(STANDARD_INPUT_NAME) } else { path }
}

fn directory(path: &Path) -> Failure {
    let inside = scenarios_in(path);
    let help = if inside.is_empty() {
        format!(
            "give a scenario's file; there is none in this directory, those that ship are in {SHIPPED}/"
        )
    } else {
        format!("give one of the files in it: {}", inside.join(", "))
    };
    Failure::bad_input(format!("{} is a directory, not a scenario", path.display()), help)
}

fn missing(path: &Path) -> Failure {
    let help = match meant(path) {
        Some(meant) => format!("did you mean {}?", meant.display()),
        None => format!(
            "give the path of a TOML file, from where you are{}",
            match scenarios_in(Path::new(SHIPPED)).as_slice() {
                [] => String::new(),
                shipped => format!("; there are {}", shipped.join(", ")),
            }
        ),
    };
    Failure::bad_input(format!("there is no scenario {}", path.display()), help)
}

/// Returns an existing file if `path` lacks only its extension or its directory.
fn meant(path: &Path) -> Option<PathBuf> {
    let mut with_ending = path.as_os_str().to_owned();
    with_ending.push(".");
    with_ending.push(EXTENSION);
    let names = [path.to_owned(), PathBuf::from(with_ending)];
    let shipped = names.iter().filter_map(|name| Some(Path::new(SHIPPED).join(name.file_name()?)));
    names.iter().cloned().chain(shipped).find(|file| file.is_file())
}

/// Returns the scenarios in a directory, sorted by path; empty if it cannot be read.
fn scenarios_in(directory: &Path) -> Vec<String> {
    let Ok(entries) = directory.read_dir() else { return Vec::new() };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let files = paths.filter(|path| path.extension().is_some_and(|ending| ending == EXTENSION));
    let mut names: Vec<String> = files
        .map(|path| path.display().to_string())
        .filter(|name| !name.ends_with(PUBLISHED_ENDING) && !name.ends_with(SENSITIVITY_ENDING))
        .collect();
    names.sort();
    names
}
