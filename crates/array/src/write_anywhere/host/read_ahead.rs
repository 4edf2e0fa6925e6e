//! Reading ahead of sequential streams, through the buffer cache.
//!
//! What is read ahead are ordinary blocks of the cache. Until a host asks for one it is known as unread: its first use
//! does not protect it, so a stream passes through the unprotected part of the cache. Blocks that are on their way are
//! known too, and an operation that needs one waits for it.
//!
//! A read of this kind counts among those that a consistency point waits for (`memory::epochs`), so a late one brings
//! nothing back that has been replaced. It is recovered like an operation's if its blocks are lost or bad. If they
//! cannot be had, the operations that wait for them read what they need themselves, and fail on their own account.

use std::ops::Range;

use strewn_alloc::SummaryBitmap;
use strewn_base::{Direction, SECTOR_BYTES};

use crate::driver::{Driver, HostOperation};
use crate::lun_id::LunId;
use crate::payload::Payload;
use crate::read_ahead::{Streams, Waiters};
use crate::units::BLOCK_SECTORS;

use super::super::context::{Context, Next};
use super::super::space::{Run, Space};
use super::super::tag::{Owner, TagFields};
use super::Host;

/// The streams of each LUN, and what is being read ahead for them.
pub(super) struct ReadAhead {
    streams: Vec<Streams>,
    /// Blocks on their way, by key.
    on_their_way: SummaryBitmap,
    /// Operations that wait for some of them.
    pub(super) waiters: Waiters,
    window_bytes: u64,
}

impl<P: Payload> Host<P> {
    /// From now on, reads ahead of sequential streams, each by at most `bytes`; less than a block is not at all.
    ///
    /// # Panics
    /// If something is being read ahead.
    pub(crate) fn set_read_ahead(&mut self, bytes: u64, space: &Space) {
        assert!(!self.is_reading_ahead(), "what is on its way was asked for by other rules");
        let window = bytes / SECTOR_BYTES;
        if window < u64::from(BLOCK_SECTORS) {
            self.read_ahead = None;
            return;
        }
        let boundary = space.config.shape.chunk_blocks * u64::from(BLOCK_SECTORS);
        let of_lun =
            |sectors: &Range<u64>| Streams::new(sectors.end - sectors.start, window, boundary);
        self.read_ahead = Some(Box::new(ReadAhead {
            streams: space.lun_sectors.iter().map(of_lun).collect(),
            on_their_way: SummaryBitmap::new(space.keys.end().into()),
            waiters: Waiters::default(),
            window_bytes: bytes,
        }));
    }

    /// From now on, so many reads in a row begin a stream, after the first
    /// ([`stream_matches`](crate::stream_matches)).
    pub(crate) fn set_stream_matches(&mut self, matches: u8) {
        let streams = self.read_ahead.iter_mut().flat_map(|read_ahead| &mut read_ahead.streams);
        streams.for_each(|streams| streams.set_matches(matches));
    }

    /// Whether blocks that were read ahead are on their way.
    pub(crate) fn is_reading_ahead(&self) -> bool {
        self.read_ahead.as_ref().is_some_and(|read_ahead| !read_ahead.on_their_way.is_empty())
    }

    pub(crate) fn reads_ahead(&self) -> bool {
        self.read_ahead.is_some()
    }

    /// Most bytes that a stream is read ahead of its host.
    pub(crate) fn read_ahead_bytes(&self) -> u64 {
        self.read_ahead.as_ref().map_or(0, |read_ahead| read_ahead.window_bytes)
    }

    /// Notes a host's read, whose sectors are numbered through all LUNs. Returns the blocks to read ahead once it has
    /// sent its own commands.
    #[inline(always)]
    pub(crate) fn note_read(
        &mut self,
        host: &HostOperation<P>,
        space: &Space,
    ) -> Option<(LunId, Range<u32>)> {
        let read_ahead = self.read_ahead.as_mut()?;
        if host.direction != Direction::Read {
            return None;
        }
        let lun = usize::from(host.lun.0);
        let first = host.first_sector - space.lun_sectors[lun].start;
        let ahead = read_ahead.streams[lun].note_read(first..first + u64::from(host.sectors))?;
        let block = |sector: u64| {
            ((space.lun_sectors[lun].start + sector) / u64::from(BLOCK_SECTORS)) as u32
        };
        Some((host.lun, block(ahead.start)..block(ahead.end)))
    }

    /// Whether block `key` is being read ahead.
    #[inline(always)]
    pub(crate) fn is_on_its_way(&self, key: u32) -> bool {
        self.read_ahead.as_ref().is_some_and(|read_ahead| {
            !read_ahead.on_their_way.is_empty() && read_ahead.on_their_way.contains(key.into())
        })
    }

    /// Sends reads of those of `blocks` that are neither cached nor on their way: a command for each run.
    #[cold]
    pub(crate) fn read_ahead(
        &mut self,
        lun: LunId,
        mut blocks: Range<u32>,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        if let Some(missing) = self.read_indirect_ahead(lun, &blocks, cx) {
            let sector =
                u64::from(missing) * u64::from(BLOCK_SECTORS) - cx.space.first_sector_of(lun);
            if let Some(read_ahead) = &mut self.read_ahead {
                read_ahead.streams[usize::from(lun.0)].stops_at(sector);
            }
            blocks.end = missing;
        }
        let mut block = blocks.start;
        while block < blocks.end {
            if cx.memory.cache.contains(block) || self.is_on_its_way(block) {
                block += 1;
                continue;
            }
            let Some(run) = self.run_from(block, blocks.end, cx.space, cx.memory) else {
                block += 1;
                continue;
            };
            cx.counters.data_reads += 1;
            cx.counters.read_ahead_blocks += u64::from(run.blocks);
            self.send_read_ahead(block, run, cx);
            block += run.blocks;
        }
    }

    /// Reads the indirect blocks that locate `blocks` of `lun`, and as many blocks behind them, if they are not cached.
    /// Returns the first of `blocks` that waits for one.
    fn read_indirect_ahead(
        &mut self,
        lun: LunId,
        blocks: &Range<u32>,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) -> Option<u32> {
        let keys = &cx.space.keys;
        let end = keys.blocks_of(lun).end.min(blocks.end + (blocks.end - blocks.start));
        let last = end.max(blocks.start + 1) - 1;
        for key in keys.indirect_of(blocks.start)..=keys.indirect_of(last) {
            if !cx.memory.cache.contains(key)
                && !self.is_on_its_way(key)
                && let Some(vbn) = cx.space.map.get(key)
            {
                cx.counters.metadata_reads += 1;
                self.send_read_ahead(key, cx.space.run_at(vbn), cx);
            }
        }
        let mut waiting = blocks.clone();
        waiting.find(|block| self.is_on_its_way(cx.space.keys.indirect_of(*block)))
    }

    fn send_read_ahead(
        &mut self,
        first_key: u32,
        run: Run,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        if let Some(read_ahead) = &mut self.read_ahead {
            let keys = u64::from(first_key)..u64::from(first_key + run.blocks);
            read_ahead.on_their_way.insert_range(keys);
        }
        let epoch_parity = cx.memory.reads.sent();
        let owner = Owner::ReadAhead;
        let fields = TagFields { owner, slot: 0, first_key, blocks: run.blocks, epoch_parity };
        cx.send_read(fields, run);
    }

    /// Blocks have been read ahead; without a payload, they can be neither read nor computed.
    pub(crate) fn on_read_ahead_done(
        &mut self,
        fields: TagFields,
        payload: Option<&P>,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        let consistency_point_may_wait = cx.memory.reads.came_back(fields.epoch_parity);
        let keys = fields.first_key..fields.first_key + fields.blocks;
        if let Some(read_ahead) = &mut self.read_ahead {
            read_ahead.on_their_way.remove_range(keys.start.into()..keys.end.into());
        }
        match payload {
            Some(payload) => fill_ahead(&keys, payload, cx),
            None if keys.start < cx.space.keys.data().end => drop_unread(fields.blocks, cx),
            None => {}
        }
        while let Some((slot, blocks)) = self.next_waiter(&keys) {
            let part = payload.map(|payload| {
                for key in blocks.clone() {
                    cx.counters.read_ahead_used += u64::from(cx.memory.cache.use_unread(key));
                }
                let from = (blocks.start - keys.start) * BLOCK_SECTORS;
                payload.slice(from, (blocks.end - blocks.start) * BLOCK_SECTORS)
            });
            self.end_wait_for_read_ahead(slot, blocks, part, cx);
        }
        if consistency_point_may_wait {
            cx.then(Next::AdvanceConsistencyPoint);
        }
    }

    fn next_waiter(&mut self, keys: &Range<u32>) -> Option<(u32, Range<u32>)> {
        self.read_ahead.as_mut()?.waiters.take(keys)
    }
}

/// Puts blocks into the cache that have been read ahead, but for those that are there by now, which are newer, and
/// those that were unmapped meanwhile.
fn fill_ahead<P: Payload>(keys: &Range<u32>, payload: &P, cx: &mut Context<'_, P, impl Driver<P>>) {
    let is_data = keys.start < cx.space.keys.data().end;
    for key in keys.clone() {
        let is_here = cx.memory.cache.contains(key);
        if !is_here {
            let part = payload.slice((key - keys.start) * BLOCK_SECTORS, BLOCK_SECTORS);
            cx.memory.fill(key, 1, &part, false, &cx.space.map, cx.counters);
        }
        if is_data && !is_here && cx.memory.cache.contains(key) {
            cx.memory.cache.mark_unread(key);
        } else if is_data {
            drop_unread(1, cx);
        }
    }
}

/// Blocks that were read ahead never got into the cache.
fn drop_unread<P: Payload>(blocks: u32, cx: &mut Context<'_, P, impl Driver<P>>) {
    cx.memory.cache.count_dropped_unread(blocks);
    cx.counters.read_ahead_dropped = cx.memory.cache.dropped_unread();
}

strewn_base::saved_state! {
    impl for ReadAhead {
        parts: on_their_way;
        values: streams, waiters;
        built: window_bytes;
    }
}
