//! Volumes, LUNs, snapshots and clones by name: what can be changed, what there is, and why a change is refused.
//!
//! A [`Change`] goes to a running array ([`RunningArray::administer`](crate::running::RunningArray::administer)), to
//! one that is served ([`Client::administer`](crate::serving::Client::administer)), or through the
//! [control socket](crate::control) to one that another process serves.

mod apply;
mod error;
mod inventory;
mod names;

use serde::{Deserialize, Serialize};

pub use error::ChangeError;
pub use inventory::{
    Inventory, LunInventory, SnapshotInventory, SnapshotLunInventory, VolumeInventory,
};
pub use names::{
    FIRST_LUN_NAME, FIRST_VOLUME_NAME, LunName, MAXIMUM_NAME_BYTES, NameError, SnapshotName,
    VolumeName,
};

/// A change to the volumes, LUNs or snapshots of an array. It is done in full, or refused and not done at all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Change {
    /// Creates a volume without LUNs.
    CreateVolume {
        /// Its name.
        volume: VolumeName,
        /// Its size: the most that its LUNs have together. `None` for as much as the aggregate has.
        bytes: Option<u64>,
        /// Whether it is created without a reservation: it may be larger than what the aggregate has free.
        thin: bool,
    },
    /// Makes a volume larger or smaller.
    ResizeVolume {
        /// The volume.
        volume: VolumeName,
        /// Its new size.
        bytes: u64,
    },
    /// Deletes a volume that has neither LUNs nor snapshots.
    DeleteVolume {
        /// The volume.
        volume: VolumeName,
    },
    /// Creates a LUN that was never written.
    CreateLun {
        /// Its name.
        lun: LunName,
        /// Its size.
        bytes: u64,
    },
    /// Makes a LUN larger or smaller.
    ResizeLun {
        /// The LUN.
        lun: LunName,
        /// Its new size.
        bytes: u64,
    },
    /// Deletes a LUN. Snapshots keep it as it was.
    DeleteLun {
        /// The LUN.
        lun: LunName,
    },
    /// Takes a snapshot of all LUNs of a volume, with everything that was acknowledged.
    TakeSnapshot {
        /// Its name.
        snapshot: SnapshotName,
        /// The time, in seconds since 1970 (UTC).
        taken_unix_seconds: u64,
    },
    /// Deletes a snapshot of which there is no clone.
    DeleteSnapshot {
        /// The snapshot.
        snapshot: SnapshotName,
    },
    /// Creates a volume with the LUNs of a snapshot, which it shares until they are written.
    CreateClone {
        /// The name of the new volume.
        volume: VolumeName,
        /// The snapshot.
        of: SnapshotName,
    },
}
