//! Transaction groups: what is dirty, when it is written, and how writes are delayed.
//!
//! `txg.c`, `dsl_pool.c`, `dmu_tx.c` and `spa.c` of OpenZFS. A transaction group collects writes until its time is over
//! or a fifth of what may be dirty is; then it is written while the next collects.

use std::collections::VecDeque;

use strewn_base::state::SavedValue;

use crate::block::{BlockWrite, Stage};

use super::config::ZfsConfig;
use super::dirty::DirtyBlocks;

/// A transaction group is written when so much is dirty, in percent of the limit (`zfs_dirty_data_sync_percent`).
const SYNC_PERCENT: u64 = 20;

/// Writes are delayed when more than this is dirty, in percent of the limit (`zfs_delay_min_dirty_percent`).
const DELAY_PERCENT: u64 = 60;

/// The delay at the middle between the two (`zfs_delay_scale`), in nanoseconds.
const DELAY_SCALE_NS: u64 = 500_000;

/// No write is delayed longer (`zfs_delay_max_ns`).
const LONGEST_DELAY_NS: u64 = 100_000_000;

/// The transaction group that is being written.
#[derive(Debug, Clone, SavedValue)]
pub struct Syncing {
    /// When it began.
    pub began_ns: u64,
    /// Which writes are under way.
    pub stage: Stage,
    /// What is not yet issued.
    pub writes: VecDeque<BlockWrite>,
    /// Writes under way.
    pub under_way: u32,
    /// Blocks of volumes in it, by volume.
    pub blocks: Vec<Vec<u32>>,
    /// Bytes that are still dirty.
    pub dirty_bytes: u64,
    /// Writes of the first stage that are not done.
    pub data_writes_left: u64,
}

/// What the open transaction group may have, for the pool to have room for it.
#[derive(Debug, Clone, Copy, SavedValue)]
pub struct Room {
    /// Bytes of volumes.
    pub data_bytes: u64,
    /// Bytes of the pool for log blocks among the data, parity included.
    pub log_bytes: u64,
}

/// The state of transaction groups.
#[derive(Debug, Clone, SavedValue)]
pub struct Transactions {
    /// Blocks of the open one and of the one being written, by volume: each transaction group uses one set.
    pub dirty: [Vec<DirtyBlocks>; 2],
    /// Which set is that of the open one.
    pub open: u8,
    /// When the open one began.
    pub opened_ns: u64,
    /// Dirty bytes, those being written included.
    pub dirty_bytes: u64,
    /// Of the open one.
    pub open_bytes: u64,
    /// What the open one may have.
    pub room: Room,
    pub limit_bytes: u64,
    pub interval_ns: u64,
    pub syncing: Option<Syncing>,
    /// Whether a snapshot is to be taken with the open one.
    pub takes_snapshot: bool,
    /// Whether blocks of deleted snapshots wait to be freed.
    pub frees: bool,
    /// When the last delayed write may go on.
    pub last_wakeup_ns: u64,
}

impl Transactions {
    pub fn new(volumes: &[u32], config: &ZfsConfig, room: Room) -> Self {
        let none: Vec<DirtyBlocks> =
            volumes.iter().map(|blocks| DirtyBlocks::new(*blocks)).collect();
        Self {
            dirty: [none.clone(), none],
            open: 0,
            opened_ns: 0,
            dirty_bytes: 0,
            open_bytes: 0,
            room,
            limit_bytes: config.dirty_limit_bytes,
            interval_ns: config.txg_interval_ns,
            syncing: None,
            takes_snapshot: false,
            frees: false,
            last_wakeup_ns: 0,
        }
    }

    /// Announces that a block will be asked for.
    #[inline]
    pub fn announce(&self, volume: usize, block: u32) {
        self.dirty.iter().for_each(|set| set[volume].announce(block));
    }

    /// Whether a block is dirty in any transaction group.
    #[inline]
    pub fn is_dirty(&self, volume: usize, block: u32) -> bool {
        self.dirty.iter().any(|set| set[volume].contains(block))
    }

    /// Transaction groups without writes have come and gone until now, each at its time (`txg_sync_thread`). What they
    /// write is left out.
    pub fn skip_empty(&mut self, now_ns: u64) {
        if self.open_bytes == 0 && now_ns > self.opened_ns {
            self.opened_ns = now_ns - (now_ns - self.opened_ns) % self.interval_ns;
        }
    }

    /// Makes a block dirty in the open one. Returns whether it was not.
    pub fn make_dirty(&mut self, volume: usize, block: u32, bytes: u32) -> bool {
        let is_new = self.dirty[usize::from(self.open)][volume].insert(block);
        if is_new {
            self.dirty_bytes += u64::from(bytes);
            self.open_bytes += u64::from(bytes);
        }
        is_new
    }

    /// Dirty data in percent of the limit.
    pub fn dirty_percent(&self) -> u32 {
        (self.dirty_bytes * 100 / self.limit_bytes) as u32
    }

    /// Whether no write may be admitted.
    pub fn is_full(&self) -> bool {
        self.dirty_bytes >= self.limit_bytes || self.has_no_room()
    }

    /// Whether the open one is as large as the pool has room for. One without writes may have one.
    pub fn has_no_room(&self) -> bool {
        self.open_bytes > 0 && self.open_bytes >= self.room.data_bytes
    }

    /// When the next write may go on, if it must wait (`dmu_tx_delay`).
    pub fn delay(&mut self, now_ns: u64) -> Option<u64> {
        let least = self.limit_bytes * DELAY_PERCENT / 100;
        if self.dirty_bytes <= least || self.is_full() {
            return None;
        }
        let (above, below) = (self.dirty_bytes - least, self.limit_bytes - self.dirty_bytes);
        let delay_ns = (DELAY_SCALE_NS as u128 * u128::from(above) / u128::from(below)) as u64;
        let delay_ns = delay_ns.min(LONGEST_DELAY_NS);
        // One after the other, but those that have waited for something else need not wait again.
        let wakeup_ns = (now_ns + delay_ns).max(self.last_wakeup_ns + delay_ns);
        self.last_wakeup_ns = wakeup_ns;
        Some(wakeup_ns)
    }

    /// Whether the open one is to be written whatever it has (`txg_sync_thread`).
    pub fn is_forced(&self) -> bool {
        self.takes_snapshot || self.frees
    }

    /// Whether the open one is to be written now.
    pub fn is_due(&self, now_ns: u64) -> bool {
        self.syncing.is_none()
            && (self.is_forced()
                || self.open_bytes > 0
                    && (now_ns >= self.opened_ns + self.interval_ns || self.is_enough()))
    }

    /// Whether the open one has collected enough to be written.
    pub fn is_enough(&self) -> bool {
        self.open_bytes >= self.limit_bytes * SYNC_PERCENT / 100 || self.has_no_room()
    }

    /// The open one is to be written, and the next opens. Returns its blocks by volume, and their bytes.
    pub fn close(&mut self, now_ns: u64) -> (Vec<Vec<u32>>, u64) {
        let set = &mut self.dirty[usize::from(self.open)];
        let blocks = set.iter_mut().map(DirtyBlocks::take).collect();
        self.open ^= 1;
        self.opened_ns = now_ns;
        (blocks, std::mem::take(&mut self.open_bytes))
    }

    /// What was being written is, and is clean.
    pub fn on_synced(&mut self, blocks: &[Vec<u32>]) {
        let set = &mut self.dirty[usize::from(self.open ^ 1)];
        for (dirty, blocks) in set.iter_mut().zip(blocks) {
            blocks.iter().for_each(|block| dirty.remove(*block));
        }
    }
}
