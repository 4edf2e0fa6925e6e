//! Commits: a flush, then the labels, then the superblock, in this order. Also the flushes that free the redo log.

use strewn_array::Root;
use strewn_raid::SpindleIndex;

use super::{FLUSH_FOR_REDO, FLUSH_FOR_SUPERBLOCK, LiveArray, LiveArrayEngine, SUPERBLOCK};
use crate::format::Superblock;

/// How long records of the log may be durable before a superblock names them, in nanoseconds.
const MARK_AFTER_NS: u64 = 1_000_000_000;

/// A consistency point whose blocks are all written, on its way to a durable superblock.
pub(super) struct PendingCommit {
    superblock: Superblock,
    stage: CommitStage,
    /// Whether the log counts on this flush. A flush for redo records that is already in flight may finish first, and
    /// does not tell what this one makes durable.
    flushes_redo: bool,
    /// Whether the array waits for this commit.
    notifies_array: bool,
    /// Whether it leads to the catalog as it is.
    has_catalog: bool,
    /// Spindles whose rebuild is safe with this superblock.
    pub(super) rebuilt: Vec<SpindleIndex>,
}

impl PendingCommit {
    pub(super) fn new(superblock: Superblock, notifies_array: bool) -> Self {
        let (stage, rebuilt) = (CommitStage::Waiting, Vec::new());
        let (flushes_redo, has_catalog) = (false, false);
        Self { superblock, stage, flushes_redo, notifies_array, has_catalog, rebuilt }
    }
}

/// The stages of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CommitStage {
    /// No I/O was issued yet.
    Waiting,
    /// The spindles are being flushed.
    Flushing,
    /// The spindles are flushed. The superblock waits for the labels if a spindle was lost meanwhile.
    Flushed,
    /// The superblock is being written.
    Writing,
}

impl<A: LiveArray> LiveArrayEngine<A> {
    /// Writes one more superblock, which needs nothing from the log; `clean` records that the array is shut down with
    /// it. The array must be [caught up](Self::is_caught_up).
    pub fn seal(&mut self, clean: bool) {
        let log_start = self.driver.log.next_sequence();
        self.driver.log_start = log_start;
        self.driver.half_starts = [log_start; 2];
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
            consistency_point: self.driver.consistency_point,
            log_start: match self.driver.log.is_replaying() {
                true => self.superblock.log_start,
                false => self.driver.log_start,
            },
            root,
            ..self.superblock.next()
        };
        // The catalog changes only while the array is caught up: a root from then on leads to it.
        let commit = PendingCommit { has_catalog: true, ..PendingCommit::new(superblock, true) };
        self.committing = Some(commit);
    }

    /// Advances the commit unless it must wait: the host records that it covers must be durable, and the labels must
    /// mark the spindles that it goes without as failed.
    pub(super) fn commit_if_ready(&mut self) -> bool {
        let Some(committing) = &self.committing else { return false };
        let log_start = committing.superblock.log_start;
        // Durable records may still wait for a superblock that names them, such as this one.
        let durable = self.driver.log.durable().host;
        let first = self.waiting_for_log.partition_point(|(one, _)| *one <= durable);
        let log_is_behind =
            self.waiting_for_log.get(first).is_some_and(|(one, _)| *one < log_start);
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

    /// Writes the superblock. The labels mark the flushed spindles, and only those, as present.
    fn write_superblock(&mut self) {
        let Some(committing) = &mut self.committing else { return };
        committing.stage = CommitStage::Writing;
        committing.superblock.label_sequence = self.labels.label().sequence;
        let sequences = self.driver.store.map_sequences();
        for (into, sequence) in committing.superblock.map_sequences.iter_mut().zip(sequences) {
            *into = sequence;
        }
        if !self.driver.log.is_replaying() {
            let durable = self.driver.log.durable().host;
            committing.superblock.log_durable = durable.max(self.superblock.log_durable);
        }
        self.driver.store.write_superblock(SUPERBLOCK, &committing.superblock);
    }

    /// Notes that the spindles are flushed, so that the superblock may follow.
    pub(super) fn on_superblock_flush(&mut self) {
        if let Some(committing) = &mut self.committing {
            committing.stage = CommitStage::Flushed;
        }
    }

    pub(super) fn on_superblock_durable(&mut self) {
        let Some(committing) = self.committing.take() else { return };
        let PendingCommit {
            superblock, flushes_redo, notifies_array, has_catalog, rebuilt, ..
        } = committing;
        self.is_catalog_ahead &= !has_catalog;
        self.assert_follows(&superblock);
        self.driver.consistency_point = superblock.consistency_point + 1;
        self.superblock = superblock;
        self.mark_ns = None;
        if flushes_redo {
            self.driver.log.flush_finished();
        }
        self.promote(&rebuilt);
        let durable = self.driver.log.durable();
        self.driver.on_redo_durable(durable.redo);
        if notifies_array {
            self.array.committed(self.driver.now_ns, &mut self.driver);
        }
        self.on_log_durable(durable.host);
        if let Some(root) = self.next_root.take() {
            self.begin_commit(root);
        }
    }

    /// Begins a superblock that names the last durable record of the log, in two cases. The first record of a half is
    /// durable and waits for that: if the device lost the whole half, nothing else would tell that there were records.
    /// Or records have been durable for a while that no superblock names: if the last ones were lost, or damaged, no
    /// later record would tell.
    pub(super) fn mark_log(&mut self) -> bool {
        let durable = self.driver.log.durable().host;
        let is_replaying = self.driver.log.is_replaying();
        if durable > self.superblock.log_durable && !is_replaying {
            self.mark_ns.get_or_insert(self.driver.now_ns + MARK_AFTER_NS);
        } else {
            self.mark_ns = None;
        }
        let waits = self.waiting_for_log.front().is_some_and(|(one, _)| *one <= durable);
        let is_due = waits || self.mark_ns.is_some_and(|at_ns| at_ns <= self.driver.now_ns);
        if !is_due || self.committing.is_some() || self.next_root.is_some() || is_replaying {
            return false;
        }
        let mut mark = PendingCommit::new(self.superblock.next(), false);
        // It leads to what the last one leads to, which is flushed.
        mark.stage = CommitStage::Flushed;
        self.committing = Some(mark);
        true
    }

    /// Returns the last host record that may be acknowledged, if the log is durable up to `durable`: a half's records
    /// wait until a superblock names the first of them.
    pub(super) fn acknowledgeable(&self, durable: u64) -> u64 {
        let named = self.superblock.log_durable;
        match self.driver.half_starts {
            [_, current] if named >= current => durable,
            [previous, current] if named >= previous => durable.min(current - 1),
            [previous, _] => durable.min(previous - 1),
        }
    }

    /// Asserts the order of superblocks. A restart uses the superblock with the highest number, and the log from the
    /// start that it states: a skipped or repeated number goes to the wrong slot, and an earlier log start has been
    /// overwritten.
    fn assert_follows(&self, superblock: &Superblock) {
        let last = &self.superblock;
        assert_eq!(
            superblock.consistency_point,
            last.consistency_point + 1,
            "superblocks are numbered in order"
        );
        assert!(superblock.log_start >= last.log_start, "the start of the log never falls");
        assert!(superblock.log_durable >= last.log_durable, "what was durable once stays so");
        assert!(superblock.redo_start >= last.redo_start, "the start of the redo log never falls");
        assert!(superblock.label_sequence >= last.label_sequence, "labels never fall");
    }

    /// Flushes the spindles if a half of the redo log is full, so that the half can be reused.
    pub(super) fn flush_for_redo(&mut self) -> bool {
        let is_flushing = self.flushing_for_redo
            || self.committing.as_ref().is_some_and(|committing| committing.flushes_redo);
        if !is_flushing && self.labels.is_idle() && self.driver.log.wants_flush() {
            self.flushing_for_redo = true;
            self.driver.log.flush_started();
            self.driver.store.flush(FLUSH_FOR_REDO);
        }
        // Records of a spindle that was lost meanwhile may be dropped only once the labels mark it as failed.
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
