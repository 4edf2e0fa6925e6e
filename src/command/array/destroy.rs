//! `strewn array destroy`.

use std::fmt::Write;

use clap::Args;
use strewn::scenario::Bytes;
use strewn::terminal::{self, Ending, Failure};
use strewn_live::assembly;

use strewn_live::administration::{Inventory, LunInventory};

use super::ArrayDirectory;
use super::administered::inventory_of_status;

/// `strewn array destroy`.
#[derive(Debug, Args)]
pub(super) struct DestroyArguments {
    #[command(flatten)]
    array: ArrayDirectory,
    /// Confirm that all data on the array may be lost
    #[arg(long)]
    yes: bool,
}

/// Lists what an array has, by name, to stand behind the array's own.
fn held(inventory: &Inventory) -> String {
    let volumes = inventory.volumes.iter().map(|volume| volume.name.to_string());
    let luns = inventory.volumes.iter().flat_map(|volume| {
        let named =
            |lun: &LunInventory| format!("{}/{} of {}", volume.name, lun.name, Bytes(lun.bytes));
        volume.luns.iter().map(named)
    });
    let snapshots = inventory.volumes.iter().flat_map(|volume| {
        volume.snapshots.iter().map(|snapshot| format!("{}@{}", volume.name, snapshot.name))
    });
    let kinds: [(&str, Vec<String>); 3] =
        [("volume", volumes.collect()), ("LUN", luns.collect()), ("snapshot", snapshots.collect())];
    let mut text = String::new();
    for (kind, names) in kinds.iter().filter(|(_, names)| !names.is_empty()) {
        let plural = if names.len() == 1 { "" } else { "s" };
        let _ = write!(text, ", {kind}{plural} {}", names.join(", "));
    }
    text
}

/// Destroys an array.
pub(super) fn destroy(arguments: &DestroyArguments) -> Result<Ending, Failure> {
    let directory = &arguments.array.directory;
    if !arguments.yes {
        let holds = assembly::look(&arguments.array.place()).map(|status| {
            let inventory = inventory_of_status(&arguments.array, &status);
            format!(" with array {}{}", status.label.array, held(&inventory))
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
