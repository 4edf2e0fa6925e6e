//! An array's status as JSON.

use serde_json::json;
use strewn_live::administration::Inventory;
use strewn_live::assembly::Status;

use super::inventory;
use super::status::{condition, state};

/// Returns the status as JSON, sizes in bytes.
pub(super) fn json(status: &Status, inventory: &Inventory) -> String {
    let configuration = &status.configuration;
    let spindles = status.spindles.iter().enumerate().map(|(position, spindle)| {
        json!({
            "position": position,
            "state": state(spindle.state, spindle.path.is_some()),
            "path": spindle.path,
        })
    });
    let groups = configuration.groups().into_iter().map(|group| {
        json!({
            "layout": group.layout.as_str(),
            "first_spindle": group.spindles.start,
            "spindles": group.spindles.len(),
            "spindle_bytes": group.device_bytes(),
        })
    });
    let logs = status.label.log_roles().zip(&status.logs).map(|(role, log)| {
        json!({
            "name": role.to_string(),
            "state": state(log.state, log.path.is_some()),
            "path": log.path,
        })
    });
    let problems = status.problems.iter().map(|problem| {
        json!({
            "position": problem.position(),
            "path": problem.path,
            "message": problem.to_string(),
            "remedy": problem.remedy(),
        })
    });
    let superblock = status.superblock.as_ref();
    let of_volumes = inventory::json_of(inventory);
    let snapshots = inventory.volumes.iter().flat_map(|volume| &volume.snapshots);
    let snapshots = snapshots.map(inventory::json_of_snapshot);
    let value = json!({
        "array": status.label.array.to_string(),
        "format": status.label.version.to_string(),
        "layout": configuration.layout_name().as_str(),
        "parity_groups": groups.collect::<Vec<_>>(),
        "lun_bytes": configuration.lun_bytes(),
        "condition": condition(status.condition),
        "in_use": status.in_use.is_some(),
        "process": status.in_use.as_ref().and_then(|(_, process)| *process),
        "label_sequence": status.label.sequence,
        "consistency_point": superblock.map(|superblock| superblock.consistency_point),
        "clean": superblock.map(|superblock| superblock.clean),
        "log": status.logs.iter().find_map(|log| log.path.as_ref()),
        "logs": logs.collect::<Vec<_>>(),
        "volumes": of_volumes["volumes"],
        "free_bytes": of_volumes["free_bytes"],
        "claimed_bytes": of_volumes["claimed_bytes"],
        "snapshots": snapshots.collect::<Vec<_>>(),
        "spindles": spindles.collect::<Vec<_>>(),
        "problems": problems.collect::<Vec<_>>(),
    });
    format!("{value:#}\n")
}
