//! The location of an array's devices: a directory with `array.toml`, or a list.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, open};
use serde::{Deserialize, Serialize};

use super::assembled::AssembledArray;
use super::error::AssemblyError;
use super::names::{ARRAY_FILE, array_files_in};
use crate::format::{DeviceRole, MIRRORED_LOGS};
use crate::toml_text;

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
    /// The device of the log, or both devices of a mirrored one.
    pub(super) log: LogPaths,
}

/// The devices of the log in `array.toml`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum LogPaths {
    One(PathBuf),
    Mirrored([PathBuf; MIRRORED_LOGS]),
}

impl LogPaths {
    /// Returns the paths of one or two devices.
    pub(super) fn of(paths: Vec<PathBuf>) -> Self {
        match <[PathBuf; MIRRORED_LOGS]>::try_from(paths) {
            Ok(paths) => Self::Mirrored(paths),
            Err(mut paths) => Self::One(paths.pop().unwrap_or_default()),
        }
    }

    pub(super) fn paths(&self) -> &[PathBuf] {
        match self {
            Self::One(path) => std::slice::from_ref(path),
            Self::Mirrored(paths) => paths,
        }
    }

    /// Returns the paths with their roles.
    fn with_roles(&self) -> impl Iterator<Item = (&PathBuf, DeviceRole)> {
        let role = move |position| match self {
            Self::One(_) => DeviceRole::Log,
            Self::Mirrored(_) => DeviceRole::MirroredLog(position),
        };
        self.paths().iter().zip((0..).map(role))
    }
}

/// The devices that an array may consist of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NamedDevices {
    /// In the order given, each with its role if `array.toml` says it.
    pub(super) devices: Vec<(PathBuf, Option<DeviceRole>)>,
}

impl NamedDevices {
    /// Returns devices whose roles are unknown.
    fn without_roles(paths: Vec<PathBuf>) -> Self {
        Self { devices: paths.into_iter().map(|path| (path, None)).collect() }
    }

    pub(super) fn paths(&self) -> Vec<PathBuf> {
        self.devices.iter().map(|(path, _)| path.clone()).collect()
    }
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
    pub(super) fn named(&self) -> Result<NamedDevices, AssemblyError> {
        match self {
            Self::Devices(paths) => Ok(NamedDevices::without_roles(paths.clone())),
            Self::Directory(directory) => of_directory(directory),
        }
    }
}

fn of_directory(directory: &Path) -> Result<NamedDevices, AssemblyError> {
    let made = array_files_in(directory)
        .map_err(|source| AssemblyError::NoDirectory { path: directory.to_owned(), source })?;
    if let Some(file) = ArrayFile::read(directory)? {
        let spindles = file.spindles.iter().zip((0..).map(DeviceRole::Spindle));
        let devices = spindles.chain(file.log.with_roles());
        // An absolute path replaces the directory.
        let devices = devices.map(|(path, role)| (directory.join(path), Some(role))).collect();
        return Ok(NamedDevices { devices });
    }
    // Without `array.toml`, the files' names must do.
    if made.is_empty() {
        return Err(AssemblyError::EmptyDirectory { path: directory.to_owned() });
    }
    Ok(NamedDevices::without_roles(made))
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
        let text = toml::to_string(self).map_err(|error| AssemblyError::ArrayFile {
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
    pub(super) fn read(directory: &Path) -> Result<Option<Self>, AssemblyError> {
        let path = directory.join(ARRAY_FILE);
        let wrong = |message: String| AssemblyError::ArrayFile { path: path.clone(), message };
        match read_file(&path) {
            Ok(text) => toml_text::read(&text).map(Some).map_err(wrong),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(AssemblyError::ArrayFileUnreadable { path: path.clone(), source }),
        }
    }
}

/// Reads a file; fails at once if it is something else, such as a pipe, whose reader would wait.
fn read_file(path: &Path) -> io::Result<String> {
    // Such a pipe may also take the file's place before it is opened.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let mut file = File::from(open(path, flags, Mode::empty())?);
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a file"));
    }
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    Ok(text)
}

/// Records in `array.toml`, if the array has one, where its devices are: they may have been found under other names
/// than those of their roles. A device that is missing keeps its name, or has one that is left over if another device
/// has that.
///
/// # Errors
/// If the file cannot be read or written.
pub(super) fn record_paths(
    place: &ArrayLocation,
    array: &AssembledArray,
) -> Result<(), AssemblyError> {
    let ArrayLocation::Directory(directory) = place else { return Ok(()) };
    let Some(mut file) = ArrayFile::read(directory)? else { return Ok(()) };
    let devices = array.spindles.iter().chain(&array.logs);
    let found: Vec<Option<PathBuf>> = devices
        .map(|device| device.as_ref().map(|device| as_named(directory, device.path())))
        .collect();
    let of_roles = |names: &[PathBuf], roles: usize| -> Vec<Option<PathBuf>> {
        (0..roles).map(|at| names.get(at).cloned()).collect()
    };
    let before = [
        of_roles(&file.spindles, array.spindles.len()),
        of_roles(file.log.paths(), array.logs.len()),
    ]
    .concat();
    let is_in =
        |names: &[Option<PathBuf>], name: &PathBuf| names.iter().flatten().any(|one| one == name);
    let own = before.iter().map(|own| own.clone().filter(|own| !is_in(&found, own)));
    let kept: Vec<_> = found.iter().zip(own).map(|(found, own)| found.clone().or(own)).collect();
    let mut left = before.iter().flatten().filter(|name| !is_in(&kept, name));
    let name = |kept: &Option<PathBuf>| kept.as_ref().or_else(|| left.next()).cloned();
    let mut names: Vec<PathBuf> = kept.iter().map(name).map(Option::unwrap_or_default).collect();
    file.log = LogPaths::of(names.split_off(array.spindles.len()));
    file.spindles = names;
    file.write(directory)
}
