//! Volumes, LUNs, snapshots and clones by name: what can be changed, what there is, and why a change is refused.
//!
//! A [`Change`] goes to a running array ([`RunningArray::administer`](crate::running::RunningArray::administer)), to
//! one that is served ([`Client::administer`](crate::serving::Client::administer)), or through the
//! [control socket](crate::control) to one that another process serves.

mod apply;
mod error;
mod inventory;

use serde::{Deserialize, Serialize};

pub use crate::names::{
    FIRST_LUN_NAME, FIRST_VOLUME_NAME, LunName, MAXIMUM_NAME_BYTES, NameError, SnapshotName,
    VolumeName,
};
pub use error::ChangeError;
pub use inventory::{
    Inventory, LunInventory, SnapshotInventory, SnapshotLunInventory, VolumeInventory,
};

/// A change to the volumes, LUNs or snapshots of an array. It is done in full, or refused and not done at all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Change {
    /// Creates a volume without LUNs.
    CreateVolume {
        /// Name of the new volume.
        volume: VolumeName,
        /// Its size: the most that its LUNs have together. `None` for as much as the aggregate has.
        bytes: Option<u64>,
        /// Whether it is created without a reservation: it may be larger than what the aggregate has free.
        thin: bool,
    },
    /// Makes a volume larger or smaller.
    ResizeVolume {
        /// Volume to resize.
        volume: VolumeName,
        /// New size in bytes, a multiple of 4 KiB.
        bytes: u64,
    },
    /// Deletes a volume that has neither LUNs nor snapshots.
    DeleteVolume {
        /// Volume to delete.
        volume: VolumeName,
    },
    /// Creates a LUN that was never written.
    CreateLun {
        /// Name of the new LUN, with that of its volume.
        lun: LunName,
        /// Size in bytes, a multiple of 4 KiB.
        bytes: u64,
    },
    /// Makes a LUN larger or smaller.
    ResizeLun {
        /// LUN to resize.
        lun: LunName,
        /// New size in bytes, a multiple of 4 KiB.
        bytes: u64,
    },
    /// Deletes a LUN. Snapshots keep it as it was.
    DeleteLun {
        /// LUN to delete.
        lun: LunName,
    },
    /// Takes a snapshot of all LUNs of a volume, with everything that was acknowledged.
    TakeSnapshot {
        /// Name of the new snapshot, with that of its volume.
        snapshot: SnapshotName,
        /// The time, in seconds since 1970 (UTC).
        taken_unix_seconds: u64,
    },
    /// Deletes a snapshot of which there is no clone.
    DeleteSnapshot {
        /// Snapshot to delete.
        snapshot: SnapshotName,
    },
    /// Creates a volume with the LUNs of a snapshot, which it shares until they are written.
    CreateClone {
        /// The name of the new volume.
        volume: VolumeName,
        /// Snapshot whose LUNs the clone has.
        of: SnapshotName,
    },
}
