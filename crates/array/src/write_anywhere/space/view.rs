//! LUNs as they are in snapshots.

use strewn_base::state::SavedValue;
use strewn_volume::SnapshotId;

use super::Space;
use super::metadata::Pointer;

/// A LUN as it is in a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, SavedValue)]
pub struct View {
    /// The number of the LUN's file. The LUN itself may be gone.
    pub file: u32,
    /// Its blocks when the snapshot was taken.
    pub blocks: u32,
    /// The snapshot, of the LUN's volume.
    pub snapshot: SnapshotId,
}

impl Space {
    /// Where a block of a LUN is in a snapshot; `None` if the LUN had none there.
    pub(crate) fn block_in_view(&self, view: View, block: u32) -> Option<Pointer> {
        let View { file, snapshot: SnapshotId(snapshot), .. } = view;
        let held = &self.checksums.as_ref()?.held;
        if let Some(version) = held.replaced_since((file, block), snapshot) {
            return version;
        }
        let keys = self.keys.blocks_of(self.keys.lun_with_file(file)?);
        let key = keys.start.checked_add(block).filter(|key| keys.contains(key))?;
        let birth = self.snapshots.as_ref()?.space.birth(key);
        if birth > snapshot { None } else { self.pointer(key) }
    }
}
