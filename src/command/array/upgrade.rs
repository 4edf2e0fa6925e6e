//! `strewn array upgrade`.

use clap::Args;
use strewn::terminal::{self, Ending, Failure};
use strewn_live::assembly::{AssemblyError, open_to_upgrade};
use strewn_live::format::FORMAT;

use super::opened::{Io, say_problems, start_array};
use super::{ArrayDirectory, not_assembled};

/// `strewn array upgrade`.
#[derive(Debug, Args)]
pub(super) struct UpgradeArguments {
    #[command(flatten)]
    array: ArrayDirectory,
    /// Proceed degraded, without missing spindles
    #[arg(long)]
    degraded: bool,
    /// I/O backend
    #[arg(long, value_enum, default_value_t)]
    io: Io,
}

/// Brings an array to the present format: writes its labels anew, starts it, and shuts it down.
pub(super) fn upgrade(arguments: &UpgradeArguments) -> Result<Ending, Failure> {
    let UpgradeArguments { array, degraded, io } = arguments;
    let directory = array.directory.display();
    let assembled = match open_to_upgrade(&array.place(), *degraded) {
        Ok(assembled) => assembled,
        Err(AssemblyError::NotOld { found }) => {
            terminal::print(&format!("{directory} is of format {found} already.\n"))?;
            return Ok(Ending::Complete);
        }
        Err(error) => return Err(not_assembled(&error)),
    };
    say_problems(&assembled);
    let ended = start_array(assembled, *io)?.shut_down();
    ended.map_err(|why| {
        Failure::failed(format!("the array has stopped: {why}")).with_help(
            "what was acknowledged is in the NVRAM log: upgrade it again when the cause is gone",
        )
    })?;
    terminal::print(&format!("{directory} is of format {FORMAT} now.\n"))?;
    Ok(Ending::Complete)
}
