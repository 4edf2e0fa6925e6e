//! Writes: data, and the checksum blocks that they change.

use strewn_array::crc32c;
use strewn_raid::Dbn;

use super::Store;
use super::api::SpindleWriteError;
use super::operation::{Extent, IoPurpose, PartWork, RowPart, WritePart, mask};
use super::rows::{RowId, RowKey};
use crate::device::{BLOCK_BYTES, Buffer, IoId, IoRequest};
use crate::format::{
    BlockAddress, BlockTag, ChecksumEntry, ENTRY_BYTES, ROW_BLOCKS, ROW_DATA_BLOCKS,
    checksum_block, device_block,
};

/// Data blocks of a row.
const ROW: usize = ROW_DATA_BLOCKS as usize;

/// The most rows that one I/O writes in full: 1 MiB of data.
const ROWS_AT_ONCE: usize = 4;

/// The blocks of a write.
struct Blocks<'a> {
    extent: Extent,
    /// The data of each block.
    bytes: Vec<&'a [u8; BLOCK_BYTES]>,
    block_tags: &'a [BlockTag],
    consistency_point: u64,
}

impl Blocks<'_> {
    fn dbn(&self, at: usize) -> Dbn {
        Dbn(self.extent.first_block().0 + at as u64)
    }

    fn key(&self, at: usize) -> RowKey {
        RowKey::of(self.extent.spindle, self.dbn(at))
    }
}

impl Store {
    /// Writes whole blocks, one part per row.
    pub(super) fn write_blocks(
        &mut self,
        operation: usize,
        extent: Extent,
        bytes: &[&[u8]],
        block_tags: &[BlockTag],
        consistency_point: u64,
    ) {
        let bytes: Vec<_> = bytes.iter().flat_map(|part| part.as_chunks().0).collect();
        assert_eq!(bytes.len(), block_tags.len(), "the parts of a write are of whole blocks");
        let blocks = Blocks { extent, bytes, block_tags, consistency_point };
        let mut at = 0;
        while at < block_tags.len() {
            let first = (blocks.dbn(at).0 % ROW_DATA_BLOCKS) as usize;
            let count = (ROW - first).min(block_tags.len() - at);
            let mut rows = Vec::new();
            // A checksum block that is being written must not be written a second time.
            while rows.len() < ROWS_AT_ONCE
                && first == 0
                && at + (rows.len() + 1) * ROW <= block_tags.len()
            {
                let row = self.rows.touch(blocks.key(at + rows.len() * ROW));
                if self.rows.get(row).writing.is_some() {
                    break;
                }
                let part = self.write_part(operation, row, 0, ROW, Vec::new());
                rows.push((row, part));
            }
            if rows.is_empty() {
                self.write_in_row(operation, &blocks, at, first, count);
                at += count;
            } else {
                self.write_rows(&blocks, at, &rows);
                at += rows.len() * ROW;
            }
        }
    }

    fn write_part(
        &mut self,
        operation: usize,
        row: RowId,
        first: usize,
        count: usize,
        entries: Vec<[u8; ENTRY_BYTES]>,
    ) -> usize {
        let write = WritePart { data_done: false, entries, version: None };
        let part = RowPart { operation, row, first, count, work: PartWork::Write(write) };
        let part = self.parts.insert(part);
        self.operations[operation].remaining += 1;
        let written = mask(first, count);
        let row = self.rows.get_mut(row);
        assert_eq!(row.writes_in_flight & written, 0, "two writes of a block are under way");
        row.writes_in_flight |= written;
        for &other in &row.parts {
            if let PartWork::Read(read) = &mut self.parts[other].work {
                read.overlapped |= written;
            }
        }
        row.parts.push(part);
        part
    }

    /// Copies a block into the buffer of its write, and returns its checksum entry.
    fn copy(&self, blocks: &Blocks<'_>, at: usize, into: &mut [u8]) -> [u8; ENTRY_BYTES] {
        into.copy_from_slice(blocks.bytes[at]);
        let data_crc = crc32c(into);
        let place =
            BlockAddress { tag: self.tag, spindle: blocks.extent.spindle, dbn: blocks.dbn(at) };
        let (block_tag, consistency_point) = (blocks.block_tags[at], blocks.consistency_point);
        ChecksumEntry { data_crc, place, block_tag, consistency_point }.encode()
    }

    /// Writes whole rows, data and checksum blocks in one I/O.
    fn write_rows(&mut self, blocks: &Blocks<'_>, from: usize, rows: &[(RowId, usize)]) {
        let mut buffer = self.pool.take(rows.len() * ROW_BLOCKS as usize);
        let into = buffer.bytes_mut().chunks_exact_mut(ROW_BLOCKS as usize * BLOCK_BYTES);
        let mut parts = Vec::with_capacity(rows.len());
        for ((into, &(row, part)), at) in into.zip(rows).zip((from..).step_by(ROW)) {
            let (data, checksums) = into.split_at_mut(ROW * BLOCK_BYTES);
            let (entries, _) = checksums.as_chunks_mut();
            let data = data.chunks_exact_mut(BLOCK_BYTES);
            for ((at, data), entry) in (at..).zip(data).zip(entries) {
                *entry = self.copy(blocks, at, data);
            }
            let row = self.rows.get_mut(row);
            row.load(Some(checksums));
            row.changes += 1;
            row.writing = Some(row.changes);
            if let PartWork::Write(write) = &mut self.parts[part].work {
                write.version = Some(row.changes);
            }
            parts.push(part);
        }
        let offset = device_block(blocks.dbn(from)) * BLOCK_BYTES as u64;
        let request = IoRequest::Write { offset, from: buffer, durable: false };
        self.send(blocks.extent.spindle, IoPurpose::WriteRows(parts), request);
        self.ready_rows.extend(rows.iter().map(|(row, _)| *row));
    }

    /// Writes blocks of one row; its checksum block is written separately.
    fn write_in_row(
        &mut self,
        operation: usize,
        blocks: &Blocks<'_>,
        at: usize,
        first: usize,
        count: usize,
    ) {
        let mut buffer = self.pool.take(count);
        let data = buffer.bytes_mut().chunks_exact_mut(BLOCK_BYTES);
        let entries = (at..).zip(data).map(|(at, data)| self.copy(blocks, at, data)).collect();
        let row = self.rows.touch(blocks.key(at));
        let part = self.write_part(operation, row, first, count, entries);
        let offset = device_block(blocks.dbn(at)) * BLOCK_BYTES as u64;
        let request = IoRequest::Write { offset, from: buffer, durable: false };
        self.send(blocks.extent.spindle, IoPurpose::WriteData(part), request);
        // If all of its entries are new, none is needed from the device.
        self.rows.get_mut(row).loaded |= count == ROW;
        self.load(row);
        self.apply_entries(row);
    }

    /// Puts the entries of a row's writes into its checksum block, once it is loaded.
    pub(super) fn apply_entries(&mut self, id: RowId) {
        let row = self.rows.get_mut(id);
        if !row.loaded {
            return;
        }
        let mut changed = false;
        for at in 0..row.parts.len() {
            let part = &mut self.parts[row.parts[at]];
            let PartWork::Write(write) = &mut part.work else { continue };
            if write.version.is_some() {
                continue;
            }
            for (block, entry) in (part.first..).zip(write.entries.drain(..)) {
                row.set_entry(block, &entry);
            }
            write.version = Some(row.changes + 1);
            changed = true;
        }
        row.changes += u64::from(changed);
        self.queue(id);
        self.ready_rows.push(id);
    }

    /// Queues a row's checksum block for writing, if it has changed and is not being written.
    pub(super) fn queue(&mut self, id: RowId) {
        let row = self.rows.get_mut(id);
        if row.changes > row.written && row.writing.is_none() && !row.queued {
            row.queued = true;
            self.dirty.push(id);
        }
    }

    /// Sends the checksum blocks that have changed.
    pub(super) fn write_checksums(&mut self) {
        for id in std::mem::take(&mut self.dirty) {
            let row = self.rows.get_mut(id);
            row.queued = false;
            // A write of the whole row may have been sent meanwhile.
            if row.writing.is_some() || row.changes == row.written {
                continue;
            }
            row.writing = Some(row.changes);
            let mut from = self.pool.take(1);
            from.bytes_mut().copy_from_slice(row.entries());
            let key = row.key;
            let offset = checksum_block(key.row) * BLOCK_BYTES as u64;
            let request = IoRequest::Write { offset, from, durable: false };
            self.send(key.spindle, IoPurpose::WriteChecksums(id), request);
        }
    }

    /// Notes that a write found no space, with what it writes. It will be sent again, and completes once. Until then
    /// its blocks are read from here, so that reads do not wait for space.
    pub fn refused(&mut self, io: IoId, from: &Buffer) {
        let (parts, blocks_apart) = match self.sent.get(&io).map(|sent| &sent.purpose) {
            Some(IoPurpose::WriteData(part)) => (vec![*part], 0),
            Some(IoPurpose::WriteRows(parts)) => (parts.clone(), ROW_BLOCKS as usize),
            _ => return,
        };
        for (at, part) in parts.into_iter().enumerate() {
            let RowPart { row, first, count, .. } = self.parts[part];
            let data = from.bytes()[at * blocks_apart * BLOCK_BYTES..].chunks_exact(BLOCK_BYTES);
            for (block, data) in (first..first + count).zip(data) {
                let mut copy = self.pool.take(1);
                copy.bytes_mut().copy_from_slice(data);
                let before = self.rows.get_mut(row).refused.insert(block, copy);
                self.pool.recycle(before.unwrap_or_default());
            }
            self.ready_rows.push(row);
        }
        self.run_to_quiescence();
    }

    /// Handles the completion of a part's data write.
    pub(super) fn data_written(&mut self, id: usize, result: Result<(), SpindleWriteError>) {
        let part = &mut self.parts[id];
        let written = part.mask();
        if let PartWork::Write(write) = &mut part.work {
            write.data_done = true;
        }
        let (operation, row, blocks) =
            (part.operation, part.row, part.first..part.first + part.count);
        let of_row = self.rows.get_mut(row);
        of_row.writes_in_flight &= !written;
        for block in blocks {
            of_row.refused.remove(&block).into_iter().for_each(|copy| self.pool.recycle(copy));
        }
        self.ready_rows.push(row);
        if let Err(failure) = result {
            self.operations[operation].failure.get_or_insert(failure);
        }
    }

    /// Handles the completion of the write of a row's checksum block.
    pub(super) fn checksums_written(&mut self, id: RowId, result: Result<(), SpindleWriteError>) {
        let row = self.rows.get_mut(id);
        let Some(version) = row.writing.take() else { return };
        let before = std::mem::replace(&mut row.written, version);
        self.ready_rows.push(id);
        if let Err(failure) = result {
            row.is_suspect = true;
            for &part in &row.parts {
                let part = &self.parts[part];
                if let PartWork::Write(WritePart { version: Some(of_part), .. }) = part.work
                    && (before + 1..=version).contains(&of_part)
                {
                    self.operations[part.operation].failure.get_or_insert(failure.clone());
                }
            }
        }
        self.queue(id);
    }

    /// Returns whether a write is done.
    pub(super) fn advance_write(&mut self, id: usize) -> bool {
        let part = &self.parts[id];
        let PartWork::Write(write) = &part.work else { return false };
        let written = self.rows.get(part.row).written;
        let operation = part.operation;
        if !write.data_done || write.version.is_none_or(|version| version > written) {
            return false;
        }
        self.parts.remove(id);
        self.part_done(operation);
        true
    }
}
