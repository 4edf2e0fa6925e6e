//! The files of a sweep: its table, charts and report.

use std::path::Path;

use strewn::Replacement;
use strewn::report::Sweep;
use strewn::sweep::Plan;
use strewn::terminal::{self, Failure};

use super::arguments::SweepArguments;

/// Prints the table of a sweep, and writes its files.
pub(crate) fn publish(
    sweep: &Sweep,
    _plan: &Plan,
    directory: &Path,
    arguments: &SweepArguments,
) -> Result<(), Failure> {
    let json = sweep.to_json_string().map_err(|error| Failure::failed(error.to_string()))?;
    if arguments.json {
        terminal::print(&json)?;
    }
    write(directory, "sweep.json", json.as_bytes())
}

fn write(directory: &Path, name: &str, bytes: &[u8]) -> Result<(), Failure> {
    let path = directory.join(name);
    Replacement::write(&path, bytes).and_then(Replacement::put_in_place).map_err(|error| {
        Failure::failed(format!("cannot write {}: {error}", path.display())).with_help(
            "make room: the runs are there, and strewn sweep --resume writes the table again",
        )
    })
}
