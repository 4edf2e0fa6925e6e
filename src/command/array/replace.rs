//! `strewn array replace`.

use std::path::PathBuf;

use clap::Args;
use strewn::terminal::{self, Ending, Failure};
use strewn_live::assembly::{NewDevice, OpenOptions, name_device, prepare_replacement};
use strewn_live::device::Space;

use super::opened::{Io, Tenths, open_array, start_array};

/// Put another device in the place of a spindle, and rebuild it
#[derive(Debug, Args)]
pub(crate) struct ReplaceArguments {
    /// The array's directory
    directory: PathBuf,
    /// The spindle's number, from 0
    spindle: u16,
    /// The new device: a block device or a file that is there; without it a file is made in the directory
    #[arg(long, value_name = "DEVICE")]
    with: Option<PathBuf>,
    /// Write over what the new device holds
    #[arg(long, requires = "with")]
    force: bool,
    /// How devices are asked
    #[arg(long, value_enum, default_value_t)]
    io: Io,
}

/// Replaces a spindle of an array that nobody uses.
pub(crate) fn replace(arguments: &ReplaceArguments) -> Result<Ending, Failure> {
    let mut assembled =
        open_array(&arguments.directory, OpenOptions { degraded: true, read_only: false })?;
    let new = match &arguments.with {
        Some(path) => NewDevice::Given { path: path.clone(), force: arguments.force },
        None => NewDevice::Made {
            path: free_name(&arguments.directory, arguments.spindle)?,
            space: Space::Sparse,
        },
    };
    let path = match &new {
        NewDevice::Made { path, .. } | NewDevice::Given { path, .. } => path.clone(),
    };
    prepare_replacement(&mut assembled, arguments.spindle, &new)
        .map_err(|error| Failure::bad_input(error.to_string(), error.remedy()))?;
    name_device(&arguments.directory, arguments.spindle, &path)
        .map_err(|error| Failure::failed(error.to_string()).with_help(error.remedy()))?;
    let stop = terminal::stop_when_interrupted();
    let mut rebuilt = Tenths::of("rebuilt");
    let is_rebuilt = start_array(assembled, arguments.io)?
        .rebuild(|done| {
            rebuilt.are(done);
            !stop()
        })
        .map_err(|error| Failure::failed(format!("the rebuild has ended early: {error}")))?;
    if !is_rebuilt {
        let message = format!("spindle {} is not rebuilt", arguments.spindle);
        return Err(if stop() {
            Failure::stopped(format!("stopped: {message}"))
                .with_help("the rebuild begins anew when the array is served, run or scrubbed")
        } else {
            Failure::failed(format!("{message}: {} has failed", path.display()))
                .with_help("replace it with another device")
        });
    }
    terminal::print(&format!("spindle {} is rebuilt on {}\n", arguments.spindle, path.display()))?;
    Ok(Ending::Complete)
}

/// A name in the directory that nothing has.
fn free_name(directory: &std::path::Path, spindle: u16) -> Result<PathBuf, Failure> {
    let names = (1..1_000).map(|turn| directory.join(format!("spindle-{spindle:02}-{turn}")));
    let first = std::iter::once(directory.join(format!("spindle-{spindle:02}")));
    first.chain(names).find(|path| !path.exists()).ok_or_else(|| {
        Failure::bad_input(
            format!("{} has no name left for a spindle", directory.display()),
            "give a device by --with",
        )
    })
}
