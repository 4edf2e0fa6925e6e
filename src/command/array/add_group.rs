//! `strewn array add-group`.

use std::path::PathBuf;

use clap::Args;
use strewn::scenario::Bytes;
use strewn::terminal::{self, Ending, Failure};
use strewn_live::assembly::{AddGroupOptions, GrownArray, SpindleDevices, open_to_add_group};
use strewn_live::configuration::LayoutName;
use strewn_live::device::Space;

use super::create::say_wasted;
use super::opened::{Io, say_problems, start_array};
use super::{ArrayDirectory, not_changed};

/// `strewn array add-group`.
#[derive(Debug, Args)]
pub(super) struct AddGroupArguments {
    #[command(flatten)]
    array: ArrayDirectory,
    /// raid-dp or raid-4 [default: that of the first group]
    #[arg(long, value_name = "LAYOUT")]
    layout: Option<LayoutName>,
    /// Number of spindles, not counting parity
    ///
    /// raid-dp adds 2, raid-4 adds 1 [default: as in the first group, or what --spindles provides]
    #[arg(long, value_name = "N")]
    data_spindles: Option<u16>,
    /// Size of a new file for each spindle
    ///
    /// [default: as in the first group]
    #[arg(long, value_name = "SIZE", conflicts_with = "spindles")]
    spindle_size: Option<Bytes>,
    /// Use these files or devices as spindles, parity last
    ///
    /// They are numbered in this order.
    #[arg(long, value_name = "PATH,PATH", value_delimiter = ',')]
    spindles: Option<Vec<PathBuf>>,
    /// Allocate new files in full now
    ///
    /// The file system cannot run out of space under them then.
    #[arg(long, conflicts_with = "spindles")]
    preallocate: bool,
    /// Overwrite any data on the devices
    #[arg(long, requires = "spindles")]
    force: bool,
    /// Proceed degraded, without missing spindles
    #[arg(long)]
    degraded: bool,
    /// I/O backend
    #[arg(long, value_enum, default_value_t)]
    io: Io,
}

impl AddGroupArguments {
    fn options(&self) -> AddGroupOptions {
        AddGroupOptions {
            layout: self.layout,
            data_spindles: self.data_spindles,
            spindle_bytes: self.spindle_size.map(|size| size.0),
            spindles: match &self.spindles {
                Some(spindles) => SpindleDevices::Existing(spindles.clone()),
                None => SpindleDevices::NewFiles,
            },
            space: if self.preallocate { Space::Preallocated } else { Space::Sparse },
            force: self.force,
            degraded: self.degraded,
        }
    }
}

/// Adds a parity group: labels its spindles, starts the array with it, and shuts the array down.
pub(super) fn add_group(arguments: &AddGroupArguments) -> Result<Ending, Failure> {
    let GrownArray { array, wasted } =
        open_to_add_group(&arguments.array.place(), &arguments.options())
            .map_err(|error| not_changed(&error))?;
    say_problems(&array);
    let groups = array.configuration.groups();
    start_array(array, arguments.io)?.shut_down().map_err(|why| {
        Failure::failed(format!("the array has stopped: {why}")).with_help(
            "the group is part of the array, and nothing is lost: serve the array when the cause is gone",
        )
    })?;
    let mut text = String::new();
    if let Some(added) = groups.last() {
        let (first, last) = (added.spindles.start, added.spindles.end - 1);
        text = format!(
            "Added a parity group to {}: {} of spindles {first} to {last}. The array has {} groups now.\n",
            arguments.array.directory.display(),
            added.layout,
            groups.len(),
        );
    }
    say_wasted(&mut text, &wasted);
    terminal::print(&text)?;
    Ok(Ending::Complete)
}
