//! Writing a transaction group.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;
use strewn_array::{Acknowledge, Driver, ProcessorWork, Work};
use strewn_base::BLOCK_BYTES;

use super::transactions::{Room, Syncing};
use super::{BlockKey, Space, VolumeConfig, ZfsArray, ZfsConfig};
use crate::allocation_class::AllocationClass;
use crate::block::{Block, BlockWrite, Stage};
use crate::dva::NoRoom;
use crate::volume::{AHEAD, METADATA_COPIES, Volume, VolumeShape};

/// The uberblock goes to the drives of so many top-level vdevs (`SPA_SYNC_MIN_VDEVS`).
const UBERBLOCK_VDEVS: u16 = 3;

/// With log blocks among the data, so many times as much room is needed: a log block of a single block of data has its
/// record besides, and takes up to twice as much.
const LOGGED_SHARE: u64 = 3;

/// Log blocks among the data may take so many parts of what is free, each of this share.
const LOG_PARTS: u64 = 32;

/// Segments that a transaction group of a pool short of room may free.
pub(super) const MANY_SEGMENTS: u64 = 10_000;

/// Bytes of the largest indirect block on disk.
const LARGEST_INDIRECT: u64 = 48 << 10;

/// Transaction groups after which all that was freed may be allocated.
const EMPTY_TXGS: u32 = 2;

/// A transaction group has room for so many blocks, or there is no such array.
const LEAST_BLOCKS: u64 = 16;

/// Volumes are filled before the run in transaction groups of this share of what may be dirty, in percent.
const FILL_PERCENT: u64 = 20;

/// What a transaction group does beside writing blocks.
#[derive(Debug, Clone, Copy, Default)]
struct After {
    takes_snapshot: bool,
    /// Blocks of deleted snapshots that it has freed.
    freed: u64,
}

impl VolumeConfig {
    /// The shape of its volume.
    pub fn shape(&self) -> VolumeShape {
        let blocks = self.bytes.div_ceil(self.block_bytes.into()) as u32;
        VolumeShape { blocks, block_bytes: self.block_bytes, stored_bytes: self.stored_bytes }
    }
}

impl Space {
    /// Writes blocks of volumes, and all metadata that this changes. Returns what is to be written where.
    fn sync(
        &mut self,
        blocks: &[Vec<u32>],
        placed: &FxHashMap<u64, Block>,
        after: After,
    ) -> Result<Vec<BlockWrite>, NoRoom> {
        let mut writes = Vec::new();
        let held_before = self.held_blocks();
        for (number, (volume, dirty)) in (0..).zip(self.volumes.iter_mut().zip(blocks)) {
            let mut dirty = dirty.clone();
            if !placed.is_empty() {
                dirty.retain(|block| {
                    let key = BlockKey { volume: number, level: 0, number: *block }.encode();
                    let at = placed.get(&key);
                    at.inspect(|at| volume.set_written(&mut self.pool, *block, **at)).is_none()
                });
            }
            volume.sync(&mut self.pool, dirty, &mut self.order, &mut writes)?;
        }
        if after.takes_snapshot {
            self.take_snapshots();
        }
        // About as many blocks are freed as are written, less those that snapshots hold.
        let held = self.held_blocks() - held_before;
        let written = (writes.len() + placed.len()) as u64;
        let freed = (written + after.freed).saturating_sub(held);
        self.objects.sync(&mut self.pool, freed, &mut writes)?;
        Ok(writes)
    }

    /// Fills the volumes in order, and makes clones of them.
    pub fn fill(&mut self, config: &ZfsConfig) -> Result<(), NoRoom> {
        let txg_bytes = config.dirty_limit_bytes * FILL_PERCENT / 100;
        for (number, volume) in config.volumes.iter().enumerate() {
            if volume.clone_of.is_some() {
                continue;
            }
            let blocks = volume.filled_bytes.div_ceil(volume.block_bytes.into()) as u32;
            let in_txg = (txg_bytes / u64::from(volume.block_bytes)).max(1) as u32;
            for first in (0..blocks).step_by(in_txg as usize) {
                let mut dirty = vec![Vec::new(); config.volumes.len()];
                dirty[number] = (first..blocks.min(first.saturating_add(in_txg))).collect();
                self.sync(&dirty, &FxHashMap::default(), After::default())?;
                self.pool.sync_done();
            }
        }
        for (number, volume) in config.volumes.iter().enumerate() {
            if let Some(origin) = volume.clone_of {
                let origin = &mut self.volumes[usize::from(origin)];
                assert_eq!(origin.shape(), volume.shape(), "a clone has the size of its origin");
                let clone = origin.clone_of(&self.pool);
                self.volumes[number] = clone;
            }
        }
        Ok(())
    }

    /// Bytes of volumes that the pool has room for in a transaction group, with all metadata that they may change
    /// (`spa_asize_inflation` has the same purpose).
    pub fn room_bytes(&self) -> u64 {
        // With snapshots, what is overwritten gives nothing back: writes end where the pool is kept free.
        if self.has_snapshots() && !self.pool.keeps_slop() {
            return 0;
        }
        self.room_in(self.free_for_a_group())
    }

    /// What a transaction group may have, with log blocks or what these refer to among the data if there are.
    pub fn room_for(&self, config: &ZfsConfig) -> Room {
        let data_bytes = self.room_bytes();
        let is_apart =
            self.pool.log_metaslab_bytes(0).is_some() && config.indirect_from_bytes.is_none();
        if !config.is_synchronous || is_apart {
            return Room { data_bytes, log_bytes: u64::MAX };
        }
        let data_bytes = data_bytes / LOGGED_SHARE;
        // The last operation that is admitted may be as large as all before it.
        let needed = 2 * data_bytes;
        let free = self.free_for_a_group();
        let log_for = |parts: u64| free / LOG_PARTS * parts;
        let all: [u64; LOG_PARTS as usize] = std::array::from_fn(|parts| parts as u64 + 1);
        // Without any, log blocks wait for the transaction group too.
        let parts = all.partition_point(|parts| {
            data_bytes > 0 && self.room_in(free - log_for(*parts)) >= needed
        });
        Room { data_bytes, log_bytes: log_for(parts as u64) }
    }

    /// Bytes that a transaction group finds free, what is freed and not to be allocated yet included: it comes back
    /// while nothing is written. Log blocks of the open one, which are not in a sync pass yet, are in it too.
    fn free_for_a_group(&self) -> u64 {
        self.pool.bytes() - self.pool.allocated() + self.pool.deferred()
    }

    pub(super) fn room_in(&self, free: u64) -> u64 {
        let room =
            free as f64 - self.in_pieces(self.objects.most_bytes(&self.pool, MANY_SEGMENTS)) as f64;
        let every_time: u64 = self.volumes.iter().map(Volume::bytes_of_every_group).sum();
        let room = room - self.in_pieces(every_time) as f64;
        let indirect = self.pool.most_bytes_in_pieces(LARGEST_INDIRECT, METADATA_COPIES) as f64;
        let all_indirect: u64 = self.volumes.iter().map(Volume::indirect_count).sum();
        let bytes = self.volumes.iter().map(|volume| {
            let VolumeShape { block_bytes, stored_bytes, .. } = volume.shape();
            let taken = self.in_pieces(stored_bytes.into()) as f64;
            // Each block changes an indirect block of its own, or all are changed.
            let blocks =
                (room / (taken + indirect)).max((room - indirect * all_indirect as f64) / taken);
            blocks * f64::from(block_bytes)
        });
        bytes.fold(f64::MAX, f64::min).max(0.0) as u64
    }

    /// What a block takes if only single sectors are free.
    pub(super) fn in_pieces(&self, bytes: u64) -> u64 {
        self.pool.most_bytes_in_pieces(bytes, 1)
    }

    /// Whether what a pool keeps free is free, and there is room for transaction groups.
    pub fn check_room(&self) -> Result<(), NoRoom> {
        let largest = self.volumes.iter().map(|volume| volume.shape().block_bytes).max();
        let bytes = LEAST_BLOCKS * u64::from(largest.unwrap_or(0));
        match self.pool.keeps_slop() && self.room_bytes() >= bytes {
            true => Ok(()),
            false => Err(NoRoom { bytes }),
        }
    }
}

impl ZfsArray {
    /// Begins to write the open transaction group if it is due, and issues what may be written.
    pub(super) fn go_on_syncing(&mut self, now_ns: u64, driver: &mut impl Driver<()>) {
        let may_sync = self.transactions.syncing.is_none() && !self.resilver.is_passing();
        if may_sync && self.intent_log.is_stalled() {
            if self.transactions.open_bytes > 0 {
                self.begin_sync(now_ns, driver);
            } else {
                // What they wait for is synced already.
                for operation in self.intent_log.on_synced(true) {
                    driver.acknowledge(operation, Acknowledge::Now, ());
                }
            }
        }
        if self.is_sync_due(now_ns) {
            self.begin_sync(now_ns, driver);
        }
        // Each class has slots of its own in a real pool; here they share them.
        let log_vdevs = self.space.pool.vdevs_in(AllocationClass::Log);
        let vdevs = (self.space.pool.vdevs() - log_vdevs) as u32;
        // Without a throttle all are queued at once.
        let most = self.config.throttle_slots.map_or(u32::MAX, |slots| slots * vdevs);
        while let Some(syncing) = &mut self.transactions.syncing
            && syncing.under_way < most
            && let Some(write) = syncing.writes.front().copied()
        {
            // A stage waits for those before.
            if syncing.under_way > 0 && write.stage != syncing.stage {
                break;
            }
            // Scans have their turn when the data is written.
            if write.stage >= Stage::SpaceMaps
                && syncing.stage < Stage::SpaceMaps
                && self.resilver.holds_sync()
            {
                return;
            }
            syncing.stage = write.stage;
            syncing.under_way += 1;
            syncing.writes.pop_front();
            self.issue_block(now_ns, write, driver);
        }
        let Some(syncing) = &mut self.transactions.syncing else { return };
        if syncing.under_way == 0 && syncing.writes.is_empty() {
            if syncing.stage == Stage::Uberblock {
                self.end_sync(now_ns, driver);
            } else {
                syncing.stage = Stage::Uberblock;
                syncing.under_way = 1;
                let pool = &self.space.pool;
                let mut vdevs: Vec<u16> = (0..pool.vdevs() as u16).collect();
                vdevs.retain(|vdev| pool.class_of((*vdev).into()) != AllocationClass::Log);
                // Not always the same: which comes first changes with the transaction group.
                let first = self.space.pool.txg() as usize % vdevs.len();
                let turned: Vec<u16> =
                    vdevs[first..].iter().chain(&vdevs[..first]).copied().collect();
                let most = usize::from(UBERBLOCK_VDEVS).min(turned.len());
                self.drives.write_uberblocks(now_ns, &turned[..most]);
            }
        }
    }

    /// Gives a block to its drives' queues.
    pub(super) fn queue_block(
        &mut self,
        now_ns: u64,
        BlockWrite { vdev, offset, bytes, .. }: BlockWrite,
        driver: &mut impl Driver<()>,
    ) {
        self.drives.write(now_ns, (vdev, offset), bytes);
        let dirty_percent = self.transactions.dirty_percent();
        // Each goes to its drives at once if they may have it; later ones are joined with what waits.
        self.drives.issue(dirty_percent, &self.config.processor, &mut self.counters, driver);
    }

    fn begin_sync(&mut self, now_ns: u64, driver: &mut impl Driver<()>) {
        let (blocks, dirty_bytes) = self.transactions.close(now_ns);
        // Short of room, transaction groups without writes bring back what was freed.
        let mut empty = 0;
        while empty < EMPTY_TXGS && self.space.room_in(self.space.pool.allocatable()) < dirty_bytes
        {
            self.space.pool.sync_done();
            empty += 1;
        }
        self.intent_log.free(&mut self.space.pool);
        let (freed, freed_bytes) = self.space.free_some(dirty_bytes);
        self.note_freed(freed_bytes);
        self.transactions.frees = self.space.is_freeing();
        let takes_snapshot = std::mem::take(&mut self.transactions.takes_snapshot);
        self.counters.snapshots_taken += u64::from(takes_snapshot);
        let spilled = self.space.pool.spilled();
        let placed = self.intent_log.take_placed();
        let writes = match self.space.sync(&blocks, &placed, After { takes_snapshot, freed }) {
            Ok(writes) => VecDeque::from(writes),
            Err(error) => {
                let pool = &self.space.pool;
                unreachable!(
                    "{dirty_bytes} dirty bytes had room in a pool of {} with {} allocatable and {} deferred: {error}",
                    pool.bytes(),
                    pool.allocatable(),
                    pool.deferred()
                )
            }
        };
        self.note_spilled(spilled);
        self.note_rewritten(&blocks);
        self.note_placed(&writes);
        self.transactions.room = self.space.room_for(&self.config);
        let data_blocks: usize = blocks.iter().map(Vec::len).sum();
        self.counters.consistency_point_data_blocks += data_blocks as u64;
        self.counters.consistency_points += 1;
        self.count_written(writes.iter());
        let before = driver.turn_to(Work::WriteBack);
        let cost = self.config.processor.write_back.allocated_block_ns * writes.len() as u64;
        driver.processor(ProcessorWork::Allocation, cost);
        driver.turn_to(before);
        self.transactions.syncing = Some(Syncing {
            began_ns: now_ns,
            dirty_bytes,
            data_writes_left: writes.iter().filter(|write| write.stage == Stage::Data).count()
                as u64,
            writes,
            under_way: 0,
            stage: Stage::Data,
            blocks,
        });
    }

    /// Counts blocks that have got their places.
    pub(super) fn count_written<'a>(
        &mut self,
        writes: impl ExactSizeIterator<Item = &'a BlockWrite>,
    ) {
        self.counters.allocated_blocks += writes.len() as u64;
        let bytes: u64 = writes.map(|write| u64::from(write.bytes)).sum();
        self.counters.consistency_point_blocks += bytes.div_ceil(BLOCK_BYTES);
    }

    /// A block of the transaction group is written.
    pub(super) fn on_written(&mut self) {
        if let Some(syncing) = &mut self.transactions.syncing {
            syncing.under_way -= 1;
            if syncing.stage == Stage::Data && syncing.data_writes_left > 0 {
                // Dirty data becomes clean as it is written, an equal part with each block.
                let part = syncing.dirty_bytes / syncing.data_writes_left;
                syncing.data_writes_left -= 1;
                syncing.dirty_bytes -= part;
                self.transactions.dirty_bytes -= part;
            }
        }
    }

    fn end_sync(&mut self, now_ns: u64, driver: &mut impl Driver<()>) {
        let Some(syncing) = self.transactions.syncing.take() else { return };
        self.transactions.dirty_bytes -= syncing.dirty_bytes;
        self.transactions.on_synced(&syncing.blocks);
        for (volume, blocks) in syncing.blocks.iter().enumerate() {
            let key = |number: u32| BlockKey { volume: volume as u8, level: 0, number }.encode();
            for (position, number) in blocks.iter().enumerate() {
                if let Some(later) = blocks.get(position + AHEAD) {
                    self.arc.announce(key(*later));
                }
                self.arc.on_written(now_ns, key(*number));
            }
        }
        self.space.pool.sync_done();
        self.note_trimmed();
        self.transactions.room = self.space.room_for(&self.config);
        for operation in self.intent_log.on_synced(self.transactions.open_bytes == 0) {
            driver.acknowledge(operation, Acknowledge::Now, ());
        }
        self.counters.consistency_point_ns += now_ns - syncing.began_ns;
    }
}
