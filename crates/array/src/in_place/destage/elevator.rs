//! The elevator: in each disk group it sweeps over the dirty sectors, and begins a destage of what it comes to.

use std::ops::Range;

use strewn_alloc::GroupIndex;
use strewn_raid::ChunkLocation;

use crate::driver::{Driver, Work};
use crate::payload::{Contents, Payload};

use super::super::context::Context;
use super::super::memory::{Memory, WriteCache};
use super::super::space::{DiskGroup, Losses};
use super::load::COMMANDS_OF_EXTENT;
use super::{Destage, Destaging};

/// Most chunks skipped in search of a stripe without a destage in flight.
const SEARCH_CHUNKS: u32 = 16;

impl<P: Payload> Destaging<P> {
    /// Begins destages in each disk group while there is enough to write back and room for more in flight. What waits
    /// for room in the cache may be waiting for any group.
    #[inline(always)]
    pub(crate) fn begin(&mut self, cx: &mut Context<'_, P, impl Driver<P>>) {
        if self.groups.has_several() || self.has_to_destage(GroupIndex(0), cx.memory) {
            self.begin_some(&mut cx.reborrow());
        }
    }

    #[inline(never)]
    fn begin_some(&mut self, cx: &mut Context<'_, P, impl Driver<P>>) {
        let before = cx.driver.turn_to(Work::WriteBack);
        self.begin_in(GroupIndex(0), cx);
        if self.groups.has_several() {
            self.begin_in_further_groups(&mut cx.reborrow());
        }
        cx.driver.turn_to(before);
    }

    #[cold]
    fn begin_in_further_groups(&mut self, cx: &mut Context<'_, P, impl Driver<P>>) {
        for group in self.groups.indices().skip(1) {
            self.begin_in(group, cx);
        }
    }

    #[inline(always)]
    fn begin_in(&mut self, id: GroupIndex, cx: &mut Context<'_, P, impl Driver<P>>) {
        while self.has_to_destage(id, cx.memory) {
            let (group, memory) = (&mut cx.space.groups[id], &mut cx.memory.groups[id]);
            let Some((sectors, place)) = next_extent(group, &mut memory.cache) else { break };
            let destaging = &mut self.groups[id];
            // Only what goes on in the next chunk can be worth more than an extent.
            if u64::from(place.sectors_left_in_chunk) == sectors.end - sectors.start
                && destaging.longest_command_sectors > 0
                && let Some(stripes) = destaging.stripes_from(sectors.start, group, memory)
            {
                if self.begin_stripes(id, stripes, &mut cx.reborrow()) {
                    continue;
                }
                break;
            }
            memory.cache.begin_destage(sectors.clone());
            memory.cache.prefetch_next_dirty();
            destaging.load += COMMANDS_OF_EXTENT;
            let stripe = group.stripe_of(sectors.start).0;
            group.lock_for_destage(stripe..stripe + 1);
            let count = (sectors.end - sectors.start) as u32;
            let data = memory.contents.load(sectors.start, count);
            let of_log_drain = self
                .log_drain
                .as_mut()
                .is_some_and(|log_drain| log_drain.take(id, std::slice::from_ref(&sectors)));
            let destage =
                Destage { of_log_drain, ..Destage::of_extent(sectors, Some(place), data) };
            let slot = destaging.destages.insert(destage);
            cx.counters.destages += 1;
            self.send_reads(id, slot, &mut cx.reborrow());
        }
    }

    /// Whether a disk group may begin a destage, and it has enough to write back, or a write waits for room
    /// that only a destage can make, or a log drain is in progress.
    #[inline(always)]
    fn has_to_destage(&self, id: GroupIndex, memory: &Memory<P>) -> bool {
        let group = &self.groups[id];
        group.load + COMMANDS_OF_EXTENT <= group.most_commands
            && (memory.groups[id].cache.dirty_sectors() > group.low_sectors
                || !memory.waiting_for_room.is_empty()
                || self.log_drain.as_ref().is_some_and(|log_drain| log_drain.has_to_destage(id)))
    }
}

/// The next extent: consecutive dirty sectors within one chunk, in a stripe without a destage in flight.
#[inline(always)]
fn next_extent(group: &DiskGroup, cache: &mut WriteCache) -> Option<(Range<u64>, ChunkLocation)> {
    for _ in 0..SEARCH_CHUNKS {
        let first = cache.next_dirty()?;
        let place = group.layout.locate(first);
        let chunk_end = first + u64::from(place.sectors_left_in_chunk);
        let (stripe, _) = group.stripe_of(first);
        if let Some(losses) = &group.losses
            && let Some(next) = end_of_kept(group, losses, stripe, chunk_end)
        {
            cache.sweep_on_to(next);
            continue;
        }
        if group.destaged_stripes.contains(stripe) {
            cache.sweep_on_to(chunk_end);
            continue;
        }
        let end = cache.dirty_run_end(first, chunk_end.min(group.end_sector));
        return Some((first..end, place));
    }
    None
}

/// Where to go on if a stripe must be left out: behind the segment that is being rebuilt, or the chunk.
fn end_of_kept(group: &DiskGroup, losses: &Losses, stripe: u64, chunk_end: u64) -> Option<u64> {
    if let Some(end) = losses.end_of_rebuilding(stripe) {
        let next = group.layout.sectors_of_stripe(end).start;
        return Some(next.min(group.end_sector));
    }
    losses.is_kept(stripe).then_some(chunk_end)
}
