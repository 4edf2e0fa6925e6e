//! Reading ahead of sequential streams, through the buffer cache.
//!
//! What is read ahead are ordinary blocks of the cache. Until a host asks for one it is known as unread: its first use
//! does not protect it, so a stream passes through the unprotected part of the cache. Blocks that are on their way are
//! known too, and an operation that needs one waits for it.
//!
//! A read of this kind counts among those that a consistency point waits for ([`Reads`](super::reads::Reads)), so a
//! late one brings nothing back that has been replaced. It is recovered like an operation's if its blocks are lost or
//! bad. If they cannot be had, the operations that wait for them read what they need themselves, and fail on their own
//! account.

use std::ops::Range;

use strewn_alloc::SummaryBitmap;
use strewn_base::{Direction, SECTOR_BYTES};

use crate::driver::{Driver, HostOperation};
use crate::lun_id::LunId;
use crate::payload::Payload;
use crate::read_ahead::{Streams, Waiters};
use crate::units::BLOCK_SECTORS;

use super::WriteAnywhere;
use super::tag::{Owner, TagFields};

/// The streams of each LUN, and what is being read ahead for them.
pub(super) struct ReadAhead {
    streams: Vec<Streams>,
    /// Blocks on their way, by key.
    on_their_way: SummaryBitmap,
    /// Operations that wait for some of them.
    pub(super) waiters: Waiters,
    window_bytes: u64,
}

impl<P: Payload> WriteAnywhere<P> {
    /// From now on, reads ahead of sequential streams, each by at most `bytes`; less than a block is not at all.
    ///
    /// # Panics
    /// If something is being read ahead.
    pub fn set_read_ahead(&mut self, bytes: u64) {
        assert!(!self.is_reading_ahead(), "what is on its way was asked for by other rules");
        let window = bytes / SECTOR_BYTES;
        if window < u64::from(BLOCK_SECTORS) {
            self.read_ahead = None;
            return;
        }
        let boundary = self.config.shape.chunk_blocks * u64::from(BLOCK_SECTORS);
        let of_lun =
            |sectors: &Range<u64>| Streams::new(sectors.end - sectors.start, window, boundary);
        self.read_ahead = Some(Box::new(ReadAhead {
            streams: self.lun_sectors.iter().map(of_lun).collect(),
            on_their_way: SummaryBitmap::new(self.keys.end().into()),
            waiters: Waiters::default(),
            window_bytes: bytes,
        }));
        self.cache.read_ahead();
    }

    /// From now on, so many reads in a row begin a stream, after the first
    /// ([`stream_matches`](crate::stream_matches)).
    pub fn set_stream_matches(&mut self, matches: u8) {
        let streams = self.read_ahead.iter_mut().flat_map(|read_ahead| &mut read_ahead.streams);
        streams.for_each(|streams| streams.set_matches(matches));
    }

    /// Whether blocks that were read ahead are on their way.
    pub(super) fn is_reading_ahead(&self) -> bool {
        self.read_ahead.as_ref().is_some_and(|read_ahead| !read_ahead.on_their_way.is_empty())
    }

    /// Most bytes that a stream is read ahead of its host.
    pub(super) fn read_ahead_bytes(&self) -> u64 {
        self.read_ahead.as_ref().map_or(0, |read_ahead| read_ahead.window_bytes)
    }

    /// Notes a host's read, whose sectors are numbered through all LUNs. Returns the blocks to read ahead once it has
    /// sent its own commands.
    #[inline(always)]
    pub(super) fn note_read(&mut self, host: &HostOperation<P>) -> Option<(LunId, Range<u32>)> {
        let read_ahead = self.read_ahead.as_mut()?;
        if host.direction != Direction::Read {
            return None;
        }
        let lun = usize::from(host.lun.0);
        let first = host.first_sector - self.lun_sectors[lun].start;
        let ahead = read_ahead.streams[lun].note_read(first..first + u64::from(host.sectors))?;
        let block = |sector: u64| {
            ((self.lun_sectors[lun].start + sector) / u64::from(BLOCK_SECTORS)) as u32
        };
        Some((host.lun, block(ahead.start)..block(ahead.end)))
    }

    /// Whether block `key` is being read ahead.
    #[inline(always)]
    pub(super) fn is_on_its_way(&self, key: u32) -> bool {
        self.read_ahead.as_ref().is_some_and(|read_ahead| {
            !read_ahead.on_their_way.is_empty() && read_ahead.on_their_way.contains(key.into())
        })
    }

    /// Uses block `key` of the cache for the first time since it was read ahead; false if it was not.
    #[inline(always)]
    pub(super) fn use_unread(&mut self, key: u32) -> bool {
        let is_used = self.cache.use_unread(key);
        self.counters.read_ahead_used += u64::from(is_used);
        is_used
    }

    /// Sends reads of those of `blocks` that are neither cached nor on their way: a command for each run.
    #[cold]
    pub(super) fn read_ahead(
        &mut self,
        (lun, mut blocks): (LunId, Range<u32>),
        driver: &mut impl Driver<P>,
    ) {
        if let Some(missing) = self.read_indirect_ahead(lun, &blocks, driver) {
            let sector = u64::from(missing) * u64::from(BLOCK_SECTORS) - self.first_sector_of(lun);
            if let Some(read_ahead) = &mut self.read_ahead {
                read_ahead.streams[usize::from(lun.0)].stops_at(sector);
            }
            blocks.end = missing;
        }
        let mut block = blocks.start;
        while block < blocks.end {
            if self.cache.contains(block) || self.is_on_its_way(block) {
                block += 1;
                continue;
            }
            let Some(run) = self.run_from(block, blocks.end) else {
                block += 1;
                continue;
            };
            self.counters.data_reads += 1;
            self.counters.read_ahead_blocks += u64::from(run.blocks);
            self.send_read_ahead(block, run, driver);
            block += run.blocks;
        }
    }

    /// Reads the indirect blocks that locate `blocks` of `lun`, and as many blocks behind them, if they are not cached.
    /// Returns the first of `blocks` that waits for one.
    fn read_indirect_ahead(
        &mut self,
        lun: LunId,
        blocks: &Range<u32>,
        driver: &mut impl Driver<P>,
    ) -> Option<u32> {
        let end = self.keys.blocks_of(lun).end.min(blocks.end + (blocks.end - blocks.start));
        let last = end.max(blocks.start + 1) - 1;
        for key in self.keys.indirect_of(blocks.start)..=self.keys.indirect_of(last) {
            if !self.cache.contains(key)
                && !self.is_on_its_way(key)
                && let Some(vbn) = self.map.get(key)
            {
                self.counters.metadata_reads += 1;
                self.send_read_ahead(key, self.run_at(vbn), driver);
            }
        }
        let mut waiting = blocks.clone();
        waiting.find(|block| self.is_on_its_way(self.keys.indirect_of(*block)))
    }

    fn send_read_ahead(&mut self, first_key: u32, run: super::Run, driver: &mut impl Driver<P>) {
        if let Some(read_ahead) = &mut self.read_ahead {
            let keys = u64::from(first_key)..u64::from(first_key + run.blocks);
            read_ahead.on_their_way.insert_range(keys);
        }
        let epoch_parity = self.reads.sent();
        let owner = Owner::ReadAhead;
        let fields = TagFields { owner, slot: 0, first_key, blocks: run.blocks, epoch_parity };
        self.send_read(driver, fields, run);
    }

    /// Blocks have been read ahead; without a payload, they can be neither read nor computed.
    pub(super) fn on_read_ahead_done(
        &mut self,
        now_ns: u64,
        fields: TagFields,
        payload: Option<&P>,
        driver: &mut impl Driver<P>,
    ) {
        let consistency_point_may_wait = self.reads.came_back(fields.epoch_parity);
        let keys = fields.first_key..fields.first_key + fields.blocks;
        if let Some(read_ahead) = &mut self.read_ahead {
            read_ahead.on_their_way.remove_range(keys.start.into()..keys.end.into());
        }
        match payload {
            Some(payload) => self.fill_ahead(&keys, payload),
            None if keys.start < self.keys.data().end => self.dropped_unread(fields.blocks),
            None => {}
        }
        while let Some((slot, blocks)) = self.next_waiter(&keys) {
            let part = payload.map(|payload| {
                for key in blocks.clone() {
                    self.use_unread(key);
                }
                let from = (blocks.start - keys.start) * BLOCK_SECTORS;
                payload.slice(from, (blocks.end - blocks.start) * BLOCK_SECTORS)
            });
            self.end_wait_for_read_ahead(now_ns, slot, blocks, part, driver);
        }
        if consistency_point_may_wait {
            self.advance_consistency_point(now_ns, driver);
        }
    }

    fn next_waiter(&mut self, keys: &Range<u32>) -> Option<(u32, Range<u32>)> {
        self.read_ahead.as_mut()?.waiters.take(keys)
    }

    /// Puts blocks into the cache that have been read ahead, but for those that are there by now, which are newer, and
    /// those that were unmapped meanwhile.
    fn fill_ahead(&mut self, keys: &Range<u32>, payload: &P) {
        let is_data = keys.start < self.keys.data().end;
        for key in keys.clone() {
            let is_here = self.cache.contains(key);
            if !is_here {
                let part = payload.slice((key - keys.start) * BLOCK_SECTORS, BLOCK_SECTORS);
                self.fill(key, 1, &part, false);
            }
            if is_data && !is_here && self.cache.contains(key) {
                self.cache.mark_unread(key);
            } else if is_data {
                self.dropped_unread(1);
            }
        }
    }

    /// Blocks that were read ahead never got into the cache.
    fn dropped_unread(&mut self, blocks: u32) {
        self.cache.count_dropped_unread(blocks);
        self.counters.read_ahead_dropped = self.cache.dropped_unread();
    }
}

strewn_base::saved_state! {
    impl for ReadAhead {
        parts: on_their_way;
        values: streams, waiters;
        built: window_bytes;
    }
}
