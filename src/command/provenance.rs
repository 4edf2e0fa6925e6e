//! What a run was made of: the program, its arguments, the files that it read, and the machine.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use strewn::SavedRun;
use strewn::scenario::{Scenario, SpindleChoice};

use super::arguments::LoadArguments;
use super::out_directory::OutFile;

/// The file, beside the results. They are the same bytes on any machine, so this is not part of them.
pub(super) const FILE: &str = "provenance.json";

const SCHEMA: u32 = 1;

/// The line of results that differs from one run to the next.
const WALL_CLOCK_KEY: &str = "\"wall_seconds\"";

/// The key of the digest of all figures.
const FIGURES_KEY: &str = "figures_sha256";

/// The commit that a published binary was built from; other builds are known by the digest of the program.
const COMMIT: Option<&str> = option_env!("STREWN_COMMIT");

/// What a run reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Input {
    /// A file, which stays as it is.
    File(PathBuf),
    /// What is not there any more when the run ends, with its digest.
    Gone { name: String, sha256: String },
}

impl Input {
    /// Describes a scenario that was not read from a file of its own.
    pub(super) fn of_text(name: impl Into<String>, text: &str) -> Self {
        Self::Gone { name: name.into(), sha256: hexadecimal(&Sha256::digest(text)) }
    }

    fn to_json(&self) -> Value {
        let (path, digest) = match self {
            Self::File(path) => (path.display().to_string(), digest_of_file(path)),
            Self::Gone { name, sha256 } => (name.clone(), Ok(sha256.clone())),
        };
        let digest = digest
            .map_or_else(|error| json!({ "error": error.to_string() }), |digest| json!(digest));
        json!({ "path": path, "sha256": digest })
    }
}

/// Returns the files of a saved run, which go on with the run, and its scenario.
pub(super) fn saved(saved: &SavedRun) -> Vec<Input> {
    let directory = saved.directory();
    let names = directory.read_dir().into_iter().flatten().filter_map(Result::ok);
    let mut files: Vec<PathBuf> = names.map(|entry| entry.path()).collect();
    files.retain(|file| file.is_file());
    files.sort();
    let of_file = |file: &PathBuf| {
        let sha256 = digest_of_file(file).ok()?;
        Some(Input::Gone { name: file.display().to_string(), sha256 })
    };
    let scenario = format!("scenario of {}", directory.display());
    let scenario = Input::of_text(scenario, saved.text().0);
    std::iter::once(scenario).chain(files.iter().filter_map(of_file)).collect()
}

/// Returns the files that a run reads, as far as they exist.
pub(super) fn inputs(path: &Path, scenario: &Scenario, load: &LoadArguments) -> Vec<Input> {
    let without_name = |text: &str| text.rsplit_once(':').map_or(text, |(file, _)| file).to_owned();
    let tools = [&load.access_spec, &load.fio_job];
    let of_tools = tools.into_iter().flatten();
    let named = of_tools.flat_map(|text| [PathBuf::from(text), PathBuf::from(without_name(text))]);
    let profiles = scenario.arrays.iter().filter_map(|array| match &array.spindle {
        SpindleChoice::File(file) => Some(file.path().to_owned()),
        SpindleChoice::Shipped(_) => None,
    });
    let mut files: Vec<PathBuf> = std::iter::once(path.to_owned())
        .chain(profiles)
        .chain(scenario.published.clone())
        .chain([strewn::sensitivity_path(path)])
        .chain(load.trace.clone())
        .chain(load.trace_sizes.clone())
        .chain(named)
        .filter(|path| path.is_file())
        .collect();
    let mut seen = Vec::new();
    files.retain(|file| {
        !seen.contains(file) && {
            seen.push(file.clone());
            true
        }
    });
    files.into_iter().map(Input::File).collect()
}

/// Returns the file about a run with these inputs; `results` is the text of its results.
pub(super) fn of_run(inputs: &[Input], results: &str) -> OutFile {
    let program = std::env::current_exe().and_then(|path| digest_of_file(&path)).ok();
    let text = json!({
        "schema": SCHEMA,
        "strewn": {
            "version": env!("CARGO_PKG_VERSION"),
            "commit": COMMIT,
            "sha256": program,
            "is_optimized": !cfg!(debug_assertions),
        },
        "arguments": std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>(),
        "inputs": inputs.iter().map(Input::to_json).collect::<Vec<_>>(),
        // grep -v wall_seconds results.json | sha256sum
        FIGURES_KEY: digest_of_figures(results),
        "host": host(),
    });
    (FILE.to_owned(), format!("{text:#}\n").into_bytes())
}

/// Returns the digest of all that is the same each time in the text of results.
fn digest_of_figures(results: &str) -> String {
    let figures: String =
        results.split_inclusive('\n').filter(|line| !line.contains(WALL_CLOCK_KEY)).collect();
    hexadecimal(&Sha256::digest(figures))
}

/// Returns whether the text of results is what a run wrote, by the file beside `results_file`; `None` if that is not
/// there or names no digest.
pub(super) fn are_as_written(results_file: &Path, results: &str) -> Option<bool> {
    let text = std::fs::read_to_string(results_file.with_file_name(FILE)).ok()?;
    let provenance: Value = serde_json::from_str(&text).ok()?;
    let digest = provenance.get(FIGURES_KEY)?.as_str()?;
    Some(digest == digest_of_figures(results))
}

fn host() -> Value {
    let first = |file: &str, key: &str| {
        let text = std::fs::read_to_string(file).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix(key))?;
        Some(line.trim_start_matches([':', ' ', '\t']).trim().to_owned())
    };
    json!({
        "system": std::env::consts::OS,
        "architecture": std::env::consts::ARCH,
        "kernel": first("/proc/sys/kernel/osrelease", ""),
        "processor": first("/proc/cpuinfo", "model name"),
        "cores": std::thread::available_parallelism().ok().map(usize::from),
        "memory": first("/proc/meminfo", "MemTotal"),
    })
}

fn digest_of_file(path: &Path) -> io::Result<String> {
    let mut digest = Sha256::new();
    io::copy(&mut File::open(path)?, &mut digest)?;
    Ok(hexadecimal(&digest.finalize()))
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
