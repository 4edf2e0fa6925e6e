//! The file that response times are written to.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use strewn::terminal::{self, Failure};

use strewn::Replacement;

/// Where responses are written, checked before the replay.
pub(crate) enum ResponsesFile {
    /// `-`.
    StandardOutput,
    /// A device or a pipe.
    Device(PathBuf),
    /// A file, which need not exist yet.
    File(PathBuf),
}

impl ResponsesFile {
    /// Checks that responses to `trace` can be written to `path`.
    pub(crate) fn check(path: &Path, trace: &Path) -> Result<Self, Failure> {
        if path == Path::new("-") {
            return Ok(Self::StandardOutput);
        }
        let shown = path.display();
        let unusable = |what: &str| {
            let help = "give a file that may be replaced, or - for standard output";
            Failure::bad_input(format!("--out {shown}: {what}"), help)
        };
        let Ok(present) = path.metadata() else {
            let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
            if !parent.unwrap_or(Path::new(".")).is_dir() {
                return Err(unusable("there is no such directory to write it into"));
            }
            try_to_write(path).map_err(|error| unusable(&error.to_string()))?;
            return Ok(Self::File(path.to_owned()));
        };
        if present.is_dir() {
            return Err(unusable("is a directory"));
        }
        // Resolve a symbolic link, so that the file is replaced and not the link.
        let file = path.canonicalize().ok().filter(|_| present.is_file());
        let Some(file) = file else { return Ok(Self::Device(path.to_owned())) };
        if trace.canonicalize().is_ok_and(|trace| trace == file) {
            return Err(unusable("is the trace itself"));
        }
        try_to_write(&file).map_err(|error| unusable(&error.to_string()))?;
        Ok(Self::File(file))
    }

    /// Writes all of the text or none.
    pub(crate) fn write(&self, text: &str) -> Result<(), Failure> {
        let (path, written) = match self {
            Self::StandardOutput => return terminal::print(text),
            Self::Device(path) => {
                let device = fs::OpenOptions::new().write(true).open(path);
                (path, device.and_then(|mut device| device.write_all(text.as_bytes())))
            }
            Self::File(path) => {
                let replacement = Replacement::write(path, text.as_bytes());
                (path, replacement.and_then(Replacement::put_in_place))
            }
        };
        written.map_err(|error| {
            Failure::failed(format!("cannot write responses to {}: {error}", path.display()))
        })
    }
}

/// Tests by trial whether a file can be created beside `path`; directory permission bits do not tell.
fn try_to_write(path: &Path) -> io::Result<()> {
    drop(Replacement::write(path, b"")?);
    Ok(())
}
