//! Superblocks that change the list of snapshots.

use super::commit::PendingCommit;
use super::{LiveArray, LiveArrayEngine};
use crate::format::{FEATURE_SNAPSHOTS, Snapshot, Superblock};

impl<A: LiveArray> LiveArrayEngine<A> {
    /// Writes one more superblock, with these snapshots. `unpinned_blocks` blocks that only a deleted snapshot
    /// referenced stay in use until the next consistency point. The labels record that the array has snapshots before
    /// any superblock does. The array must be [caught up](Self::is_caught_up).
    pub fn write_snapshots(&mut self, snapshots: Vec<Snapshot>, unpinned_blocks: u64) {
        if !snapshots.is_empty() {
            self.labels.set_feature(FEATURE_SNAPSHOTS);
        }
        let mut superblock = Superblock { snapshots, ..self.superblock.next() };
        superblock.root.held_back_blocks += unpinned_blocks;
        self.committing = Some(PendingCommit::new(superblock, false));
        self.run_to_quiescence();
    }
}
