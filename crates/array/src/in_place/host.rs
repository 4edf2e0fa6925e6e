//! Host operations: reads from cache and spindles, writes into the cache.

use std::ops::Range;

use strewn_alloc::GroupIndex;
use strewn_base::state::SavedValue;
use strewn_base::{BLOCK_SECTORS, Direction};
use strewn_raid::SpindleIndex;

use crate::driver::{Acknowledge, Driver, HostOperation, OperationId, Refusal, SpindleCommand};
use crate::lun_id::LunId;
use crate::payload::{Contents, Payload};

use super::InPlace;
use super::blocks::{BlockSet, blocks_of, sectors_of_block};
use super::group::DiskGroup;
use super::read_cache::ReadCache;
use super::tag::{Kind, TagFields};

/// A read that waits for spindles.
#[derive(SavedValue)]
pub(super) struct HostRead<P> {
    pub(super) host: HostOperation<P>,
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

impl<P: Payload> InPlace<P> {
    #[inline(always)]
    pub(super) fn read(
        &mut self,
        group: GroupIndex,
        host: HostOperation<P>,
        driver: &mut impl Driver<P>,
    ) {
        self.read_for(group, host, None, driver);
    }

    /// Reads a block that a write covers in part.
    #[cold]
    pub(super) fn read_edge(
        &mut self,
        (id, lun): (OperationId, LunId),
        write: u32,
        block: u64,
        driver: &mut impl Driver<P>,
    ) {
        let host = HostOperation {
            id,
            lun,
            direction: Direction::Read,
            first_sector: block * BLOCK_SECTORS,
            sectors: BLOCK_SECTORS as u32,
            payload: P::default(),
        };
        self.read_for(self.group_of(lun), host, Some(write), driver);
    }

    #[inline(always)]
    fn read_for(
        &mut self,
        id: GroupIndex,
        host: HostOperation<P>,
        edge_of: Option<u32>,
        driver: &mut impl Driver<P>,
    ) {
        let sectors = range_of(&host);
        let (answer, newer, gone) = (P::default(), Vec::new(), Vec::new());
        let group = &mut self.groups[id];
        let is_kept = group.is_to_be_kept(&sectors);
        let read = HostRead { host, edge_of, awaited: 0, answer, newer, gone, is_kept };
        let slot = group.reads.insert(read);
        let mut at = sectors.start;
        while at < sectors.end {
            let group = &mut self.groups[id];
            let place = group.layout.locate(at);
            let end = sectors.end.min(at + u64::from(place.sectors_left_in_chunk));
            let from_sector = (at - sectors.start) as u32;
            self.counters.cache_lookups += 1;
            let touched = blocks_of(&(at..end));
            let blocks = if edge_of.is_some() { 0 } else { touched.end - touched.start };
            self.counters.host_read_blocks += blocks;
            if group.cache.holds_all(at..end) {
                self.counters.cache_hits += 1;
                self.counters.host_read_hits += blocks;
                let part = group.contents.load(at, (end - at) as u32);
                group.reads[slot].answer.splice(from_sector, &part);
            } else if group.read_cache.as_ref().is_some_and(|cache| cache.has_any()) {
                let at_spindle = (place.spindle, place.sector_on_spindle);
                let hits = self.read_through_cache(id, slot, at..end, at_spindle, driver);
                self.counters.cache_hits += u64::from(hits == touched.end - touched.start);
                self.counters.host_read_hits += if edge_of.is_some() { 0 } else { hits };
            } else {
                let at_spindle = (place.spindle, place.sector_on_spindle);
                self.read_from_spindle(id, slot, at..end, at_spindle, driver);
            }
            at = end;
        }
        let reads = &mut self.groups[id].reads;
        if reads[slot].awaited == 0 {
            let read = reads.remove(slot);
            self.end_read(id, read, Acknowledge::AfterProcessor, driver);
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
        driver: &mut impl Driver<P>,
    ) {
        let read = &mut self.groups[id].reads[slot];
        let from_sector = (sectors.start - read.host.first_sector) as u32;
        let count = (sectors.end - sectors.start) as u32;
        match read.edge_of {
            None => self.counters.data_reads += 1,
            Some(_) => self.counters.edge_reads += 1,
        }
        read.awaited += 1;
        let kind = Kind::HostRead;
        let command = SpindleCommand {
            tag: TagFields { kind, group: id, slot, detail: from_sector }.pack(),
            spindle: at.0,
            direction: Direction::Read,
            first_sector: at.1,
            sectors: count,
            payload: P::default(),
            all_or_none: false,
        };
        self.send_read(id, command, driver);
        if P::CARRIES_DATA {
            let group = &mut self.groups[id];
            let before = group.reads[slot].host.first_sector;
            for held in group.cache.held(sectors) {
                let part = group.contents.load(held.start, (held.end - held.start) as u32);
                group.reads[slot].newer.push(((held.start - before) as u32, part));
            }
        }
    }

    #[inline(always)]
    fn end_read(
        &mut self,
        group: GroupIndex,
        read: HostRead<P>,
        when: Acknowledge,
        driver: &mut impl Driver<P>,
    ) {
        match read.edge_of {
            None => driver.acknowledge(read.host.id, when, read.answer),
            Some(write) => {
                self.on_edge_read(group, write, read.host.first_sector, Some(read.answer), driver);
            }
        }
    }

    /// A command of a host read has completed, with all blocks but those that are `gone`.
    #[inline(always)]
    pub(super) fn on_read_done(
        &mut self,
        tag: TagFields,
        payload: &P,
        gone: &BlockSet,
        driver: &mut impl Driver<P>,
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
            self.on_read_complete(group, slot, driver);
        }
    }

    /// A read waits for so many blocks less.
    pub(super) fn no_longer_awaits(
        &mut self,
        group: GroupIndex,
        slot: usize,
        awaited: u32,
        driver: &mut impl Driver<P>,
    ) {
        let read = &mut self.groups[group].reads[slot];
        read.awaited -= awaited;
        if read.awaited == 0 {
            self.on_read_complete(group, slot, driver);
        }
    }

    /// Everything that a read waited for has come.
    #[inline(always)]
    fn on_read_complete(&mut self, group: GroupIndex, slot: usize, driver: &mut impl Driver<P>) {
        let mut read = self.groups[group].reads.remove(slot);
        if !read.gone.is_empty() && read.needs_gone() {
            self.bad_blocks.refused += 1;
            match read.edge_of {
                None => driver.refuse(read.host.id, Refusal::BlocksGone),
                Some(write) => {
                    self.on_edge_read(group, write, read.host.first_sector, None, driver)
                }
            }
            return;
        }
        for (at_sector, part) in std::mem::take(&mut read.newer) {
            read.answer.splice(at_sector, &part);
        }
        if read.is_kept && read.gone.is_empty() {
            self.keep_read(group, &read.sectors(), &read.answer);
        }
        self.end_read(group, read, Acknowledge::Now, driver);
    }

    /// Takes a write into the cache, or has it wait for room.
    #[inline(always)]
    pub(super) fn write_or_wait(
        &mut self,
        host: HostOperation<P>,
        when: Acknowledge,
        driver: &mut impl Driver<P>,
    ) {
        // Writes that wait are served in order: a later one does not slip in before them.
        let written = if self.waiting_for_room.is_empty() {
            self.write(host, when, driver)
        } else {
            Err(host)
        };
        if let Err(host) = written {
            self.counters.stalled_writes += 1;
            self.waiting_for_room.push_back(host);
        }
    }

    /// Takes a write into the cache and acknowledges it. Returns it if the cache or the log has no room.
    #[inline(always)]
    pub(super) fn write(
        &mut self,
        host: HostOperation<P>,
        when: Acknowledge,
        driver: &mut impl Driver<P>,
    ) -> Result<(), HostOperation<P>> {
        let group = self.group_of(host.lun);
        let Some(coalesced) = self.room_for(group, range_of(&host)) else { return Err(host) };
        if self.config.log.is_some() && !self.log_write(&host, driver) {
            return Err(host);
        }
        self.counters.coalesced_sectors += coalesced;
        let of_lun = &mut self.groups[group];
        of_lun.cache.write(range_of(&host));
        of_lun.contents.store(host.first_sector, host.sectors, &host.payload);
        self.drop_old_reads(group, &range_of(&host));
        driver.acknowledge(host.id, when, P::default());
        if self.config.format.is_durable() {
            self.on_blocks_free(group, &range_of(&host), driver);
        }
        Ok(())
    }

    /// The number of a write's sectors that are dirty already; `None` if the cache has no room for the write.
    #[inline(always)]
    fn room_for(&self, group: GroupIndex, sectors: Range<u64>) -> Option<u64> {
        let asked = sectors.end - sectors.start;
        let used = self.groups.cached_sectors();
        let coalesced = self.groups[group].cache.coalesced(sectors);
        // An empty cache takes a write that is larger than itself, which could otherwise never be taken.
        let has_room = used == 0 || used + asked - coalesced <= self.config.write_cache_sectors;
        has_room.then_some(coalesced)
    }

    pub(super) fn admit_waiting(&mut self, driver: &mut impl Driver<P>) {
        while let Some(host) = self.waiting_for_room.pop_front() {
            if let Err(host) = self.write(host, Acknowledge::Now, driver) {
                self.waiting_for_room.push_front(host);
                break;
            }
        }
    }
}

impl<P: Payload> DiskGroup<P> {
    /// Whether the read cache is to have `sectors` once they have been read. Where the write cache has newer ones, no.
    #[inline(always)]
    fn is_to_be_kept(&self, sectors: &Range<u64>) -> bool {
        let keeps_reads = |cache: &ReadCache<P>| cache.keeps_reads();
        self.read_cache.as_deref().is_some_and(keeps_reads)
            && !self.cache.holds_any(sectors.clone())
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

pub(super) fn range_of<P>(host: &HostOperation<P>) -> Range<u64> {
    host.first_sector..host.first_sector + u64::from(host.sectors)
}
