//! Scans the records of one half.

use super::stream::Area;
use crate::device::{BLOCK_BYTES, IoError};
use crate::format::{ArrayTag, RECORD_HEADER_BYTES, RecordHeader};

/// Bytes read at once.
const WINDOW_BYTES: usize = 1 << 20;

/// A complete record with its data.
#[derive(Debug)]
pub(super) struct ScannedRecord {
    pub(super) header: RecordHeader,
    pub(super) data: Vec<u8>,
}

/// A half, read through a window.
pub(super) struct Half<'r, R> {
    read: &'r mut R,
    area: Area,
    /// Offset of the window in the half. `bytes` is shorter if blocks are unreadable.
    start: u64,
    bytes: Vec<u8>,
    /// Whether a block that was needed is unreadable.
    unreadable: bool,
}

/// The contents of a half.
pub(super) struct ScannedHalf {
    /// The complete records from the start of the half that follow each other.
    pub(super) records: Vec<ScannedRecord>,
    /// The highest number up to which records were durable, according to complete records further on: those after a
    /// torn or damaged group, or from an earlier filling. 0 if there are none.
    pub(super) durable_beyond: u64,
    /// Whether a block that may have held records is unreadable. Blocks after the records that follow each other do
    /// not count.
    pub(super) unreadable: bool,
}

impl<'r, R: FnMut(u64, usize) -> Result<Vec<u8>, IoError>> Half<'r, R> {
    pub(super) fn new(area: Area, read: &'r mut R) -> Self {
        Self { read, area, start: 0, bytes: Vec::new(), unreadable: false }
    }

    /// Scans the half, beyond the records that follow each other only if `look_beyond`. The next record begins right
    /// after the last one or, if a group ended, at the next block.
    pub(super) fn find(mut self, tag: ArrayTag, look_beyond: bool) -> Result<ScannedHalf, IoError> {
        let (records, end) = self.records(tag)?;
        let unreadable = self.unreadable;
        let durable_beyond = if look_beyond { self.durable_beyond(tag, end) } else { 0 };
        Ok(ScannedHalf { records, durable_beyond, unreadable })
    }

    /// Returns the records from the start of the half that follow each other, and where they end.
    fn records(&mut self, tag: ArrayTag) -> Result<(Vec<ScannedRecord>, u64), IoError> {
        let mut records: Vec<ScannedRecord> = Vec::new();
        let mut at = 0;
        loop {
            let last = records.last().map(|record| record.header.sequence);
            match self.record(tag, at, last)? {
                Some(record) => {
                    at += RecordHeader::record_bytes(record.data.len()) as u64;
                    records.push(record);
                }
                None if !at.is_multiple_of(BLOCK_BYTES as u64) => {
                    at = at.next_multiple_of(BLOCK_BYTES as u64);
                }
                None => return Ok((records, at)),
            }
        }
    }

    /// Returns the highest number up to which records were durable, according to groups at `at`, a multiple of 4096,
    /// or later.
    fn durable_beyond(&mut self, tag: ArrayTag, mut at: u64) -> u64 {
        let block = BLOCK_BYTES as u64;
        let mut durable = 0;
        while at < self.area.bytes {
            match self.record(tag, at, None) {
                Ok(Some(record)) => {
                    durable = durable.max(record.header.durable);
                    at += RecordHeader::record_bytes(record.data.len()) as u64;
                }
                // A group ends here, or none begins here.
                Ok(None) if !at.is_multiple_of(block) => at = at.next_multiple_of(block),
                Ok(None) => at += block,
                // An unreadable part says nothing.
                Err(_) => return durable,
            }
        }
        durable
    }

    /// Returns the record at `at`, if there is one that follows `last`.
    fn record(
        &mut self,
        tag: ArrayTag,
        at: u64,
        last: Option<u64>,
    ) -> Result<Option<ScannedRecord>, IoError> {
        let Some(bytes) = self.bytes_at(at, RECORD_HEADER_BYTES)? else { return Ok(None) };
        let mut header_bytes = [0; RECORD_HEADER_BYTES];
        header_bytes.copy_from_slice(bytes);
        let Some(header) = RecordHeader::decode(&header_bytes, tag) else { return Ok(None) };
        if last.is_some_and(|last| header.follows != last) {
            return Ok(None);
        }
        let behind = at + RECORD_HEADER_BYTES as u64;
        let Some(data) = self.bytes_at(behind, header.data_bytes as usize)? else {
            return Ok(None);
        };
        let whole = RecordHeader::is_whole(&header_bytes, data);
        Ok(whole.then(|| ScannedRecord { header, data: data.to_vec() }))
    }

    /// Returns `length` bytes from `at` on, or `None` if the half ends before, or they are unreadable.
    fn bytes_at(&mut self, at: u64, length: usize) -> Result<Option<&[u8]>, IoError> {
        if length as u64 > self.area.bytes.saturating_sub(at) {
            return Ok(None);
        }
        let end = at + length as u64;
        if at < self.start || end > self.start + self.bytes.len() as u64 {
            self.fill(at, length)?;
        }
        let from = (at - self.start) as usize;
        let found = self.bytes.get(from..from + length);
        self.unreadable |= found.is_none();
        Ok(found)
    }

    /// Moves the window to the block of `at`, with at least `length` bytes if they are readable.
    fn fill(&mut self, at: u64, length: usize) -> Result<(), IoError> {
        let block = BLOCK_BYTES as u64;
        self.start = at / block * block;
        let wanted =
            (at - self.start + length as u64).next_multiple_of(block).max(WINDOW_BYTES as u64);
        let wanted = wanted.min(self.area.bytes - self.start) as usize;
        let offset = self.area.offset + self.start;
        match (self.read)(offset, wanted) {
            Ok(bytes) => self.bytes = bytes,
            Err(IoError::Unreadable) => {
                // Read block by block, up to the unreadable one.
                self.bytes.clear();
                for at in (0..wanted).step_by(BLOCK_BYTES) {
                    match (self.read)(offset + at as u64, BLOCK_BYTES) {
                        Ok(bytes) => self.bytes.extend_from_slice(&bytes),
                        Err(IoError::Unreadable) => break,
                        Err(error) => return Err(error),
                    }
                }
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }
}
