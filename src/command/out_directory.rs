//! The directory that results are written to.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use strewn::terminal::Failure;

use super::replace_file::Replacement;

/// A directory that was checked before the run, so that no run is lost to an unwritable one.
#[derive(Debug)]
pub(crate) struct OutDirectory {
    path: PathBuf,
    names: Vec<String>,
}

/// A file to write: its name and contents.
pub(crate) type OutFile = (String, Vec<u8>);

impl OutDirectory {
    /// Checks that files of these names can be written to the directory at `path`, which need not exist yet.
    pub(crate) fn check(path: &Path, force: bool, names: Vec<String>) -> Result<Self, Failure> {
        let shown = path.display();
        if path.is_dir() {
            let empty =
                fs::read_dir(path).map_err(|error| unusable(path, &error))?.next().is_none();
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
        } else if path.symlink_metadata().is_ok() {
            return Err(Failure::bad_input(
                format!("--out {shown} is not a directory"),
                format!("give the directory that {} and the other files go into", names[0]),
            ));
        }
        try_to_write(path).map_err(|error| unusable(path, &error))?;
        Ok(Self { path: path.to_owned(), names })
    }

    /// Returns the path of the directory.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes files whose names were checked: first each beside its target, then renamed into place. Checked names
    /// that are not among `files` belong to other results, and are removed.
    pub(crate) fn write(&self, files: &[OutFile]) -> Result<(), Failure> {
        let failed = |error: io::Error| {
            Failure::failed(format!("cannot write results into {}: {error}", self.path.display()))
        };
        debug_assert!(files.iter().all(|(name, _)| self.names.contains(name)));
        fs::create_dir_all(&self.path).map_err(failed)?;
        let write =
            |(name, contents): &OutFile| Replacement::write(&self.path.join(name), contents);
        let written: Vec<Replacement> =
            files.iter().map(write).collect::<Result<_, _>>().map_err(failed)?;
        written.into_iter().try_for_each(Replacement::put_in_place).map_err(failed)?;
        let left = self.names.iter().filter(|name| files.iter().all(|(file, _)| file != *name));
        for name in left {
            match fs::remove_file(self.path.join(name)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
                _ => {}
            }
        }
        Ok(())
    }
}

/// Tests by trial whether results can be written: in the directory, or in its nearest existing ancestor. Permission
/// bits do not tell: file systems are mounted read-only, and directories have access control lists.
fn try_to_write(path: &Path) -> io::Result<()> {
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
