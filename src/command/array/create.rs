//! `strewn array create`.

use std::fmt::Write;
use std::path::PathBuf;

use clap::Args;
use strewn::scenario::Bytes;
use strewn::terminal::{self, Ending, Failure};
use strewn_live::assembly::{self, CreateOptions, CreatedArray, LogDevices, SpindleDevices};
use strewn_live::configuration::{ArraySpec, LayoutName};
use strewn_live::device::Space;

/// `strewn array create`.
#[derive(Debug, Args)]
pub(super) struct CreateArguments {
    /// The array's directory, for its label and new files
    ///
    /// It is created if it does not exist.
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// raid-dp or raid-4 (write-anywhere), vraid-5 or raid-5 (in place)
    #[arg(long, value_name = "LAYOUT")]
    layout: LayoutName,
    /// Number of spindles, not counting parity
    ///
    /// raid-dp adds 2, raid-4 and raid-5 add 1, vraid-5 adds none [default: what --spindles provides]
    #[arg(long, value_name = "N", required_unless_present = "spindles")]
    data_spindles: Option<u16>,
    /// Create a file of this size for each spindle
    #[arg(
        long,
        value_name = "SIZE",
        required_unless_present = "spindles",
        conflicts_with = "spindles"
    )]
    spindle_size: Option<Bytes>,
    /// Size of the LUN
    #[arg(long, value_name = "SIZE")]
    lun_size: Bytes,
    /// Use these files or devices as spindles, parity last
    ///
    /// They are numbered in this order.
    #[arg(long, value_name = "PATH,PATH", value_delimiter = ',')]
    spindles: Option<Vec<PathBuf>>,
    /// Use this file or device as the log [default: a new file]
    ///
    /// Two of them mirror the log.
    #[arg(long, value_name = "PATH[,PATH]", value_delimiter = ',', num_args = 1..=2)]
    log: Vec<PathBuf>,
    /// Mirror the log on two new files
    ///
    /// Each record is written twice, and the loss of either loses nothing.
    #[arg(long, conflicts_with = "log")]
    mirror_log: bool,
    /// Size of each half of the log [default: 1/16 of the LUN]
    ///
    /// From 1 MiB to 64 MiB by default.
    #[arg(long, value_name = "SIZE")]
    log_size: Option<Bytes>,
    /// Memory for the cache [default: 1/4 of the LUN]
    ///
    /// From 4 MiB to 512 MiB by default.
    #[arg(long, value_name = "SIZE")]
    cache: Option<Bytes>,
    /// Allocate new files in full now
    ///
    /// The file system cannot run out of space under them then.
    #[arg(long, conflicts_with = "spindles")]
    preallocate: bool,
    /// Overwrite an array in DIR, and any data on the devices
    #[arg(long)]
    force: bool,
}

/// Creates an array.
pub(super) fn create(arguments: &CreateArguments) -> Result<Ending, Failure> {
    let created =
        assembly::create(&arguments.options()?).map_err(|error| super::not_changed(&error))?;
    terminal::print(&made(arguments, &created))?;
    Ok(Ending::Complete)
}

impl CreateArguments {
    fn log(&self) -> Result<LogDevices, Failure> {
        match &self.log[..] {
            [] if self.mirror_log => Ok(LogDevices::MirroredNewFiles),
            [] => Ok(LogDevices::NewFile),
            [path] => Ok(LogDevices::Existing(path.clone())),
            [a, b] => Ok(LogDevices::MirroredExisting([a.clone(), b.clone()])),
            more => Err(Failure::bad_input(
                format!("--log names {} devices", more.len()),
                "give one, or two to mirror the log",
            )),
        }
    }

    fn options(&self) -> Result<CreateOptions, Failure> {
        let parity = self.layout.parity_spindles();
        let given = self.spindles.as_ref().map(Vec::len);
        let of_given = given.map(|given| u16::try_from(given).unwrap_or(u16::MAX));
        // The parser requires one of the two.
        let of_given = of_given.map_or(0, |given| given.saturating_sub(parity));
        Ok(CreateOptions {
            directory: self.directory.clone(),
            spec: ArraySpec {
                layout: self.layout,
                data_spindles: self.data_spindles.unwrap_or(of_given),
                spindle_bytes: self.spindle_size.map_or(0, |size| size.0),
                lun_bytes: self.lun_size.0,
                log_half_bytes: self.log_size.map(|size| size.0),
                cache_bytes: self.cache.map(|size| size.0),
            },
            spindles: match &self.spindles {
                Some(spindles) => SpindleDevices::Existing(spindles.clone()),
                None => SpindleDevices::NewFiles,
            },
            log: self.log()?,
            space: if self.preallocate { Space::Preallocated } else { Space::Sparse },
            force: self.force,
        })
    }
}

fn made(arguments: &CreateArguments, created: &CreatedArray) -> String {
    let configuration = &created.configuration;
    let mirror = if created.logs.len() > 1 { ", a mirrored log" } else { "" };
    let mut text = format!(
        "Created array {} in {}: {} of {} spindles, a LUN of {}{mirror}.\n",
        created.array,
        arguments.directory.display(),
        configuration.layout_name(),
        configuration.spindles(),
        Bytes(configuration.lun_bytes()),
    );
    say_wasted(&mut text, &created.wasted);
    text
}

/// Adds a line for each device that is larger than the smallest.
pub(super) fn say_wasted(text: &mut String, wasted: &[(PathBuf, u64)]) {
    for (path, bytes) in wasted {
        let (path, bytes) = (path.display(), Bytes(*bytes).approximately());
        let _ = writeln!(
            text,
            "{path} is larger than the smallest spindle: {bytes} of it are of no use."
        );
    }
}
