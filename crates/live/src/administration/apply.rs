//! Changes to a running array.

use super::{
    Change, ChangeError, FIRST_LUN_NAME, Inventory, LunInventory, SnapshotInventory,
    SnapshotLunInventory, SnapshotName, VolumeInventory, VolumeName,
};
use crate::device::{BLOCK_BYTES, Devices};
use crate::engine::{LiveArray, TargetId};
use crate::format::{MAXIMUM_SNAPSHOTS, Snapshot};
use crate::running::RunningArray;
use crate::snapshots::SnapshotError;
use strewn_base::SECTOR_BYTES;

impl<D: Devices, A: LiveArray> RunningArray<D, A> {
    /// Carries out a change, and returns when it is durable. No request may be in flight.
    ///
    /// # Errors
    /// See [`ChangeError`]; the array goes on, unless it has stopped.
    pub fn administer(&mut self, change: Change) -> Result<(), ChangeError> {
        if A::OVERWRITES_IN_PLACE {
            return Err(ChangeError::InPlace);
        }
        let (snapshot, done) = match change {
            Change::TakeSnapshot { snapshot, taken_unix_seconds } => {
                snapshot.check_new()?;
                is_first(snapshot.volume())?;
                let done = self.take_snapshot(snapshot.snapshot(), taken_unix_seconds);
                (snapshot, done)
            }
            Change::DeleteSnapshot { snapshot } => {
                is_first(snapshot.volume())?;
                let done = self.delete_snapshot(snapshot.snapshot());
                (snapshot, done)
            }
            _ => return Err(ChangeError::OldFormat),
        };
        done.map_err(|error| self.refusal(snapshot, error))
    }

    fn refusal(&self, snapshot: SnapshotName, error: SnapshotError) -> ChangeError {
        match error {
            SnapshotError::InPlace => ChangeError::InPlace,
            SnapshotError::Name(name) => super::NameError::Name(name).into(),
            SnapshotError::Exists(_) => ChangeError::Exists(format!("snapshot {snapshot}")),
            SnapshotError::NoSuchSnapshot(_) => ChangeError::NoSuchSnapshot(snapshot),
            SnapshotError::TooMany => ChangeError::TooMany {
                what: "snapshots".to_owned(),
                most: MAXIMUM_SNAPSHOTS as u64,
            },
            SnapshotError::NoRoom { lacking_blocks } => {
                ChangeError::NoRoom { lacking_bytes: lacking_blocks * BLOCK_BYTES as u64 }
            }
            SnapshotError::Stopped(why) => match self.engine().stopped() {
                Some(_) => ChangeError::Stopped(why),
                None => ChangeError::NoSpace(why),
            },
            error @ (SnapshotError::Restart(_)
            | SnapshotError::Gone(_)
            | SnapshotError::Output(_)) => ChangeError::Unreadable(error.to_string()),
        }
    }

    /// Returns what the array has. Counts the blocks of LUNs and of free space, so it takes longer for a larger array.
    #[must_use]
    pub fn inventory(&self) -> Inventory {
        let engine = self.engine();
        let bytes = engine.target_sectors(TargetId::FIRST_LUN).unwrap_or_default() * SECTOR_BYTES;
        let layout = engine.array().layout();
        let bytes_of = |blocks: u64| blocks * BLOCK_BYTES as u64;
        let allocated_bytes = layout.luns.first().map(|lun| bytes_of(lun.file.blocks));
        let mut inventory = Inventory::of_one_lun(bytes, &engine.superblock().snapshots);
        inventory.free_bytes = layout.free_space.map(|free| bytes_of(free.free_blocks));
        for volume in &mut inventory.volumes {
            for lun in &mut volume.luns {
                lun.allocated_bytes = allocated_bytes;
            }
        }
        inventory
    }
}

impl Inventory {
    /// Returns what an array of format version 1 has, at rest.
    pub(crate) fn of_one_lun(bytes: u64, snapshots: &[Snapshot]) -> Self {
        let name = FIRST_LUN_NAME.to_owned();
        let of_snapshot = |snapshot: &Snapshot| SnapshotInventory {
            name: snapshot.name.clone(),
            taken_unix_seconds: snapshot.taken_unix_seconds,
            consistency_point: Some(snapshot.checkpoint),
            held_bytes: None,
            luns: vec![SnapshotLunInventory { name: name.clone(), target: None, bytes }],
        };
        let volume = VolumeInventory {
            name: VolumeName::first(),
            bytes,
            // A snapshot is refused unless the whole LUN can be written over.
            thin: false,
            used_bytes: None,
            origin: None,
            luns: vec![LunInventory {
                name: name.clone(),
                target: TargetId::FIRST_LUN,
                bytes,
                allocated_bytes: None,
            }],
            snapshots: snapshots.iter().map(of_snapshot).collect(),
        };
        Self { volumes: vec![volume], free_bytes: None }
    }
}

/// Checks that a volume is the only one.
fn is_first(volume: &VolumeName) -> Result<(), ChangeError> {
    match *volume == VolumeName::first() {
        true => Ok(()),
        false => Err(ChangeError::NoSuchVolume(volume.clone())),
    }
}
