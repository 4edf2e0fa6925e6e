//! What an array with bytes knows of the blocks that only snapshots hold: where a block of a LUN was, and the checksum
//! that its bytes must have.

use std::collections::{BTreeMap, HashMap};

use strewn_base::state::SavedValue;
use strewn_raid::Vbn;

use super::metadata::Pointer;

/// A block of a LUN, by the number of the LUN's file.
pub(crate) type LunBlock = (u32, u32);

/// Blocks that only snapshots hold, beside the dead lists, which say when each is freed.
#[derive(Debug, Clone, Default, SavedValue)]
pub(crate) struct HeldBlocks {
    by_place: HashMap<u32, HeldBlock>,
    /// The blocks of LUNs, each with the number of the first snapshot that no longer has it.
    versions: BTreeMap<(LunBlock, u32), Version>,
}

#[derive(Debug, Clone, Copy, SavedValue)]
struct HeldBlock {
    checksum: u32,
    /// `None` for metadata, which nobody reads.
    version: Option<(LunBlock, u32)>,
}

#[derive(Debug, Clone, Copy, SavedValue)]
struct Version {
    birth: u32,
    vbn: u32,
    checksum: u32,
}

impl HeldBlocks {
    /// Snapshots from number `birth` on and below `death` hold a block that the active image has not. `of_lun` says
    /// which, unless it is metadata. A borrowed block belongs to another volume, whose snapshots hold it too.
    pub(crate) fn add(
        &mut self,
        of_lun: Option<LunBlock>,
        [birth, death]: [u32; 2],
        Pointer { vbn, checksum }: Pointer,
        is_borrowed: bool,
    ) {
        // An array with bytes has VBNs of 32 bits.
        let vbn = vbn.0 as u32;
        let version = of_lun.map(|block| (block, death));
        if !is_borrowed {
            let before = self.by_place.insert(vbn, HeldBlock { checksum, version });
            assert!(before.is_none(), "two blocks that snapshots hold lie at VBN {vbn}");
        }
        if let Some(version) = version {
            self.versions.insert(version, Version { birth, vbn, checksum });
        }
    }

    /// No snapshot holds the block at `vbn` any more.
    pub(crate) fn remove(&mut self, vbn: Vbn) {
        let held = self.by_place.remove(&(vbn.0 as u32));
        if let Some(version) = held.and_then(|held| held.version) {
            self.versions.remove(&version);
        }
    }

    /// No snapshot holds the blocks of these files any more that they have borrowed.
    pub(crate) fn forget_files(&mut self, is_gone: impl Fn(u32) -> bool) {
        self.versions.retain(|((file, _), _), _| !is_gone(*file));
    }

    /// The checksum of the block that only snapshots hold at `vbn`.
    pub(crate) fn checksum_at(&self, vbn: Vbn) -> Option<u32> {
        self.by_place.get(&(vbn.0 as u32)).map(|held| held.checksum)
    }

    /// A block of a LUN in snapshot `snapshot`, or none there; `None` if the active image's has not been replaced
    /// since.
    pub(crate) fn replaced_since(&self, block: LunBlock, snapshot: u32) -> Option<Option<Pointer>> {
        // The first one that was replaced after the snapshot: if it is not the snapshot's, the snapshot has none.
        let behind = (block, snapshot + 1)..=(block, u32::MAX);
        let (_, version) = self.versions.range(behind).next()?;
        let Version { birth, vbn, checksum } = *version;
        Some((birth <= snapshot).then(|| Pointer { vbn: Vbn(vbn.into()), checksum }))
    }

    /// Number of blocks.
    pub(crate) fn len(&self) -> u64 {
        self.by_place.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_snapshot_has_its_version() {
        let block = (1, 9);
        let at = |vbn| Pointer { vbn: Vbn(vbn), checksum: vbn as u32 + 100 };
        let mut held = HeldBlocks::default();
        held.add(Some(block), [1, 2], at(10), false);
        held.add(Some(block), [3, 5], at(30), false);
        held.add(None, [1, 2], at(7), false);
        let version = |held: &HeldBlocks, snapshot| held.replaced_since(block, snapshot).flatten();
        assert_eq!(version(&held, 1), Some(at(10)));
        // Between the two it was unmapped.
        assert_eq!(version(&held, 2), None);
        assert!(held.replaced_since(block, 2).is_some());
        assert_eq!((version(&held, 3), version(&held, 4)), (Some(at(30)), Some(at(30))));
        assert_eq!(version(&held, 5), None);
        assert!(held.replaced_since(block, 5).is_none(), "the active image has it");
        assert_eq!(held.replaced_since((2, 9), 1).flatten(), None);
        assert_eq!((held.checksum_at(Vbn(7)), held.checksum_at(Vbn(8))), (Some(107), None));
        held.remove(Vbn(10));
        held.remove(Vbn(7));
        assert_eq!((version(&held, 1), held.len()), (None, 1));
    }
}
