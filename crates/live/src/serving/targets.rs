//! What a served array offers to clients, and who uses it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use strewn_base::SECTOR_BYTES;

use crate::administration::{Change, ChangeError, Inventory, LunName, VolumeName};
use crate::engine::TargetId;

/// The targets of a served array, by name. Shared by the array's thread and its clients.
pub(super) struct ServedTargets(Mutex<Targets>);

#[derive(Default)]
struct Targets {
    /// LUNs, then LUNs in snapshots.
    served: Vec<ServedTarget>,
    /// How many use a target; none of them is 0.
    uses: BTreeMap<TargetId, u64>,
}

/// A LUN, or a LUN as it is in a snapshot.
struct ServedTarget {
    volume: VolumeName,
    lun: String,
    /// The name of the snapshot within the volume.
    snapshot: Option<String>,
    target: TargetId,
    sectors: u64,
    /// Whether a change that may end it is in progress: nobody may begin to use it.
    is_closed: bool,
}

/// The use of a target, which ends when this is dropped. Until then the target is neither deleted nor resized.
pub(super) struct TargetUse {
    targets: Arc<ServedTargets>,
    pub(super) name: String,
    pub(super) target: TargetId,
    pub(super) sectors: u64,
    pub(super) is_read_only: bool,
}

impl Drop for TargetUse {
    fn drop(&mut self) {
        let mut targets = self.targets.locked();
        if let Some(uses) = targets.uses.get_mut(&self.target) {
            *uses -= 1;
            if *uses == 0 {
                targets.uses.remove(&self.target);
            }
        }
    }
}

impl ServedTarget {
    /// Returns the name that it is listed with.
    fn name(&self) -> String {
        let Self { volume, lun, snapshot, .. } = self;
        match snapshot {
            None => format!("{volume}/{lun}"),
            Some(snapshot) => format!("{volume}/{lun}@{snapshot}"),
        }
    }

    fn is_lun(&self, name: &LunName) -> bool {
        self.snapshot.is_none() && self.volume == *name.volume() && self.lun == name.lun()
    }

    /// Returns whether its clients would notice the change: NBD can neither take an export away nor resize it.
    fn is_disturbed_by(&self, change: &Change) -> bool {
        match change {
            Change::DeleteVolume { volume } => self.volume == *volume,
            Change::DeleteLun { lun } | Change::ResizeLun { lun, .. } => self.is_lun(lun),
            Change::DeleteSnapshot { snapshot } => {
                self.volume == *snapshot.volume()
                    && self.snapshot.as_deref() == Some(snapshot.snapshot())
            }
            Change::CreateVolume { .. }
            | Change::ResizeVolume { .. }
            | Change::CreateLun { .. }
            | Change::TakeSnapshot { .. }
            | Change::CreateClone { .. } => false,
        }
    }
}

impl ServedTargets {
    pub(super) fn new(inventory: &Inventory) -> Arc<Self> {
        let targets = Self(Mutex::default());
        targets.update(inventory);
        Arc::new(targets)
    }

    fn locked(&self) -> MutexGuard<'_, Targets> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the size of a target, in sectors.
    pub(super) fn sectors(&self, target: TargetId) -> Option<u64> {
        let targets = self.locked();
        targets.served.iter().find(|one| one.target == target).map(|one| one.sectors)
    }

    /// Returns the names of all targets: the LUNs, then those in snapshots.
    pub(super) fn names(&self) -> Vec<String> {
        let targets = self.locked();
        targets.served.iter().filter(|one| !one.is_closed).map(ServedTarget::name).collect()
    }

    /// Begins to use the target of this name; the first for the empty name. The name of a LUN suffices if just one
    /// volume has a LUN of that name.
    pub(super) fn open(self: &Arc<Self>, name: &str) -> Option<TargetUse> {
        let mut targets = self.locked();
        let Targets { served, uses } = &mut *targets;
        let is_short = |one: &ServedTarget| one.snapshot.is_none() && one.lun == name;
        let at = match name.is_empty() {
            true => served.iter().position(|one| !one.is_closed)?,
            false => {
                let mut short = (0..served.len()).filter(|at| is_short(&served[*at]));
                let only = short.next().filter(|_| short.next().is_none());
                served.iter().position(|one| one.name() == name).or(only)?
            }
        };
        let one = Some(&served[at]).filter(|one| !one.is_closed)?;
        *uses.entry(one.target).or_default() += 1;
        Some(TargetUse {
            targets: Arc::clone(self),
            name: one.name(),
            target: one.target,
            sectors: one.sectors,
            is_read_only: one.snapshot.is_some(),
        })
    }

    /// Lets nobody begin to use what `change` may end, until the next [`update`](Self::update).
    ///
    /// # Errors
    /// If some of it is in use.
    pub(super) fn close(&self, change: &Change) -> Result<(), ChangeError> {
        let mut targets = self.locked();
        targets.check_unused(change)?;
        for one in &mut targets.served {
            one.is_closed |= one.is_disturbed_by(change);
        }
        Ok(())
    }

    /// Checks that nobody uses what `change` may end.
    ///
    /// # Errors
    /// If some of it is in use.
    pub(super) fn check_unused(&self, change: &Change) -> Result<(), ChangeError> {
        self.locked().check_unused(change)
    }

    /// Offers what the array has now. Targets that are in use stay so.
    pub(super) fn update(&self, inventory: &Inventory) {
        let mut targets = self.locked();
        let served = &mut targets.served;
        served.clear();
        let mut of_snapshots = Vec::new();
        for volume in &inventory.volumes {
            let entry =
                |lun: &str, snapshot: Option<&str>, target: TargetId, bytes: u64| ServedTarget {
                    volume: volume.name.clone(),
                    lun: lun.to_owned(),
                    snapshot: snapshot.map(str::to_owned),
                    target,
                    sectors: bytes / SECTOR_BYTES,
                    is_closed: false,
                };
            let luns = volume.luns.iter();
            served.extend(luns.map(|lun| entry(&lun.name, None, lun.target, lun.bytes)));
            for snapshot in &volume.snapshots {
                let name = Some(snapshot.name.as_str());
                of_snapshots.extend(
                    snapshot
                        .luns
                        .iter()
                        .filter_map(|lun| Some(entry(&lun.name, name, lun.target?, lun.bytes))),
                );
            }
        }
        served.extend(of_snapshots);
    }
}

impl Targets {
    fn check_unused(&self, change: &Change) -> Result<(), ChangeError> {
        let disturbed = self.served.iter().filter(|one| one.is_disturbed_by(change));
        for one in disturbed {
            if let Some(&clients) = self.uses.get(&one.target) {
                return Err(ChangeError::InUse { what: one.name(), clients });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::administration::{
        LunInventory, SnapshotInventory, SnapshotLunInventory, VolumeInventory,
    };

    fn volume(name: &str, luns: &[(&str, u32)], snapshots: &[(&str, u32)]) -> VolumeInventory {
        let lun = |(name, target): &(&str, u32)| LunInventory {
            name: (*name).to_owned(),
            target: TargetId(*target),
            bytes: 1 << 20,
            allocated_bytes: None,
        };
        let snapshot = |(name, target): &(&str, u32)| SnapshotInventory {
            name: (*name).to_owned(),
            taken_unix_seconds: 0,
            consistency_point: None,
            held_bytes: None,
            luns: vec![SnapshotLunInventory {
                name: "lun".to_owned(),
                target: (*target > 0).then_some(TargetId(*target)),
                bytes: 1 << 20,
            }],
        };
        VolumeInventory {
            name: name.parse().unwrap(),
            bytes: 1 << 30,
            thin: true,
            used_bytes: None,
            origin: None,
            luns: luns.iter().map(lun).collect(),
            snapshots: snapshots.iter().map(snapshot).collect(),
        }
    }

    fn inventory(volumes: Vec<VolumeInventory>) -> Inventory {
        Inventory { volumes, ..Inventory::default() }
    }

    #[test]
    fn targets_are_found_by_their_names_and_luns_by_short_ones() {
        let first = volume("one", &[("lun", 1), ("data", 2)], &[("old", 1 << 31), ("older", 0)]);
        let targets = ServedTargets::new(&inventory(vec![first.clone()]));
        assert_eq!(targets.names(), ["one/lun", "one/data", "one/lun@old"]);
        let found =
            |name: &str| targets.open(name).map(|found| (found.target.0, found.is_read_only));
        assert_eq!(found(""), Some((1, false)));
        assert_eq!(found("lun"), Some((1, false)));
        assert_eq!(found("one/data"), Some((2, false)));
        assert_eq!(found("one/lun@old"), Some((1 << 31, true)));
        for name in ["one", "one/other", "two/lun", "lun@old", "one/lun@older", "/lun"] {
            assert_eq!(found(name), None, "{name}");
        }
        targets.update(&inventory(vec![first, volume("two", &[("lun", 3)], &[])]));
        assert_eq!(found("lun"), None, "two volumes have one");
        assert_eq!(found("data"), Some((2, false)));
        assert_eq!(found("two/lun"), Some((3, false)));
    }

    #[test]
    fn what_is_in_use_is_neither_deleted_nor_resized() {
        let all = inventory(vec![volume("one", &[("lun", 1)], &[("old", 1 << 31)])]);
        let targets = ServedTargets::new(&all);
        let lun: LunName = "one/lun".parse().unwrap();
        let resize = Change::ResizeLun { lun: lun.clone(), bytes: 1 << 21 };
        let delete = Change::DeleteLun { lun };
        let delete_snapshot = Change::DeleteSnapshot { snapshot: "one@old".parse().unwrap() };
        let uses = [targets.open("lun"), targets.open("one/lun")];
        for change in [&resize, &delete] {
            let refused = ChangeError::InUse { what: "one/lun".to_owned(), clients: 2 };
            assert_eq!(targets.close(change), Err(refused));
        }
        // What another target's clients use does not matter.
        assert_eq!(targets.close(&delete_snapshot), Ok(()));
        assert!(targets.open("one/lun@old").is_none());
        assert_eq!(targets.names(), ["one/lun"]);
        targets.update(&all);
        assert!(targets.open("one/lun@old").is_some());
        drop(uses);
        assert_eq!(targets.close(&delete), Ok(()));
        assert!(targets.open("").is_some_and(|first| first.is_read_only));
        assert!(targets.open("lun").is_none());
    }
}
