//! Consistency points: all dirty blocks are written together, with the metadata that records where.

mod bytes;
mod costs;
mod placement;
mod seal;
#[cfg(test)]
mod tests;
mod tetris;

use std::collections::VecDeque;

use strewn_alloc::{GroupIndex, Tetris};
use strewn_base::ROW_STRIPES;
use strewn_base::state::SavedValue;
use strewn_raid::Vbn;

use crate::driver::{Acknowledge, Driver, Work};
use crate::payload::Payload;
use crate::slots::Slots;

use super::context::{Context, LogAttempt, Next, Requested, Taken};
use super::memory::prefetch::BLOCKS_AHEAD;
use super::space::Space;
use super::tag::{Owner, TagFields};
use tetris::TetrisInFlight;

/// Metadata reads of a consistency point in flight at once.
const METADATA_READS_IN_FLIGHT: u32 = 32;

/// The consistency points of an array: at most one is in progress.
#[derive(SavedValue)]
pub(super) struct ConsistencyPoints<P> {
    in_progress: Option<ConsistencyPoint<P>>,
    /// When the next one begins at the latest.
    pub(super) due_ns: u64,
}

/// A consistency point in progress. Its blocks are placed; it reads the metadata that it changes and the cache lacks,
/// then writes tetris after tetris, the superblock last.
#[derive(SavedValue)]
struct ConsistencyPoint<P> {
    /// Data blocks, ascending.
    data: Vec<u32>,
    /// Blocks of the file that lose their places, ascending.
    unmapped: Vec<u32>,
    /// Metadata blocks that it writes.
    metadata: Vec<u32>,
    /// Metadata to read, from its old places.
    to_read: VecDeque<(u32, Vbn)>,
    reads_out: u32,
    tetrises: VecDeque<Tetris<u32>>,
    in_flight: Slots<TetrisInFlight<P>>,
    superblock_written: bool,
    /// Whether the driver is making it durable.
    commit_asked: bool,
    /// The blocks that it frees, in an array with bytes.
    freed: Vec<Vbn>,
    /// Blocks that it frees and that the processor has not been charged for.
    frees_to_charge: u64,
    began_ns: u64,
}

impl<P: Payload> ConsistencyPoint<P> {
    /// Whether nothing is left to read or to write.
    fn is_written(&self) -> bool {
        self.to_read.is_empty()
            && self.reads_out == 0
            && self.tetrises.is_empty()
            && self.in_flight.is_empty()
            && self.superblock_written
    }

    /// Sends the reads and begins the tetrises that can be sent now. Returns whether all is on the spindles.
    fn advance(&mut self, cx: &mut Context<'_, P, impl Driver<P>>) -> bool {
        while self.reads_out < METADATA_READS_IN_FLIGHT {
            let Some((key, vbn)) = self.to_read.pop_front() else { break };
            let fields = TagFields {
                owner: Owner::ConsistencyPointRead,
                slot: 0,
                first_key: key,
                blocks: 1,
                epoch_parity: false,
            };
            cx.send_read(fields, cx.space.run_at(vbn));
            cx.counters.metadata_reads += 1;
            self.reads_out += 1;
        }
        if self.reads_out > 0 {
            return false;
        }
        while self.in_flight.len() < cx.space.config.tetrises_in_flight as usize {
            let Some(tetris) = cx.space.next_tetris(&mut self.tetrises) else { break };
            self.begin_tetris(tetris, cx);
        }
        if !self.in_flight.is_empty() || !self.tetrises.is_empty() {
            return false;
        }
        if self.superblock_written {
            return cx.memory.reads.are_back() && !self.commit_asked;
        }
        if cx.space.is_durable() {
            cx.driver.commit(cx.space.root());
            (self.superblock_written, self.commit_asked) = (true, true);
            return false;
        }
        let superblock = cx.space.superblock_tetris();
        if cx.space.may_write(&superblock) {
            self.superblock_written = true;
            self.begin_tetris(superblock, cx);
        }
        false
    }

    /// Everything is on the spindles, the superblock last: frees the blocks that the consistency point no longer uses.
    fn commit(self, cx: &mut Context<'_, P, impl Driver<P>>) {
        assert!(self.is_written(), "a consistency point commits before all of it is written");
        cx.space
            .aggregate
            .commit()
            .expect("the plan of an open consistency point has been written");
        cx.space.forget_old_locations();
        cx.memory.frozen.clear();
        for (index, &block) in self.data.iter().enumerate() {
            cx.memory.prefetch_buffer_ahead(&self.data, index);
            let evicted = cx.memory.cache.end_flush(block);
            cx.memory.forget(evicted, cx.counters);
        }
        for (index, &metadata) in self.metadata.iter().enumerate() {
            cx.memory.prefetch_buffer_ahead(&self.metadata, index);
            cx.memory.release(metadata, cx.counters);
        }
        let counters = &mut *cx.counters;
        counters.snapshots_taken += cx.space.on_snapshots_committed();
        counters.consistency_points += 1;
        counters.consistency_point_ns += cx.now_ns.saturating_sub(self.began_ns);
        counters.consistency_point_blocks += (self.data.len() + self.metadata.len()) as u64;
        counters.consistency_point_data_blocks += self.data.len() as u64;
        cx.space.note_room();
        cx.driver.consistency_point_ends();
    }
}

impl<P: Payload> ConsistencyPoints<P> {
    pub(super) fn new() -> Self {
        Self { in_progress: None, due_ns: 0 }
    }

    #[inline]
    pub(super) fn is_in_progress(&self) -> bool {
        self.in_progress.is_some()
    }

    /// The rows of the tetrises in flight in `group`.
    pub(super) fn rows_in_flight(&self, group: GroupIndex) -> Vec<u64> {
        let in_flight = self.in_progress.iter().flat_map(|one| one.in_flight.iter());
        let tetrises = in_flight.map(|(_, one)| &one.tetris);
        let of_group = tetrises.filter(|tetris| tetris.group == group);
        of_group.map(|tetris| tetris.first_stripe / ROW_STRIPES).collect()
    }

    /// Begins a consistency point with all that is dirty now, if there is anything to write. None may be in progress.
    #[inline(never)]
    pub(super) fn begin(
        &mut self,
        requested: impl FnOnce(&Space) -> Requested,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) -> Option<Taken> {
        assert!(self.in_progress.is_none(), "a consistency point begins while one is in progress");
        let unmapped = cx.memory.dirty.take_unmapped();
        let for_snapshots =
            cx.space.snapshots.as_ref().is_some_and(|snapshots| snapshots.has_work());
        let is_dirty = !cx.memory.dirty.blocks().is_empty();
        if !is_dirty && unmapped.is_empty() && !for_snapshots && !cx.space.pending.has_changed {
            return None;
        }
        let before = cx.driver.turn_to(Work::WriteBack);
        cx.driver.consistency_point_begins();
        cx.memory.reads.begin_epoch();
        let data = cx.memory.dirty.take_dirty();
        for (index, &block) in data.iter().enumerate() {
            cx.memory.prefetch_buffer_ahead(&data, index);
            cx.memory.cache.begin_flush(block);
            cx.memory.dirty.note_rewritten(block, data.get(index + BLOCKS_AHEAD).copied());
        }
        let taken =
            Taken { data_blocks: data.len() as u64, relocated: cx.memory.dirty.relocated() };
        cx.memory.dirty.reset_relocated();
        assert!(
            cx.memory.cache.dirty_blocks() == 0,
            "a consistency point leaves dirty blocks behind"
        );
        cx.space.begin_snapshots();
        let mut consistency_point = ConsistencyPoint {
            data,
            unmapped,
            metadata: Vec::new(),
            to_read: VecDeque::new(),
            reads_out: 0,
            tetrises: VecDeque::new(),
            in_flight: Slots::new(),
            superblock_written: false,
            commit_asked: false,
            freed: Vec::new(),
            frees_to_charge: 0,
            began_ns: cx.now_ns,
        };
        if let Err(full) = consistency_point.place_all(requested(cx.space), cx) {
            panic!("{full} during a consistency point, though each write was admitted by its room");
        }
        cx.space.note_room();
        consistency_point.seal(cx);
        self.in_progress = Some(consistency_point);
        cx.then(Next::AdvanceConsistencyPoint);
        cx.then(Next::TurnTo(before));
        Some(taken)
    }

    /// A metadata block that the consistency point changes has been read, or cannot be.
    pub(super) fn on_metadata_read(
        &mut self,
        fields: TagFields,
        payload: Option<&P>,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        if let Some(payload) = payload {
            let (first, blocks) = (fields.first_key, fields.blocks);
            cx.memory.fill(first, blocks, payload, false, &cx.space.map, cx.counters);
        }
        let Some(consistency_point) = &mut self.in_progress else {
            unreachable!("metadata was read for a consistency point, and none is in progress")
        };
        assert!(consistency_point.reads_out > 0, "metadata was read that was not asked for");
        consistency_point.reads_out -= 1;
        cx.then(Next::AdvanceConsistencyPoint);
    }

    /// Sends the commands that the consistency point in progress can send now. Commits it when all is written and no
    /// read is in flight to a block that the commit frees.
    #[inline(never)]
    pub(super) fn advance(&mut self, cx: &mut Context<'_, P, impl Driver<P>>) {
        if let Some(committed) = self.in_progress.take_if(|one| one.advance(cx)) {
            committed.commit(cx);
            let before = cx.driver.turn_to(Work::Service);
            cx.then(Next::Log(Acknowledge::Now, LogAttempt::First));
            cx.then(Next::RelocateAfterCommit);
            cx.then(Next::TurnTo(before));
            cx.then(Next::AfterCommit);
        }
    }

    /// The driver has made the consistency point durable.
    pub(super) fn on_committed(&mut self, cx: &mut Context<'_, P, impl Driver<P>>) {
        if let Some(consistency_point) = &mut self.in_progress {
            consistency_point.commit_asked = false;
        }
        cx.then(Next::AdvanceConsistencyPoint);
    }
}
