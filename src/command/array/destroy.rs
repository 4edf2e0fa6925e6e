//! `strewn array destroy`.

use std::fmt::Write;

use clap::Args;
use strewn::terminal::{self, Ending, Failure};
use strewn_live::assembly;

use super::ArrayDirectory;

/// `strewn array destroy`.
#[derive(Debug, Args)]
pub(super) struct DestroyArguments {
    #[command(flatten)]
    array: ArrayDirectory,
    /// Confirm that all data on the array may be lost
    #[arg(long)]
    yes: bool,
}

/// Destroys an array.
pub(super) fn destroy(arguments: &DestroyArguments) -> Result<Ending, Failure> {
    let directory = &arguments.array.directory;
    if !arguments.yes {
        let status = assembly::look(&arguments.array.place());
        let holds = status.map(|status| {
            let lun = strewn::scenario::Bytes(status.configuration.lun_bytes());
            format!(" with array {} and its LUN of {lun}", status.label.array)
        });
        return Err(Failure::bad_input(
            format!("{}{} would be destroyed", directory.display(), holds.unwrap_or_default()),
            "give --yes if nothing that it holds is needed",
        ));
    }
    let destroyed = assembly::destroy(directory).map_err(|error| super::not_changed(&error))?;
    let mut text = format!("Destroyed the array in {}.\n", directory.display());
    for path in &destroyed.wiped {
        let _ = writeln!(text, "{}: no longer of an array.", path.display());
    }
    for path in &destroyed.left {
        let _ = writeln!(text, "{}: left as it is, not of this array.", path.display());
    }
    terminal::print(&text)?;
    Ok(Ending::Complete)
}
