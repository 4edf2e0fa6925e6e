//! An array that is there, opened and started.

use std::path::Path;

use clap::ValueEnum;
use strewn::terminal::{self, Failure};
use strewn_live::assembly::{Assembled, OpenOptions, Place, open};
use strewn_live::device::Engine;
use strewn_live::starting::{Started, start};

use super::not_assembled;

/// How devices are asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Io {
    /// io_uring where the kernel has it and allows it, otherwise threads.
    #[default]
    Auto,
    /// io_uring, or not at all.
    Uring,
    /// Some threads a device.
    Threads,
}

impl From<Io> for Engine {
    fn from(io: Io) -> Self {
        match io {
            Io::Auto => Self::Auto,
            Io::Uring => Self::Uring,
            Io::Threads => Self::Threads,
        }
    }
}

/// Opens the array in `directory`; what is wrong and does not keep it from starting is said.
pub(crate) fn open_array(directory: &Path, options: OpenOptions) -> Result<Assembled, Failure> {
    let assembled = open(&Place::Directory(directory.to_owned()), options)
        .map_err(|error| not_assembled(&error))?;
    for problem in &assembled.problems {
        terminal::say(&format!("warning: {problem}"));
    }
    Ok(assembled)
}

/// Starts what was opened.
pub(crate) fn start_array(assembled: Assembled, io: Io) -> Result<Started, Failure> {
    start(assembled, io.into()).map_err(|error| {
        Failure::failed(format!("the array does not start: {error}"))
            .with_help("`strewn array status` says what is wrong; nothing was lost by trying")
    })
}
