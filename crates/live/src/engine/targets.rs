//! What hosts can work on: LUNs, and LUNs as they are in snapshots.

use strewn_array::LunId;
use strewn_array::write_anywhere::View;
use strewn_base::BLOCK_SECTORS;
use strewn_volume::SnapshotId;

use super::requests::{Target, TargetId};
use super::{LiveArray, LiveArrayEngine};
use crate::catalog::Catalog;

impl<A: LiveArray> LiveArrayEngine<A> {
    /// Returns the catalog; `None` for an in-place array.
    #[must_use]
    pub fn catalog(&self) -> Option<&Catalog> {
        self.catalog.as_ref()
    }

    /// The array gets these volumes, LUNs and snapshots with the next consistency point. It must be [caught
    /// up](Self::is_caught_up).
    pub(crate) fn change_catalog(&mut self, catalog: Catalog) {
        self.set_catalog(catalog);
        self.is_catalog_ahead = true;
    }

    /// The array has these volumes, LUNs and snapshots. No request may be in flight.
    pub(crate) fn set_catalog(&mut self, catalog: Catalog) {
        let Some(array) = self.array.volumes_mut() else { return };
        self.targets.clear();
        self.driver.files.clear();
        array.close_views();
        for lun in catalog.luns() {
            let target = Target {
                lun: LunId(self.driver.files.len() as u16),
                sectors: u64::from(lun.blocks) * BLOCK_SECTORS,
                is_read_only: false,
            };
            self.driver.files.push(lun.file);
            self.targets.insert(TargetId(lun.file), target);
        }
        for (volume, snapshot) in catalog.snapshots() {
            for lun in &snapshot.luns {
                let view = View {
                    file: lun.file,
                    blocks: lun.blocks,
                    snapshot: SnapshotId(snapshot.number),
                };
                let next = TargetId(TargetId::FIRST_IN_SNAPSHOT.0 + self.in_snapshots.len() as u32);
                let key = (volume.number, snapshot.number, lun.file);
                let id = *self.in_snapshots.entry(key).or_insert(next);
                let sectors = u64::from(lun.blocks) * BLOCK_SECTORS;
                let target = Target { lun: array.open_view(view), sectors, is_read_only: true };
                self.targets.insert(id, target);
            }
        }
        self.catalog = Some(catalog);
    }

    /// Returns the target that stands for a LUN in a snapshot.
    pub(crate) fn target_in_snapshot(
        &self,
        volume: u32,
        snapshot: u32,
        file: u32,
    ) -> Option<TargetId> {
        self.in_snapshots.get(&(volume, snapshot, file)).copied()
    }
}
