//! `strewn array snapshot`.

use std::cell::RefCell;
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use clap::{Args, Subcommand};
use strewn::terminal::{self, Ending, Failure};
use strewn_live::administration::{
    Change, FIRST_LUN_NAME, LunName, NameError, SnapshotName, VolumeName,
};
use strewn_live::assembly::{OpenOptions, is_of_an_array};
use strewn_live::configuration::ArrayConfig;
use strewn_live::device::BLOCK_BYTES;
use strewn_live::snapshots::{SnapshotError, read_image};

use super::ArrayDirectory;
use super::administered::{AdministeredArguments, no_name};
use super::inventory::{Kind, ListArguments, list};
use super::opened::{Io, config_of, devices_at_rest, open_array};
use crate::command::out_directory::check_replaceable;
use strewn::Replacement;

/// `strewn array snapshot`.
#[derive(Debug, Args)]
pub(crate) struct SnapshotArguments {
    #[command(subcommand)]
    action: SnapshotAction,
}

/// What to do with snapshots.
#[derive(Debug, Subcommand)]
enum SnapshotAction {
    /// Create a snapshot of all LUNs of a volume
    Create(Named),
    /// List the snapshots
    List(ListArguments),
    /// Delete a snapshot, and free the blocks that only it references
    Delete(Named),
    /// Copy a LUN as of a snapshot to a sparse file; the array must not be in use
    Copy(CopyArguments),
}

/// A snapshot of an array.
#[derive(Debug, Args)]
struct Named {
    #[command(flatten)]
    array: AdministeredArguments,
    /// The snapshot; without a volume, of the one called volume
    #[arg(value_name = "VOLUME@SNAPSHOT")]
    name: String,
}

/// `strewn array snapshot copy`.
#[derive(Debug, Args)]
struct CopyArguments {
    #[command(flatten)]
    array: ArrayDirectory,
    /// The LUN as of a snapshot; without a volume and a LUN, the first
    #[arg(value_name = "VOLUME/LUN@SNAPSHOT")]
    name: String,
    /// Proceed degraded, without missing spindles
    #[arg(long)]
    degraded: bool,
    /// I/O backend
    #[arg(long, value_enum, default_value_t)]
    io: Io,
    /// The file to write, which must not exist
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Replace the file if it exists
    #[arg(long)]
    force: bool,
}

/// Runs the subcommand.
pub(crate) fn snapshot(arguments: &SnapshotArguments) -> Result<Ending, Failure> {
    match &arguments.action {
        SnapshotAction::Create(named) => create(named),
        SnapshotAction::List(arguments) => list(arguments, Kind::Snapshots),
        SnapshotAction::Delete(named) => delete(named),
        SnapshotAction::Copy(arguments) => copy(arguments),
    }
}

fn refused(error: &SnapshotError) -> Failure {
    match error {
        SnapshotError::Restart(restart) if restart.is_refusal() => {
            Failure::bad_input(error.to_string(), error.remedy())
        }

        SnapshotError::Restart(_) | SnapshotError::Gone(_) | SnapshotError::Output(_) => {
            Failure::failed(error.to_string()).with_help(error.remedy())
        }
        _ => Failure::bad_input(error.to_string(), error.remedy()),
    }
}

fn create(named: &Named) -> Result<Ending, Failure> {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let taken_unix_seconds = since_1970.as_secs();
    change(named, "taken", |snapshot| Change::TakeSnapshot { snapshot, taken_unix_seconds })
}

fn delete(named: &Named) -> Result<Ending, Failure> {
    change(named, "deleted", |snapshot| Change::DeleteSnapshot { snapshot })
}

fn change(
    named: &Named,
    changed: &str,
    change: impl FnOnce(SnapshotName) -> Change,
) -> Result<Ending, Failure> {
    let Named { array, name } = named;
    let snapshot = snapshot_name(name).map_err(|error| no_name(&error))?;
    let done = format!("Snapshot {snapshot} of {} is {changed}.", array.directory().display());
    array.change(change(snapshot), &done)
}

/// Parses `volume@snapshot`, or the name of a snapshot of the first volume.
fn snapshot_name(text: &str) -> Result<SnapshotName, NameError> {
    match text.contains('@') {
        true => text.parse(),
        false => SnapshotName::new(VolumeName::first(), text),
    }
}

/// Parses `volume/lun@snapshot`. The LUN may be left out, or all but the name of the snapshot: then it is the first.
fn lun_in_snapshot(text: &str) -> Result<(LunName, SnapshotName), NameError> {
    let lun = text.split_once('@').filter(|(lun, _)| lun.contains('/'));
    let Some((lun, snapshot)) = lun else {
        let snapshot = snapshot_name(text)?;
        return Ok((LunName::new(snapshot.volume().clone(), FIRST_LUN_NAME)?, snapshot));
    };
    let lun: LunName = lun.parse()?;
    let snapshot = SnapshotName::new(lun.volume().clone(), snapshot)?;
    Ok((lun, snapshot))
}

fn copy(arguments: &CopyArguments) -> Result<Ending, Failure> {
    let CopyArguments { array, name, degraded, io, file, force } = arguments;
    let (lun, snapshot) = lun_in_snapshot(name).map_err(|error| no_name(&error))?;
    if !force && file.exists() {
        return Err(Failure::bad_input(
            format!("{} is there already", file.display()),
            "give another file, or --force to replace it",
        ));
    }
    check_replaceable(file, "give another file")?;
    if is_of_an_array(file) {
        return Err(Failure::bad_input(
            format!("{} is of an array, which would lose it", file.display()),
            "give another file",
        ));
    }
    let options = OpenOptions { degraded: *degraded, read_only: true };
    let assembled = open_array(&array.directory, options)?;
    let ArrayConfig::WriteAnywhere(config) = config_of(&assembled)? else {
        return Err(refused(&SnapshotError::InPlace));
    };
    let (mut devices, label) = devices_at_rest(assembled, *io)?;
    let mut blocks = 0u64;
    let replacement = Replacement::write_with(file, |image| {
        let image = RefCell::new(image);
        let begin = |bytes| image.borrow_mut().set_len(bytes);
        read_image(&mut devices, &label, &config, (&snapshot, lun.lun()), begin, |number, bytes| {
            blocks += 1;
            put(&mut image.borrow_mut(), number, bytes)
        })
    })
    .map_err(|error| not_copied(file, &error))?;
    replacement.put_in_place().map_err(|error| not_copied(file, &error.into()))?;
    terminal::print(&format!(
        "{} copied to {}: {blocks} blocks of 4 KiB, the rest was never written.\n",
        snapshot.of_lun(lun.lun()),
        file.display()
    ))?;
    Ok(Ending::Complete)
}

fn put(image: &mut File, block: u32, bytes: &[u8]) -> std::io::Result<()> {
    image.seek(SeekFrom::Start(u64::from(block) * BLOCK_BYTES as u64))?;
    image.write_all(bytes)
}

fn not_copied(file: &Path, error: &SnapshotError) -> Failure {
    match error {
        SnapshotError::Output(io) => {
            Failure::failed(format!("{} cannot be written: {io}", file.display()))
                .with_help(error.remedy())
        }
        error => refused(error),
    }
}
