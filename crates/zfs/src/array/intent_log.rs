//! The intent log: writes that must survive a loss of power before they are answered.
//!
//! `zil.c` of OpenZFS: `zil_commit`, `zil_lwb_write_issue`, `zio_alloc_zil`. Records are copied into log blocks. While
//! one is being written, those that come collect for the next. Log blocks go to log vdevs in turn. Without one, or if
//! they are full, they have a metaslab of each vdev for themselves, if it has more than 64; otherwise they lie among
//! the data. On log vdevs and among the data, they are freed with the transaction group; this fragments a pool without
//! a log vdev.
//!
//! Without a log vdev, the blocks of a large write are written to their final places at once, and the record only has
//! their pointers (`WR_INDIRECT`, `zvol_get_data`, `dmu_sync`). Its log block comes after them. What is written again
//! in the same transaction group is freed and gets another place (`dbuf_unoverride`).

use rustc_hash::FxHashMap;
use strewn_array::{OperationId, Slots};
use strewn_base::state::SavedValue;

use super::drives::Drives;
use crate::allocation_class::Contents;
use crate::block::{Block, BlockWrite, Stage};
use crate::dva::Dva;
use crate::pool::{Pool, Search};

/// Bytes of a record beside its data (`lr_write_t`).
const RECORD_BYTES: u64 = 192;

/// A log block has at most so many bytes (`SPA_OLD_MAXBLOCKSIZE`), and its size is a multiple of
const MOST_BYTES: u64 = 128 << 10;

/// so many.
const STEP_BYTES: u64 = 4 << 10;

/// A log block is followed by the next one's address.
const TRAILER_BYTES: u64 = 192;

/// The keys of log blocks.
const FIRST_KEY: u64 = 1 << 63;

/// The keys of blocks that are written in place before the log refers to them.
const IN_PLACE_KEY: u64 = 1 << 62;

/// A log block that is being written.
#[derive(Debug, Clone, SavedValue)]
struct LogBlock {
    key: u64,
    operations: Vec<OperationId>,
}

/// An operation whose blocks are being written in place.
#[derive(Debug, Clone, Copy, SavedValue)]
struct InPlace {
    operation: OperationId,
    record_bytes: u64,
    /// Writes that are not done.
    left: u32,
}

/// The intent log of a pool's volumes.
#[derive(Debug, Clone, SavedValue)]
pub struct IntentLog {
    waiting: Vec<(OperationId, u64)>,
    being_written: Vec<LogBlock>,
    next_key: u64,
    /// The vdev of the next log block, and where in its log metaslab it goes.
    next_vdev: usize,
    cursors: Vec<u64>,
    /// Log blocks on log vdevs or among the data, of the open transaction group.
    allocated: Vec<Dva>,
    /// Blocks of the open transaction group that are written in place, by their keys.
    placed: FxHashMap<u64, Block>,
    in_place: Slots<InPlace>,
    /// Bytes of the pool that both have among the data, parity included.
    among_data_bytes: u64,
    /// Operations that found no room for a log block: those that the transaction group being written will have made
    /// durable, and those of the open one.
    stalled: [Vec<OperationId>; 2],
}

impl IntentLog {
    /// Of a pool with so many vdevs.
    pub fn new(vdevs: usize) -> Self {
        Self {
            waiting: Vec::new(),
            being_written: Vec::new(),
            next_key: FIRST_KEY,
            next_vdev: 0,
            cursors: vec![0; vdevs],
            allocated: Vec::new(),
            placed: FxHashMap::default(),
            in_place: Slots::new(),
            among_data_bytes: 0,
            stalled: [Vec::new(), Vec::new()],
        }
    }

    /// A write of so many bytes is to be logged.
    pub fn push(&mut self, operation: OperationId, bytes: u64) {
        self.waiting.push((operation, bytes + RECORD_BYTES));
    }

    /// Writes the blocks of an operation in place, each of so many bytes on disk, and logs it when that is done.
    /// Returns what is written; nothing if there is no room, and the operation is to be [pushed](Self::push).
    pub fn write_in_place(
        &mut self,
        now_ns: u64,
        operation: OperationId,
        (blocks, bytes): (impl Iterator<Item = u64> + Clone, u64),
        room_bytes: u64,
        pool: &mut Pool,
        drives: &mut Drives,
    ) -> Vec<BlockWrite> {
        let mut writes = Vec::new();
        let taken = pool.most_bytes_in_pieces(bytes, 1);
        for key in blocks.clone() {
            let mut copies = [Block::HOLE];
            let has_room = self.among_data_bytes + taken <= room_bytes;
            let stage = Stage::Data;
            let replaced = has_room.then(|| {
                let kind = Contents::Data;
                Block::replace_all(kind, &mut copies, pool, bytes, stage, &mut writes, |_, _| {})
            });
            let Some(Ok(())) = replaced else {
                blocks.for_each(|key| self.forget_placed(key, bytes, pool));
                return Vec::new();
            };
            self.among_data_bytes += taken;
            self.placed.insert(key, copies[0]);
        }
        let record_bytes = blocks.count() as u64 * RECORD_BYTES;
        let left = writes.len() as u32;
        let id = self.in_place.insert(InPlace { operation, record_bytes, left });
        for BlockWrite { vdev, offset, bytes, .. } in &writes {
            drives.on_placed((*vdev, *offset));
            drives.write_log(now_ns, IN_PLACE_KEY | id as u64, (*vdev, *offset), *bytes);
        }
        writes
    }

    /// A dirty block is written again: what was written in place is not it any more.
    pub fn forget_placed(&mut self, key: u64, bytes: u64, pool: &mut Pool) {
        if let Some(block) = self.placed.remove(&key) {
            block.free(pool, bytes);
        }
    }

    /// Takes the blocks that the transaction group which is to be written has in place already.
    pub fn take_placed(&mut self) -> FxHashMap<u64, Block> {
        std::mem::take(&mut self.placed)
    }

    /// Writes a log block if none is being written, and another if there is enough for one. Without room for it, the
    /// operations wait for their transaction group, which is written at once (`zil_commit_writer_stall`). Log blocks
    /// among the data may have `room_bytes` of the pool in a transaction group. Returns whether there was room.
    pub fn go_on(
        &mut self,
        now_ns: u64,
        room_bytes: u64,
        pool: &mut Pool,
        drives: &mut Drives,
    ) -> bool {
        loop {
            let room = MOST_BYTES - TRAILER_BYTES;
            let (mut count, mut bytes) = (0, 0);
            for (_, record) in &self.waiting {
                if count > 0 && bytes + record > room {
                    break;
                }
                (count, bytes) = (count + 1, bytes + record);
            }
            let is_full = count < self.waiting.len();
            if count == 0 || !(is_full || self.being_written.is_empty()) {
                return true;
            }
            // A record that is longer than a log block goes on in the next, which lies behind it here.
            let bytes = (bytes + TRAILER_BYTES).next_multiple_of(STEP_BYTES);
            let Some(at) = self.place(pool, bytes, room_bytes) else {
                self.stalled[1].extend(self.waiting.drain(..).map(|(operation, _)| operation));
                return false;
            };
            let operations = self.waiting.drain(..count).map(|(operation, _)| operation).collect();
            let key = self.next_key;
            self.next_key += 1;
            self.being_written.push(LogBlock { key, operations });
            drives.write_log(now_ns, key, at, bytes as u32);
        }
    }

    fn place(&mut self, pool: &mut Pool, bytes: u64, room_bytes: u64) -> Option<(u16, u64)> {
        if let Some(dva) = pool.allocate_log(bytes) {
            self.allocated.push(dva);
            return Some((dva.vdev, dva.offset));
        }
        let mut embedded = None;
        for _ in 0..self.cursors.len() {
            let vdev = self.next_vdev;
            self.next_vdev = (vdev + 1) % self.cursors.len();
            embedded = pool.log_metaslab_bytes(vdev).map(|log_bytes| (vdev, log_bytes));
            if embedded.is_some() {
                break;
            }
        }
        let Some((vdev, log_bytes)) = embedded else {
            // What the transaction group was promised is its own.
            let taken = pool.most_allocated_bytes(bytes);
            if self.among_data_bytes + taken > room_bytes {
                return None;
            }
            let dva = *pool.allocate_normal(bytes, 1, Search::HARD).ok()?.first()?;
            self.among_data_bytes += dva.allocated_bytes;
            self.allocated.push(dva);
            return Some((dva.vdev, dva.offset));
        };
        // What is overwritten is long in a transaction group.
        let taken = pool.allocated_bytes(vdev as u16, bytes);
        let cursor = &mut self.cursors[vdev];
        if *cursor + taken > log_bytes {
            *cursor = 0;
        }
        let offset = *cursor;
        *cursor += taken;
        Some((vdev as u16, offset))
    }

    /// A log block, or one in place, is written. Returns the operations that may be answered.
    pub fn on_written(&mut self, key: u64) -> Vec<OperationId> {
        if key & FIRST_KEY == 0 {
            let id = (key & !IN_PLACE_KEY) as usize;
            self.in_place[id].left -= 1;
            if self.in_place[id].left == 0 {
                let InPlace { operation, record_bytes, .. } = self.in_place.remove(id);
                self.waiting.push((operation, record_bytes));
            }
            return Vec::new();
        }
        let found = self.being_written.iter().position(|block| block.key == key);
        found.map_or_else(Vec::new, |at| self.being_written.swap_remove(at).operations)
    }

    /// A transaction group is written that makes log blocks useless.
    pub fn free(&mut self, pool: &mut Pool) {
        self.allocated.drain(..).for_each(|dva| pool.free(dva));
        self.among_data_bytes = 0;
        let [syncing, open] = &mut self.stalled;
        assert!(syncing.is_empty(), "they are answered when theirs is synced");
        std::mem::swap(syncing, open);
    }

    /// Whether operations wait for the open transaction group to be written.
    pub fn is_stalled(&self) -> bool {
        !self.stalled[1].is_empty()
    }

    /// Operations that the transaction group which was written has made durable; all, if none is open.
    pub fn on_synced(&mut self, none_is_open: bool) -> Vec<OperationId> {
        let [syncing, open] = &mut self.stalled;
        let mut durable = std::mem::take(syncing);
        if none_is_open {
            durable.append(open);
        }
        durable
    }
}
