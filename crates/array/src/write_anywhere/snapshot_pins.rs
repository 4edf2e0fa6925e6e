//! What snapshots hold: blocks that stay in use when the array writes them elsewhere, and what must be in them.

use strewn_raid::Vbn;

use super::metadata::Pointer;

/// A block that snapshots hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PinnedBlock {
    /// Numbers of an aggregate with bytes are of 32 bits.
    vbn: u32,
    key: u32,
    checksum: u32,
    /// A bit for each snapshot.
    snapshots: u32,
}

/// All of them, by place.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct SnapshotPins(Vec<PinnedBlock>);

impl SnapshotPins {
    /// Adds what snapshot `snapshot` holds.
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

    /// Lets go what snapshot `snapshot` holds, and has those above it have the numbers one lower; places that none holds any
    /// more, each with the block that lies there.
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

    /// The checksum of what is held at a place.
    pub(super) fn checksum_at(&self, vbn: Vbn) -> Option<u32> {
        let at = self.0.binary_search_by_key(&vbn.0, |block| block.vbn.into()).ok()?;
        Some(self.0[at].checksum)
    }

    /// How many blocks are held.
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
    fn a_block_is_let_go_by_the_last_snapshot_that_holds_it() {
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
