//! The file that response times are written to.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use strewn::terminal::{self, Failure};

use strewn::Replacement;

/// The first line of responses.
pub(super) const RESPONSES_HEADER: &str = "id,response_ms\n";

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
    /// Checks that responses to `trace` can be written to `path`. A file that is there is replaced if it holds
    /// responses.
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
        let Some(file) = file else {
            // What is written into a drive is gone, as what is written over a file is.
            if is_block_device(&present) {
                return Err(unusable("is a block device"));
            }
            return Ok(Self::Device(path.to_owned()));
        };
        if trace.canonicalize().is_ok_and(|trace| trace == file) {
            return Err(unusable("is the trace itself"));
        }
        if !holds_responses(&file).map_err(|error| unusable(&error.to_string()))? {
            return Err(unusable("is there, and holds no response times"));
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

#[cfg(unix)]
fn is_block_device(present: &fs::Metadata) -> bool {
    std::os::unix::fs::FileTypeExt::is_block_device(&present.file_type())
}

#[cfg(not(unix))]
fn is_block_device(_: &fs::Metadata) -> bool {
    false
}

/// Whether a file is empty or begins as responses do.
fn holds_responses(file: &Path) -> io::Result<bool> {
    let mut first = Vec::new();
    fs::File::open(file)?.take(RESPONSES_HEADER.len() as u64).read_to_end(&mut first)?;
    Ok(first.is_empty() || first == RESPONSES_HEADER.as_bytes())
}

/// Tests by trial whether a file can be created beside `path`; directory permission bits do not tell.
fn try_to_write(path: &Path) -> io::Result<()> {
    drop(Replacement::write(path, b"")?);
    Ok(())
}
