//! Reading ahead of sequential streams, and reads that find something in the read cache.

use std::ops::Range;

use strewn_alloc::GroupIndex;
use strewn_base::{BLOCK_SECTORS, Direction, SECTOR_BYTES};
use strewn_raid::{SpindleIndex, StripedLayout};

use crate::driver::{Driver, HostOperation, SpindleCommand};
use crate::lun_id::LunId;
use crate::payload::{Contents, Payload};
use crate::read_ahead::Streams;

use super::InPlace;
use super::blocks::{BlockSet, blocks_of};
use super::read_cache::{ReadCache, Source};
use super::tag::{Kind, TagFields};

/// Most blocks of one command. A chunk that is longer takes several.
const MOST_BLOCKS: u64 = 256;

impl<P: Payload> InPlace<P> {
    /// From now on, reads ahead of sequential streams, each by at most `read_ahead_bytes`, and keeps `read_cache_bytes`
    /// of what hosts have read; 0 is not at all. With both, what is read ahead is part of the read cache, and a stream
    /// is ahead by at most half of it: no more would be there when it is wanted. It needs chunks of whole blocks of 4
    /// KiB, and a disk group whose LUNs take less than 16 TiB: without these, nothing is read ahead or kept.
    ///
    /// # Panics
    /// If something is being read ahead.
    pub fn set_read_cache(&mut self, read_ahead_bytes: u64, read_cache_bytes: u64) {
        let window = read_ahead_bytes / SECTOR_BYTES / BLOCK_SECTORS * BLOCK_SECTORS;
        let groups = self.config.groups.len() as u64;
        let kept_sectors = read_cache_bytes / SECTOR_BYTES / groups;
        let half = kept_sectors / BLOCK_SECTORS / 2 * BLOCK_SECTORS;
        let window = match kept_sectors {
            0..BLOCK_SECTORS => window,
            _ => window.min(half.max(BLOCK_SECTORS)),
        };
        for id in self.groups.indices() {
            let group = &mut self.groups[id];
            let is_wanted = window > 0 || kept_sectors >= BLOCK_SECTORS;
            let has_whole_blocks = group.layout.unit_sectors().is_multiple_of(BLOCK_SECTORS);
            let is_reading = group.read_cache.as_ref().is_some_and(|cache| cache.is_reading());
            assert!(!is_reading, "what is on its way was asked for by other rules");
            group.read_cache = None;
            if is_wanted && has_whole_blocks {
                let luns = self.luns.iter().filter(|lun| lun.group == id).count();
                let cache = ReadCache::new(group.end_sector, luns, window, kept_sectors);
                group.read_cache = cache.map(Box::new);
            }
        }
        self.streams.clear();
        if window > 0 {
            let of_lun = |lun: &super::PlacedLun| {
                let chunk = self.groups[lun.group].layout.unit_sectors();
                Streams::new(lun.sectors.end - lun.sectors.start, window, chunk)
            };
            self.streams = self.luns.iter().map(of_lun).collect();
        }
    }

    /// From now on, so many reads in a row begin a stream, after the first
    /// ([`stream_matches`](crate::stream_matches)).
    pub fn set_stream_matches(&mut self, matches: u8) {
        self.streams.iter_mut().for_each(|streams| streams.set_matches(matches));
    }

    /// Notes a host's read, whose sectors are numbered through its group. Returns the sectors to read ahead once it has
    /// sent its own commands.
    #[inline(always)]
    pub(super) fn note_read(&mut self, host: &HostOperation<P>) -> Option<Range<u64>> {
        let LunId(lun) = host.lun;
        let streams = self.streams.get_mut(usize::from(lun))?;
        let start = self.luns[usize::from(lun)].sectors.start;
        let first = host.first_sector - start;
        let ahead = streams.note_read(first..first + u64::from(host.sectors))?;
        Some(start + ahead.start..start + ahead.end)
    }

    /// Sends reads of those blocks of `sectors` that are neither cached nor on their way: a command for each run within
    /// a chunk.
    #[cold]
    pub(super) fn read_ahead(
        &mut self,
        id: GroupIndex,
        sectors: Range<u64>,
        driver: &mut impl Driver<P>,
    ) {
        let mut at = sectors.start;
        while at < sectors.end {
            let place = self.groups[id].layout.locate(at);
            let end = sectors.end.min(at + u64::from(place.sectors_left_in_chunk));
            let mut from = at;
            while let Some(run) = self.next_run_to_read(id, &(from..end)) {
                from = run.end;
                self.send_read_ahead(id, (place.spindle, at, place.sector_on_spindle), run, driver);
            }
            at = end;
        }
    }

    /// The first run of blocks within `sectors` that are neither cached nor on their way. Where the write cache has all
    /// of it, nothing needs to be read.
    fn next_run_to_read(&self, id: GroupIndex, sectors: &Range<u64>) -> Option<Range<u64>> {
        let group = &self.groups[id];
        let cache = group.read_cache.as_ref()?;
        let lacks = |block: u64| cache.lacks(block as u32);
        let mut blocks = blocks_of(sectors);
        loop {
            let first = blocks.find(|block| lacks(*block))?;
            let most = blocks.end.min(first + MOST_BLOCKS);
            let end = (first..most).find(|block| !lacks(*block)).unwrap_or(most);
            let run = first * BLOCK_SECTORS..end * BLOCK_SECTORS;
            if !group.cache.holds_all(run.clone()) {
                return Some(run);
            }
            blocks.start = end;
        }
    }

    fn send_read_ahead(
        &mut self,
        id: GroupIndex,
        (spindle, at, on_spindle): (SpindleIndex, u64, u64),
        run: Range<u64>,
        driver: &mut impl Driver<P>,
    ) {
        let blocks = (run.start / BLOCK_SECTORS) as u32..(run.end / BLOCK_SECTORS) as u32;
        let group = &mut self.groups[id];
        let Some(cache) = &mut group.read_cache else { return };
        cache.on_reads_sent(&blocks);
        // The spindles have old sectors where the write cache has some: a command is not cut up for these.
        if group.cache.holds_any(run.clone()) {
            for block in blocks.clone() {
                if group.cache.holds_any(sectors_of(block)) {
                    cache.on_overwritten(block);
                }
            }
        }
        let (slot, detail) = (blocks.start as usize, blocks.end - blocks.start);
        self.counters.data_reads += 1;
        self.counters.read_ahead_blocks += u64::from(detail);
        let command = SpindleCommand {
            tag: TagFields { kind: Kind::ReadAhead, group: id, slot, detail }.pack(),
            spindle,
            direction: Direction::Read,
            first_sector: on_spindle + (run.start - at),
            sectors: (run.end - run.start) as u32,
            payload: P::default(),
            all_or_none: false,
        };
        self.send_read(id, command, driver);
    }

    /// Blocks have been read ahead, but for those that are gone; without a payload, none.
    pub(super) fn on_read_ahead_done(
        &mut self,
        tag: TagFields,
        payload: Option<&P>,
        gone: &BlockSet,
        driver: &mut impl Driver<P>,
    ) {
        let TagFields { group: id, slot, detail, .. } = tag;
        let blocks = slot as u32..slot as u32 + detail;
        let Some(cache) = &mut self.groups[id].read_cache else { return };
        for (number, block) in blocks.clone().enumerate() {
            let from = number as u32 * BLOCK_SECTORS as u32;
            let payload = payload.filter(|_| !gone.contains(number));
            let part = payload.map(|payload| payload.slice(from, BLOCK_SECTORS as u32));
            cache.on_block_read(block, part.as_ref());
        }
        while let Some((read, waited)) = self.next_waiter(id, &blocks) {
            let numbers = waited.start - blocks.start..waited.end - blocks.start;
            let is_here = !numbers.clone().any(|number| gone.contains(number as usize));
            let part = payload.filter(|_| is_here).map(|payload| {
                let sectors = (waited.end - waited.start) * BLOCK_SECTORS as u32;
                payload.slice(numbers.start * BLOCK_SECTORS as u32, sectors)
            });
            self.end_wait(id, read as usize, waited, part, driver);
        }
        self.note_dropped();
    }

    fn next_waiter(&mut self, id: GroupIndex, blocks: &Range<u32>) -> Option<(u32, Range<u32>)> {
        self.groups[id].read_cache.as_mut()?.waiters.take(blocks)
    }

    /// Blocks that a read waited for have come; without a payload they could not be read, and it reads them itself.
    fn end_wait(
        &mut self,
        id: GroupIndex,
        slot: usize,
        blocks: Range<u32>,
        payload: Option<P>,
        driver: &mut impl Driver<P>,
    ) {
        let first = u64::from(blocks.start) * BLOCK_SECTORS;
        let read = &self.groups[id].reads[slot];
        let wanted = read.sectors();
        let sectors =
            wanted.start.max(first)..wanted.end.min(u64::from(blocks.end) * BLOCK_SECTORS);
        if let Some(payload) = payload {
            self.use_blocks(id, &sectors);
            let sectors_in = (sectors.end - sectors.start) as u32;
            let part = payload.slice((sectors.start - first) as u32, sectors_in);
            let read = &mut self.groups[id].reads[slot];
            read.lay((sectors.start - wanted.start) as u32, &part);
        } else {
            let place = self.groups[id].layout.locate(sectors.start);
            let at = (place.spindle, place.sector_on_spindle);
            self.read_from_spindle(id, slot, sectors, at, driver);
        }
        let awaited = blocks.end - blocks.start;
        self.no_longer_awaits(id, slot, awaited, driver);
    }

    /// A host reads `sectors` out of the cache, as far as they are there.
    fn use_blocks(&mut self, id: GroupIndex, sectors: &Range<u64>) {
        let Some(cache) = &mut self.groups[id].read_cache else { return };
        for block in blocks_of(sectors) {
            self.counters.read_ahead_used += u64::from(cache.use_block(block as u32));
        }
        cache.on_host_read(sectors);
    }

    /// Reads a part of a chunk that may be in the read cache, or on its way there. `at` is where it begins on its
    /// spindle. Returns how many blocks were in the cache.
    #[cold]
    pub(super) fn read_through_cache(
        &mut self,
        id: GroupIndex,
        slot: usize,
        sectors: Range<u64>,
        (spindle, on_spindle): (SpindleIndex, u64),
        driver: &mut impl Driver<P>,
    ) -> u64 {
        let (mut from, mut hits) = (sectors.start, 0);
        while from < sectors.end {
            let Some(cache) = &self.groups[id].read_cache else { return hits };
            let write_cache = &self.groups[id].cache;
            let source = |block: u64| {
                let wanted = sectors_of(block as u32);
                let wanted = wanted.start.max(sectors.start)..wanted.end.min(sectors.end);
                match cache.source_of(block as u32) {
                    Source::Spindle if write_cache.holds_all(wanted) => Source::WriteCache,
                    source => source,
                }
            };
            let mut blocks = blocks_of(&(from..sectors.end));
            let of_first = source(blocks.start);
            let other = blocks.clone().find(|block| source(*block) != of_first);
            blocks.end = other.unwrap_or(blocks.end);
            let to = sectors.end.min(blocks.end * BLOCK_SECTORS);
            let part = from..to;
            let count = (blocks.end - blocks.start) as u32;
            match of_first {
                Source::Cached => {
                    hits += u64::from(count);
                    let payload = cache.load(&part);
                    self.use_blocks(id, &part);
                    let read = &mut self.groups[id].reads[slot];
                    let at = (from - read.sectors().start) as u32;
                    read.lay(at, &payload);
                }
                Source::WriteCache => {
                    hits += u64::from(count);
                    let group = &mut self.groups[id];
                    let payload = group.contents.load(part.start, (part.end - part.start) as u32);
                    let read = &mut group.reads[slot];
                    let at = (from - read.sectors().start) as u32;
                    read.lay(at, &payload);
                }
                Source::OnItsWay => {
                    let group = &mut self.groups[id];
                    if let Some(cache) = &mut group.read_cache {
                        cache.waiters.add(slot as u32, blocks.start as u32..blocks.end as u32);
                    }
                    group.reads[slot].awaits(count);
                }
                Source::Spindle => {
                    let at = (spindle, on_spindle + (from - sectors.start));
                    self.read_from_spindle(id, slot, part, at, driver);
                }
            }
            from = to;
        }
        hits
    }

    /// Keeps the blocks that a read has covered in full, if nothing has been written to them meanwhile.
    pub(super) fn keep_read(&mut self, id: GroupIndex, sectors: &Range<u64>, answer: &P) {
        let Some(cache) = &mut self.groups[id].read_cache else { return };
        for block in sectors.start.div_ceil(BLOCK_SECTORS)..sectors.end / BLOCK_SECTORS {
            let from = (block * BLOCK_SECTORS - sectors.start) as u32;
            cache.keep(block as u32, &answer.slice(from, BLOCK_SECTORS as u32));
        }
        self.note_dropped();
    }

    /// `sectors` are written to the write cache.
    #[inline(always)]
    pub(super) fn drop_old_reads(&mut self, id: GroupIndex, sectors: &Range<u64>) {
        let group = &mut self.groups[id];
        if let Some(cache) = &mut group.read_cache {
            let keeps_reads = cache.keeps_reads();
            if cache.has_any() {
                cache.on_written(blocks_of(sectors));
                self.note_dropped();
            }
            if keeps_reads {
                let blocks = blocks_of(sectors);
                for read in self.groups[id].reads.iter_mut() {
                    read.on_blocks_written(&blocks);
                }
            }
        }
    }

    /// Recounts the blocks that were read ahead and dropped without a use.
    fn note_dropped(&mut self) {
        let caches = self.groups.iter().filter_map(|group| group.read_cache.as_ref());
        let dropped = caches.map(|cache| cache.dropped_unread()).sum();
        self.counters.read_ahead_dropped = dropped;
    }
}

/// The sectors of a block.
fn sectors_of(block: u32) -> Range<u64> {
    u64::from(block) * BLOCK_SECTORS..(u64::from(block) + 1) * BLOCK_SECTORS
}
