//! `strewn array replace`.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::Args;
use strewn::terminal::{self, Ending, Failure};
use strewn_live::assembly::{
    AssemblyError, NewDevice, OpenOptions, Place, free_name, name_device, open,
    prepare_replacement, replace_log,
};
use strewn_live::device::Space;
use strewn_live::restart::RestartError;
use strewn_live::starting::{StartError, Started, start, start_with_lost_writes};

use super::opened::{Io, Tenths, not_started, open_array, start_array};
use super::{not_assembled, not_changed, spindle_number};

/// Put another device in the place of a spindle, and rebuild it; or of the log
#[derive(Debug, Args)]
pub(crate) struct ReplaceArguments {
    /// The array's directory
    directory: PathBuf,
    /// The spindle's number, from 0, or `log`
    #[arg(value_name = "N|log")]
    member: Replaced,
    /// The new device: a block device or a file that is there; without it a file is made in the directory
    #[arg(long, value_name = "DEVICE")]
    with: Option<PathBuf>,
    /// Write over what the new device holds
    #[arg(long, requires = "with")]
    force: bool,
    /// Replace a log that is gone or damaged though it had what the host was told is safe: go on with what is left
    #[arg(long)]
    lose_writes: bool,
    /// How devices are asked
    #[arg(long, value_enum, default_value_t)]
    io: Io,
}

/// What is replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Replaced {
    Spindle(u16),
    Log,
}

impl FromStr for Replaced {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "log" => Ok(Self::Log),
            number => {
                spindle_number(number).map(Self::Spindle).map_err(|error| error + ", or `log`")
            }
        }
    }
}

/// Replaces a device of an array that nobody uses.
pub(crate) fn replace(arguments: &ReplaceArguments) -> Result<Ending, Failure> {
    match arguments.member {
        Replaced::Spindle(_) if arguments.lose_writes => Err(Failure::bad_input(
            "--lose-writes is for the log: a spindle is rebuilt from the others",
            "leave it out",
        )),
        Replaced::Spindle(spindle) => replace_spindle(arguments, spindle),
        Replaced::Log => replace_the_log(arguments),
    }
}

impl ReplaceArguments {
    /// The device that takes the place, and its path.
    fn new_device(&self, position: Option<u16>) -> (NewDevice, PathBuf) {
        match &self.with {
            Some(path) => {
                (NewDevice::Given { path: path.clone(), force: self.force }, path.clone())
            }
            None => {
                let path = free_name(&self.directory, position);
                (NewDevice::Made { path: path.clone(), space: Space::Sparse }, path)
            }
        }
    }

    fn name(&self, position: Option<u16>, path: &Path) -> Result<(), Failure> {
        name_device(&self.directory, position, path)
            .map_err(|error| Failure::failed(error.to_string()).with_help(error.remedy()))
    }
}

fn replace_spindle(arguments: &ReplaceArguments, spindle: u16) -> Result<Ending, Failure> {
    let mut assembled =
        open_array(&arguments.directory, OpenOptions { degraded: true, read_only: false })?;
    let is_whole = assembled.spindles.get(usize::from(spindle)).is_some_and(Option::is_some)
        && !assembled.lost().contains(&spindle);
    if is_whole {
        return Err(Failure::bad_input(
            format!("spindle {spindle} is whole, and what it has would be given up"),
            format!("if it is to go, mark it as failed first: `strewn array fail DIR {spindle}`"),
        ));
    }
    let (new, path) = arguments.new_device(Some(spindle));
    prepare_replacement(&mut assembled, spindle, &new).map_err(|error| not_changed(&error))?;
    arguments.name(Some(spindle), &path)?;
    if !rebuild(start_array(assembled, arguments.io)?)? {
        let message = format!("spindle {spindle} is not rebuilt: {} has failed", path.display());
        return Err(Failure::failed(message).with_help("replace it with another device"));
    }
    terminal::print(&format!("spindle {spindle} is rebuilt on {}\n", path.display()))?;
    Ok(Ending::Complete)
}

/// Rebuilds what is rebuilding, and shuts the array down; whether all is whole then.
fn rebuild(started: Started) -> Result<bool, Failure> {
    let stop = terminal::stop_when_interrupted();
    let mut rebuilt = Tenths::of("rebuilt");
    let is_whole = started
        .rebuild(|done| {
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

fn replace_the_log(arguments: &ReplaceArguments) -> Result<Ending, Failure> {
    let place = Place::Directory(arguments.directory.clone());
    let lost_of_it = bring_to_spindles(arguments, &place)?;
    let (new, path) = arguments.new_device(None);
    let lost_with_it =
        replace_log(&place, &new, arguments.lose_writes).map_err(|error| not_changed(&error))?;
    arguments.name(None, &path)?;
    terminal::print(&format!("the log is now {}\n", path.display()))?;
    if lost_of_it || lost_with_it {
        terminal::say(
            "warning: writes since the last consistency point are lost: check what is on the LUN, and scrub the array",
        );
    }
    Ok(Ending::Complete)
}

/// Brings what the log has to the spindles, as far as it can be had; whether something of it is lost. A log that is not there
/// has nothing.
fn bring_to_spindles(arguments: &ReplaceArguments, place: &Place) -> Result<bool, Failure> {
    let options = OpenOptions { degraded: true, read_only: false };
    let open_again = || match open(place, options) {
        Ok(assembled) => Ok(Some(assembled)),
        // Whether it is the log alone is found out when it is replaced.
        Err(AssemblyError::Unusable { .. }) => Ok(None),
        Err(error) => Err(not_assembled(&error)),
    };
    let Some(assembled) = open_again()? else { return Ok(false) };
    let (started, is_lost) = match start(assembled, arguments.io.into()) {
        Ok(started) => (started, false),
        Err(StartError::Restart(RestartError::LogBreaksOff(_) | RestartError::Log(_)))
            if arguments.lose_writes =>
        {
            let Some(assembled) = open_again()? else { return Ok(true) };
            match start_with_lost_writes(assembled, arguments.io.into()) {
                Ok(started) => (started, true),
                Err(StartError::Restart(RestartError::Log(_))) => return Ok(true),
                Err(error) => return Err(not_started(&error)),
            }
        }
        Err(error) => return Err(not_started(&error)),
    };
    rebuild(started)?;
    Ok(is_lost)
}
