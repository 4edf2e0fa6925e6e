//! `strewn array snapshot`.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::{Args, Subcommand};
use serde_json::json;
use strewn::terminal::{self, Ending, Failure};
use strewn_live::assembly::{OpenOptions, is_of_an_array, look};
use strewn_live::configuration::ArrayConfig;
use strewn_live::device::BLOCK_BYTES;
use strewn_live::format::Snapshot;
use strewn_live::snapshots::{SnapshotError, read_image};
use strewn_live::starting::StartedArray;

use super::ArrayDirectory;
use super::opened::{Io, config_of, devices_at_rest, open_array, start_array};
use crate::command::replace_file::Replacement;

/// `strewn array snapshot`.
#[derive(Debug, Args)]
pub(crate) struct SnapshotArguments {
    #[command(subcommand)]
    action: SnapshotAction,
}

/// What to do with snapshots.
#[derive(Debug, Subcommand)]
enum SnapshotAction {
    /// Create a snapshot of the LUN; the array must not be in use
    Create(Named),
    /// List the snapshots
    List(ListArguments),
    /// Delete a snapshot, and free the blocks that only it references; the array must not be in use
    Delete(Named),
    /// Copy the LUN as of a snapshot to a sparse file
    Copy(CopyArguments),
}

/// A snapshot of an array.
#[derive(Debug, Args)]
struct Named {
    #[command(flatten)]
    array: ArrayDirectory,
    /// Name of the snapshot, 1 to 64 bytes
    name: String,
    /// Proceed degraded, without missing spindles
    #[arg(long)]
    degraded: bool,
    /// I/O backend
    #[arg(long, value_enum, default_value_t)]
    io: Io,
}

/// `strewn array snapshot list`.
#[derive(Debug, Args)]
struct ListArguments {
    #[command(flatten)]
    array: ArrayDirectory,
    /// Print JSON instead of lines
    #[arg(long)]
    json: bool,
}

/// `strewn array snapshot copy`.
#[derive(Debug, Args)]
struct CopyArguments {
    #[command(flatten)]
    snapshot: Named,
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
        SnapshotAction::List(arguments) => list(arguments),
        SnapshotAction::Delete(named) => delete(named),
        SnapshotAction::Copy(arguments) => copy(arguments),
    }
}

fn refused(error: &SnapshotError) -> Failure {
    match error {
        SnapshotError::Restart(restart) if restart.is_refusal() => {
            Failure::bad_input(error.to_string(), error.remedy())
        }
        SnapshotError::Stopped(_)
        | SnapshotError::Restart(_)
        | SnapshotError::Gone(_)
        | SnapshotError::Output(_) => Failure::failed(error.to_string()).with_help(error.remedy()),
        _ => Failure::bad_input(error.to_string(), error.remedy()),
    }
}

fn create(named: &Named) -> Result<Ending, Failure> {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    change(named, "taken", |started, name| started.take_snapshot(name, since_1970.as_secs()))
}

fn delete(named: &Named) -> Result<Ending, Failure> {
    change(named, "deleted", StartedArray::delete_snapshot)
}

fn change(
    named: &Named,
    changed: &str,
    action: impl FnOnce(StartedArray, &str) -> Result<(), SnapshotError>,
) -> Result<Ending, Failure> {
    let Named { array, name, degraded, io } = named;
    let options = OpenOptions { degraded: *degraded, read_only: false };
    let started = start_array(open_array(&array.directory, options)?, *io)?;
    action(started, name).map_err(|error| refused(&error))?;
    terminal::print(&format!("Snapshot {name} of {} is {changed}.\n", array.directory.display()))?;
    Ok(Ending::Complete)
}

fn list(arguments: &ListArguments) -> Result<Ending, Failure> {
    let place = arguments.array.place();
    let status = look(&place).map_err(|error| super::not_assembled(&error))?;
    let Some(superblock) = status.superblock else {
        return Err(Failure::failed(
            "no spindle has a superblock that is whole, and nothing else lists the snapshots",
        )
        .with_help("`strewn array status` shows the devices"));
    };
    let snapshots = superblock.snapshots;
    let text = match arguments.json {
        true => {
            let all: Vec<_> = snapshots.iter().map(json_of).collect();
            format!("{:#}\n", json!({ "snapshots": all }))
        }
        false if snapshots.is_empty() => "no snapshots\n".to_owned(),
        false => lines(&snapshots),
    };
    terminal::print(&text)?;
    Ok(Ending::Complete)
}

/// Returns a snapshot as JSON.
pub(super) fn json_of(snapshot: &Snapshot) -> serde_json::Value {
    json!({
        "name": snapshot.name,
        "taken": taken(snapshot),
        "consistency_point": snapshot.checkpoint,
    })
}

/// Returns one line per snapshot.
pub(super) fn lines(snapshots: &[Snapshot]) -> String {
    let mut text = String::new();
    for snapshot in snapshots {
        let _ = writeln!(
            text,
            "snapshot           {}, taken {} at consistency point {}",
            snapshot.name,
            taken(snapshot),
            snapshot.checkpoint
        );
    }
    text
}

/// Formats the time of a snapshot as RFC 3339.
fn taken(snapshot: &Snapshot) -> String {
    // RFC 3339 ends with the year 9999.
    let seconds = snapshot.taken_unix_seconds.min(253_402_300_799);
    humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_secs(seconds)).to_string()
}

fn copy(arguments: &CopyArguments) -> Result<Ending, Failure> {
    let CopyArguments { snapshot: Named { array, name, degraded, io }, file, force } = arguments;
    if !force && file.exists() {
        return Err(Failure::bad_input(
            format!("{} is there already", file.display()),
            "give another file, or --force to replace it",
        ));
    }
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
    let lun_bytes = assembled.configuration.lun_bytes();
    let (mut devices, label) = devices_at_rest(assembled, *io)?;
    let mut blocks = 0u64;
    let replacement = Replacement::write_with(file, |image| {
        image.set_len(lun_bytes)?;
        read_image(&mut devices, &label, &config, name, |number, bytes| {
            blocks += 1;
            put(image, number, bytes)
        })
    })
    .map_err(|error| not_copied(file, &error))?;
    replacement.put_in_place().map_err(|error| not_copied(file, &error.into()))?;
    terminal::print(&format!(
        "Snapshot {name} copied to {}: {blocks} blocks of 4 KiB, the rest was never written.\n",
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
