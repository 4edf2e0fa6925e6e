//! Volumes, LUNs and snapshots as lines and as JSON.

use std::fmt::Write;
use std::time::{Duration, UNIX_EPOCH};

use clap::Args;
use serde_json::{Value, json};
use strewn::scenario::Bytes;
use strewn::terminal::{self, Ending, Failure};
use strewn_live::administration::{Inventory, SnapshotInventory, VolumeInventory};

use super::ArrayDirectory;
use super::administered::inventory_of;

/// A list of what an array has.
#[derive(Debug, Args)]
pub(super) struct ListArguments {
    #[command(flatten)]
    array: ArrayDirectory,
    /// Print JSON instead of lines
    #[arg(long)]
    json: bool,
}

/// What is listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Volumes,
    Luns,
    Snapshots,
}

/// Lists volumes, LUNs or snapshots.
pub(super) fn list(arguments: &ListArguments, kind: Kind) -> Result<Ending, Failure> {
    let inventory = inventory_of(&arguments.array)?;
    let text = match (arguments.json, lines(&inventory, kind)) {
        (true, _) => format!("{:#}\n", json(&inventory, kind)),
        (false, lines) if lines.is_empty() => format!("no {}\n", kind.plural()),
        (false, lines) => lines,
    };
    terminal::print(&text)?;
    Ok(Ending::Complete)
}

impl Kind {
    fn plural(self) -> &'static str {
        match self {
            Self::Volumes => "volumes",
            Self::Luns => "LUNs",
            Self::Snapshots => "snapshots",
        }
    }
}

/// Returns one line for each.
pub(super) fn lines(inventory: &Inventory, kind: Kind) -> String {
    let mut text = String::new();
    for volume in &inventory.volumes {
        match kind {
            Kind::Volumes => {
                let _ = writeln!(text, "volume             {}", volume_line(volume));
            }
            Kind::Luns => {
                for lun in &volume.luns {
                    let (volume, name, size) = (&volume.name, &lun.name, Bytes(lun.bytes));
                    let allocated = some(lun.allocated_bytes, "written");
                    let _ = writeln!(text, "LUN                {volume}/{name}, {size}{allocated}");
                }
            }
            Kind::Snapshots => {
                for snapshot in &volume.snapshots {
                    let (volume, name, taken) = (&volume.name, &snapshot.name, taken(snapshot));
                    let _ = write!(text, "snapshot           {volume}@{name}, taken {taken}");
                    if let Some(consistency_point) = snapshot.consistency_point {
                        let _ = write!(text, " at consistency point {consistency_point}");
                    }
                    let _ = writeln!(text, "{}", some(snapshot.held_bytes, "held"));
                }
            }
        }
    }
    text
}

fn volume_line(volume: &VolumeInventory) -> String {
    let VolumeInventory { name, bytes, thin, used_bytes, origin, luns, snapshots } = volume;
    let thin = if *thin { ", thin" } else { "" };
    let origin = origin.as_ref().map_or_else(String::new, |of| format!(", a clone of {of}"));
    let used = some(*used_bytes, "in use");
    let (luns, snapshots) = (count(luns.len(), "LUN"), count(snapshots.len(), "snapshot"));
    format!("{name}, {}{thin}{used}{origin}, {luns}, {snapshots}", Bytes(*bytes))
}

/// Formats a size that may be unknown.
fn some(bytes: Option<u64>, what: &str) -> String {
    bytes.map_or_else(String::new, |bytes| format!(", {} {what}", Bytes(bytes)))
}

fn count(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn json(inventory: &Inventory, kind: Kind) -> Value {
    let volumes = &inventory.volumes;
    match kind {
        Kind::Volumes => json_of(inventory),
        Kind::Luns => {
            let luns = volumes.iter().flat_map(|volume| {
                let named = |lun| with_volume(serde_json::to_value(lun), volume);
                volume.luns.iter().map(named)
            });
            json!({ "luns": luns.collect::<Vec<_>>() })
        }
        Kind::Snapshots => {
            let snapshots = volumes.iter().flat_map(|volume| {
                let named = |one| with_volume(Ok(json_of_snapshot(one)), volume);
                volume.snapshots.iter().map(named)
            });
            json!({ "snapshots": snapshots.collect::<Vec<_>>() })
        }
    }
}

/// Returns volumes with their LUNs and snapshots, and what is free, as JSON.
pub(super) fn json_of(inventory: &Inventory) -> Value {
    let of_volume = |volume: &VolumeInventory| {
        json!({
            "name": volume.name,
            "bytes": volume.bytes,
            "thin": volume.thin,
            "used_bytes": volume.used_bytes,
            "origin": volume.origin,
            "luns": volume.luns,
            "snapshots": volume.snapshots.iter().map(json_of_snapshot).collect::<Vec<_>>(),
        })
    };
    json!({
        "volumes": inventory.volumes.iter().map(of_volume).collect::<Vec<_>>(),
        "free_bytes": inventory.free_bytes,
        "claimed_bytes": inventory.claimed_bytes,
    })
}

/// Returns a snapshot as JSON.
pub(super) fn json_of_snapshot(snapshot: &SnapshotInventory) -> Value {
    json!({
        "name": snapshot.name,
        "taken": taken(snapshot),
        "consistency_point": snapshot.consistency_point,
        "held_bytes": snapshot.held_bytes,
        "luns": snapshot.luns,
    })
}

fn with_volume(value: serde_json::Result<Value>, volume: &VolumeInventory) -> Value {
    let mut value = value.unwrap_or_default();
    if let Value::Object(fields) = &mut value {
        fields.insert("volume".to_owned(), json!(volume.name));
    }
    value
}

/// Formats the time of a snapshot as RFC 3339.
fn taken(snapshot: &SnapshotInventory) -> String {
    // RFC 3339 ends with the year 9999.
    let seconds = snapshot.taken_unix_seconds.min(253_402_300_799);
    humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_secs(seconds)).to_string()
}
