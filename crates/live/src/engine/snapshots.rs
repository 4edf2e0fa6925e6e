//! Superblocks that differ from the last in their snapshots.

use super::commit::Committing;
use super::{Engine, LiveArray};
use crate::format::{FEATURE_SNAPSHOTS, Snapshot, Superblock};

impl<A: LiveArray> Engine<A> {
    /// Writes one more superblock, with these snapshots; `let_go_blocks` are in use until the next consistency point that
    /// only one held which is not among them. The labels say before that there are snapshots. Of use only when all
    /// [has caught up](Self::has_caught_up).
    pub fn write_snapshots(&mut self, snapshots: Vec<Snapshot>, let_go_blocks: u64) {
        if !snapshots.is_empty() {
            self.labels.set_feature(FEATURE_SNAPSHOTS);
        }
        let mut superblock = Superblock { snapshots, ..self.superblock.next() };
        superblock.root.held_back_blocks += let_go_blocks;
        self.committing = Some(Committing::new(superblock, false));
        self.settle();
    }
}
