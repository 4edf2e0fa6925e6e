//! The other files that a scenario names, and where they come from.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use strewn_spindle::{Profile, ProfileError};

/// The other files that a scenario names: its drive profiles. Whoever reads a scenario says where they come from.
///
/// A path is resolved against the folder of the scenario's file. A map of texts by these paths is such files, so that a
/// program without a disk can give them:
///
/// ```
/// use std::collections::BTreeMap;
/// use std::path::PathBuf;
/// use strewn_scenario::{Scenario, Template};
///
/// let text = Template::named("fas2050").expect("it ships").scenario("mine");
/// let set = [("spindle".to_owned(), "drive.toml".to_owned())];
/// # let profile = include_str!("../../spindle/profiles/seagate-cheetah-15k5-st3146855fc.toml").to_owned();
/// let files = BTreeMap::from([(PathBuf::from("drive.toml"), profile)]);
/// let (scenario, text) = Scenario::parse_with(&text, "mine.toml", &set, &files)?;
/// assert_eq!(Scenario::parse_with_files(&text, "mine.toml", &files)?, scenario);
///
/// // Without them, the profile is refused.
/// assert!(Scenario::parse(&text, "mine.toml").is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Files {
    /// Returns the text of a file.
    ///
    /// # Errors
    ///
    /// If there is no such file, or it cannot be read. [`ErrorKind::Unsupported`] says that there are no files at all.
    fn read(&self, path: &Path) -> Result<String>;
}

/// The files of the disk.
#[derive(Debug, Clone, Copy, Default)]
pub struct Disk;

impl Files for Disk {
    fn read(&self, path: &Path) -> Result<String> {
        std::fs::read_to_string(path)
    }
}

/// No files: a scenario that names one is refused.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoFiles;

impl Files for NoFiles {
    fn read(&self, _path: &Path) -> Result<String> {
        Err(Error::new(ErrorKind::Unsupported, "no files are given"))
    }
}

/// Texts by path.
impl Files for BTreeMap<PathBuf, String> {
    fn read(&self, path: &Path) -> Result<String> {
        let missing = || Error::new(ErrorKind::NotFound, "it is not among the files given");
        self.get(path).cloned().ok_or_else(missing)
    }
}

/// A drive profile in a file, as it was when the scenario was read. Nothing reads the file again.
#[derive(Clone)]
pub struct ProfileFile {
    path: PathBuf,
    text: Arc<str>,
    profile: Arc<Profile>,
}

impl ProfileFile {
    /// Reads and checks a profile's text; `path` is that of its file.
    ///
    /// # Errors
    ///
    /// If the text is not a valid profile.
    pub fn parse(path: impl Into<PathBuf>, text: &str) -> std::result::Result<Self, ProfileError> {
        let path = path.into();
        let profile = Profile::from_toml(text, &path.display().to_string())?;
        Ok(Self { path, text: text.into(), profile: Arc::new(profile) })
    }

    /// Returns the path of its file, resolved against the scenario's folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns it as that of a file at another path.
    #[must_use]
    pub fn at(self, path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), ..self }
    }

    /// Returns the text of the file.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the profile.
    #[must_use]
    pub fn profile(&self) -> &Profile {
        &self.profile
    }
}

/// The text decides what the profile is.
impl PartialEq for ProfileFile {
    fn eq(&self, other: &Self) -> bool {
        self.path == other.path && self.text == other.text
    }
}

impl Eq for ProfileFile {}

/// Without the text, which may be long.
impl fmt::Debug for ProfileFile {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ProfileFile").field("path", &self.path).finish_non_exhaustive()
    }
}

/// Drive profiles, each of which is read once however often a text is.
pub(crate) struct Profiles<'f> {
    files: &'f dyn Files,
    read: RefCell<Vec<ProfileFile>>,
}

impl<'f> Profiles<'f> {
    pub(crate) const fn from(files: &'f dyn Files) -> Self {
        Self { files, read: RefCell::new(Vec::new()) }
    }

    /// These, and no others.
    pub(crate) const fn of(profiles: Vec<ProfileFile>) -> Self {
        Self { files: &NoFiles, read: RefCell::new(profiles) }
    }

    /// Returns the profile in a file, read and checked.
    pub(crate) fn profile(&self, path: &Path) -> std::result::Result<ProfileFile, ProfileError> {
        if let Some(read) = self.read.borrow().iter().find(|read| read.path == path) {
            return Ok(read.clone());
        }
        let unreadable = |source| ProfileError::Read { path: path.display().to_string(), source };
        let read = ProfileFile::parse(path, &self.files.read(path).map_err(unreadable)?)?;
        self.read.borrow_mut().push(read.clone());
        Ok(read)
    }
}
