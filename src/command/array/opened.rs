//! Opening and starting an existing array.

use std::path::Path;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use strewn::terminal::{self, Failure};
use strewn_live::assembly::{ArrayLocation, AssembledArray, OpenOptions, open};
use strewn_live::configuration::ArrayConfig;
use strewn_live::device::{IoBackend, RealDevices, open_devices};
use strewn_live::format::{DeviceRole, Label};
use strewn_live::starting::{StartError, StartedArray, start};

use super::not_assembled;

/// The I/O backend of the devices.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Io {
    /// io_uring where the kernel supports and allows it, otherwise threads.
    #[default]
    Auto,
    /// io_uring only.
    Uring,
    /// Several threads per device.
    Threads,
}

impl From<Io> for IoBackend {
    fn from(io: Io) -> Self {
        match io {
            Io::Auto => Self::Auto,
            Io::Uring => Self::Uring,
            Io::Threads => Self::Threads,
        }
    }
}

/// Opens the array in `directory`, and prints a warning for each problem that does not keep it from starting.
pub(crate) fn open_array(
    directory: &Path,
    options: OpenOptions,
) -> Result<AssembledArray, Failure> {
    let assembled = open(&ArrayLocation::Directory(directory.to_owned()), options)
        .map_err(|error| not_assembled(&error))?;
    say_problems(&assembled);
    Ok(assembled)
}

/// Prints a warning for each problem of an array that was opened in spite of it.
pub(crate) fn say_problems(assembled: &AssembledArray) {
    for problem in &assembled.problems {
        terminal::say(&format!("warning: {problem}"));
    }
}

/// Returns the configuration of an opened array.
pub(crate) fn config_of(assembled: &AssembledArray) -> Result<ArrayConfig, Failure> {
    let config = assembled.configuration.array();
    config.map_err(|error| Failure::bad_input(error.to_string(), error.remedy()))
}

/// Returns the devices of an array that is read while it is not running, and its label.
pub(crate) fn devices_at_rest(
    assembled: AssembledArray,
    io: Io,
) -> Result<(RealDevices, Label), Failure> {
    // The newest label may be the log's, whose size differs.
    let label = assembled.label_of(DeviceRole::Spindle(0));
    let devices = open_devices(assembled.into_devices(), io.into()).map_err(StartError::Devices);
    let devices = devices.map_err(|error| not_started(&error))?;
    Ok((devices, label))
}

/// Work shorter than this prints no progress.
const SAY_AFTER: Duration = Duration::from_secs(2);

/// Prints the progress of long work in tenths, at limited intervals.
pub(crate) struct Tenths {
    what: &'static str,
    said: u32,
    said_at: Instant,
}

impl Tenths {
    pub(crate) fn of(what: &'static str) -> Self {
        Self { what, said: 0, said_at: Instant::now() }
    }

    /// Reports that the fraction `done`, 0 to 1, is complete.
    pub(crate) fn are(&mut self, done: f64) {
        let tenths = (done * 10.0) as u32;
        if tenths > self.said && self.said_at.elapsed() >= SAY_AFTER {
            (self.said, self.said_at) = (tenths, Instant::now());
            terminal::say(&format!("{}: {} %", self.what, tenths * 10));
        }
    }
}

/// Starts an opened array, and prints a warning for what is wrong with a device of a mirrored log.
pub(crate) fn start_array(assembled: AssembledArray, io: Io) -> Result<StartedArray, Failure> {
    let started = start(assembled, io.into()).map_err(|error| not_started(&error))?;
    say_log_warnings(&started);
    Ok(started)
}

/// Prints a warning for what is wrong with a device of a mirrored log.
pub(crate) fn say_log_warnings(started: &StartedArray) {
    for warning in started.log_warnings() {
        terminal::say(&format!("warning: {warning}"));
    }
}

/// Returns the failure for an array that does not start.
pub(crate) fn not_started(error: &StartError) -> Failure {
    let message = format!("the array does not start: {error}");
    match error.is_refusal() {
        true => Failure::bad_input(message, error.remedy()),
        false => Failure::failed(message).with_help(error.remedy()),
    }
}
