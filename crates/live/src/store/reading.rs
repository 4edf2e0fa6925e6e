//! Reads: blocks verified by their checksums.

use strewn_array::{BlockContents, crc32c};
use strewn_raid::{Dbn, SpindleIndex};

use super::Store;
use super::api::{BadBlock, BlockState};
use super::initialization::{is_initialized, state_of_zeros};
use super::operation::{Extent, IoPurpose, OperationKind, PartWork, ReadPart, ReadState, RowPart};
use super::rows::{Row, RowId, RowKey};
use crate::device::{BLOCK_BYTES, Buffer, IoRequest};
use crate::format::{
    ArrayTag, BlockAddress, ChecksumEntry, ENTRY_BYTES, EntryRead, ROW_DATA_BLOCKS, checksum_block,
    device_block,
};

/// Data blocks of a row.
const ROW: usize = ROW_DATA_BLOCKS as usize;

impl Store {
    /// Reads `count` blocks of an operation's extent from number `from` on, one part per row.
    pub(super) fn read_blocks(
        &mut self,
        operation: usize,
        extent: Extent,
        from: usize,
        count: usize,
    ) {
        let mut at = from;
        while at < from + count {
            let dbn = Dbn(extent.first_block().0 + at as u64);
            let first = (dbn.0 % ROW_DATA_BLOCKS) as usize;
            let blocks = (ROW - first).min(from + count - at);
            let row = self.rows.touch(RowKey::of(extent.spindle, dbn));
            self.read_part(operation, row, first, blocks, at, false);
            at += blocks;
        }
    }

    fn read_part(
        &mut self,
        operation: usize,
        row: RowId,
        first: usize,
        count: usize,
        at: usize,
        alone: bool,
    ) {
        let read = ReadPart { at, state: ReadState::Waiting, overlapped: 0, alone };
        self.add_part(RowPart { operation, row, first, count, work: PartWork::Read(read) });
    }

    fn add_part(&mut self, part: RowPart) {
        let (operation, row) = (part.operation, part.row);
        let part = self.parts.insert(part);
        self.operations[operation].remaining += 1;
        self.rows.get_mut(row).parts.push(part);
        self.ready_rows.push(row);
    }

    /// Reads the checksum entries of `blocks` blocks from `first` on, one part per row.
    pub(super) fn read_checksums_of(
        &mut self,
        operation: usize,
        spindle: SpindleIndex,
        first: Dbn,
        blocks: usize,
    ) {
        let mut at = 0;
        while at < blocks {
            let dbn = Dbn(first.0 + at as u64);
            let in_row = (dbn.0 % ROW_DATA_BLOCKS) as usize;
            let count = (ROW - in_row).min(blocks - at);
            let row = self.rows.touch(RowKey::of(spindle, dbn));
            self.add_part(RowPart {
                operation,
                row,
                first: in_row,
                count,
                work: PartWork::ReadChecksums(at),
            });
            at += count;
        }
    }

    /// Advances a read of checksum entries; returns true if it is done.
    pub(super) fn advance_checksums(&mut self, id: usize) -> bool {
        let RowPart { operation, row: row_id, first, count, .. } = self.parts[id];
        let PartWork::ReadChecksums(from) = self.parts[id].work else { return false };
        let row = self.rows.get(row_id);
        if !row.loaded {
            self.load(row_id);
            return false;
        }
        let zeros = state_of_zeros(&self.zones, row.key);
        if let OperationKind::ReadChecksums { blocks, .. } = &mut self.operations[operation].kind {
            for (at, state) in blocks[from..from + count].iter_mut().enumerate() {
                *state = read_checksums(row, self.tag, first + at, zeros);
            }
        }
        self.parts.remove(id);
        self.part_done(operation);
        true
    }

    /// Advances a read as far as possible; returns true if it is done.
    pub(super) fn advance_read(&mut self, id: usize) -> bool {
        loop {
            let part = &mut self.parts[id];
            let mask = part.mask();
            let row = self.rows.get(part.row);
            let PartWork::Read(read) = &mut part.work else { return false };
            match &read.state {
                ReadState::Waiting if row.blocks_reads(mask) => return false,
                ReadState::Waiting if !is_initialized(&self.zones, row.key) => {
                    // Whatever the device holds there, nothing was ever written.
                    read.state = ReadState::Arrived(None);
                    continue;
                }
                ReadState::Waiting => {
                    self.send_read(id);
                    return false;
                }
                ReadState::Sent => return false,
                ReadState::Arrived(_) if !row.loaded => {
                    let row = part.row;
                    self.load(row);
                    return false;
                }
                ReadState::Arrived(_) => {}
            }
            if self.verify_read(id) {
                return true;
            }
        }
    }

    fn send_read(&mut self, id: usize) {
        let part = &mut self.parts[id];
        let (row_id, first, count) = (part.row, part.first, part.count);
        let row = self.rows.get_mut(row_id);
        let key = row.key;
        let PartWork::Read(read) = &mut part.work else { return };
        read.state = ReadState::Sent;
        // If such a write goes on meanwhile, the block is read again.
        read.overlapped = row.refused_blocks();
        let with_checksums = !row.loaded && !row.loading && !read.alone && first + count == ROW;
        row.loading |= with_checksums;
        let into = self.pool.take(count + usize::from(with_checksums));
        let offset = device_block(key.dbn(first)) * BLOCK_BYTES as u64;
        let purpose = if with_checksums {
            IoPurpose::ReadDataAndChecksums(id)
        } else {
            IoPurpose::ReadData(id)
        };
        self.send(key.spindle, purpose, IoRequest::Read { offset, into });
        self.load(row_id);
    }

    /// Reads a row's checksum block, unless it is in memory or being read.
    pub(super) fn load(&mut self, id: RowId) {
        let row = self.rows.get_mut(id);
        if row.loaded || row.loading {
            return;
        }
        if !is_initialized(&self.zones, row.key) {
            row.load(Some(&[0; BLOCK_BYTES]));
            self.ready_rows.push(id);
            return;
        }
        row.loading = true;
        let key = row.key;
        let offset = checksum_block(key.row) * BLOCK_BYTES as u64;
        let into = self.pool.take(1);
        self.send(key.spindle, IoPurpose::ReadChecksums(id), IoRequest::Read { offset, into });
    }

    /// Verifies the data that was read and delivers it to its operation. Returns false if a block fails whose write
    /// began meanwhile: the part must be read again.
    fn verify_read(&mut self, id: usize) -> bool {
        let part = &mut self.parts[id];
        let (operation, first, count) = (part.operation, part.first, part.count);
        let row = self.rows.get(part.row);
        let PartWork::Read(read) = &mut part.work else { return false };
        let ReadState::Arrived(data) = std::mem::replace(&mut read.state, ReadState::Waiting)
        else {
            return false;
        };
        let block = |at: usize| match row.refused.get(&(first + at)) {
            Some(new) => Some(new.bytes()),
            None => data.as_ref().map(|data| block_of(data, at)),
        };
        let zeros = state_of_zeros(&self.zones, row.key);
        let mut states = [BlockState::NeverWritten; ROW];
        for (at, state) in states[..count].iter_mut().enumerate() {
            *state = verify(row, self.tag, first + at, block(at), zeros);
            if state.is_bad() && read.overlapped >> (first + at) & 1 == 1 {
                self.pool.recycle(data.unwrap_or_default());
                return false;
            }
        }
        let from = read.at;
        for (at, state) in states[..count].iter().enumerate() {
            let bytes = match state {
                BlockState::Good { .. } => block(at),
                BlockState::NeverWritten | BlockState::Bad(_) => None,
            };
            deliver(&mut self.operations[operation].kind, from + at, *state, bytes);
        }
        self.pool.recycle(data.unwrap_or_default());
        self.parts.remove(id);
        self.part_done(operation);
        true
    }

    /// Handles the data of a part. The checksum block may follow it in `buffer`.
    pub(super) fn data_arrived(&mut self, id: usize, buffer: Buffer) {
        let part = &mut self.parts[id];
        if let PartWork::Read(read) = &mut part.work {
            read.state = ReadState::Arrived(Some(buffer));
        }
        self.ready_rows.push(part.row);
    }

    /// Handles unreadable data of a part, or of the checksum block that follows it. Reads each block by itself to
    /// find out which is unreadable.
    pub(super) fn data_unreadable(&mut self, id: usize, with_checksums: bool) {
        let part = &mut self.parts[id];
        let (operation, row, first, count) = (part.operation, part.row, part.first, part.count);
        self.ready_rows.push(row);
        let PartWork::Read(read) = &mut part.work else { return };
        let from = read.at;
        if count == 1 {
            read.state = if with_checksums { ReadState::Waiting } else { ReadState::Arrived(None) };
            read.alone = true;
            return;
        }
        self.rows.get_mut(row).parts.retain(|part| *part != id);
        self.parts.remove(id);
        for at in 0..count {
            self.read_part(operation, row, first + at, 1, from + at, true);
        }
        self.operations[operation].remaining -= 1;
    }
}

fn block_of(buffer: &Buffer, at: usize) -> &[u8] {
    &buffer.bytes()[at * BLOCK_BYTES..][..BLOCK_BYTES]
}

/// The state of a block of a row. `bytes` is `None` if the device cannot read it, and `zeros` is the state of a block
/// whose entry is zeros.
fn verify(
    row: &Row,
    tag: ArrayTag,
    block: usize,
    bytes: Option<&[u8]>,
    zeros: BlockState,
) -> BlockState {
    let state = read_checksums(row, tag, block, zeros);
    let written = match state {
        BlockState::Good { crc, .. } => crc,
        BlockState::NeverWritten | BlockState::Bad(_) => return state,
    };
    let Some(bytes) = bytes else { return BlockState::Bad(BadBlock::Unreadable) };
    let found = crc32c(bytes);
    match found == written {
        true => state,
        false => BlockState::Bad(BadBlock::WrongChecksum { found, written }),
    }
}

/// The state of a block of a row by its checksum entry alone.
fn read_checksums(row: &Row, tag: ArrayTag, block: usize, zeros: BlockState) -> BlockState {
    let entry: &[u8; ENTRY_BYTES] = row.entry(block);
    if Row::is_unreadable(entry) {
        return BlockState::Bad(BadBlock::ChecksumUnreadable);
    }
    let place = BlockAddress { tag, spindle: row.key.spindle, dbn: row.key.dbn(block) };
    match ChecksumEntry::decode(entry, place) {
        Ok(EntryRead::Zeros) => zeros,
        Ok(EntryRead::NeverWritten) => BlockState::NeverWritten,
        Ok(EntryRead::Written(entry)) if entry.block_tag.holds == BlockContents::Gone => {
            BlockState::Bad(BadBlock::Gone)
        }
        Ok(EntryRead::Written(ChecksumEntry {
            data_crc: crc,
            block_tag,
            consistency_point,
            ..
        })) => BlockState::Good { block_tag, consistency_point, crc },
        Err(error) => BlockState::Bad(error.into()),
    }
}

/// Passes block `at` to an operation: zeros if there are no bytes.
fn deliver(kind: &mut OperationKind, at: usize, state: BlockState, block: Option<&[u8]>) {
    let start = at * BLOCK_BYTES;
    match kind {
        OperationKind::Read { extent, bytes, blocks } => {
            blocks[at] = state;
            let Some(block) = block else { return };
            // The extent begins within its first block and ends within its last.
            let from = start.max(extent.lead());
            let to = (start + BLOCK_BYTES).min(extent.lead() + extent.bytes());
            bytes[from - extent.lead()..to - extent.lead()]
                .copy_from_slice(&block[from - start..to - start]);
        }
        OperationKind::ReadModifyWrite { extent, bytes, bad, .. } => {
            bad[at] = state.is_bad();
            let Some(block) = block else { return };
            let into = &mut bytes[start..start + BLOCK_BYTES];
            let new_from = extent.lead().saturating_sub(start).min(BLOCK_BYTES);
            let new_to = (extent.lead() + extent.bytes()).saturating_sub(start).min(BLOCK_BYTES);
            into[..new_from].copy_from_slice(&block[..new_from]);
            into[new_to..].copy_from_slice(&block[new_to..]);
        }
        _ => {}
    }
}
