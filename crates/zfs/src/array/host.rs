//! Host operations: what they wait for, and when they are answered.

use std::collections::VecDeque;
use std::collections::hash_map::Entry;
use std::ops::Range;

use rustc_hash::FxHashMap;
use strewn_array::{
    Acknowledge, Driver, HostOperation, LunId, OperationId, ProcessorWork, Refusal, Slots,
};
use strewn_base::SECTOR_BYTES;
use strewn_base::state::SavedValue;

use super::drives::Purpose;
use super::{BlockKey, INDIRECT_BYTES, SHARED, ZfsArray};
use crate::allocation_class::AllocationClass;
use crate::arc::{Block, Found, Intent, Kind};
use crate::volume::POINTERS;

/// What waits for a block to be in memory.
#[derive(Debug, Clone, Copy, SavedValue)]
enum Waiter {
    Operation(u32),
    /// A block whose indirect block is read first.
    Fetch(Fetch),
}

/// A block that is to be read.
#[derive(Debug, Clone, Copy, SavedValue)]
pub(super) struct Fetch {
    /// Its key as a block of its volume, encoded.
    pub key: u64,
    /// What it is known by in memory, and who waits for it: the same, unless clones share it.
    pub cached_as: u64,
    pub purpose: Purpose,
}

/// Who waits for blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, SavedValue)]
enum Owner {
    Host(OperationId),
    /// A scan of volumes.
    Scan,
}

/// An operation that waits, or a part of a scan.
#[derive(Debug, Clone, SavedValue)]
struct Pending {
    owner: Owner,
    volume: u8,
    blocks: Range<u32>,
    /// Bytes of the operation, or of the blocks.
    bytes: u64,
    is_write: bool,
    /// Blocks that it waits for.
    left: u32,
}

/// What hosts wait for.
#[derive(Debug, Clone, Default, SavedValue)]
pub struct Host {
    pending: Slots<Pending>,
    /// By block: the first, and rarely others.
    waiting: FxHashMap<u64, (Waiter, Vec<Waiter>)>,
    /// Writes that have all they need, but wait until less is dirty.
    stalled: VecDeque<u32>,
    /// Writes that are delayed, and until when.
    delayed: VecDeque<(u64, u32)>,
}

impl Host {
    pub fn next_wakeup_ns(&self) -> Option<u64> {
        self.delayed.front().map(|(at_ns, _)| *at_ns)
    }
}

/// The bytes of its volume that an operation reads or writes.
fn bytes_of(operation: &HostOperation<()>) -> Range<u64> {
    let first = operation.first_sector * SECTOR_BYTES;
    first..first + u64::from(operation.sectors) * SECTOR_BYTES
}

impl ZfsArray {
    fn block_bytes(&self, lun: LunId) -> u64 {
        self.config.volumes[usize::from(lun.0)].block_bytes.into()
    }

    /// An operation comes. Returns its place among those that wait, its volume and its blocks.
    fn begin(
        &mut self,
        operation: &HostOperation<()>,
        is_write: bool,
        driver: &mut impl Driver<()>,
    ) -> (u32, u8, Range<u32>) {
        let cost = self.config.processor.of_operation(operation.sectors);
        driver.processor(ProcessorWork::Operation, cost);
        let (volume, block) = (operation.lun.0 as u8, self.block_bytes(operation.lun));
        let Range { start, end } = bytes_of(operation);
        let blocks = (start / block) as u32..end.div_ceil(block) as u32;
        let (owner, bytes, left) = (Owner::Host(operation.id), end - start, 0);
        let pending = Pending { owner, volume, blocks: blocks.clone(), bytes, is_write, left };
        (self.host.pending.insert(pending) as u32, volume, blocks)
    }

    pub(super) fn hint(&self, lun: LunId, first_sector: u64) {
        let number = (first_sector * SECTOR_BYTES / self.block_bytes(lun)) as u32;
        self.arc.announce(BlockKey { volume: lun.0 as u8, level: 0, number }.encode());
        self.space.volumes[usize::from(lun.0)].announce(number);
        self.transactions.announce(lun.0.into(), number);
    }

    pub(super) fn read(
        &mut self,
        now_ns: u64,
        operation: &HostOperation<()>,
        driver: &mut impl Driver<()>,
    ) {
        let (id, volume, blocks) = self.begin(operation, false, driver);
        let mut left = 0;
        for number in blocks.clone() {
            self.counters.cache_lookups += 1;
            self.counters.host_read_blocks += 1;
            let key = BlockKey { volume, level: 0, number };
            if self.request(now_ns, key, Purpose::Read, Some(Waiter::Operation(id)), driver) {
                self.counters.cache_hits += 1;
                self.counters.host_read_hits += 1;
            } else {
                left += 1;
            }
        }
        self.read_ahead(now_ns, volume, blocks, left > 0, driver);
        if left == 0 {
            self.host.pending.remove(id as usize);
            driver.acknowledge(operation.id, Acknowledge::AfterProcessor, ());
        } else {
            self.host.pending[id as usize].left = left;
        }
    }

    /// Reads blocks for a scan of volumes, and rewrites them if it does.
    pub(super) fn read_for_scan(
        &mut self,
        now_ns: u64,
        volume: u8,
        blocks: Range<u32>,
        driver: &mut impl Driver<()>,
    ) {
        let (owner, is_write) = (Owner::Scan, self.scan_rewrites());
        let purpose = if is_write { Purpose::Rewrite } else { Purpose::Send };
        let block_bytes = self.config.volumes[usize::from(volume)].block_bytes;
        let bytes = blocks.len() as u64 * u64::from(block_bytes);
        let pending = Pending { owner, volume, blocks: blocks.clone(), bytes, is_write, left: 0 };
        let id = self.host.pending.insert(pending) as u32;
        let mut left = 0;
        for number in blocks.clone() {
            let key = BlockKey { volume, level: 0, number };
            let waiter = Some(Waiter::Operation(id));
            left += u32::from(!self.request(now_ns, key, purpose, waiter, driver));
        }
        // Sending has its queue instead (`send_reader_thread`).
        if is_write {
            self.read_ahead(now_ns, volume, blocks, left > 0, driver);
        }
        self.host.pending[id as usize].left = left;
        if left == 0 {
            self.on_ready(now_ns, id, driver);
        }
    }

    /// An operation, or a part of a scan, has all it needs.
    fn on_ready(&mut self, now_ns: u64, id: u32, driver: &mut impl Driver<()>) {
        if self.host.pending[id as usize].is_write {
            return self.admit(now_ns, id, driver);
        }
        let Pending { owner, volume, blocks, .. } = self.host.pending.remove(id as usize);
        match owner {
            Owner::Host(operation) => driver.acknowledge(operation, Acknowledge::Now, ()),
            Owner::Scan => self.on_scanned(now_ns, volume, &blocks),
        }
    }

    pub(super) fn write(
        &mut self,
        now_ns: u64,
        operation: &HostOperation<()>,
        driver: &mut impl Driver<()>,
    ) {
        let (id, volume, blocks) = self.begin(operation, true, driver);
        let block = self.block_bytes(operation.lun);
        let Range { start: first, end } = bytes_of(operation);
        let mut left = 0;
        for number in blocks {
            let start = u64::from(number) * block;
            let is_whole = first <= start && start + block <= end;
            let waiter = Some(Waiter::Operation(id));
            let key = BlockKey { volume, level: 0, number };
            // What is overwritten in part must be in memory; for the rest, what points to it.
            let is_ready = if is_whole {
                let above = BlockKey { volume, level: 1, number: number / POINTERS };
                self.request(now_ns, above, Purpose::Metadata, waiter, driver)
            } else {
                self.request(now_ns, key, Purpose::Edge, waiter, driver)
            };
            left += u32::from(!is_ready);
        }
        self.host.pending[id as usize].left = left;
        if left == 0 {
            self.admit(now_ns, id, driver);
        }
    }

    /// Asks for a block to be in memory. Returns whether it is; if not, `waiter` waits for it, if there is one.
    fn request(
        &mut self,
        now_ns: u64,
        key: BlockKey,
        purpose: Purpose,
        waiter: Option<Waiter>,
        driver: &mut impl Driver<()>,
    ) -> bool {
        let volume = usize::from(key.volume);
        let (block, bytes, kind) = match key.level {
            0 => {
                let shape = self.space.volumes[volume].shape();
                if self.transactions.is_dirty(volume, key.number) {
                    return true;
                }
                (self.space.volumes[volume].block(key.number), shape.block_bytes, Kind::Data)
            }
            level => {
                let (block, _) = self.space.volumes[volume].indirect(level.into(), key.number);
                (block, INDIRECT_BYTES, Kind::Indirect)
            }
        };
        if block.is_hole() {
            return true;
        }
        let intent = if purpose == Purpose::Prefetch { Intent::Prefetch } else { Intent::Demand };
        let cached_as = self.space.cached_as(key).encode();
        let block = Block { key: cached_as, bytes, kind };
        match self.arc.access(now_ns, block, intent) {
            Found::Hit => return true,
            Found::InFlight if purpose == Purpose::Prefetch => return false,
            Found::InFlight => {
                self.drives.hurry(now_ns, cached_as);
                self.cache_device.hurry(now_ns, cached_as);
            }
            Found::Miss | Found::GhostHit => {
                let fetch = Fetch { key: key.encode(), cached_as, purpose };
                if self.is_pointer_ready(now_ns, fetch, driver) {
                    self.read_block(now_ns, fetch, driver);
                }
            }
        }
        if let Some(waiter) = waiter {
            match self.host.waiting.entry(cached_as) {
                Entry::Vacant(none) => _ = none.insert((waiter, Vec::new())),
                Entry::Occupied(mut others) => others.get_mut().1.push(waiter),
            }
        }
        false
    }

    /// Asks for the indirect block that points to a block, if there is one.
    fn is_pointer_ready(
        &mut self,
        now_ns: u64,
        fetch: Fetch,
        driver: &mut impl Driver<()>,
    ) -> bool {
        let key = BlockKey::decode(fetch.key);
        let level = key.level + 1;
        if usize::from(level) > self.space.volumes[usize::from(key.volume)].levels() {
            return true;
        }
        let above = BlockKey { volume: key.volume, level, number: key.number / POINTERS };
        let waiter = Some(Waiter::Fetch(fetch));
        self.request(now_ns, above, Purpose::Metadata, waiter, driver)
    }

    fn read_block(&mut self, now_ns: u64, fetch: Fetch, driver: &mut impl Driver<()>) {
        if !self.read_from_cache_device(now_ns, fetch) {
            self.read_from_pool(now_ns, fetch, driver);
        }
    }

    /// Asks the block's drives for it.
    pub(super) fn queue_read(
        &mut self,
        now_ns: u64,
        Fetch { key, cached_as, purpose }: Fetch,
        driver: &mut impl Driver<()>,
    ) {
        let (block, bytes) = self.space.block(BlockKey::decode(key));
        let (vdev, offset) = block.place();
        let later = self.space.pool.steps_after_header(vdev, offset);
        let bytes = if later.is_some() { SECTOR_BYTES as u32 } else { bytes };
        self.drives.read(now_ns, cached_as, purpose, ((vdev, offset), bytes), later);
        let dirty_percent = self.transactions.dirty_percent();
        self.drives.issue(dirty_percent, &self.config.processor, &mut self.counters, driver);
    }

    /// Reads what is expected after `blocks`.
    fn read_ahead(
        &mut self,
        now_ns: u64,
        volume: u8,
        blocks: Range<u32>,
        has_missed: bool,
        driver: &mut impl Driver<()>,
    ) {
        let prefetcher = &mut self.prefetchers[usize::from(volume)];
        let ahead = prefetcher.note_read(now_ns, blocks, has_missed);
        for (level, numbers) in [(0, ahead.data), (1, ahead.indirect)] {
            for number in numbers {
                let key = BlockKey { volume, level, number };
                let cached_as = self.space.cached_as(key).encode();
                if !self.arc.contains(cached_as)
                    && !self.request(now_ns, key, Purpose::Prefetch, None, driver)
                    && level == 0
                {
                    self.counters.read_ahead_blocks += 1;
                }
            }
        }
    }

    /// A block has been read.
    pub(super) fn on_read(
        &mut self,
        now_ns: u64,
        key: u64,
        purpose: Purpose,
        driver: &mut impl Driver<()>,
    ) {
        self.arc.on_read_done(key);
        let BlockKey { volume, level, number } = BlockKey::decode(key);
        if purpose == Purpose::Prefetch && level & !SHARED == 0 {
            self.prefetchers[usize::from(volume)].note_read_ahead(number);
        }
        let Some((first, others)) = self.host.waiting.remove(&key) else { return };
        for waiter in std::iter::once(first).chain(others) {
            match waiter {
                Waiter::Fetch(fetch) => self.read_block(now_ns, fetch, driver),
                Waiter::Operation(id) => {
                    let pending = &mut self.host.pending[id as usize];
                    pending.left -= 1;
                    if pending.left == 0 {
                        self.on_ready(now_ns, id, driver);
                    }
                }
            }
        }
    }

    /// A write has all it needs. It is admitted unless too much is dirty.
    fn admit(&mut self, now_ns: u64, id: u32, driver: &mut impl Driver<()>) {
        let Pending { volume, ref blocks, .. } = self.host.pending[id as usize];
        let block = u64::from(self.config.volumes[usize::from(volume)].block_bytes);
        if (blocks.len() as u64).saturating_mul(block) > self.transactions.room.data_bytes {
            // Not even alone: the pool is full.
            match self.host.pending.remove(id as usize).owner {
                Owner::Host(operation) => {
                    self.counters.refused_writes += 1;
                    driver.refuse(operation, Refusal::NoSpace);
                }
                Owner::Scan => self.give_up_scanning(),
            }
        } else if self.transactions.is_full() || !self.host.stalled.is_empty() {
            let is_host = self.host.pending[id as usize].owner != Owner::Scan;
            self.counters.stalled_writes += u64::from(is_host);
            self.host.stalled.push_back(id);
        } else if let Some(at_ns) = self.transactions.delay(now_ns) {
            self.host.delayed.push_back((at_ns, id));
        } else {
            self.make_dirty(now_ns, id, driver);
        }
    }

    /// Admits writes whose delay is over, and stalled ones if less is dirty.
    pub(super) fn admit_waiting(&mut self, now_ns: u64, driver: &mut impl Driver<()>) {
        while let Some((_, id)) =
            self.host.delayed.front().copied().filter(|(at_ns, _)| *at_ns <= now_ns)
        {
            self.host.delayed.pop_front();
            match self.transactions.has_no_room() {
                // Others came meanwhile, and took what the pool has room for.
                true => self.host.stalled.push_back(id),
                false => self.make_dirty(now_ns, id, driver),
            }
        }
        while !self.transactions.is_full()
            && let Some(id) = self.host.stalled.pop_front()
        {
            match self.transactions.delay(now_ns) {
                Some(at_ns) => self.host.delayed.push_back((at_ns, id)),
                None => self.make_dirty(now_ns, id, driver),
            }
        }
    }

    fn make_dirty(&mut self, now_ns: u64, id: u32, driver: &mut impl Driver<()>) {
        let pending = self.host.pending.remove(id as usize);
        let Pending { owner, volume, blocks, bytes: logged, .. } = pending;
        let bytes = self.config.volumes[usize::from(volume)].block_bytes;
        self.transactions.skip_empty(now_ns);
        for number in blocks.clone() {
            // A scan rewrites no holes.
            if owner == Owner::Scan && self.is_hole(volume, number) {
                continue;
            }
            let key = BlockKey { volume, level: 0, number }.encode();
            if self.transactions.make_dirty(volume.into(), number, bytes) {
                self.arc.make_dirty(now_ns, Block { key, bytes, kind: Kind::Data });
            } else if self.config.indirect_from_bytes.is_some() {
                let stored = self.config.volumes[usize::from(volume)].stored_bytes;
                self.intent_log.forget_placed(key, stored.into(), &mut self.space.pool);
            }
        }
        match owner {
            Owner::Scan => self.on_scanned(now_ns, volume, &blocks),
            Owner::Host(id) if self.config.is_synchronous => {
                if !self.write_in_place(now_ns, (id, logged), volume, blocks) {
                    self.intent_log.push(id, logged);
                }
            }
            Owner::Host(id) => driver.acknowledge(id, Acknowledge::AfterProcessor, ()),
        }
    }

    /// Writes the blocks of a synchronous write to their places at once, if the intent log may refer to them
    /// (`zil_write_state`). Returns whether it does.
    fn write_in_place(
        &mut self,
        now_ns: u64,
        (operation, bytes): (OperationId, u64),
        volume: u8,
        blocks: Range<u32>,
    ) -> bool {
        let stored_bytes = self.config.volumes[usize::from(volume)].stored_bytes;
        let is_meant = self.config.indirect_from_bytes.is_some_and(|least| bytes >= least);
        if !is_meant || self.space.pool.vdevs_in(AllocationClass::Log) > 0 {
            return false;
        }
        let keys = blocks.map(|number| BlockKey { volume, level: 0, number }.encode());
        let blocks = (keys, stored_bytes.into());
        let room_bytes = self.transactions.room.log_bytes;
        let (pool, drives) = (&mut self.space.pool, &mut self.drives);
        let log = &mut self.intent_log;
        let writes = log.write_in_place(now_ns, operation, blocks, room_bytes, pool, drives);
        self.count_written(writes.iter());
        !writes.is_empty()
    }

    fn is_hole(&self, volume: u8, number: u32) -> bool {
        let volume = usize::from(volume);
        !self.transactions.is_dirty(volume, number)
            && self.space.volumes[volume].block(number).is_hole()
    }
}
