//! The file of sensitivities beside a scenario.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The ending of the name of a file of sensitivities, in place of a scenario's own.
const SENSITIVITY_ENDING: &str = "sensitivity.toml";

/// Returns where the sensitivities of the scenario at `path` are stored: beside it.
#[must_use]
pub fn sensitivity_path(path: &Path) -> PathBuf {
    path.with_extension(SENSITIVITY_ENDING)
}

/// Longest file of sensitivities; that of the published experiment is some 15 kilobytes.
const LONGEST_BYTES: u64 = 1 << 20;

/// Reads the text of a file of sensitivities; none if there is no such file.
pub(crate) fn sensitivity_text(path: &Path) -> std::io::Result<Option<String>> {
    match std::fs::metadata(path) {
        Ok(found) if !found.is_file() => {
            return Err(std::io::Error::new(ErrorKind::InvalidInput, "it is no file"));
        }
        Ok(found) if found.len() > LONGEST_BYTES => {
            return Err(std::io::Error::new(ErrorKind::InvalidData, "it is longer than 1 MiB"));
        }
        _ => {}
    }
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
