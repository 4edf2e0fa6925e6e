//! Logs the operations of a run as a fio iolog.

use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use strewn_array::{Direction, HostOperation};
use strewn_formats::WriteError;
use strewn_formats::fio::{IologAction, IologVersion, IologWriter};
use strewn_scenario::Lun;
use strewn_sim::Watch;
use thiserror::Error;

/// The log's name for an only LUN.
const LUN: &str = "lun";

/// Returns the log's names for the LUNs of an array, which have no white space.
fn names_of(luns: &[&Lun]) -> Vec<String> {
    let name = |(number, lun): (usize, &&Lun)| match &lun.name {
        Some(name) if luns.len() > 1 => {
            let name = name.replace(|c: char| c.is_whitespace() || c.is_control(), "-");
            format!("{LUN}-{number}-{}", name.chars().take(40).collect::<String>())
        }
        _ => LUN.to_owned(),
    };
    (1..).zip(luns).map(name).collect()
}

/// A log of operations cannot be written.
#[derive(Debug, Error)]
#[error("cannot write the log of operations {}: {source}", .path.display())]
pub struct IologError {
    path: PathBuf,
    source: WriteError,
}

/// The log of an array's operations: written to a temporary file, and renamed when complete.
pub(crate) struct Recording {
    path: PathBuf,
    temporary: PathBuf,
    luns: Arc<[String]>,
    state: Arc<Mutex<State>>,
}

/// The writer, or the first failure.
type State = Result<IologWriter<BufWriter<File>>, WriteError>;

/// Returns the file that [`RunOptions::record_iolog`](crate::RunOptions::record_iolog) uses for the array called
/// `name`: `path` itself if it is the only one.
///
/// ```
/// use std::path::Path;
///
/// let path = strewn_run::iolog_of_array(Path::new("logs/run.log"), "EVA4400", 2);
/// assert_eq!(path, Path::new("logs/run.EVA4400.log"));
/// ```
#[must_use]
pub fn iolog_of_array(path: &Path, name: &str, arrays: usize) -> PathBuf {
    if arrays == 1 {
        return path.to_owned();
    }
    // A name may contain any character.
    let name = name.replace(['/', '\\', '\0'], "-");
    let mut file = path.file_stem().unwrap_or_default().to_owned();
    file.push(format!(".{name}"));
    if let Some(extension) = path.extension() {
        file.push(".");
        file.push(extension);
    }
    path.with_file_name(file)
}

impl Recording {
    pub(crate) fn begin(path: PathBuf, luns: &[&Lun]) -> Result<Self, IologError> {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{}.tmp", std::process::id()));
        let temporary = path.with_file_name(name);
        let begun = || {
            let file = BufWriter::new(File::create(&temporary)?);
            IologWriter::new(file, IologVersion::V3)
        };
        match begun() {
            Ok(writer) => Ok(Self {
                path,
                temporary,
                luns: names_of(luns).into(),
                state: Arc::new(Mutex::new(Ok(writer))),
            }),
            Err(source) => Err(IologError { path, source }),
        }
    }

    /// Returns the callback that logs each operation.
    pub(crate) fn watch(&self) -> Watch {
        let (state, luns) = (Arc::clone(&self.state), Arc::clone(&self.luns));
        Box::new(move |now_ns, operation: &HostOperation<()>| {
            let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
            let Ok(writer) = &mut *state else { return };
            let offset_bytes = operation.first_sector * 512;
            let length_bytes = u64::from(operation.sectors) * 512;
            let action = match operation.direction {
                Direction::Read => IologAction::Read { offset_bytes, length_bytes },
                Direction::Write => IologAction::Write { offset_bytes, length_bytes },
            };
            // fio counts in microseconds. Each host has numbers of its own for the LUNs.
            if let Err(error) = writer.write(
                now_ns / 1000,
                &luns[usize::from(operation.lun.0) % luns.len()],
                action,
            ) {
                *state = Err(error);
            }
        })
    }

    /// Renames the complete log into place.
    pub(crate) fn finish(self) -> Result<(), IologError> {
        let placeholder = Err(WriteError::Io(io::Error::other("taken")));
        let state = std::mem::replace(
            &mut *self.state.lock().unwrap_or_else(PoisonError::into_inner),
            placeholder,
        );
        let finished = state.and_then(IologWriter::finish).and_then(|file| {
            file.into_inner().map_err(|error| error.into_error())?.sync_all()?;
            Ok(fs::rename(&self.temporary, &self.path)?)
        });
        finished.map_err(|source| IologError { path: self.path.clone(), source })
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        // After a rename there is nothing to remove.
        let _ = fs::remove_file(&self.temporary);
    }
}
