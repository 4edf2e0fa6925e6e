//! Decides when the labels may mark a rebuilt spindle as present.
//!
//! Two conditions must hold first, and a superblock begun after the rebuild ensures both. The rebuilt blocks must be
//! flushed: otherwise a crash would leave blocks that were never written, which read as zeros. And no redo record
//! from before the end of the rebuild may be needed: such a record may hold old contents of the spindle, from before
//! its loss, for blocks whose later updates only parity recorded. A restart that applied it over rebuilt blocks would
//! corrupt their stripes.

use strewn_raid::SpindleIndex;

use super::commit::PendingCommit;
use super::{LiveArray, LiveArrayEngine};
use crate::format::MemberState;
use crate::log::RedoToken;

/// A rebuilt spindle that the labels do not mark as present yet.
pub(super) struct RebuiltSpindle {
    pub(super) spindle: SpindleIndex,
    /// The last redo record appended before the rebuild ended.
    redo: RedoToken,
}

impl<A: LiveArray> LiveArrayEngine<A> {
    /// Starts to make rebuilt spindles present; returns false if there is nothing to start.
    pub(super) fn promote_rebuilt(&mut self) -> bool {
        if self.stopped.is_some() {
            return false;
        }
        for spindle in self.labels.rebuilding() {
            // A spindle that failed repeatedly has a failure for each time.
            let mut of_spindle = self.array.failures().iter().rev();
            let newest = of_spindle.find(|failure| failure.spindle == spindle);
            let are_checked = self.rebuilt.iter().any(|rebuilt| rebuilt.spindle == spindle);
            if !are_checked && newest.is_none_or(|failure| !failure.is_open()) {
                self.rebuilt.push(RebuiltSpindle { spindle, redo: self.driver.last_redo });
            }
        }
        let begins = self.committing.is_none() && !self.promotable().is_empty();
        if begins {
            self.begin_rewrite();
        }
        begins
    }

    /// Returns the rebuilt spindles that a superblock begun now would make present.
    pub(super) fn promotable(&self) -> Vec<SpindleIndex> {
        let redo_start = self.driver.log.redo_start();
        let covered = self.rebuilt.iter().filter(|rebuilt| rebuilt.redo.0 < redo_start);
        covered.map(|rebuilt| rebuilt.spindle).collect()
    }

    /// Makes spindles present after a durable superblock, unless they were lost again.
    pub(super) fn promote(&mut self, spindles: &[SpindleIndex]) {
        for &spindle in spindles {
            if let Some(at) = self.rebuilt.iter().position(|one| one.spindle == spindle) {
                self.rebuilt.swap_remove(at);
                self.labels.set_state(spindle, MemberState::Present);
                self.driver.set_complete(spindle, true);
            }
        }
    }

    /// Cancels the promotion of a lost spindle.
    pub(super) fn cancel_promotion(&mut self, spindle: SpindleIndex) {
        self.rebuilt.retain(|rebuilt| rebuilt.spindle != spindle);
        if let Some(committing) = &mut self.committing {
            committing.rebuilt.retain(|one| *one != spindle);
        }
    }

    /// Writes the last superblock once more, with the current start of the redo log. No commit may be [in
    /// progress](Self::is_committing).
    pub fn rewrite_superblock(&mut self) {
        self.begin_rewrite();
        self.run_to_quiescence();
    }

    fn begin_rewrite(&mut self) {
        self.committing = Some(PendingCommit::new(self.superblock.next(), false));
    }

    /// Returns whether a superblock is being written.
    #[must_use]
    pub fn is_committing(&self) -> bool {
        self.committing.is_some()
    }
}
