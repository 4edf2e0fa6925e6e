//! An array whose volumes, LUNs and snapshots are changed: through the process that serves it, or opened for that.

use std::path::Path;
use std::time::Duration;

use clap::Args;
use strewn::terminal::{self, Ending, Failure};
use strewn_live::administration::{Change, ChangeError, Inventory, NameError};
use strewn_live::assembly::{ArrayLocation, AssemblyError, OpenOptions, Status, look, open};
use strewn_live::control::{ControlClient, ControlError};
use strewn_live::device::OpenDeviceError;
use strewn_live::serving::ArrayThread;

use super::opened::{Io, not_started, say_problems, start_array};
use super::{ArrayDirectory, not_assembled};

/// Delay before the second attempt to reach an array that is just being started or shut down.
const AGAIN: Duration = Duration::from_millis(500);

/// The array to change.
#[derive(Debug, Args)]
pub(super) struct AdministeredArguments {
    #[command(flatten)]
    array: ArrayDirectory,
    /// Proceed degraded, without missing spindles
    ///
    /// If the array is not being served.
    #[arg(long)]
    degraded: bool,
    /// I/O backend
    ///
    /// If the array is not being served.
    #[arg(long, value_enum, default_value_t)]
    io: Io,
}

/// An array that takes changes.
enum Administered {
    /// Another process serves it.
    Served(ControlClient),
    /// It runs for the changes.
    Started(ArrayThread),
}

impl AdministeredArguments {
    pub(super) fn directory(&self) -> &Path {
        &self.array.directory
    }

    /// Carries out a change and prints `done`.
    pub(super) fn change(&self, change: Change, done: &str) -> Result<Ending, Failure> {
        self.with(done, |array| array.change(change))
    }

    /// Carries out the changes that `plan` makes of what there is, one after the other, and prints `done`.
    pub(super) fn change_all(
        &self,
        plan: impl FnOnce(&Inventory) -> Result<Vec<Change>, ChangeError>,
        done: &str,
    ) -> Result<Ending, Failure> {
        self.with(done, |array| {
            let changes = plan(&array.inventory()?).map_err(|error| refused(&error))?;
            changes.into_iter().try_for_each(|change| array.change(change))
        })
    }

    fn with(
        &self,
        done: &str,
        work: impl FnOnce(&Administered) -> Result<(), Failure>,
    ) -> Result<Ending, Failure> {
        let array = self.open()?;
        let worked = work(&array);
        // An array that was opened is shut down in any case. If both fail, the first failure is the reason.
        let ended = array.end();
        worked.and(ended)?;
        terminal::print(&format!("{done}\n"))?;
        Ok(Ending::Complete)
    }

    fn open(&self) -> Result<Administered, Failure> {
        let directory = self.directory();
        let options = OpenOptions { degraded: self.degraded, read_only: false };
        let mut is_again = false;
        loop {
            if let Some(client) = served(directory)? {
                return Ok(Administered::Served(client));
            }
            match open(&ArrayLocation::Directory(directory.to_owned()), options) {
                // It may have no control socket yet, or no longer.
                Err(AssemblyError::Open(OpenDeviceError::InUse { .. })) if !is_again => {
                    is_again = true;
                    std::thread::sleep(AGAIN);
                }
                Err(error) => return Err(not_assembled(&error)),
                Ok(assembled) => {
                    say_problems(&assembled);
                    let serving = start_array(assembled, self.io)?.serve();
                    return serving.map(Administered::Started).map_err(|error| not_started(&error));
                }
            }
        }
    }
}

impl Administered {
    fn change(&self, change: Change) -> Result<(), Failure> {
        match self {
            Self::Served(client) => client.administer(change).map_err(|error| not_done(&error)),
            Self::Started(array) => {
                array.client().administer(change).map_err(|error| refused(&error))
            }
        }
        .map(drop)
    }

    fn inventory(&self) -> Result<Inventory, Failure> {
        match self {
            Self::Served(client) => client.inventory().map_err(|error| not_done(&error)),
            Self::Started(array) => Ok(array.client().inventory().unwrap_or_default()),
        }
    }

    fn end(self) -> Result<(), Failure> {
        match self {
            Self::Served(_) => Ok(()),
            Self::Started(array) => {
                array.shut_down().map_err(|why| refused(&ChangeError::Stopped(why)))
            }
        }
    }
}

/// Returns the array in a directory, if a process serves it.
fn served(directory: &Path) -> Result<Option<ControlClient>, Failure> {
    ControlClient::connect(directory).map_err(|error| not_done(&error.into()))
}

/// Returns what the array in a directory has: from the process that serves it, or else from its devices.
pub(super) fn inventory_of(array: &ArrayDirectory) -> Result<Inventory, Failure> {
    if let Some(client) = served(&array.directory)? {
        return client.inventory().map_err(|error| not_done(&error));
    }
    let status = look(&array.place()).map_err(|error| not_assembled(&error))?;
    status.inventory().ok_or_else(|| {
        Failure::failed(
            "the superblock, or the catalog that it leads to, cannot be read from the spindles that are there, and nothing \
             else lists what the array has",
        )
        .with_help("`strewn array status` shows the devices")
    })
}

/// Returns what an array of this status has: from the process that serves it, if it answers, or else from its devices.
pub(super) fn inventory_of_status(array: &ArrayDirectory, status: &Status) -> Inventory {
    let served = ControlClient::connect(&array.directory).ok().flatten();
    let inventory = served.and_then(|client| client.inventory().ok());
    inventory.or_else(|| status.inventory()).unwrap_or_default()
}

/// Returns the failure for a text that is no name.
pub(super) fn no_name(error: &NameError) -> Failure {
    Failure::bad_input(error.to_string(), error.remedy())
}

/// Returns the failure for a change that was refused.
pub(super) fn refused(error: &ChangeError) -> Failure {
    match error.is_failure() {
        true => Failure::failed(error.to_string()).with_help(error.remedy()),
        false => Failure::bad_input(error.to_string(), error.remedy()),
    }
}

fn not_done(error: &ControlError) -> Failure {
    match error {
        ControlError::Refused(error) => refused(error),
        ControlError::Io(_) | ControlError::Protocol(_) => {
            Failure::failed(error.to_string()).with_help(error.remedy())
        }
    }
}
