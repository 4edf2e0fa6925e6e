//! From rebuilt to present: when a spindle's label may say that what it holds is to be believed.
//!
//! Two things come first, and a superblock that is begun when the rebuild is over has both. What was rebuilt is flushed:
//! else a crash would leave blocks that were never written, and they would pass for zeros. And no redo record is needed
//! that was made before: it may have what the spindle held before it was lost, of blocks that were changed in parity
//! alone since, and a restart that has it written over what was rebuilt would leave the stripe wrong.

use strewn_raid::SpindleIndex;

use super::commit::PendingCommit;
use super::{LiveArray, LiveArrayEngine};
use crate::format::MemberState;
use crate::log::RedoToken;

/// A spindle that is rebuilt, and that the labels do not have as present.
pub(super) struct RebuiltSpindle {
    pub(super) spindle: SpindleIndex,
    /// The last redo record that was made till then.
    redo: RedoToken,
}

impl<A: LiveArray> LiveArrayEngine<A> {
    /// Has what was rebuilt made safe; whether anything began.
    pub(super) fn promote_rebuilt(&mut self) -> bool {
        if self.stopped.is_some() {
            return false;
        }
        for spindle in self.labels.rebuilding() {
            // A spindle that failed again has a failure for each time.
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

    /// Rebuilt spindles that a superblock makes present, if it is asked for now.
    pub(super) fn promotable(&self) -> Vec<SpindleIndex> {
        let redo_start = self.driver.log.redo_start();
        let covered = self.rebuilt.iter().filter(|rebuilt| rebuilt.redo.0 < redo_start);
        covered.map(|rebuilt| rebuilt.spindle).collect()
    }

    /// A superblock is safe that makes these spindles present, those that were not lost again.
    pub(super) fn promote(&mut self, spindles: &[SpindleIndex]) {
        for &spindle in spindles {
            if let Some(at) = self.rebuilt.iter().position(|one| one.spindle == spindle) {
                self.rebuilt.swap_remove(at);
                self.labels.set_state(spindle, MemberState::Present);
                self.driver.set_complete(spindle, true);
            }
        }
    }

    /// A spindle is lost: nothing that was under way for it counts.
    pub(super) fn cancel_promotion(&mut self, spindle: SpindleIndex) {
        self.rebuilt.retain(|rebuilt| rebuilt.spindle != spindle);
        if let Some(committing) = &mut self.committing {
            committing.rebuilt.retain(|one| *one != spindle);
        }
    }

    /// Writes the last superblock once more, with what is true of the redo records by now. Of use only when
    /// none [is under way](Self::is_committing).
    pub fn rewrite_superblock(&mut self) {
        self.begin_rewrite();
        self.run_to_quiescence();
    }

    fn begin_rewrite(&mut self) {
        self.committing = Some(PendingCommit::new(self.superblock.next(), false));
    }

    /// Whether a superblock is under way.
    #[must_use]
    pub fn is_committing(&self) -> bool {
        self.committing.is_some()
    }
}
