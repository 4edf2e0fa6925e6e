//! `strewn array`: arrays of real files and block devices.

mod add_group;
mod administered;
mod check;
mod create;
mod destroy;
mod fail;
mod inventory;
mod lun;
mod opened;
mod replace;
mod run;
mod scrub;
mod serve;
mod snapshot;
mod status;
mod status_json;
mod volume;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use strewn::terminal::{Ending, Failure};
use strewn_live::assembly::{ArrayLocation, AssemblyError, MembershipError};

/// `strewn array`.
#[derive(Debug, Args)]
pub(crate) struct ArrayArguments {
    #[command(subcommand)]
    action: ArrayAction,
}

/// What to do with an array.
#[derive(Debug, Subcommand)]
enum ArrayAction {
    /// Create an array on new files, or on existing files and block devices
    Create(create::CreateArguments),
    /// Show the condition of an array, its spindles and its log, without writing
    Status(status::StatusArguments),
    /// Export the LUNs over NBD until interrupted
    Serve(serve::ServeArguments),
    /// Run a workload on the array in real time, and report the same figures as a simulation
    Run(run::ArrayRunArguments),
    /// Verify every block and invariant, without writing
    Check(check::CheckArguments),
    /// Read every block, and repair bad blocks from parity
    Scrub(scrub::ScrubArguments),
    /// Replace a spindle and rebuild it, or replace the log
    ///
    /// Another device takes its place. Of a mirrored log, each of the two devices can be replaced.
    Replace(replace::ReplaceArguments),
    /// Add a parity group to a write-anywhere array: new spindles with parity of their own
    AddGroup(add_group::AddGroupArguments),
    /// Mark a spindle as failed; it is not read again
    Fail(fail::FailArguments),
    /// Create, list, resize and delete volumes, also while the array is served
    Volume(volume::VolumeArguments),
    /// Create, list, resize and delete LUNs, also while the array is served
    Lun(lun::LunArguments),
    /// Create, list and delete snapshots, also while the array is served; copy a LUN from one
    Snapshot(snapshot::SnapshotArguments),
    /// Create and delete clones of snapshots, also while the array is served
    Clone(volume::CloneArguments),
    /// Destroy an array and all data on it
    Destroy(destroy::DestroyArguments),
}

/// Runs the subcommand.
pub(crate) fn array(arguments: &ArrayArguments) -> Result<Ending, Failure> {
    match &arguments.action {
        ArrayAction::Create(arguments) => create::create(arguments),
        ArrayAction::Status(arguments) => status::status(arguments),
        ArrayAction::Serve(arguments) => serve::serve(arguments),
        ArrayAction::Run(arguments) => run::run(arguments),
        ArrayAction::Check(arguments) => check::check(arguments),
        ArrayAction::Scrub(arguments) => scrub::scrub(arguments),
        ArrayAction::Replace(arguments) => replace::replace(arguments),
        ArrayAction::AddGroup(arguments) => add_group::add_group(arguments),
        ArrayAction::Fail(arguments) => fail::fail(arguments),
        ArrayAction::Snapshot(arguments) => snapshot::snapshot(arguments),
        ArrayAction::Volume(arguments) => volume::volume(arguments),
        ArrayAction::Lun(arguments) => lun::lun(arguments),
        ArrayAction::Clone(arguments) => volume::clone(arguments),
        ArrayAction::Destroy(arguments) => destroy::destroy(arguments),
    }
}

/// The directory that names an array.
#[derive(Debug, Args)]
struct ArrayDirectory {
    /// The directory that the array was created in
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

impl ArrayDirectory {
    fn place(&self) -> ArrayLocation {
        ArrayLocation::Directory(self.directory.clone())
    }
}

/// Parses the number of a spindle.
fn spindle_number(text: &str) -> Result<u16, String> {
    text.parse().map_err(|_| "give the number of a spindle, counted from 0".to_owned())
}

/// Returns the failure for an array that cannot be opened or read.
fn not_assembled(error: &AssemblyError) -> Failure {
    match error {
        AssemblyError::Io { .. } => Failure::failed(error.to_string()).with_help(error.remedy()),
        _ => Failure::bad_input(error.to_string(), error.remedy()),
    }
}

/// Returns the failure for a change to an array. Nothing was written, unless a device failed during the write.
fn not_changed(error: &MembershipError) -> Failure {
    match error {
        MembershipError::Assembly(error) => not_assembled(error),
        _ => Failure::bad_input(error.to_string(), error.remedy()),
    }
}
