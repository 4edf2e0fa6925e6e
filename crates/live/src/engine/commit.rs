//! Consistency points on their way to being safe: a flush, the labels, the superblock, in this order. And the flushes
//! that redo records wait for.

use strewn_array::Root;
use strewn_raid::SpindleIndex;

use super::{FLUSH_FOR_REDO, FLUSH_FOR_SUPERBLOCK, LiveArray, LiveArrayEngine, SUPERBLOCK};
use crate::format::Superblock;

/// A consistency point whose blocks are all written, on its way to being safe.
pub(super) struct PendingCommit {
    superblock: Superblock,
    stage: CommitStage,
    /// Whether its flush is the one that the log knows of: a flush for redo records that ends while that of a superblock is
    /// under way says nothing of what the latter will make safe.
    flushes_redo: bool,
    /// Whether the array waits for it.
    notifies_array: bool,
    /// Spindles that are present once it is safe.
    pub(super) rebuilt: Vec<SpindleIndex>,
}

impl PendingCommit {
    pub(super) fn new(superblock: Superblock, notifies_array: bool) -> Self {
        let (stage, rebuilt) = (CommitStage::Waiting, Vec::new());
        Self { superblock, stage, flushes_redo: false, notifies_array, rebuilt }
    }
}

/// How far it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CommitStage {
    /// Nothing has been asked for.
    Waiting,
    /// The spindles are being flushed.
    Flushing,
    /// They are; the superblock waits for the labels, should a spindle have been lost meanwhile.
    Flushed,
    /// The superblock is being written.
    Writing,
}

impl<A: LiveArray> LiveArrayEngine<A> {
    /// Writes one more superblock, which says that nothing of the log is needed, and whether the array is left as it is.
    /// Of use only when all [has caught up](Self::is_caught_up).
    pub fn seal(&mut self, clean: bool) {
        let log_start = self.driver.log.next_sequence();
        self.log_start = log_start;
        let superblock = Superblock { log_start, clean, ..self.superblock.next() };
        self.committing = Some(PendingCommit::new(superblock, true));
        self.run_to_quiescence();
    }

    pub(super) fn begin_commit(&mut self, root: Root) {
        if self.committing.is_some() {
            self.next_root = Some(root);
            return;
        }
        let superblock = Superblock {
            checkpoint: self.driver.checkpoint,
            log_start: if self.replaying { self.superblock.log_start } else { self.log_start },
            root,
            ..self.superblock.next()
        };
        self.committing = Some(PendingCommit::new(superblock, true));
    }

    /// Writes the superblock of a consistency point when nothing is in its way: host records before it that are not durable
    /// yet, which it covers, and labels that do not say yet which spindles it does without.
    pub(super) fn commit_if_ready(&mut self) -> bool {
        let Some(committing) = &self.committing else { return false };
        let log_start = committing.superblock.log_start;
        let log_is_behind = self.waiting_for_log.front().is_some_and(|(one, _)| *one < log_start);
        if log_is_behind || !self.labels.is_idle() || self.stopped.is_some() {
            return false;
        }
        match committing.stage {
            CommitStage::Waiting => self.flush_for_superblock(),
            CommitStage::Flushed => self.write_superblock(),
            CommitStage::Flushing | CommitStage::Writing => return false,
        }
        true
    }

    fn flush_for_superblock(&mut self) {
        let rebuilt = self.promotable();
        let Some(committing) = &mut self.committing else { return };
        committing.stage = CommitStage::Flushing;
        committing.rebuilt = rebuilt;
        committing.superblock.redo_start = self.driver.log.redo_start();
        committing.flushes_redo = !self.flushing_for_redo;
        if committing.flushes_redo {
            self.driver.log.flush_started();
        }
        self.driver.store.flush(FLUSH_FOR_SUPERBLOCK);
    }

    /// What is flushed is flushed on all spindles that the labels have as present.
    fn write_superblock(&mut self) {
        let Some(committing) = &mut self.committing else { return };
        committing.stage = CommitStage::Writing;
        committing.superblock.label_sequence = self.labels.label().sequence;
        self.driver.store.write_superblock(SUPERBLOCK, &committing.superblock);
    }

    /// The spindles are flushed that a superblock leads to.
    pub(super) fn on_superblock_flush(&mut self) {
        if let Some(committing) = &mut self.committing {
            committing.stage = CommitStage::Flushed;
        }
    }

    pub(super) fn on_superblock_durable(&mut self) {
        let Some(committing) = self.committing.take() else { return };
        let PendingCommit { superblock, flushes_redo, notifies_array, rebuilt, .. } = committing;
        self.driver.checkpoint = superblock.checkpoint + 1;
        self.superblock = superblock;
        if flushes_redo {
            self.driver.log.flush_finished();
        }
        self.promote(&rebuilt);
        if notifies_array && !self.replaying {
            self.driver.log.release();
        }
        let durable = self.driver.log.durable();
        self.driver.on_redo_durable(durable.redo);
        if notifies_array {
            self.array.committed(self.driver.now_ns, &mut self.driver);
        }
        if let Some(root) = self.next_root.take() {
            self.begin_commit(root);
        }
    }

    /// The redo area is full: what its records protect is made safe, so that it can be used again.
    pub(super) fn flush_for_redo(&mut self) -> bool {
        let is_flushing = self.flushing_for_redo
            || self.committing.as_ref().is_some_and(|committing| committing.flushes_redo);
        if !is_flushing && self.labels.is_idle() && self.driver.log.wants_flush() {
            self.flushing_for_redo = true;
            self.driver.log.flush_started();
            self.driver.store.flush(FLUSH_FOR_REDO);
        }
        // A spindle that was lost meanwhile must be known to be before the records are gone that it has not.
        if !self.flushed_for_redo || !self.labels.is_idle() {
            return false;
        }
        self.flushed_for_redo = false;
        self.flushing_for_redo = false;
        self.driver.log.flush_finished();
        let durable = self.driver.log.durable();
        self.driver.on_redo_durable(durable.redo);
        true
    }
}
