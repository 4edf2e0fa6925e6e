//! The names of an array's files in its directory.

use std::io;
use std::path::{Path, PathBuf};

use crate::format::{DeviceRole, MIRRORED_LOGS};

/// The file in an array's directory that names its devices.
pub const ARRAY_FILE: &str = "array.toml";

/// The file of a log on a single device.
const LOG_FILE: &str = "log";

/// The files of a mirrored log.
const MIRRORED_LOG_FILES: [&str; MIRRORED_LOGS] = ["log-a", "log-b"];

/// Returns the file name of a device, unless one was supplied.
pub(super) fn file_of(role: DeviceRole) -> String {
    match role {
        DeviceRole::Spindle(position) => format!("spindle-{position:02}"),
        DeviceRole::Log => LOG_FILE.to_owned(),
        DeviceRole::MirroredLog(_) => MIRRORED_LOG_FILES[role.index()].to_owned(),
    }
}

/// Returns whether [`create`](super::create) gives a file this name.
pub(super) fn is_created_name(name: &Path) -> bool {
    let number = |name: &str| name.strip_prefix("spindle-").is_some_and(is_number);
    let is_log = |name| name == LOG_FILE || MIRRORED_LOG_FILES.contains(&name);
    name.to_str().is_some_and(|name| is_log(name) || number(name))
}

/// Returns whether [`create`](super::create) gives a file this name, or [`unused_path`] gives it to a replacement.
pub(super) fn is_array_file_name(name: &Path) -> bool {
    let replacement = name.to_str().and_then(|name| name.rsplit_once('-'));
    is_created_name(name)
        || replacement
            .is_some_and(|(name, turn)| is_created_name(Path::new(name)) && is_number(turn))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns an unused path in an array's directory for a file that replaces a device.
#[must_use]
pub fn unused_path(directory: &Path, role: DeviceRole) -> PathBuf {
    let first = file_of(role);
    let mut path = directory.join(&first);
    let mut turn = 0_u64;
    while path.symlink_metadata().is_ok() {
        turn += 1;
        path = directory.join(format!("{first}-{turn}"));
    }
    path
}

/// Returns the entries of a directory that are named like files of an array, sorted.
pub(super) fn array_files_in(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths: Vec<PathBuf> = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let name = entry?.file_name();
        if is_array_file_name(Path::new(&name)) {
            paths.push(directory.join(name));
        }
    }
    paths.sort();
    Ok(paths)
}
