//! `strewn array replace`.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::Args;
use strewn::terminal::{self, Ending, Failure};
use strewn_live::assembly::{
    ArrayLocation, AssemblyError, NewLog, OpenOptions, ReplacementDevice, log_to_replace, look,
    open, open_to_replace, prepare_replacement, unused_path,
};
use strewn_live::device::Space;
use strewn_live::format::DeviceRole;
use strewn_live::restart::RestartError;
use strewn_live::starting::{StartError, StartedArray, start, start_with_lost_writes};

use super::opened::{Io, Tenths, not_started, say_log_warnings, say_problems, start_array};
use super::{not_assembled, not_changed, spindle_number};

/// Replace a spindle by another device and rebuild it, or replace the log
#[derive(Debug, Args)]
pub(crate) struct ReplaceArguments {
    /// The directory that the array was created in
    directory: PathBuf,
    /// The number of the spindle, counted from 0, or log
    ///
    /// Of a mirrored log, log is the device that has failed or is missing, and log-a or log-b names one.
    #[arg(value_name = "N|log|log-a|log-b")]
    member: Replaced,
    /// The new device or file [default: a new file in DIR]
    #[arg(long, value_name = "DEVICE")]
    with: Option<PathBuf>,
    /// Overwrite any data on the new device
    #[arg(long, requires = "with")]
    force: bool,
    /// Replace a lost or damaged log that held acknowledged writes
    ///
    /// Those writes are lost.
    #[arg(long)]
    lose_writes: bool,
    /// Proceed degraded: mark other missing spindles as failed
    #[arg(long)]
    degraded: bool,
    /// I/O backend
    #[arg(long, value_enum, default_value_t)]
    io: Io,
}

/// The device to replace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Replaced {
    Spindle(u16),
    /// The log, or a device of a mirrored log if it is named.
    Log(Option<DeviceRole>),
}

impl FromStr for Replaced {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "log" => Ok(Self::Log(None)),
            "log-a" => Ok(Self::Log(Some(DeviceRole::MirroredLog(0)))),
            "log-b" => Ok(Self::Log(Some(DeviceRole::MirroredLog(1)))),
            number => spindle_number(number)
                .map(Self::Spindle)
                .map_err(|error| error + ", or `log`, `log-a` or `log-b`"),
        }
    }
}

/// Replaces a device of an array that is not in use.
pub(crate) fn replace(arguments: &ReplaceArguments) -> Result<Ending, Failure> {
    match arguments.member {
        Replaced::Spindle(_) if arguments.lose_writes => Err(Failure::bad_input(
            "--lose-writes is for the log: a spindle is rebuilt from the others",
            "leave it out",
        )),
        Replaced::Spindle(spindle) => replace_spindle(arguments, spindle),
        Replaced::Log(named) => replace_the_log(arguments, named),
    }
}

impl ReplaceArguments {
    fn place(&self) -> ArrayLocation {
        ArrayLocation::Directory(self.directory.clone())
    }

    /// Returns the replacement for a device.
    fn new_device(&self, role: DeviceRole) -> ReplacementDevice {
        match &self.with {
            Some(path) => ReplacementDevice::Existing { path: path.clone(), force: self.force },
            None => ReplacementDevice::NewFile {
                path: unused_path(&self.directory, role),
                space: Space::Sparse,
            },
        }
    }
}

fn replace_spindle(arguments: &ReplaceArguments, spindle: u16) -> Result<Ending, Failure> {
    let place = arguments.place();
    let mut assembled = open_to_replace(&place, spindle, arguments.degraded)
        .map_err(|error| not_changed(&error))?;
    say_problems(&assembled);
    let new = arguments.new_device(DeviceRole::Spindle(spindle));
    prepare_replacement(&place, &mut assembled, spindle, &new)
        .map_err(|error| not_changed(&error))?;
    let path = new.path().display();
    if !rebuild(start_array(assembled, arguments.io)?)? {
        let message = format!("spindle {spindle} is not rebuilt: {path} has failed");
        return Err(Failure::failed(message).with_help("replace it with another device"));
    }
    terminal::print(&format!("spindle {spindle} is rebuilt on {path}\n"))?;
    Ok(Ending::Complete)
}

/// Rebuilds until done or interrupted, and shuts the array down. Returns whether the array is whole.
fn rebuild(started: StartedArray) -> Result<bool, Failure> {
    let stop = terminal::stop_when_interrupted();
    let mut rebuilt = Tenths::of("rebuilt");
    let is_whole = started
        .rebuild(&mut |done| {
            rebuilt.are(done);
            !stop()
        })
        .map_err(|error| {
            Failure::failed(format!("the rebuild has ended early: {error}")).with_help(
                "nothing is lost: it begins anew when the array is served, run or scrubbed; \
                 `strewn array status` says how the devices are",
            )
        })?;
    if !is_whole && stop() {
        return Err(Failure::stopped("stopped: not all is rebuilt".to_owned())
            .with_help("the rebuild begins anew when the array is served, run or scrubbed"));
    }
    Ok(is_whole)
}

fn replace_the_log(
    arguments: &ReplaceArguments,
    named: Option<DeviceRole>,
) -> Result<Ending, Failure> {
    let place = arguments.place();
    let role = log_to_replace(&place, named, arguments.degraded, arguments.lose_writes);
    let role = role.map_err(|error| not_changed(&error))?;
    let by = arguments.new_device(role);
    let new = NewLog::prepare(&place, role, &by, arguments.degraded);
    let new = new.map_err(|error| not_changed(&error))?;
    if !new.is_clean {
        bring_to_spindles(arguments, &place)?;
    }
    let is_lossy =
        new.install(&place, arguments.lose_writes).map_err(|error| not_changed(&error))?;
    if is_lossy {
        warn_of_lost_writes();
        accept_lost_writes(arguments, &place)?;
    }
    terminal::print(&format!("{role} is now {}\n", by.path().display()))?;
    Ok(Ending::Complete)
}

/// Starts the array without what only its former log had, and shuts it down: its superblock may name records of that
/// log, and then no other start accepts the new one.
fn accept_lost_writes(arguments: &ReplaceArguments, place: &ArrayLocation) -> Result<(), Failure> {
    let options = OpenOptions { degraded: arguments.degraded, read_only: false };
    let assembled = open(place, options).map_err(|error| not_assembled(&error))?;
    let started = start_with_lost_writes(assembled, arguments.io.into());
    rebuild(started.map_err(|error| not_started(&error))?)?;
    Ok(())
}

fn warn_of_lost_writes() {
    terminal::say(
        "warning: what the log alone had is lost: scrub the array, and check what is on the LUN",
    );
}

/// Replays the log to the spindles, as far as possible. A missing log has nothing to replay, and an unusable one is
/// treated the same if lost writes are accepted.
fn bring_to_spindles(arguments: &ReplaceArguments, place: &ArrayLocation) -> Result<(), Failure> {
    let options = OpenOptions { degraded: arguments.degraded, read_only: false };
    let logs = look(place).map(|status| status.logs).unwrap_or_default();
    let is_log = |path: &Path| logs.iter().any(|log| log.path.as_deref() == Some(path));
    let open_again = || match open(place, options) {
        Ok(assembled) => Ok(Some(assembled)),
        // The replacement finds out whether the log alone is unusable.
        Err(AssemblyError::Unusable { .. }) => Ok(None),
        Err(AssemblyError::LogNeeded { .. }) if arguments.lose_writes => Ok(None),
        // The log can be read but not labelled.
        Err(AssemblyError::Io { path, .. }) if arguments.lose_writes && is_log(&path) => Ok(None),
        Err(error) => Err(not_assembled(&error)),
    };
    let Some(assembled) = open_again()? else { return Ok(()) };
    say_problems(&assembled);
    let started = match start(assembled, arguments.io.into()) {
        Err(StartError::Restart(RestartError::LogBreaksOff(_))) if arguments.lose_writes => {
            let Some(assembled) = open_again()? else { return Ok(()) };
            let started = start_with_lost_writes(assembled, arguments.io.into());
            // After this the array no longer records that writes are missing.
            started.inspect(|_| warn_of_lost_writes())
        }
        // The log is replaced, and its contents are lost.
        Err(StartError::Restart(RestartError::Log(_))) if arguments.lose_writes => return Ok(()),
        started => started,
    };
    let started = started.map_err(|error| not_started(&error))?;
    say_log_warnings(&started);
    rebuild(started)?;
    Ok(())
}
