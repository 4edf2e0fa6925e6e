//! `strewn array lun`.

use clap::{Args, Subcommand};
use strewn::scenario::Bytes;
use strewn::terminal::{Ending, Failure};
use strewn_live::administration::{Change, LunName};

use super::administered::{AdministeredArguments, no_name};
use super::inventory::{Kind, ListArguments, list};

/// `strewn array lun`.
#[derive(Debug, Args)]
pub(crate) struct LunArguments {
    #[command(subcommand)]
    action: LunAction,
}

/// What to do with LUNs.
#[derive(Debug, Subcommand)]
enum LunAction {
    /// Create a LUN in a volume
    Create(SizedArguments),
    /// List the LUNs
    List(ListArguments),
    /// Make a LUN larger or smaller; no client may use it
    Resize(SizedArguments),
    /// Delete a LUN; no client may use it. Snapshots keep it as it was
    Delete(Named),
}

/// A LUN of an array.
#[derive(Debug, Args)]
struct Named {
    #[command(flatten)]
    array: AdministeredArguments,
    /// The LUN
    #[arg(value_name = "VOLUME/LUN")]
    lun: String,
}

/// A LUN of an array, and its size.
#[derive(Debug, Args)]
struct SizedArguments {
    #[command(flatten)]
    named: Named,
    /// Size of the LUN
    #[arg(long, value_name = "SIZE")]
    size: Bytes,
}

/// Runs the subcommand.
pub(crate) fn lun(arguments: &LunArguments) -> Result<Ending, Failure> {
    match &arguments.action {
        LunAction::Create(SizedArguments { named, size }) => {
            named.change("created", |lun| Change::CreateLun { lun, bytes: size.0 })
        }
        LunAction::List(arguments) => list(arguments, Kind::Luns),
        LunAction::Resize(SizedArguments { named, size }) => {
            named.change("resized", |lun| Change::ResizeLun { lun, bytes: size.0 })
        }
        LunAction::Delete(named) => named.change("deleted", |lun| Change::DeleteLun { lun }),
    }
}

impl Named {
    fn change(
        &self,
        what: &str,
        change: impl FnOnce(LunName) -> Change,
    ) -> Result<Ending, Failure> {
        let lun = self.lun.parse().map_err(|error| no_name(&error))?;
        let done = format!("LUN {lun} of {} is {what}.", self.array.directory().display());
        self.array.change(change(lun), &done)
    }
}
