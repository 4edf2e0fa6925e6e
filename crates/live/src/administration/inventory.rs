//! What an array has: volumes, their LUNs, and their snapshots.

use serde::{Deserialize, Serialize};

use super::{LunName, SnapshotName, VolumeName};
use crate::engine::TargetId;

/// The volumes, LUNs and snapshots of an array. Figures that only a running array knows are `None` if it was at rest.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Inventory {
    /// The volumes, in the order in which they were created.
    pub volumes: Vec<VolumeInventory>,
    /// Bytes that are free in the aggregate. `None` also for an in-place array, which has none to give.
    pub free_bytes: Option<u64>,
    /// Of these, the bytes that thick volumes and metadata may still claim; 0 if there are neither thin volumes nor
    /// snapshots, which could take them.
    #[serde(default)]
    pub claimed_bytes: Option<u64>,
}

/// A volume as the array has it, with its LUNs and snapshots.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VolumeInventory {
    /// Name, unique in the array.
    pub name: VolumeName,
    /// Most bytes that its LUNs may have together.
    pub bytes: u64,
    /// Whether it has no reservation: it may be larger than what the aggregate has free.
    pub thin: bool,
    /// Bytes that its LUNs and snapshots take.
    pub used_bytes: Option<u64>,
    /// The snapshot that it is a clone of.
    pub origin: Option<SnapshotName>,
    /// Its LUNs, in the order in which they were created.
    pub luns: Vec<LunInventory>,
    /// Its snapshots, oldest first.
    pub snapshots: Vec<SnapshotInventory>,
}

/// A LUN as the array has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LunInventory {
    /// Its name within the volume.
    pub name: String,
    /// What requests name it by.
    pub target: TargetId,
    /// Size in bytes.
    pub bytes: u64,
    /// Bytes that were written and not unmapped.
    pub allocated_bytes: Option<u64>,
}

/// A snapshot of a volume.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotInventory {
    /// Its name within the volume.
    pub name: String,
    /// When it was taken, in seconds since 1970 (UTC).
    pub taken_unix_seconds: u64,
    /// The consistency point of the last superblock when it was taken.
    pub consistency_point: Option<u64>,
    /// Bytes that only this snapshot keeps from being free, if they are counted.
    pub held_bytes: Option<u64>,
    /// The LUNs that the volume had.
    pub luns: Vec<SnapshotLunInventory>,
}

/// A LUN as it is in a snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotLunInventory {
    /// Its name within the volume.
    pub name: String,
    /// What requests name it by, if the array can serve it.
    pub target: Option<TargetId>,
    /// Size in bytes, as it was then.
    pub bytes: u64,
}

impl Inventory {
    /// Returns a volume.
    #[must_use]
    pub fn volume(&self, name: &VolumeName) -> Option<&VolumeInventory> {
        self.volumes.iter().find(|volume| volume.name == *name)
    }

    /// Returns a LUN.
    #[must_use]
    pub fn lun(&self, name: &LunName) -> Option<&LunInventory> {
        self.volume(name.volume())?.luns.iter().find(|lun| lun.name == name.lun())
    }

    /// Returns a snapshot.
    #[must_use]
    pub fn snapshot(&self, name: &SnapshotName) -> Option<&SnapshotInventory> {
        let mut snapshots = self.volume(name.volume())?.snapshots.iter();
        snapshots.find(|snapshot| snapshot.name == name.snapshot())
    }
}
