//! An array that is there, opened and started.

use std::path::Path;

use clap::ValueEnum;
use strewn::terminal::{self, Failure};
use strewn_live::assembly::{Assembled, OpenOptions, Place, open};
use strewn_live::configuration::ArrayConfig;
use strewn_live::device::{Engine, RealDevices, open_devices};
use strewn_live::format::Label;
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

/// How an array that was opened is made.
pub(crate) fn config_of(assembled: &Assembled) -> Result<ArrayConfig, Failure> {
    let config = assembled.configuration.array();
    config.map_err(|error| Failure::bad_input(error.to_string(), error.remedy()))
}

/// The devices of an array that is read while it does not run, and its label.
pub(crate) fn devices_at_rest(
    assembled: Assembled,
    io: Io,
) -> Result<(RealDevices, Label), Failure> {
    // The newest label may be the log's, which is of another size.
    let label = assembled.label_of(Some(0));
    let files = assembled.spindles.into_iter().chain([Some(assembled.log)]);
    let devices = open_devices(files, io.into())
        .map_err(|error| Failure::failed(format!("its devices cannot be read: {error}")))?;
    Ok((devices, label))
}

/// Starts what was opened.
pub(crate) fn start_array(assembled: Assembled, io: Io) -> Result<Started, Failure> {
    start(assembled, io.into()).map_err(|error| {
        Failure::failed(format!("the array does not start: {error}"))
            .with_help("`strewn array status` says what is wrong; nothing was lost by trying")
    })
}
