//! The directory that results are written to.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use strewn::terminal::Failure;

use strewn::Replacement;

/// A directory that was checked before the run, so that no run is lost to an unwritable one.
#[derive(Debug)]
pub(crate) struct OutDirectory {
    path: PathBuf,
    names: Vec<String>,
    _claim: Claim,
}

/// A directory that no other process writes results to. One that was made for it goes again if nothing is in it.
#[derive(Debug)]
struct Claim {
    /// The directories that were made, the outermost first.
    made: Vec<PathBuf>,
    /// Is locked until it is closed; `None` where directories cannot be.
    _lock: Option<File>,
}

impl Claim {
    /// Makes the directory at `path` unless it is there, and locks it.
    fn make(path: &Path) -> Result<Self, Failure> {
        let is_missing = |path: &&Path| !path.as_os_str().is_empty() && !path.exists();
        let missing = path.ancestors().take_while(is_missing).map(Path::to_owned);
        let mut made: Vec<PathBuf> = missing.collect();
        made.reverse();
        let mut claim = Self { made, _lock: None };
        fs::create_dir_all(path).map_err(|error| unusable(path, &error))?;
        claim._lock = match File::open(path).map(|directory| (directory.try_lock(), directory)) {
            Ok((Ok(()), directory)) => Some(directory),
            Ok((Err(TryLockError::WouldBlock), _)) => {
                return Err(Failure::bad_input(
                    format!("--out {}: another run writes its results there", path.display()),
                    "wait for it, or give another directory",
                ));
            }
            // A system or a file system that does not lock directories.
            Ok((Err(TryLockError::Error(_)), _)) | Err(_) => None,
        };
        Ok(claim)
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        // Those that have anything in them stay.
        self.made.iter().rev().all(|path| fs::remove_dir(path).is_ok());
    }
}

/// A file to write: its name and contents.
pub(crate) type OutFile = (String, Vec<u8>);

impl OutDirectory {
    /// Checks that files of these names can be written to the directory at `path`, which need not exist yet.
    pub(crate) fn check(path: &Path, force: bool, names: Vec<String>) -> Result<Self, Failure> {
        let shown = path.display();
        if path.symlink_metadata().is_ok() && !path.is_dir() {
            return Err(Failure::bad_input(
                format!("--out {shown} is not a directory"),
                format!("give the directory that {} and the other files go into", names[0]),
            ));
        }
        try_to_write(path).map_err(|error| unusable(path, &error))?;
        let claim = Claim::make(path)?;
        let empty = fs::read_dir(path).map_err(|error| unusable(path, &error))?.next().is_none();
        if !empty && !force {
            return Err(Failure::bad_input(
                format!("--out {shown}: the directory is not empty"),
                "give another directory, or --force to replace the results in this one",
            ));
        }
        if let Some(name) = names.iter().find(|name| path.join(name).is_dir()) {
            return Err(Failure::bad_input(
                format!(
                    "--out {shown}: {name} in it is a directory, where a file is to be written"
                ),
                "move it away, or give another directory",
            ));
        }
        if let Some(name) = names.iter().find(|name| !is_replaceable(&path.join(name))) {
            return Err(Failure::bad_input(
                format!("--out {shown}: {name} in it is no regular file, and would be replaced"),
                "move it away, or give another directory",
            ));
        }
        Ok(Self { path: path.to_owned(), names, _claim: claim })
    }

    /// Returns the path of the directory.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes files whose names were checked, each complete or not at all. A file that cannot be written does not keep
    /// the others from being written. Checked names that are not among the files written belong to other results, and
    /// are removed; but if results are to be replaced whose first file cannot be, all stay as they are.
    ///
    /// `help` is the remedy, given whether the first file was written.
    pub(crate) fn write(
        &self,
        files: &[OutFile],
        help: impl Fn(bool) -> String,
    ) -> Result<(), Failure> {
        debug_assert!(files.iter().all(|(name, _)| self.names.contains(name)));
        let shown = self.path.display();
        let first = files.first().map(|(name, _)| name.as_str());
        let mut unwritten: Vec<(&str, io::Error)> = Vec::new();
        let mut written: Vec<&str> = Vec::new();
        if let Err(error) = fs::create_dir_all(&self.path) {
            return Err(
                Failure::failed(format!("cannot create {shown}: {error}")).with_help(help(false))
            );
        }
        for (name, contents) in files {
            let file = self.path.join(name);
            let replacement = Replacement::write(&file, contents);
            match replacement.and_then(Replacement::put_in_place) {
                Ok(()) => written.push(name),
                Err(error) => {
                    unwritten.push((name, error));
                    if first == Some(name) && file.exists() {
                        break;
                    }
                }
            }
        }
        let first_is_written = first.is_none_or(|first| written.contains(&first));
        let are_replaced =
            first_is_written || !first.is_some_and(|first| self.path.join(first).exists());
        let left = self.names.iter().filter(|name| !written.contains(&name.as_str()));
        for name in left.filter(|_| are_replaced) {
            match fs::remove_file(self.path.join(name)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    unwritten.push((name, error));
                }
                _ => {}
            }
        }
        if unwritten.is_empty() {
            return Ok(());
        }
        let all: Vec<String> =
            unwritten.iter().map(|(name, error)| format!("{name} ({error})")).collect();
        let rest = match (written.len(), are_replaced) {
            (0, true) => "nothing was written".to_owned(),
            (0, false) => "the results that were there are unchanged".to_owned(),
            (count, _) => format!("{count} other files are written"),
        };
        let message = format!("cannot write into {shown}: {}; {rest}", all.join(", "));
        Err(Failure::failed(message).with_help(help(first_is_written)))
    }
}

/// Whether nothing is at a path, or a regular file: to replace a device, a pipe or a symbolic link is to lose it.
fn is_replaceable(path: &Path) -> bool {
    path.symlink_metadata().map_or(true, |present| present.is_file())
}

/// Refuses a file that a regular one may not replace, with what to do instead.
pub(crate) fn check_replaceable(file: &Path, help: &str) -> Result<(), Failure> {
    match is_replaceable(file) {
        true => Ok(()),
        false => Err(Failure::bad_input(
            format!("{} is there, and is no regular file", file.display()),
            help,
        )),
    }
}

/// Bytes of a file that tell whether this program has written it.
const TELLING_BYTES: u64 = 1 << 20;

/// Refuses what [`check_replaceable`] does, and a file that this program has not written, as `is_own` tells from how it
/// begins. The message is without the file.
pub(crate) fn check_own(file: &Path, is_own: impl Fn(&str) -> bool) -> Result<(), &'static str> {
    match file.symlink_metadata() {
        Err(_) => Ok(()),
        Ok(there) if !there.is_file() => Err("it is there, and is no regular file"),
        Ok(there) => {
            let mut begin = Vec::new();
            let opened = File::open(file);
            let read = opened.and_then(|file| file.take(TELLING_BYTES).read_to_end(&mut begin));
            let is_own = there.len() == 0 || is_own(&String::from_utf8_lossy(&begin));
            match read.is_ok() && is_own {
                true => Ok(()),
                false => Err("it is there, and strewn has not written it"),
            }
        }
    }
}

/// Tests by trial whether results can be written: in the directory, or in its nearest existing ancestor. Permission
/// bits do not tell: file systems are mounted read-only, and directories have access control lists.
pub(crate) fn try_to_write(path: &Path) -> io::Result<()> {
    let nearest = path.ancestors().map(in_words).find(|path| path.exists());
    let trial =
        nearest.unwrap_or(Path::new(".")).join(format!(".strewn.{}.tmp", std::process::id()));
    fs::create_dir(&trial)?;
    fs::remove_dir(&trial)
}

/// Replaces the empty path, the last ancestor of a relative one, by the current directory.
fn in_words(path: &Path) -> &Path {
    if path.as_os_str().is_empty() { Path::new(".") } else { path }
}

fn unusable(path: &Path, error: &io::Error) -> Failure {
    Failure::bad_input(
        format!("--out {}: nothing can be written there: {error}", path.display()),
        "give a directory that you may write to",
    )
}
