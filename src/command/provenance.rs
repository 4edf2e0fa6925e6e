//! What a run was made of: the program, its arguments, the files that it read, and the machine.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use strewn::scenario::{Scenario, SpindleChoice};

use super::arguments::LoadArguments;
use super::out_directory::OutFile;

/// The file, beside the results. They are the same bytes on any machine, so this is not part of them.
pub(super) const FILE: &str = "provenance.json";

const SCHEMA: u32 = 1;

/// The line of results that differs from one run to the next.
const WALL_CLOCK_KEY: &str = "\"wall_seconds\"";

/// The commit that a published binary was built from; other builds are known by the digest of the program.
const COMMIT: Option<&str> = option_env!("STREWN_COMMIT");

/// Returns the files that a run reads, as far as they exist.
pub(super) fn inputs(path: &Path, scenario: &Scenario, load: &LoadArguments) -> Vec<PathBuf> {
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
    files
}

/// Returns the file about a run with these inputs; `results` is the text of its results.
pub(super) fn of_run(inputs: &[PathBuf], results: &str) -> OutFile {
    let figures: String =
        results.split_inclusive('\n').filter(|line| !line.contains(WALL_CLOCK_KEY)).collect();
    let program = std::env::current_exe().and_then(|path| digest_of_file(&path)).ok();
    let input = |path: &PathBuf| {
        let digest = digest_of_file(path)
            .map_or_else(|error| json!({ "error": error.to_string() }), |digest| json!(digest));
        json!({ "path": path.display().to_string(), "sha256": digest })
    };
    let text = json!({
        "schema": SCHEMA,
        "strewn": {
            "version": env!("CARGO_PKG_VERSION"),
            "commit": COMMIT,
            "sha256": program,
            "is_optimized": !cfg!(debug_assertions),
        },
        "arguments": std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>(),
        "inputs": inputs.iter().map(input).collect::<Vec<_>>(),
        // grep -v wall_seconds results.json | sha256sum
        "figures_sha256": hexadecimal(&Sha256::digest(figures)),
        "host": host(),
    });
    (FILE.to_owned(), format!("{text:#}\n").into_bytes())
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
