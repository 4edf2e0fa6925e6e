//! Completes writes of parts of blocks to whole blocks, in the durable format: a block has one checksum.
//!
//! A write that covers a block in part first reads the block. Whole blocks are then logged and written. Two such writes
//! to one block must not revert each other, so a write owns its blocks from before that read until it is acknowledged;
//! other writes wait, in order of arrival. Reads never wait: they find the block as it was or as it will be.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use crate::slots::Slots;
use strewn_alloc::GroupIndex;
use strewn_base::state::SavedValue;
use strewn_base::{BLOCK_SECTORS, overlap};

use crate::driver::{Acknowledge, Driver, HostOperation, Refusal};
use crate::payload::Payload;

use super::super::context::{Context, Next};
use super::super::space::blocks::blocks_of;
use super::{Host, range_of};

/// The writes to a disk group of whole blocks.
#[derive(SavedValue)]
pub(super) struct PartialWrites<P> {
    /// Blocks owned by writes that are not acknowledged: disjoint runs, as first block and end.
    owned: BTreeMap<u64, u64>,
    /// Writes that wait for owned blocks, or for blocks of an earlier waiting write.
    waiting: VecDeque<HostOperation<P>>,
    reading: Slots<PartialWrite<P>>,
}

/// A write whose edge blocks are being read.
#[derive(SavedValue)]
struct PartialWrite<P> {
    host: HostOperation<P>,
    awaited: u32,
    /// The first and the last block as read, of those that the write covers in part.
    edges: [P; 2],
    /// Whether an edge block can be neither read nor computed.
    is_lost: bool,
}

/// The blocks that sectors cover in part.
fn edges_of(sectors: &Range<u64>) -> impl Iterator<Item = u64> + use<> {
    let blocks = blocks_of(sectors);
    let head = !sectors.start.is_multiple_of(BLOCK_SECTORS);
    let tail = !sectors.end.is_multiple_of(BLOCK_SECTORS);
    let last = (tail && !(head && blocks.end == blocks.start + 1)).then_some(blocks.end - 1);
    head.then_some(blocks.start).into_iter().chain(last)
}

impl<P> Default for PartialWrites<P> {
    fn default() -> Self {
        Self { owned: BTreeMap::new(), waiting: VecDeque::new(), reading: Slots::new() }
    }
}

impl<P> PartialWrites<P> {
    /// Whether no write waits or reads.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.reading.is_empty()
    }

    /// Takes ownership of a write's blocks. If that is not possible now, the write waits.
    fn own(&mut self, host: HostOperation<P>) -> Option<HostOperation<P>> {
        let blocks = blocks_of(&range_of(&host));
        let overlaps = |other: &HostOperation<P>| overlap(&blocks_of(&range_of(other)), &blocks);
        if self.waiting.iter().any(overlaps) || self.is_owned(&blocks) {
            self.waiting.push_back(host);
            return None;
        }
        self.owned.insert(blocks.start, blocks.end);
        Some(host)
    }

    fn is_owned(&self, blocks: &Range<u64>) -> bool {
        self.owned.range(..blocks.end).next_back().is_some_and(|(_, end)| *end > blocks.start)
    }

    /// Ends a write's ownership. Returns the waiting writes that own their blocks now.
    fn disown(&mut self, sectors: &Range<u64>) -> Vec<HostOperation<P>> {
        self.owned.remove(&blocks_of(sectors).start);
        let waiting = std::mem::take(&mut self.waiting);
        waiting.into_iter().filter_map(|host| self.own(host)).collect()
    }
}

impl<P: Payload> PartialWrite<P> {
    /// The write, completed to whole blocks.
    fn completed(self) -> HostOperation<P> {
        let Self { host, edges: [first, last], .. } = self;
        let sectors = range_of(&host);
        let blocks = blocks_of(&sectors);
        let head = (sectors.start - blocks.start * BLOCK_SECTORS) as u32;
        let tail = (blocks.end * BLOCK_SECTORS - sectors.end) as u32;
        let mut payload = first.slice(0, head);
        payload.splice(head, &host.payload);
        if tail > 0 {
            payload.splice(head + host.sectors, &last.slice(BLOCK_SECTORS as u32 - tail, tail));
        }
        HostOperation {
            first_sector: blocks.start * BLOCK_SECTORS,
            sectors: head + host.sectors + tail,
            payload,
            ..host
        }
    }
}

impl<P: Payload> Host<P> {
    /// Writes whole blocks as soon as the write can own them.
    #[inline(never)]
    pub(super) fn write_blocks(
        &mut self,
        group: GroupIndex,
        host: HostOperation<P>,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        if let Some(host) = self.groups[group].partial_writes.own(host) {
            self.complete(group, host, Acknowledge::AfterProcessor, cx);
        }
    }

    /// Writes what waited for its blocks and owns them now.
    pub(crate) fn complete_waiting(
        &mut self,
        group: GroupIndex,
        host: HostOperation<P>,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        self.complete(group, host, Acknowledge::Now, cx);
    }

    /// Writes what owns its blocks, after reading its edge blocks if it has any.
    #[inline(never)]
    fn complete(
        &mut self,
        group: GroupIndex,
        host: HostOperation<P>,
        when: Acknowledge,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        let sectors = range_of(&host);
        let edges: Vec<u64> = edges_of(&sectors).collect();
        if edges.is_empty() {
            return self.write_or_wait(host, when, cx);
        }
        let operation = (host.id, host.lun);
        let awaited = edges.len() as u32;
        let edges_read = [P::default(), P::default()];
        let write = PartialWrite { host, awaited, edges: edges_read, is_lost: false };
        let slot = self.groups[group].partial_writes.reading.insert(write) as u32;
        for block in edges {
            self.read_edge(operation, slot, block, cx);
        }
    }

    /// An edge block has been read, or is gone.
    #[inline(never)]
    pub(super) fn on_edge_read(
        &mut self,
        group: GroupIndex,
        slot: u32,
        first_sector: u64,
        block: Option<P>,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        let reading = &mut self.groups[group].partial_writes.reading;
        let write = &mut reading[slot as usize];
        assert!(write.awaited > 0, "a block has been read that its write did not wait for");
        write.awaited -= 1;
        let sectors = range_of(&write.host);
        match block {
            Some(block) => {
                if first_sector + BLOCK_SECTORS >= sectors.end {
                    write.edges[1] = block.slice(0, BLOCK_SECTORS as u32);
                }
                if first_sector <= sectors.start {
                    write.edges[0] = block;
                }
            }
            None => write.is_lost = true,
        }
        if write.awaited > 0 {
            return;
        }
        let write = reading.remove(slot as usize);
        if write.is_lost {
            cx.driver.refuse(write.host.id, Refusal::BlocksGone);
            self.on_blocks_free(group, &sectors, cx);
        } else {
            self.write_or_wait(write.completed(), Acknowledge::Now, cx);
        }
        cx.then(Next::Destage);
        cx.then(Next::FinishLogDrain);
    }

    /// A write has been acknowledged or refused: the writes that waited for its blocks go on.
    #[inline(never)]
    pub(super) fn on_blocks_free(
        &mut self,
        group: GroupIndex,
        sectors: &Range<u64>,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        for host in self.groups[group].partial_writes.disown(sectors) {
            cx.then(Next::CompleteWrite(group, host));
        }
    }
}

#[cfg(test)]
mod tests {
    use strewn_base::Direction;

    use super::*;
    use crate::driver::OperationId;
    use crate::lun_id::LunId;

    fn write(id: u32, sectors: Range<u64>) -> HostOperation<()> {
        HostOperation {
            id: OperationId(id),
            lun: LunId(0),
            direction: Direction::Write,
            first_sector: sectors.start,
            sectors: (sectors.end - sectors.start) as u32,
            payload: (),
        }
    }

    fn ids(writes: &[HostOperation<()>]) -> Vec<u32> {
        writes.iter().map(|host| host.id.0).collect()
    }

    #[test]
    fn edges_are_the_blocks_that_are_covered_in_part() {
        let edges = |sectors: Range<u64>| edges_of(&sectors).collect::<Vec<_>>();
        assert_eq!(edges(8..24), []);
        assert_eq!(edges(9..11), [1]);
        assert_eq!(edges(8..11), [1]);
        assert_eq!(edges(9..16), [1]);
        assert_eq!(edges(9..40), [1]);
        assert_eq!(edges(9..41), [1, 5]);
        assert_eq!(edges(8..41), [5]);
    }

    #[test]
    fn writes_that_meet_in_a_block_go_one_after_the_other() {
        let mut writes = PartialWrites::default();
        assert!(writes.own(write(1, 0..12)).is_some());
        assert!(writes.own(write(2, 12..30)).is_none());
        // It overlaps no write in progress, but one that waits ahead of it.
        assert!(writes.own(write(3, 28..40)).is_none());
        assert!(writes.own(write(4, 40..48)).is_some());
        assert_eq!(ids(&writes.disown(&(40..48))), []);
        assert_eq!(ids(&writes.disown(&(0..12))), [2]);
        assert_eq!(ids(&writes.disown(&(12..30))), [3]);
        assert_eq!(ids(&writes.disown(&(28..40))), []);
        assert!(writes.owned.is_empty() && writes.is_empty());
    }
}
