//! Reading ahead of sequential streams, and reads that find something in the read cache.

use std::ops::Range;

use strewn_alloc::GroupIndex;
use strewn_base::{BLOCK_SECTORS, SECTOR_BYTES};
use strewn_raid::{SpindleIndex, StripedLayout};

use crate::driver::{Driver, HostOperation};
use crate::payload::{Contents, Payload};
use crate::read_ahead::Streams;

use super::super::context::{Context, Next};
use super::super::memory::{GroupMemory, Memory, ReadCache, Source};
use super::super::space::blocks::{BlockSet, blocks_of};
use super::super::space::{PlacedLun, Run, Space};
use super::super::tag::{Kind, TagFields};
use super::{Host, sectors_of};

/// Most blocks of one command. A chunk that is longer takes several.
const MOST_BLOCKS: u64 = 256;

impl<P: Payload> Host<P> {
    /// From now on, reads ahead of sequential streams, each by at most `read_ahead_bytes`, and keeps `read_cache_bytes`
    /// of what hosts have read.
    pub(crate) fn set_read_cache(
        &mut self,
        read_ahead_bytes: u64,
        read_cache_bytes: u64,
        space: &Space,
        memory: &mut Memory<P>,
    ) {
        let window = read_ahead_bytes / SECTOR_BYTES / BLOCK_SECTORS * BLOCK_SECTORS;
        let groups = space.config.groups.len() as u64;
        let kept_sectors = read_cache_bytes / SECTOR_BYTES / groups;
        let half = kept_sectors / BLOCK_SECTORS / 2 * BLOCK_SECTORS;
        let window = match kept_sectors {
            0..BLOCK_SECTORS => window,
            _ => window.min(half.max(BLOCK_SECTORS)),
        };
        for id in space.groups.indices() {
            let (group, memory) = (&space.groups[id], &mut memory.groups[id]);
            let is_wanted = window > 0 || kept_sectors >= BLOCK_SECTORS;
            let has_whole_blocks = group.layout.unit_sectors().is_multiple_of(BLOCK_SECTORS);
            let is_reading = memory.read_cache.as_ref().is_some_and(|cache| cache.is_reading());
            assert!(!is_reading, "what is on its way was asked for by other rules");
            memory.read_cache = None;
            if is_wanted && has_whole_blocks {
                let luns = space.luns.iter().filter(|lun| lun.group == id).count();
                let cache = ReadCache::new(group.end_sector, luns, window, kept_sectors);
                memory.read_cache = cache.map(Box::new);
            }
        }
        self.streams.clear();
        if window > 0 {
            let of_lun = |lun: &PlacedLun| {
                let chunk = space.groups[lun.group].layout.unit_sectors();
                Streams::new(lun.sectors.end - lun.sectors.start, window, chunk)
            };
            self.streams = space.luns.iter().map(of_lun).collect();
        }
    }

    /// From now on, so many reads in a row begin a stream, after the first.
    pub(crate) fn set_stream_matches(&mut self, matches: u8) {
        self.streams.iter_mut().for_each(|streams| streams.set_matches(matches));
    }

    /// Notes a host's read, whose sectors are numbered through its group. Returns the sectors to read ahead once it has
    /// sent its own commands.
    #[inline(always)]
    pub(super) fn note_read(
        &mut self,
        host: &HostOperation<P>,
        space: &Space,
    ) -> Option<Range<u64>> {
        let streams = self.streams.get_mut(usize::from(host.lun.0))?;
        let start = space.lun(host.lun).sectors.start;
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
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        let mut at = sectors.start;
        while at < sectors.end {
            let place = cx.space.groups[id].layout.locate(at);
            let end = sectors.end.min(at + u64::from(place.sectors_left_in_chunk));
            let mut from = at;
            while let Some(run) = next_run_to_read(&cx.memory.groups[id], &(from..end)) {
                from = run.end;
                let first_sector = place.sector_on_spindle + (run.start - at);
                send_read_ahead(id, (place.spindle, first_sector), run, cx);
            }
            at = end;
        }
    }

    /// Blocks have been read ahead, but for those that are gone; without a payload, none.
    pub(crate) fn on_read_ahead_done(
        &mut self,
        tag: TagFields,
        payload: Option<&P>,
        gone: &BlockSet,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        let TagFields { group: id, slot, detail, .. } = tag;
        let blocks = slot as u32..slot as u32 + detail;
        let Some(cache) = &mut cx.memory.groups[id].read_cache else { return };
        for (number, block) in blocks.clone().enumerate() {
            let from = number as u32 * BLOCK_SECTORS as u32;
            let payload = payload.filter(|_| !gone.contains(number));
            let part = payload.map(|payload| payload.slice(from, BLOCK_SECTORS as u32));
            cache.on_block_read(block, part.as_ref());
        }
        while let Some((read, waited)) = cache.waiters.take(&blocks) {
            let numbers = waited.start - blocks.start..waited.end - blocks.start;
            let is_here = !numbers.clone().any(|number| gone.contains(number as usize));
            let part = payload.filter(|_| is_here).map(|payload| {
                let sectors = (waited.end - waited.start) * BLOCK_SECTORS as u32;
                payload.slice(numbers.start * BLOCK_SECTORS as u32, sectors)
            });
            cx.next.push(Next::ReadAheadDone(id, read as usize, waited, part));
        }
        note_dropped(cx);
    }

    /// Blocks that a read waited for have come; without a payload they could not be read, and it reads them itself.
    pub(crate) fn end_wait(
        &mut self,
        id: GroupIndex,
        slot: usize,
        blocks: Range<u32>,
        payload: Option<P>,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        let first = u64::from(blocks.start) * BLOCK_SECTORS;
        let read = &mut self.groups[id].reads[slot];
        let wanted = read.sectors();
        let sectors =
            wanted.start.max(first)..wanted.end.min(u64::from(blocks.end) * BLOCK_SECTORS);
        if let Some(payload) = payload {
            use_blocks(id, &sectors, cx);
            let sectors_in = (sectors.end - sectors.start) as u32;
            let part = payload.slice((sectors.start - first) as u32, sectors_in);
            read.lay((sectors.start - wanted.start) as u32, &part);
        } else {
            let at = cx.space.groups[id].place_by_layout(sectors.start);
            self.read_from_spindle(id, slot, sectors, at, cx);
        }
        note_dropped(cx);
        self.no_longer_awaits(id, slot, blocks.end - blocks.start, cx);
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
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) -> u64 {
        let (mut from, mut hits) = (sectors.start, 0);
        while from < sectors.end {
            let memory = &mut cx.memory.groups[id];
            let Some(cache) = &mut memory.read_cache else { return hits };
            let source = |block: u64| {
                let wanted = sectors_of(block as u32);
                let wanted = wanted.start.max(sectors.start)..wanted.end.min(sectors.end);
                match cache.source_of(block as u32) {
                    Source::Spindle if memory.cache.holds_all(wanted) => Source::WriteCache,
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
                    use_blocks(id, &part, cx);
                    let read = &mut self.groups[id].reads[slot];
                    let at = (from - read.sectors().start) as u32;
                    read.lay(at, &payload);
                }
                Source::WriteCache => {
                    hits += u64::from(count);
                    let payload = memory.contents.load(part.start, (part.end - part.start) as u32);
                    let read = &mut self.groups[id].reads[slot];
                    let at = (from - read.sectors().start) as u32;
                    read.lay(at, &payload);
                }
                Source::OnItsWay => {
                    cache.waiters.add(slot as u32, blocks.start as u32..blocks.end as u32);
                    self.groups[id].reads[slot].awaits(count);
                }
                Source::Spindle => {
                    let at = (spindle, on_spindle + (from - sectors.start));
                    self.read_from_spindle(id, slot, part, at, cx);
                }
            }
            from = to;
        }
        hits
    }

    /// `sectors` are written to the write cache.
    #[inline(always)]
    pub(super) fn drop_old_reads(
        &mut self,
        id: GroupIndex,
        sectors: &Range<u64>,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        if let Some(cache) = &mut cx.memory.groups[id].read_cache {
            let keeps_reads = cache.keeps_reads();
            if cache.has_any() {
                cache.on_written(blocks_of(sectors));
                note_dropped(cx);
            }
            if keeps_reads {
                let blocks = blocks_of(sectors);
                for read in self.groups[id].reads.iter_mut() {
                    read.on_blocks_written(&blocks);
                }
            }
        }
    }
}

/// The first run of blocks within `sectors` that are neither cached nor on their way. Where the write cache has all of
/// it, nothing needs to be read.
fn next_run_to_read<P: Payload>(
    memory: &GroupMemory<P>,
    sectors: &Range<u64>,
) -> Option<Range<u64>> {
    let cache = memory.read_cache.as_ref()?;
    let lacks = |block: u64| cache.lacks(block as u32);
    let mut blocks = blocks_of(sectors);
    loop {
        let first = blocks.find(|block| lacks(*block))?;
        let most = blocks.end.min(first + MOST_BLOCKS);
        let end = (first..most).find(|block| !lacks(*block)).unwrap_or(most);
        let run = first * BLOCK_SECTORS..end * BLOCK_SECTORS;
        if !memory.cache.holds_all(run.clone()) {
            return Some(run);
        }
        blocks.start = end;
    }
}

/// Reads `run`, which begins at `first_sector` of its spindle, ahead.
fn send_read_ahead<P: Payload>(
    group: GroupIndex,
    (spindle, first_sector): (SpindleIndex, u64),
    run: Range<u64>,
    cx: &mut Context<'_, P, impl Driver<P>>,
) {
    let blocks = (run.start / BLOCK_SECTORS) as u32..(run.end / BLOCK_SECTORS) as u32;
    let GroupMemory { cache: write_cache, read_cache, .. } = &mut cx.memory.groups[group];
    let Some(cache) = read_cache else { return };
    cache.on_reads_sent(&blocks);
    // The spindles have old sectors where the write cache has some: a command is not cut up for these.
    if write_cache.holds_any(run.clone()) {
        for block in blocks.clone() {
            if write_cache.holds_any(sectors_of(block)) {
                cache.on_overwritten(block);
            }
        }
    }
    let (slot, detail) = (blocks.start as usize, blocks.end - blocks.start);
    cx.counters.data_reads += 1;
    cx.counters.read_ahead_blocks += u64::from(detail);
    let sectors = (run.end - run.start) as u32;
    let fields = TagFields { kind: Kind::ReadAhead, group, slot, detail };
    cx.send_read(fields, Run { spindle, first_sector, sectors });
}

/// A host reads `sectors` out of the cache, as far as they are there.
fn use_blocks<P: Payload>(
    id: GroupIndex,
    sectors: &Range<u64>,
    cx: &mut Context<'_, P, impl Driver<P>>,
) {
    let Some(cache) = &mut cx.memory.groups[id].read_cache else { return };
    for block in blocks_of(sectors) {
        cx.counters.read_ahead_used += u64::from(cache.use_block(block as u32));
    }
    cache.on_host_read(sectors);
}

/// Keeps the blocks that a read has covered in full, if nothing has been written to them meanwhile.
pub(super) fn keep_read<P: Payload>(
    id: GroupIndex,
    sectors: &Range<u64>,
    answer: &P,
    cx: &mut Context<'_, P, impl Driver<P>>,
) {
    let Some(cache) = &mut cx.memory.groups[id].read_cache else { return };
    for block in sectors.start.div_ceil(BLOCK_SECTORS)..sectors.end / BLOCK_SECTORS {
        let from = (block * BLOCK_SECTORS - sectors.start) as u32;
        cache.keep(block as u32, &answer.slice(from, BLOCK_SECTORS as u32));
    }
    note_dropped(cx);
}

/// Recounts the blocks that were read ahead and dropped without a use.
#[inline(always)]
fn note_dropped<P: Payload>(cx: &mut Context<'_, P, impl Driver<P>>) {
    cx.counters.read_ahead_dropped = cx.memory.dropped_unread();
}
