//! Rows of blocks with their checksum blocks in memory: those in use, and the most recently used others.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use slab::Slab;
use strewn_raid::{Dbn, SpindleIndex};

use crate::device::{BLOCK_BYTES, Buffer};
use crate::format::{
    ArrayTag, BadEntry, BlockAddress, ChecksumEntry, ENTRY_BYTES, ROW_DATA_BLOCKS,
};

/// Memory of a row beyond its checksum block, approximately.
const ROW_OVERHEAD_BYTES: usize = 256;

/// The byte that fills the entries of an unreadable checksum block. No CRC matches it; written back, the entries stay
/// bad.
const UNREADABLE: u8 = 0xff;

/// The end of the list.
const NONE: usize = usize::MAX;

/// The key of a row in [`Rows`], valid as long as the row is in use.
pub(super) type RowId = usize;

/// A row of a spindle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct RowKey {
    pub(super) spindle: SpindleIndex,
    pub(super) row: u64,
}

impl RowKey {
    pub(super) fn of(spindle: SpindleIndex, dbn: Dbn) -> Self {
        Self { spindle, row: dbn.0 / ROW_DATA_BLOCKS }
    }

    pub(super) fn dbn(self, block: usize) -> Dbn {
        Dbn(self.row * ROW_DATA_BLOCKS + block as u64)
    }
}

/// A row, and the operations in progress in it.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) key: RowKey,
    /// The checksum block as it should be; meaningless before it is loaded.
    entries: Buffer,
    /// Whether `entries` is loaded.
    pub(super) loaded: bool,
    /// Whether the entries are being read.
    pub(super) loading: bool,
    /// How often the entries were changed, which is their version.
    pub(super) changes: u64,
    /// The version that was written, or failed to be.
    pub(super) written: u64,
    /// The version that is being written.
    pub(super) writing: Option<u64>,
    /// Whether its checksum block is queued for writing.
    pub(super) queued: bool,
    /// Blocks whose data is being written, one bit each.
    pub(super) writes_in_flight: u64,
    /// Those of them whose writes found no space, with what they write.
    pub(super) refused: BTreeMap<usize, Buffer>,
    /// Reads and writes in progress.
    pub(super) parts: Vec<usize>,
    /// Whether the device may hold something other than `entries`. They are dropped once they are not in use.
    pub(super) is_suspect: bool,
    newer: usize,
    older: usize,
}

impl Row {
    pub(super) fn in_use(&self) -> bool {
        !self.parts.is_empty() || self.loading || self.queued || self.writing.is_some()
    }

    /// Returns whether a read of these blocks must wait: one is being written, so that the device returns it as it was,
    /// as it will be, or a mixture.
    pub(super) fn blocks_reads(&self, mask: u64) -> bool {
        self.writes_in_flight & mask & !self.refused_blocks() != 0
    }

    /// Returns the blocks whose writes found no space, one bit each.
    pub(super) fn refused_blocks(&self) -> u64 {
        self.refused.keys().fold(0, |mask, block| mask | 1 << block)
    }

    pub(super) fn entry(&self, block: usize) -> &[u8; ENTRY_BYTES] {
        &self.entries.bytes().as_chunks().0[block]
    }

    pub(super) fn set_entry(&mut self, block: usize, entry: &[u8; ENTRY_BYTES]) {
        self.entries.bytes_mut().as_chunks_mut().0[block] = *entry;
    }

    /// Returns the checksum block.
    pub(super) fn entries(&self) -> &[u8] {
        self.entries.bytes()
    }

    /// Loads the checksum block, or `None` if it is unreadable.
    pub(super) fn load(&mut self, checksums: Option<&[u8]>) {
        match checksums {
            Some(checksums) => self.entries.bytes_mut().copy_from_slice(checksums),
            None => {
                self.entries.bytes_mut().fill(UNREADABLE);
                self.is_suspect = true;
            }
        }
        self.loaded = true;
    }

    /// Drops trust in the row if its checksum block seems overwritten: a misdirected superblock, for example, is
    /// mostly zeros. If an entry is neither one that was written there nor another array's, then blocks without an
    /// entry may have had one.
    pub(super) fn distrust_if_damaged(&mut self, tag: ArrayTag) {
        let key = self.key;
        let (entries, _) = self.entries.bytes_mut().as_chunks_mut::<ENTRY_BYTES>();
        let is_damaged = entries.iter().enumerate().any(|(block, entry)| {
            let place = BlockAddress { tag, spindle: key.spindle, dbn: key.dbn(block) };
            let decoded = ChecksumEntry::decode(entry, place);
            matches!(decoded, Err(BadEntry::Damaged | BadEntry::OtherPlace(..)))
        });
        if is_damaged {
            let blank = |entry: &&mut [u8; ENTRY_BYTES]| **entry == [0; ENTRY_BYTES];
            entries.iter_mut().filter(blank).for_each(|entry| entry.fill(UNREADABLE));
        }
    }

    pub(super) fn is_unreadable(entry: &[u8; ENTRY_BYTES]) -> bool {
        entry == &[UNREADABLE; ENTRY_BYTES]
    }
}

/// The rows in memory: all that are in use, and the most recently used others, up to a limit.
#[derive(Debug)]
pub(super) struct Rows {
    rows: Slab<Row>,
    by_key: FxHashMap<RowKey, RowId>,
    newest: RowId,
    oldest: RowId,
    limit: usize,
}

impl Rows {
    pub(super) fn new(limit_bytes: usize) -> Self {
        let limit = limit_bytes / (BLOCK_BYTES + ROW_OVERHEAD_BYTES);
        Self { rows: Slab::new(), by_key: FxHashMap::default(), newest: NONE, oldest: NONE, limit }
    }

    /// Returns the row of `key`, which becomes the most recently used.
    pub(super) fn touch(&mut self, key: RowKey) -> RowId {
        if let Some(&id) = self.by_key.get(&key) {
            self.unlink(id);
            self.link_newest(id);
            return id;
        }
        let entries = self.make_room().unwrap_or_else(|| Buffer::zeroed(1));
        let id = self.rows.insert(Row {
            key,
            entries,
            loaded: false,
            loading: false,
            changes: 0,
            written: 0,
            writing: None,
            queued: false,
            writes_in_flight: 0,
            refused: BTreeMap::new(),
            parts: Vec::new(),
            is_suspect: false,
            newer: NONE,
            older: NONE,
        });
        self.by_key.insert(key, id);
        self.link_newest(id);
        id
    }

    /// The row of `key`, if it is in memory.
    pub(super) fn find(&self, key: RowKey) -> Option<RowId> {
        self.by_key.get(&key).copied()
    }

    pub(super) fn contains(&self, id: RowId) -> bool {
        self.rows.get(id).is_some()
    }

    pub(super) fn get(&self, id: RowId) -> &Row {
        &self.rows[id]
    }

    pub(super) fn get_mut(&mut self, id: RowId) -> &mut Row {
        &mut self.rows[id]
    }

    /// Drops a row that is not in use, if the device may differ from it.
    pub(super) fn drop_if_suspect(&mut self, id: RowId) {
        if self.rows[id].is_suspect && !self.rows[id].in_use() {
            self.remove(id);
        }
    }

    /// Drops all rows of a spindle, in use or not, and returns them.
    pub(super) fn drop_spindle(&mut self, spindle: SpindleIndex) -> Vec<RowId> {
        let of_spindle = |(id, row): (RowId, &Row)| (row.key.spindle == spindle).then_some(id);
        let dropped: Vec<RowId> = self.rows.iter().filter_map(of_spindle).collect();
        for &id in &dropped {
            self.remove(id);
        }
        dropped
    }

    /// Drops unused rows, least recently used first, until there is room for another. Returns memory for its checksum
    /// block.
    fn make_room(&mut self) -> Option<Buffer> {
        let mut memory = None;
        let mut id = self.oldest;
        while self.rows.len() >= self.limit && id != NONE {
            let newer = self.rows[id].newer;
            if !self.rows[id].in_use() {
                memory = self.remove(id);
            }
            id = newer;
        }
        memory
    }

    fn remove(&mut self, id: RowId) -> Option<Buffer> {
        self.unlink(id);
        let row = self.rows.try_remove(id)?;
        self.by_key.remove(&row.key);
        Some(row.entries)
    }

    fn link_newest(&mut self, id: RowId) {
        let older = std::mem::replace(&mut self.newest, id);
        self.rows[id].older = older;
        self.rows[id].newer = NONE;
        match self.rows.get_mut(older) {
            Some(older) => older.newer = id,
            None => self.oldest = id,
        }
    }

    fn unlink(&mut self, id: RowId) {
        let (newer, older) = (self.rows[id].newer, self.rows[id].older);
        match self.rows.get_mut(newer) {
            Some(newer) => newer.older = older,
            None => self.newest = older,
        }
        match self.rows.get_mut(older) {
            Some(older) => older.newer = newer,
            None => self.oldest = newer,
        }
    }
}
