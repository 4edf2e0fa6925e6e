//! `strewn array`: arrays of real files and block devices.

mod check;
mod create;
mod destroy;
mod fail;
mod opened;
mod replace;
mod run;
mod scrub;
mod serve;
mod snapshot;
mod status;
mod status_json;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use strewn::terminal::{Ending, Failure};
use strewn_live::assembly::{AssemblyError, ChangeError, Place};

const EXAMPLES: &str = "\
Examples:
  strewn array create my-array --layout raid-dp --data-spindles 6 --spindle-size 512MiB --lun-size 1GiB
  strewn array serve my-array --socket /tmp/my-array.sock
  strewn array status my-array
  strewn array destroy my-array --yes";

const EXIT_CODES: &str = "\
Exit codes:
  0    done
  1    failed on the way: a device that cannot be written
  2    bad input, and nothing was written: no array there, one that is in use or not whole, a device that
       holds something, sizes that do not fit";

/// `strewn array`.
#[derive(Debug, Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub(crate) struct ArrayArguments {
    #[command(subcommand)]
    action: ArrayAction,
}

/// What to do with an array.
#[derive(Debug, Subcommand)]
enum ArrayAction {
    /// Make an array of new files, or of files and block devices that are there
    Create(create::CreateArguments),
    /// Say how an array is: its spindles, its log, and what is wrong; nothing is written
    Status(status::StatusArguments),
    /// Export the LUN over NBD until interrupted
    Serve(serve::ServeArguments),
    /// Drive the array with a workload, in real time, and report what a simulation would
    Run(run::ArrayRunArguments),
    /// Verify every block and invariant; nothing is written
    Check(check::CheckArguments),
    /// Read every block, and repair from parity what is wrong
    Scrub(scrub::ScrubArguments),
    /// Put another device in the place of a spindle, and rebuild it
    Replace(replace::ReplaceArguments),
    /// Mark a spindle as failed: what it has is not read again
    Fail(fail::FailArguments),
    /// Keep what the LUN has, list, delete and copy what was kept
    Snapshot(snapshot::SnapshotArguments),
    /// Give up an array and all that it holds
    Destroy(destroy::DestroyArguments),
}

/// Does it.
pub(crate) fn array(arguments: &ArrayArguments) -> Result<Ending, Failure> {
    match &arguments.action {
        ArrayAction::Create(arguments) => create::create(arguments),
        ArrayAction::Status(arguments) => status::status(arguments),
        ArrayAction::Serve(arguments) => serve::serve(arguments),
        ArrayAction::Run(arguments) => run::run(arguments),
        ArrayAction::Check(arguments) => check::check(arguments),
        ArrayAction::Scrub(arguments) => scrub::scrub(arguments),
        ArrayAction::Replace(arguments) => replace::replace(arguments),
        ArrayAction::Fail(arguments) => fail::fail(arguments),
        ArrayAction::Snapshot(arguments) => snapshot::snapshot(arguments),
        ArrayAction::Destroy(arguments) => destroy::destroy(arguments),
    }
}

/// Which array: the directory that it was made in.
#[derive(Debug, Args)]
struct ArrayDirectory {
    /// The directory that the array was created in
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

impl ArrayDirectory {
    fn place(&self) -> Place {
        Place::Directory(self.directory.clone())
    }
}

/// A spindle's number, from what a person has written.
fn spindle_number(text: &str) -> Result<u16, String> {
    text.parse().map_err(|_| "give the spindle's number, from 0".to_owned())
}

/// What could not be opened or read.
fn not_assembled(error: &AssemblyError) -> Failure {
    match error {
        AssemblyError::Io { .. } => Failure::failed(error.to_string()).with_help(error.remedy()),
        _ => Failure::bad_input(error.to_string(), error.remedy()),
    }
}

/// What could not be changed; only a device that cannot be written may leave something written.
fn not_changed(error: &ChangeError) -> Failure {
    match error {
        ChangeError::Assembly(error) => not_assembled(error),
        _ => Failure::bad_input(error.to_string(), error.remedy()),
    }
}
