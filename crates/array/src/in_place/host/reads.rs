//! Host reads, from caches and spindles.

use std::ops::Range;

use strewn_alloc::GroupIndex;
use strewn_base::state::SavedValue;
use strewn_base::{BLOCK_SECTORS, Direction};
use strewn_raid::SpindleIndex;

use crate::driver::{Acknowledge, Driver, HostOperation, OperationId, Refusal};
use crate::lun_id::LunId;
use crate::payload::{Contents, Payload};

use super::super::context::Context;
use super::super::space::blocks::{BlockSet, blocks_of, sectors_of_block};
use super::super::space::{Run, Space};
use super::super::tag::{Kind, TagFields};
use super::read_ahead::keep_read;
use super::{Host, range_of};

/// A read that waits for spindles.
#[derive(SavedValue)]
pub(super) struct HostRead<P> {
    host: HostOperation<P>,
    /// The write that needs it, if it is not the host's.
    edge_of: Option<u32>,
    /// Commands in flight for it, and blocks that it waits for because they are being read ahead.
    awaited: u32,
    answer: P,
    /// Cached sectors within the ranges read, as of the beginning of the read, by offset in the answer. A spindle may
    /// return older data, and the cache may have dropped the sectors by then.
    newer: Vec<(u32, P)>,
    /// Sectors that can be neither read nor computed, by offset in the answer.
    gone: Vec<Range<u32>>,
    /// Whether the read cache is to have what it brings.
    is_kept: bool,
}

impl<P: Payload> Host<P> {
    /// Reads a block that a write covers in part.
    #[cold]
    pub(super) fn read_edge(
        &mut self,
        (id, lun): (OperationId, LunId),
        write: u32,
        block: u64,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        let host = HostOperation {
            id,
            lun,
            direction: Direction::Read,
            first_sector: block * BLOCK_SECTORS,
            sectors: BLOCK_SECTORS as u32,
            payload: P::default(),
        };
        self.read_for(cx.space.lun(lun).group, host, Some(write), cx);
    }

    /// Reads for the host, or for a write.
    #[inline(always)]
    pub(super) fn read_for(
        &mut self,
        id: GroupIndex,
        host: HostOperation<P>,
        edge_of: Option<u32>,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        let sectors = range_of(&host);
        let (answer, newer, gone) = (P::default(), Vec::new(), Vec::new());
        let is_kept = cx.memory.groups[id].is_to_be_kept(&sectors);
        let read = HostRead { host, edge_of, awaited: 0, answer, newer, gone, is_kept };
        let slot = self.groups[id].reads.insert(read);
        let mut at = sectors.start;
        while at < sectors.end {
            let place = cx.space.groups[id].layout.locate(at);
            let end = sectors.end.min(at + u64::from(place.sectors_left_in_chunk));
            let from_sector = (at - sectors.start) as u32;
            cx.counters.cache_lookups += 1;
            let touched = blocks_of(&(at..end));
            let blocks = if edge_of.is_some() { 0 } else { touched.end - touched.start };
            cx.counters.host_read_blocks += blocks;
            let memory = &cx.memory.groups[id];
            if memory.cache.holds_all(at..end) {
                cx.counters.cache_hits += 1;
                cx.counters.host_read_hits += blocks;
                let part = memory.contents.load(at, (end - at) as u32);
                self.groups[id].reads[slot].answer.splice(from_sector, &part);
            } else if memory.read_cache.as_ref().is_some_and(|cache| cache.has_any()) {
                let at_spindle = (place.spindle, place.sector_on_spindle);
                let hits =
                    self.read_through_cache(id, slot, at..end, at_spindle, &mut cx.reborrow());
                cx.counters.cache_hits += u64::from(hits == touched.end - touched.start);
                cx.counters.host_read_hits += if edge_of.is_some() { 0 } else { hits };
            } else {
                let at_spindle = (place.spindle, place.sector_on_spindle);
                self.read_from_spindle(id, slot, at..end, at_spindle, cx);
            }
            at = end;
        }
        let reads = &mut self.groups[id].reads;
        if reads[slot].awaited == 0 {
            let read = reads.remove(slot);
            self.end_read(id, read, Acknowledge::AfterProcessor, cx);
        }
    }

    /// Reads a part of a chunk for the read in `slot`. `at` is where it begins on its spindle.
    #[inline(always)]
    pub(super) fn read_from_spindle(
        &mut self,
        id: GroupIndex,
        slot: usize,
        sectors: Range<u64>,
        at: (SpindleIndex, u64),
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        let read = &mut self.groups[id].reads[slot];
        let from_sector = (sectors.start - read.host.first_sector) as u32;
        let count = (sectors.end - sectors.start) as u32;
        match read.edge_of {
            None => cx.counters.data_reads += 1,
            Some(_) => cx.counters.edge_reads += 1,
        }
        read.awaited += 1;
        let fields = TagFields { kind: Kind::HostRead, group: id, slot, detail: from_sector };
        let run = Run { spindle: at.0, first_sector: at.1, sectors: count };
        if P::CARRIES_DATA {
            let before = read.host.first_sector;
            let memory = &cx.memory.groups[id];
            for held in memory.cache.held(sectors) {
                let part = memory.contents.load(held.start, (held.end - held.start) as u32);
                read.newer.push(((held.start - before) as u32, part));
            }
        }
        cx.send_read(fields, run);
    }

    #[inline(always)]
    fn end_read(
        &mut self,
        group: GroupIndex,
        read: HostRead<P>,
        when: Acknowledge,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        match read.edge_of {
            None => cx.driver.acknowledge(read.host.id, when, read.answer),
            Some(write) => {
                let first_sector = read.host.first_sector;
                let cx = &mut cx.reborrow();
                self.on_edge_read(group, write, first_sector, Some(read.answer), cx);
            }
        }
    }

    /// A command of a host read has completed, with all blocks but those that are `gone`.
    #[inline(always)]
    pub(crate) fn on_read_done(
        &mut self,
        tag: TagFields,
        payload: &P,
        gone: &BlockSet,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        let TagFields { group, slot, detail: from_sector, .. } = tag;
        let reads = &mut self.groups[group].reads;
        let read = &mut reads[slot];
        read.answer.splice(from_sector, payload);
        assert!(read.awaited > 0, "a command has completed that its read did not wait for");
        read.awaited -= 1;
        if !gone.is_empty() {
            let first_sector = read.host.first_sector + u64::from(from_sector);
            let sectors = (payload.bytes().len() as u64 / strewn_base::SECTOR_BYTES) as u32;
            read.gone.extend(gone.iter().map(|block| {
                let of_block = sectors_of_block(first_sector, sectors, block);
                from_sector + of_block.start..from_sector + of_block.end
            }));
        }
        if read.awaited == 0 {
            self.on_read_complete(group, slot, cx);
        }
    }

    /// A read waits for so many blocks less.
    pub(super) fn no_longer_awaits(
        &mut self,
        group: GroupIndex,
        slot: usize,
        awaited: u32,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        let read = &mut self.groups[group].reads[slot];
        read.awaited -= awaited;
        if read.awaited == 0 {
            self.on_read_complete(group, slot, cx);
        }
    }

    /// Everything that a read waited for has come.
    #[inline(always)]
    fn on_read_complete(
        &mut self,
        group: GroupIndex,
        slot: usize,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        let mut read = self.groups[group].reads.remove(slot);
        if !read.gone.is_empty() && read.needs_gone() {
            cx.space.bad_blocks.refused += 1;
            match read.edge_of {
                None => cx.driver.refuse(read.host.id, Refusal::BlocksGone),
                Some(write) => {
                    let cx = &mut cx.reborrow();
                    self.on_edge_read(group, write, read.host.first_sector, None, cx);
                }
            }
            return;
        }
        for (at_sector, part) in std::mem::take(&mut read.newer) {
            read.answer.splice(at_sector, &part);
        }
        if read.is_kept && read.gone.is_empty() {
            keep_read(group, &read.sectors(), &read.answer, &mut cx.reborrow());
        }
        self.end_read(group, read, Acknowledge::Now, cx);
    }

    /// Where the sectors lie by the layout that a host read's command reads.
    pub(crate) fn place_of_read(&self, tag: TagFields, space: &Space) -> (SpindleIndex, u64) {
        let first_sector = self.groups[tag.group].reads[tag.slot].host.first_sector;
        space.groups[tag.group].place_by_layout(first_sector + u64::from(tag.detail))
    }
}

impl<P: Payload> HostRead<P> {
    pub(super) fn sectors(&self) -> Range<u64> {
        range_of(&self.host)
    }

    /// It waits for so many more blocks.
    pub(super) fn awaits(&mut self, blocks: u32) {
        self.awaited += blocks;
    }

    /// Lays a part of the answer.
    pub(super) fn lay(&mut self, at_sector: u32, part: &P) {
        self.answer.splice(at_sector, part);
    }

    /// Blocks are written. If the read has some of them, what it brings is old, and is not kept.
    pub(super) fn on_blocks_written(&mut self, blocks: &Range<u64>) {
        let own = blocks_of(&range_of(&self.host));
        self.is_kept &= own.end <= blocks.start || blocks.end <= own.start;
    }

    /// Whether a sector that is gone was not in the cache either.
    fn needs_gone(&self) -> bool {
        let is_newer = |sector: u32| {
            self.newer.iter().any(|(at_sector, part)| {
                let sectors = part.bytes().len() as u64 / strewn_base::SECTOR_BYTES;
                (u64::from(*at_sector)..u64::from(*at_sector) + sectors).contains(&sector.into())
            })
        };
        self.gone.iter().any(|gone| gone.clone().any(|sector| !is_newer(sector)))
    }
}
