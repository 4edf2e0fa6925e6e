//! Completes partial block writes to whole blocks, for arrays that require them: [`LiveArray::WHOLE_BLOCK_WRITES`].
//!
//! A write that covers a block in part first reads the block through the array. Whole blocks are then logged and
//! written. Two such writes to one block must not revert each other, so a write owns its blocks from before that read
//! until the array has acknowledged it; other writes wait, in order of arrival. Reads never wait: they find the block
//! as it was or as it will be.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use slab::Slab;
use strewn_array::{Direction, HostOperation, OperationId, Payload};
use strewn_base::{BLOCK_SECTORS, SECTOR_BYTES};

use super::requests::{Piece, RequestError};
use super::{LiveArray, LiveArrayEngine};
use crate::data::Data;

const SECTOR: usize = SECTOR_BYTES as usize;

/// The writes of an array that requires whole blocks.
#[derive(Default)]
pub(super) struct PartialWrites {
    /// Blocks owned by writes that the array has not acknowledged: disjoint runs, as first block and end.
    held: BTreeMap<u64, u64>,
    /// Writes that wait for owned blocks, or for blocks of an earlier waiting write: their requests and sectors.
    waiting: VecDeque<(u64, Range<u64>)>,
    merges: Slab<PartialWrite>,
}

/// A write whose edge blocks are being read.
struct PartialWrite {
    key: u64,
    /// The sectors that the host writes.
    sectors: Range<u64>,
    /// Whole blocks, with the host's data in place.
    bytes: Vec<u8>,
    pending_edges: usize,
    /// Whether an edge block can be neither read nor recomputed.
    is_lost: bool,
}

/// Returns the blocks that sectors touch.
fn blocks_of(sectors: &Range<u64>) -> Range<u64> {
    sectors.start / BLOCK_SECTORS..sectors.end.div_ceil(BLOCK_SECTORS)
}

/// Returns the blocks that sectors cover in part.
fn edges_of(sectors: &Range<u64>) -> Vec<u64> {
    let blocks = blocks_of(sectors);
    let mut edges = Vec::new();
    if !sectors.start.is_multiple_of(BLOCK_SECTORS) {
        edges.push(blocks.start);
    }
    if !sectors.end.is_multiple_of(BLOCK_SECTORS) && !edges.contains(&(blocks.end - 1)) {
        edges.push(blocks.end - 1);
    }
    edges
}

fn overlap(one: &Range<u64>, other: &Range<u64>) -> bool {
    one.start < other.end && other.start < one.end
}

impl PartialWrites {
    /// Takes ownership of a write's blocks. If that is not possible now, the write waits, and this returns false.
    fn hold(&mut self, key: u64, sectors: &Range<u64>) -> bool {
        let blocks = blocks_of(sectors);
        let waits = self.waiting.iter().any(|(_, other)| overlap(&blocks_of(other), &blocks));
        if waits || self.is_held(&blocks) {
            self.waiting.push_back((key, sectors.clone()));
            return false;
        }
        self.held.insert(blocks.start, blocks.end);
        true
    }

    fn is_held(&self, blocks: &Range<u64>) -> bool {
        self.held.range(..blocks.end).next_back().is_some_and(|(_, end)| *end > blocks.start)
    }

    /// Ends a write's ownership. Returns the waiting writes that own their blocks now.
    fn release(&mut self, sectors: &Range<u64>) -> Vec<(u64, Range<u64>)> {
        self.held.remove(&blocks_of(sectors).start);
        let (mut ready, mut still_waiting) = (Vec::new(), VecDeque::new());
        let mut before: Vec<Range<u64>> = Vec::new();
        for (key, sectors) in std::mem::take(&mut self.waiting) {
            let blocks = blocks_of(&sectors);
            if self.is_held(&blocks) || before.iter().any(|other| overlap(other, &blocks)) {
                before.push(blocks);
                still_waiting.push_back((key, sectors));
            } else {
                self.held.insert(blocks.start, blocks.end);
                ready.push((key, sectors));
            }
        }
        self.waiting = still_waiting;
        ready
    }
}

impl PartialWrite {
    /// Fills in the part of a block that the host does not write.
    fn fill(&mut self, block: u64, read: &[u8]) {
        let first = blocks_of(&self.sectors).start;
        for at in 0..BLOCK_SECTORS {
            if !self.sectors.contains(&(block * BLOCK_SECTORS + at)) {
                let to = ((block - first) * BLOCK_SECTORS + at) as usize * SECTOR;
                let from = at as usize * SECTOR;
                self.bytes[to..to + SECTOR].copy_from_slice(&read[from..from + SECTOR]);
            }
        }
    }
}

impl<A: LiveArray> LiveArrayEngine<A> {
    /// Writes a piece of a request as soon as it can own its blocks.
    pub(super) fn write_when_unblocked(&mut self, key: u64, sectors: Range<u64>) {
        if self.merges.hold(key, &sectors) {
            self.complete(key, sectors);
        }
    }

    /// Writes a piece that owns its blocks, after reading its edge blocks if it has any.
    fn complete(&mut self, key: u64, sectors: Range<u64>) {
        // A request disappears only if the array has stopped.
        let Some(pending) = self.pending.get(&key) else { return };
        let data = pending.data_of(&sectors).into_bytes();
        let edges = edges_of(&sectors);
        if edges.is_empty() {
            return self.write_piece(key, Piece::Write(sectors.clone()), &sectors, data);
        }
        let blocks = blocks_of(&sectors);
        let first_sector = blocks.start * BLOCK_SECTORS;
        let in_all = (blocks.end - blocks.start) * BLOCK_SECTORS;
        let mut bytes = vec![0; in_all as usize * SECTOR];
        let from = (sectors.start - first_sector) as usize * SECTOR;
        bytes[from..from + data.len()].copy_from_slice(&data);
        let merge =
            PartialWrite { key, sectors, bytes, pending_edges: edges.len(), is_lost: false };
        let merge = self.merges.merges.insert(merge);
        for block in edges {
            let edge = self.operations.insert((key, Piece::Edge { merge, block }));
            let operation = HostOperation {
                id: OperationId(edge as u32),
                direction: Direction::Read,
                first_sector: block * BLOCK_SECTORS,
                sectors: BLOCK_SECTORS as u32,
                payload: Data::default(),
            };
            self.array.host_operation(self.driver.now_ns, operation, &mut self.driver);
            self.driver.dispatch();
        }
    }

    /// Handles the data of an edge block, or its loss.
    pub(super) fn on_edge_read(&mut self, merge: usize, block: u64, data: Option<&[u8]>) {
        let Some(one) = self.merges.merges.get_mut(merge) else { return };
        match data {
            Some(data) => one.fill(block, data),
            None => one.is_lost = true,
        }
        one.pending_edges -= 1;
        if one.pending_edges > 0 {
            return;
        }
        let PartialWrite { key, sectors, bytes, is_lost, .. } = self.merges.merges.remove(merge);
        if is_lost {
            if let Some(pending) = self.pending.get_mut(&key) {
                pending.failed = Some(RequestError::BlocksGone);
            }
            self.release_blocks(&sectors);
            self.on_piece_done(key);
            return;
        }
        let blocks = blocks_of(&sectors);
        let sectors = blocks.start * BLOCK_SECTORS..blocks.end * BLOCK_SECTORS;
        let piece = Piece::Completed { sectors: sectors.clone(), bytes: bytes.clone() };
        self.write_piece(key, piece, &sectors, bytes);
    }

    fn write_piece(&mut self, key: u64, piece: Piece, sectors: &Range<u64>, data: Vec<u8>) {
        let id = OperationId(self.operations.insert((key, piece)) as u32);
        let operation = HostOperation {
            id,
            direction: Direction::Write,
            first_sector: sectors.start,
            sectors: (sectors.end - sectors.start) as u32,
            payload: Data::from_bytes(data),
        };
        self.array.host_operation(self.driver.now_ns, operation, &mut self.driver);
        self.driver.dispatch();
    }

    /// Continues the writes that waited for the blocks of a write that the array has acknowledged or refused.
    pub(super) fn release_blocks(&mut self, sectors: &Range<u64>) {
        for (key, sectors) in self.merges.release(sectors) {
            self.complete(key, sectors);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_are_the_blocks_that_are_covered_in_part() {
        assert_eq!(edges_of(&(8..24)), []);
        assert_eq!(edges_of(&(9..11)), [1]);
        assert_eq!(edges_of(&(8..11)), [1]);
        assert_eq!(edges_of(&(9..16)), [1]);
        assert_eq!(edges_of(&(9..40)), [1]);
        assert_eq!(edges_of(&(9..41)), [1, 5]);
    }

    #[test]
    fn writes_that_meet_in_a_block_go_one_after_the_other() {
        let mut merges = PartialWrites::default();
        assert!(merges.hold(1, &(0..12)));
        assert!(!merges.hold(2, &(12..30)));
        // It overlaps no write in progress, but one that waits ahead of it.
        assert!(!merges.hold(3, &(28..40)));
        assert!(merges.hold(4, &(40..48)));
        assert_eq!(merges.release(&(40..48)), []);
        assert_eq!(merges.release(&(0..12)), [(2, 12..30)]);
        assert_eq!(merges.release(&(12..30)), [(3, 28..40)]);
        assert_eq!(merges.release(&(28..40)), []);
        assert!(merges.held.is_empty() && merges.waiting.is_empty());
    }

    #[test]
    fn what_the_host_does_not_write_stays() {
        let bytes = vec![1; 2 * 4096];
        let mut merge =
            PartialWrite { key: 0, sectors: 11..20, bytes, pending_edges: 2, is_lost: false };
        merge.fill(1, &[2; 4096]);
        merge.fill(2, &[3; 4096]);
        let by_sector: Vec<u8> = merge.bytes.chunks(512).map(|sector| sector[0]).collect();
        assert_eq!(by_sector, [2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 3, 3, 3, 3]);
    }
}
