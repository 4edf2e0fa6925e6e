//! The device of the L2ARC: what it is given, and when it is done.
//!
//! `arc.c` of OpenZFS: `l2arc_feed_thread`, `l2arc_write_interval`, `l2arc_read_done`. The device has a queue as any
//! drive of a pool (`vdev_queue.c`), but it is none of the array's spindles: it has a latency, which commands have side
//! by side, and a rate at which bytes pass it one by one. Its commands cost the processor nothing.

use std::collections::BTreeMap;

use strewn_array::Driver;
use strewn_base::state::SavedValue;
use strewn_base::{Direction, SECTOR_BYTES};

use super::config::L2arcConfig;
use super::drives::Purpose;
use super::host::Fetch;
use super::{BlockKey, ZfsArray};
use crate::arc::{Extent, Feed};
use crate::io_scheduler::{Class, IoScheduler, Request, SchedulerOptions};
use crate::volume::POINTERS;

/// Requests are joined up to this (`zfs_vdev_aggregation_limit_non_rotating`).
const AGGREGATION_BYTES: u64 = 128 << 10;

/// If more than half of what there was room for was written, the next write comes after this part of the interval
/// (`l2arc_feed_min_ms` of `l2arc_feed_secs`).
const BUSY_INTERVALS: u64 = 5;

/// The owner of writes.
const FEED: u32 = u32::MAX;

/// A block that is read from the device.
#[derive(Debug, Clone, Copy, SavedValue)]
struct Read {
    fetch: Fetch,
    address: u64,
}

/// What is written to the device.
#[derive(Debug, Clone, Copy, SavedValue)]
struct Feeding {
    began_ns: u64,
    /// Whether the next write comes sooner.
    is_busy: bool,
    /// Requests that are not done.
    left: u32,
}

#[derive(Debug, Clone, SavedValue)]
struct Command {
    class: Class,
    owners: Vec<u32>,
}

/// The device and its queue.
#[derive(Debug, Clone, SavedValue)]
pub struct CacheDevice {
    queue: IoScheduler,
    /// By the owner of their request.
    reads: BTreeMap<u32, Read>,
    next_owner: u32,
    /// By when they are done, and by their number.
    commands: BTreeMap<(u64, u64), Command>,
    sent: u64,
    /// When all bytes so far have passed.
    free_ns: u64,
    feeding: Option<Feeding>,
    next_feed_ns: u64,
}

impl CacheDevice {
    pub fn new() -> Self {
        let options = SchedulerOptions {
            aggregation_bytes: AGGREGATION_BYTES,
            ..SchedulerOptions::default()
        };
        Self {
            queue: IoScheduler::new(options),
            reads: BTreeMap::new(),
            next_owner: 0,
            commands: BTreeMap::new(),
            sent: 0,
            free_ns: 0,
            feeding: None,
            next_feed_ns: 0,
        }
    }

    /// When something happens next.
    pub fn next_ns(&self) -> u64 {
        let done_ns = self.commands.first_key_value().map(|((done_ns, _), _)| *done_ns);
        let feed_ns = self.feeding.is_none().then_some(self.next_feed_ns);
        done_ns.into_iter().chain(feed_ns).min().unwrap_or(u64::MAX)
    }

    fn read(&mut self, now_ns: u64, read: Read, bytes: u32) {
        let class = match read.fetch.purpose {
            Purpose::Prefetch | Purpose::Send => Class::AsyncRead,
            _ => Class::SyncRead,
        };
        let extent = Extent { address: read.address, bytes };
        let owner = self.next_owner;
        self.next_owner = (owner + 1) % FEED;
        self.reads.insert(owner, read);
        self.push(now_ns, owner, extent, Direction::Read, class);
    }

    /// Somebody waits for a block that is read ahead, if it is.
    pub fn hurry(&mut self, now_ns: u64, key: u64) {
        let is_meant = |fetch: Fetch| fetch.purpose == Purpose::Prefetch && fetch.cached_as == key;
        if let Some((owner, _)) = self.reads.iter().find(|(_, read)| is_meant(read.fetch)) {
            let owner = *owner;
            self.queue.change_class(now_ns, owner, Class::SyncRead);
        }
    }

    fn feed(&mut self, now_ns: u64, interval_ns: u64, feed: &Feed) {
        if feed.writes.is_empty() {
            self.next_feed_ns = now_ns + interval_ns;
            return;
        }
        let is_busy = feed.bytes() > feed.wanted_bytes / 2;
        self.feeding = Some(Feeding { began_ns: now_ns, is_busy, left: feed.writes.len() as u32 });
        for extent in &feed.writes {
            self.push(now_ns, FEED, *extent, Direction::Write, Class::AsyncWrite);
        }
    }

    fn push(
        &mut self,
        now_ns: u64,
        owner: u32,
        extent: Extent,
        direction: Direction,
        class: Class,
    ) {
        let (first_sector, sectors) =
            (extent.address / SECTOR_BYTES, extent.bytes / SECTOR_BYTES as u32);
        let is_optional = false;
        self.queue
            .push(now_ns, Request { owner, first_sector, sectors, direction, class, is_optional });
    }

    /// Gives the device what it may have of its queue.
    fn issue(&mut self, now_ns: u64, config: &L2arcConfig, dirty_percent: u32) {
        let mut members = Vec::new();
        while let Some(issued) = self.queue.pop(dirty_percent, &mut members) {
            let rate = match issued.direction {
                Direction::Read => config.read_bytes_per_s,
                Direction::Write => config.write_bytes_per_s,
            };
            let bytes = u64::from(issued.sectors) * SECTOR_BYTES;
            let transfer_ns = u128::from(bytes) * 1_000_000_000 / u128::from(rate.max(1));
            self.free_ns = self.free_ns.max(now_ns) + (transfer_ns as u64).max(1);
            self.sent += 1;
            let owners = members.iter().map(|member| member.owner).collect();
            let command = Command { class: issued.class, owners };
            self.commands.insert((self.free_ns + config.latency_ns, self.sent), command);
        }
    }

    /// The next command that is done by now.
    fn next_done(&mut self, now_ns: u64) -> Option<Vec<u32>> {
        let ((done_ns, _), _) = self.commands.first_key_value()?;
        if *done_ns > now_ns {
            return None;
        }
        let (_, Command { class, owners }) = self.commands.pop_first()?;
        self.queue.completed(class);
        Some(owners)
    }
}

impl ZfsArray {
    /// Reads a block from the cache device, if there is one and it has it. Returns whether it does.
    pub(super) fn read_from_cache_device(&mut self, now_ns: u64, fetch: Fetch) -> bool {
        if self.config.l2arc.is_none() {
            return false;
        }
        self.counters.l2arc_lookups += 1;
        let Some(Extent { address, bytes }) = self.arc.on_device(fetch.cached_as) else {
            return false;
        };
        self.counters.l2arc_hits += 1;
        self.cache_device.read(now_ns, Read { fetch, address }, bytes);
        self.issue_to_cache_device(now_ns);
        true
    }

    /// Takes what the cache device is done with, and writes to it if it is time.
    pub(super) fn go_on_with_cache_device(&mut self, now_ns: u64, driver: &mut impl Driver<()>) {
        let Some(L2arcConfig { feed_interval_ns, .. }) = self.config.l2arc else { return };
        while let Some(owners) = self.cache_device.next_done(now_ns) {
            for owner in owners {
                match owner {
                    FEED => self.on_fed_some(now_ns, feed_interval_ns),
                    owner => self.on_read_from_cache_device(now_ns, owner, driver),
                }
            }
        }
        let device = &mut self.cache_device;
        if device.feeding.is_none() && device.next_feed_ns <= now_ns {
            let feed = self.arc.feed(|key| self.space.block(BlockKey::decode(key)).1);
            self.counters.l2arc_written_bytes += feed.bytes();
            device.feed(now_ns, feed_interval_ns, &feed);
        }
        self.issue_to_cache_device(now_ns);
    }

    fn issue_to_cache_device(&mut self, now_ns: u64) {
        if let Some(config) = &self.config.l2arc {
            self.cache_device.issue(now_ns, config, self.transactions.dirty_percent());
        }
    }

    /// A request of a write to the device is done.
    fn on_fed_some(&mut self, now_ns: u64, interval_ns: u64) {
        let device = &mut self.cache_device;
        let Some(feeding) = &mut device.feeding else { return };
        feeding.left -= 1;
        if feeding.left == 0 {
            let interval_ns =
                if feeding.is_busy { interval_ns / BUSY_INTERVALS } else { interval_ns };
            device.next_feed_ns = now_ns.max(feeding.began_ns + interval_ns);
            device.feeding = None;
            self.arc.on_fed();
        }
    }

    fn on_read_from_cache_device(&mut self, now_ns: u64, owner: u32, driver: &mut impl Driver<()>) {
        let Some(Read { fetch, address }) = self.cache_device.reads.remove(&owner) else {
            return;
        };
        match self.arc.has_left_device(fetch.cached_as, address) {
            true => self.read_from_pool(now_ns, fetch, driver),
            false => self.on_read(now_ns, fetch.cached_as, fetch.purpose, driver),
        }
    }

    /// A transaction group writes these blocks of each volume, and with them what leads to them: indirect blocks on the
    /// cache device are no longer those of the pool.
    pub(super) fn note_rewritten(&mut self, blocks: &[Vec<u32>]) {
        if self.config.l2arc.is_none() {
            return;
        }
        for (volume, blocks) in blocks.iter().enumerate() {
            let mut numbers = blocks.clone();
            for level in 1..=self.space.volumes[volume].levels() {
                numbers.iter_mut().for_each(|number| *number /= POINTERS);
                numbers.sort_unstable();
                numbers.dedup();
                for number in &numbers {
                    let (volume, level, number) = (volume as u8, level as u8, *number);
                    self.arc.forget_on_device(BlockKey { volume, level, number }.encode());
                }
            }
        }
    }
}
