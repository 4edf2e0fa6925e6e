//! `strewn array fail`.

use clap::Args;
use strewn::terminal::{self, Ending, Failure};
use strewn_live::assembly::mark_failed;

use super::ArrayDirectory;

/// `strewn array fail`.
#[derive(Debug, Args)]
pub(super) struct FailArguments {
    #[command(flatten)]
    array: ArrayDirectory,
    /// The number of the spindle, counted from 0
    #[arg(value_name = "N", value_parser = super::spindle_number)]
    spindle: u16,
}

/// Marks a spindle as failed.
pub(super) fn fail(arguments: &FailArguments) -> Result<Ending, Failure> {
    let FailArguments { array, spindle } = arguments;
    mark_failed(&array.place(), *spindle).map_err(|error| super::not_changed(&error))?;
    let directory = array.directory.display();
    terminal::print(&format!("Spindle {spindle} of {directory} is marked as failed.\n"))?;
    Ok(Ending::Complete)
}
