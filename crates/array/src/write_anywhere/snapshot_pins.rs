//! Blocks pinned by snapshots: they stay in use after the active file has moved on, with the checksums they must have.

use strewn_raid::Vbn;

use super::metadata::Pointer;

/// A block that snapshots pin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PinnedBlock {
    /// An array with bytes has VBNs of 32 bits.
    vbn: u32,
    key: u32,
    checksum: u32,
    /// One bit for each snapshot.
    snapshots: u32,
}

/// All pinned blocks, by VBN.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct SnapshotPins(Vec<PinnedBlock>);

impl SnapshotPins {
    /// Pins the blocks of snapshot `snapshot`.
    pub(super) fn pin(&mut self, snapshot: u32, blocks: impl IntoIterator<Item = (u32, Pointer)>) {
        let snapshots = 1 << snapshot;
        self.0.extend(blocks.into_iter().map(|(key, Pointer { vbn, checksum })| PinnedBlock {
            vbn: vbn.0 as u32,
            key,
            checksum,
            snapshots,
        }));
        self.0.sort_unstable_by_key(|block| block.vbn);
        self.0.dedup_by(|next, kept| {
            let same = next.vbn == kept.vbn;
            kept.snapshots |= if same { next.snapshots } else { 0 };
            same
        });
    }

    /// Unpins the blocks of snapshot `snapshot` and renumbers later snapshots. Returns the VBN and key of each block
    /// that no snapshot pins any more.
    pub(super) fn unpin(&mut self, snapshot: u32) -> Vec<(Vbn, u32)> {
        let below = (1 << snapshot) - 1;
        let mut unpinned = Vec::new();
        self.0.retain_mut(|block| {
            block.snapshots = block.snapshots & below | block.snapshots >> 1 & !below;
            if block.snapshots == 0 {
                unpinned.push((Vbn(block.vbn.into()), block.key));
            }
            block.snapshots != 0
        });
        unpinned
    }

    /// The checksum of the pinned block at `vbn`.
    pub(super) fn checksum_at(&self, vbn: Vbn) -> Option<u32> {
        let at = self.0.binary_search_by_key(&vbn.0, |block| block.vbn.into()).ok()?;
        Some(self.0[at].checksum)
    }

    /// Number of pinned blocks.
    pub(super) fn len(&self) -> u64 {
        self.0.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pinned(blocks: &SnapshotPins) -> Vec<(u32, u64)> {
        blocks.0.iter().map(|block| (block.key, u64::from(block.vbn))).collect()
    }

    #[test]
    fn a_block_is_unpinned_with_its_last_snapshot() {
        let block = |key, vbn| (key, Pointer { vbn: Vbn(vbn), checksum: key + 100 });
        let mut blocks = SnapshotPins::default();
        blocks.pin(0, [block(7, 70), block(3, 30)]);
        blocks.pin(1, [block(7, 70), block(3, 31)]);
        blocks.pin(2, [block(3, 31), block(7, 71)]);
        assert_eq!(pinned(&blocks), [(3, 30), (3, 31), (7, 70), (7, 71)]);
        assert_eq!(blocks.checksum_at(Vbn(31)), Some(103));
        assert_eq!(blocks.checksum_at(Vbn(32)), None);
        // The second goes, and the third is the second then.
        assert_eq!(blocks.unpin(1), []);
        assert_eq!(blocks.unpin(1), [(Vbn(31), 3), (Vbn(71), 7)]);
        assert_eq!(blocks.unpin(0), [(Vbn(30), 3), (Vbn(70), 7)]);
        assert_eq!(blocks.len(), 0);
    }
}
