//! The location of an array's devices: a directory with `array.toml`, or a list.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::error::{AssemblyError, LocationError};
use super::names::{ARRAY_FILE, array_files_in};

const HEADER: &str = "\
# The devices of a Strewn array. Which is which, and how the array is made, is on the devices themselves.
";

/// The location of an array's devices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArrayLocation {
    /// A directory in which `create` made an array.
    Directory(PathBuf),
    /// The devices, the log among them, in any order.
    Devices(Vec<PathBuf>),
}

/// The contents of `array.toml`. It is a convenience: the labels decide.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ArrayFile {
    /// The array's identity.
    pub(super) array: String,
    /// The devices of the spindles by position, relative to the directory or absolute.
    pub(super) spindles: Vec<PathBuf>,
    /// The device of the log.
    pub(super) log: PathBuf,
}

/// The devices that an array may consist of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NamedDevices {
    /// By position if the location says so, otherwise in the order given.
    pub(super) paths: Vec<PathBuf>,
    /// Whether these are the spindles in order of position, and then the log, as `array.toml` says.
    pub(super) in_order: bool,
}

impl ArrayLocation {
    /// Formats the location for messages.
    pub(super) fn display(&self) -> String {
        match self {
            Self::Directory(directory) => directory.display().to_string(),
            Self::Devices(paths) => {
                let paths: Vec<String> =
                    paths.iter().map(|path| path.display().to_string()).collect();
                paths.join(", ")
            }
        }
    }

    /// Returns the devices at this location. They need not exist.
    pub(super) fn named(&self) -> Result<NamedDevices, LocationError> {
        match self {
            Self::Devices(paths) => Ok(NamedDevices { paths: paths.clone(), in_order: false }),
            Self::Directory(directory) => of_directory(directory),
        }
    }
}

fn of_directory(directory: &Path) -> Result<NamedDevices, LocationError> {
    let made = array_files_in(directory)
        .map_err(|source| LocationError::Directory { path: directory.to_owned(), source })?;
    if let Some(file) = ArrayFile::read(directory)? {
        let devices = file.spindles.iter().chain([&file.log]);
        // An absolute path replaces the directory.
        let paths = devices.map(|path| directory.join(path)).collect();
        return Ok(NamedDevices { paths, in_order: true });
    }
    // Without `array.toml`, the files' names must do.
    if made.is_empty() {
        return Err(LocationError::Empty { path: directory.to_owned() });
    }
    Ok(NamedDevices { paths: made, in_order: false })
}

/// Returns a path as `array.toml` stores it: a name within the directory, absolute elsewhere.
pub(super) fn as_named(directory: &Path, path: &Path) -> PathBuf {
    match path.strip_prefix(directory) {
        Ok(name) => name.to_owned(),
        Err(_) => std::path::absolute(path).unwrap_or_else(|_| path.to_owned()),
    }
}

impl ArrayFile {
    /// Replaces the file in the directory, atomically and durably.
    pub(super) fn write(&self, directory: &Path) -> Result<(), AssemblyError> {
        let path = directory.join(ARRAY_FILE);
        let text = toml::to_string(self).map_err(|error| LocationError::File {
            path: path.clone(),
            message: error.to_string(),
        })?;
        let text = format!("{HEADER}{text}");
        let temporary = directory.join(format!(".{ARRAY_FILE}.{}.tmp", std::process::id()));
        let written = File::create(&temporary).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            std::fs::rename(&temporary, &path)?;
            File::open(directory)?.sync_all()
        });
        written.map_err(|error| {
            // The first error is the one to report.
            let _ = std::fs::remove_file(&temporary);
            AssemblyError::io(&path, "cannot write it")(error)
        })
    }

    /// Reads the file in the directory; returns `None` if there is none.
    pub(super) fn read(directory: &Path) -> Result<Option<Self>, LocationError> {
        let path = directory.join(ARRAY_FILE);
        let wrong = |message: String| LocationError::File { path: path.clone(), message };
        match std::fs::read_to_string(&path) {
            Ok(text) => {
                toml::from_str(&text).map(Some).map_err(|error| wrong(error.message().to_owned()))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(LocationError::Read { path: path.clone(), source }),
        }
    }
}

/// Records in `array.toml` that `path` is now the device of a spindle, or of the log if `position` is `None`.
///
/// # Errors
/// If the file cannot be read or written.
pub fn record_device_path(
    directory: &Path,
    position: Option<u16>,
    path: &Path,
) -> Result<(), AssemblyError> {
    let Some(mut file) = ArrayFile::read(directory)? else { return Ok(()) };
    let named = match position {
        Some(position) => file.spindles.get_mut(usize::from(position)),
        None => Some(&mut file.log),
    };
    let Some(named) = named else { return Ok(()) };
    *named = as_named(directory, path);
    file.write(directory)
}
