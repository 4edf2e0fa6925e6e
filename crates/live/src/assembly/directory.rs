//! The directory of an array under creation.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::error::{AssemblyError, MembershipError};
use super::location::ArrayFile;
use super::names::{ARRAY_FILE, is_array_file_name, is_created_name};
use super::probe::is_of_an_array;
use crate::device::{DeviceFile, OpenDeviceError, Space, remedy_of_system};

/// A directory that is fit for a new array. Nothing was written to it yet.
pub(super) struct Directory {
    path: PathBuf,
    is_there: bool,
    /// Files of a former array, to be removed. They are open, so that no other process uses them.
    before: Vec<DeviceFile>,
}

/// A directory with a part of an array in it. Created files are removed again, unless it is [kept](Self::keep).
pub(super) struct Prepared {
    path: PathBuf,
    made: Vec<PathBuf>,
    made_directory: bool,
}

impl Directory {
    /// Checks that `path` is fit for a new array, or does not exist yet.
    ///
    /// # Errors
    /// If it is not a directory; without `force`, if it holds an array's files; with it, if another process has those
    /// open.
    pub(super) fn check(path: &Path, force: bool) -> Result<Self, MembershipError> {
        let wrong = |message: String| MembershipError::Directory { path: path.to_owned(), message };
        let unreadable = |source: io::Error| match remedy_of_system(&source) {
            Some(_) => {
                OpenDeviceError::System { path: path.to_owned(), action: "read", source }.into()
            }
            None => wrong(source.to_string()),
        };
        let entries = match fs::read_dir(path) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let parent = path.parent().filter(|parent| *parent != Path::new(""));
                if parent.is_some_and(|parent| !parent.is_dir()) {
                    return Err(wrong("the directory above it is not there".to_owned()));
                }
                return Ok(Self { path: path.to_owned(), is_there: false, before: Vec::new() });
            }
            Err(error) => return Err(unreadable(error)),
        };
        let mut names = Vec::new();
        for entry in entries {
            let name = entry.map_err(unreadable)?.file_name();
            let own = Path::new(&name);
            // A file that is only named like a replacement belongs to something else.
            let is_replacement = || is_array_file_name(own) && is_of_an_array(&path.join(own));
            if is_created_name(own) || name == ARRAY_FILE || is_replacement() {
                names.push(PathBuf::from(name));
            }
        }
        names.sort();
        if let (Some(name), false) = (names.first(), force) {
            let (path, what) = (path.to_owned(), name.display().to_string());
            return Err(MembershipError::HoldsArray { path, what });
        }
        let files = names.iter().filter(|name| is_array_file_name(name));
        let before: Result<_, _> = files.map(|name| DeviceFile::open(path.join(name))).collect();
        Ok(Self { path: path.to_owned(), is_there: true, before: before? })
    }

    /// Creates the directory, or removes a former array from it.
    pub(super) fn prepare(self) -> Result<Prepared, MembershipError> {
        if !self.is_there {
            let wrong = |error: io::Error| MembershipError::Directory {
                path: self.path.clone(),
                message: error.to_string(),
            };
            fs::create_dir(&self.path).map_err(wrong)?;
        }
        let gone = |path: &Path| match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(AssemblyError::io(path, "cannot remove it")(error))
            }
            _ => Ok(()),
        };
        if self.is_there {
            gone(&self.path.join(ARRAY_FILE))?;
        }
        self.before.iter().try_for_each(|device| gone(device.path()))?;
        Ok(Prepared { path: self.path, made: Vec::new(), made_directory: !self.is_there })
    }
}

impl Prepared {
    /// Creates a file of `bytes` bytes for a device.
    pub(super) fn make(
        &mut self,
        name: &str,
        bytes: u64,
        space: Space,
    ) -> Result<DeviceFile, MembershipError> {
        let path = self.path.join(name);
        let device = DeviceFile::create(&path, bytes, space)?;
        self.made.push(path);
        Ok(device)
    }

    /// Writes `array.toml`.
    pub(super) fn write(&mut self, file: &ArrayFile) -> Result<(), AssemblyError> {
        file.write(&self.path)?;
        self.made.push(self.path.join(ARRAY_FILE));
        Ok(())
    }

    /// Keeps everything: the array is complete.
    pub(super) fn keep(mut self) {
        self.made.clear();
        self.made_directory = false;
    }
}

impl Drop for Prepared {
    fn drop(&mut self) {
        // The error that led here is the one to report.
        for path in &self.made {
            let _ = fs::remove_file(path);
        }
        if self.made_directory {
            let _ = fs::remove_dir(&self.path);
        }
    }
}
