//! Where an array's devices are: a directory with `array.toml`, or a list.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// The file in an array's directory that names its devices.
pub const ARRAY_FILE: &str = "array.toml";

/// The name of the log's file, where one was made.
pub(super) const LOG_FILE: &str = "log";

/// The name of a spindle's file, where one was made.
pub(super) fn spindle_file(position: u16) -> String {
    format!("spindle-{position:02}")
}

/// Where an array's devices are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A directory that `create` made an array in.
    Directory(PathBuf),
    /// The devices, the log among them, in any order.
    Devices(Vec<PathBuf>),
}

/// Why it cannot be found out where an array's devices are.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    /// It is not there, or is no directory.
    #[error("{}: {source}", path.display())]
    Directory {
        /// The path that was given.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// It holds no array.
    #[error("{} holds no array: neither {ARRAY_FILE} nor files of spindles", path.display())]
    Empty {
        /// The directory.
        path: PathBuf,
    },
    /// What names the devices cannot be read.
    #[error("{}: {message}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        message: String,
    },
}

impl PlaceError {
    /// What can be done about it.
    #[must_use]
    pub fn remedy(&self) -> String {
        match self {
            Self::Directory { .. } | Self::Empty { .. } => {
                "give the directory that the array was created in".to_owned()
            }
            Self::File { .. } => format!(
                "correct it, or move it away: without {ARRAY_FILE} the files of the directory are looked at"
            ),
        }
    }
}

/// What `array.toml` says. A convenience: what counts are the labels.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ArrayFile {
    /// The array's identity.
    pub(super) array: String,
    /// Devices of the spindles by position: relative to the directory, or absolute.
    pub(super) spindles: Vec<PathBuf>,
    /// The device of the log.
    pub(super) log: PathBuf,
}

/// The devices that an array may consist of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Named {
    /// By position, where the place says so; otherwise in the order given.
    pub(super) paths: Vec<PathBuf>,
    /// Whether the first of them are the spindles in order of position, as a directory says it, and the last is the log.
    pub(super) in_order: bool,
}

impl Place {
    /// For messages.
    pub(super) fn shown(&self) -> String {
        match self {
            Self::Directory(directory) => directory.display().to_string(),
            Self::Devices(paths) => {
                let paths: Vec<String> =
                    paths.iter().map(|path| path.display().to_string()).collect();
                paths.join(", ")
            }
        }
    }

    /// The devices it names; those need not be there.
    pub(super) fn named(&self) -> Result<Named, PlaceError> {
        match self {
            Self::Devices(paths) => Ok(Named { paths: paths.clone(), in_order: false }),
            Self::Directory(directory) => of_directory(directory),
        }
    }
}

fn of_directory(directory: &Path) -> Result<Named, PlaceError> {
    let unreadable = |source| PlaceError::Directory { path: directory.to_owned(), source };
    let entries = std::fs::read_dir(directory).map_err(unreadable)?;
    if let Some(file) = ArrayFile::read(directory)? {
        let devices = file.spindles.iter().chain([&file.log]);
        // An absolute path replaces the directory.
        let paths = devices.map(|path| directory.join(path)).collect();
        return Ok(Named { paths, in_order: true });
    }
    // Without it there are still the names that files were made by.
    let mut paths: Vec<PathBuf> = Vec::new();
    for entry in entries {
        let name = entry.map_err(unreadable)?.file_name();
        let is_ours = name.to_str().is_some_and(|name| {
            name == LOG_FILE || name.strip_prefix("spindle-").is_some_and(is_number)
        });
        if is_ours {
            paths.push(directory.join(name));
        }
    }
    if paths.is_empty() {
        return Err(PlaceError::Empty { path: directory.to_owned() });
    }
    paths.sort();
    Ok(Named { paths, in_order: false })
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

impl ArrayFile {
    /// What the directory's says; nothing if it has none.
    pub(super) fn read(directory: &Path) -> Result<Option<Self>, PlaceError> {
        let path = directory.join(ARRAY_FILE);
        let wrong = |message: String| PlaceError::File { path: path.clone(), message };
        match std::fs::read_to_string(&path) {
            Ok(text) => {
                toml::from_str(&text).map(Some).map_err(|error| wrong(error.message().to_owned()))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(wrong(error.to_string())),
        }
    }
}
