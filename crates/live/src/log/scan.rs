//! Scans the records of one half, on all devices of the log at once.
//!
//! A mirrored log has each record at the same place on both devices, so the next record is whatever is whole at the
//! next place on either.

use super::copies::CopySet;
use super::read_error::LogReadError;
use super::stream::Area;
use crate::device::{BLOCK_BYTES, DeviceIndex, IoError};
use crate::format::{ArrayTag, RECORD_HEADER_BYTES, RecordHeader};

/// Bytes read at once.
const WINDOW_BYTES: usize = 1 << 20;

/// A complete record with its data.
#[derive(Debug)]
pub(super) struct ScannedRecord {
    pub(super) header: RecordHeader,
    pub(super) data: Vec<u8>,
    /// Its offset in the half.
    pub(super) at: u64,
    /// The devices that have it whole.
    pub(super) on: CopySet,
}

impl ScannedRecord {
    /// Returns where it ends in the half.
    pub(super) fn end(&self) -> u64 {
        self.at + RecordHeader::record_bytes(self.data.len()) as u64
    }
}

/// The log's devices, while they are read.
pub(super) struct LogReader<'r, R> {
    read: &'r mut R,
    pub(super) devices: &'r [DeviceIndex],
    /// Why each device does not answer, if it does not.
    pub(super) failed: Vec<Option<IoError>>,
}

impl<'r, R: FnMut(DeviceIndex, u64, usize) -> Result<Vec<u8>, IoError>> LogReader<'r, R> {
    pub(super) fn new(devices: &'r [DeviceIndex], read: &'r mut R) -> Self {
        Self { read, devices, failed: vec![None; devices.len()] }
    }

    /// Reads from one device; returns `None` if these blocks are unreadable, or the device is gone and there is
    /// another.
    fn read(
        &mut self,
        copy: usize,
        offset: u64,
        bytes: usize,
    ) -> Result<Option<Vec<u8>>, LogReadError> {
        if self.failed[copy].is_some() {
            return Ok(None);
        }
        match (self.read)(self.devices[copy], offset, bytes) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(IoError::Unreadable) => Ok(None),
            Err(error) => {
                self.failed[copy] = Some(error.clone());
                match self.failed.iter().all(Option::is_some) {
                    true => Err(LogReadError::Device(error)),
                    false => Ok(None),
                }
            }
        }
    }
}

/// A part of a half as one device has it.
#[derive(Default)]
struct Window {
    /// Offset in the half. `bytes` is shorter if blocks are unreadable.
    start: u64,
    bytes: Vec<u8>,
}

/// A half, read through a window on each device.
pub(super) struct Half<'h, 'r, R> {
    reader: &'h mut LogReader<'r, R>,
    area: Area,
    windows: Vec<Window>,
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

impl<'h, 'r, R: FnMut(DeviceIndex, u64, usize) -> Result<Vec<u8>, IoError>> Half<'h, 'r, R> {
    pub(super) fn new(area: Area, reader: &'h mut LogReader<'r, R>) -> Self {
        let windows = reader.devices.iter().map(|_| Window::default()).collect();
        Self { reader, area, windows, unreadable: false }
    }

    /// Scans the half, beyond the records that follow each other only if `look_beyond`. The next record begins right
    /// after the last one or, if a group ended, at the next block.
    pub(super) fn find(
        mut self,
        tag: ArrayTag,
        look_beyond: bool,
    ) -> Result<ScannedHalf, LogReadError> {
        let (records, end) = self.records(tag)?;
        let unreadable = self.unreadable;
        let mut durable_beyond = 0;
        for copy in 0..self.windows.len() {
            if look_beyond {
                durable_beyond = durable_beyond.max(self.durable_beyond(copy, tag, end));
            }
        }
        Ok(ScannedHalf { records, durable_beyond, unreadable })
    }

    /// Returns the records from the start of the half that follow each other, and where they end.
    fn records(&mut self, tag: ArrayTag) -> Result<(Vec<ScannedRecord>, u64), LogReadError> {
        let mut records: Vec<ScannedRecord> = Vec::new();
        let mut at = 0;
        loop {
            let last = records.last().map(|record| record.header.sequence);
            match self.record(tag, at, last)? {
                Some(record) => {
                    at = record.end();
                    records.push(record);
                }
                None if !at.is_multiple_of(BLOCK_BYTES as u64) => {
                    at = at.next_multiple_of(BLOCK_BYTES as u64);
                }
                None => return Ok((records, at)),
            }
        }
    }

    /// Returns the highest number up to which records were durable, according to groups of one device at `at`, a
    /// multiple of 4096, or later.
    fn durable_beyond(&mut self, copy: usize, tag: ArrayTag, mut at: u64) -> u64 {
        let block = BLOCK_BYTES as u64;
        let mut durable = 0;
        while at < self.area.bytes {
            match self.record_on(copy, tag, at, None) {
                Ok(Some(record)) => {
                    durable = durable.max(record.header.durable);
                    at = record.end();
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

    /// Returns the record at `at`, if there is one that follows `last` on any device.
    fn record(
        &mut self,
        tag: ArrayTag,
        at: u64,
        last: Option<u64>,
    ) -> Result<Option<ScannedRecord>, LogReadError> {
        let was_unreadable = self.unreadable;
        let mut found: Option<ScannedRecord> = None;
        for copy in 0..self.windows.len() {
            let Some(record) = self.record_on(copy, tag, at, last)? else { continue };
            match &mut found {
                Some(other) if other.header.sequence == record.header.sequence => {
                    if other.header != record.header || other.data != record.data {
                        return Err(LogReadError::Differ(record.header.sequence));
                    }
                    other.on.insert(copy);
                }
                // A device that lacks the first group of a filling has one of an earlier filling there.
                Some(other) if other.header.sequence > record.header.sequence => {}
                _ => found = Some(record),
            }
        }
        if found.is_some() {
            self.unreadable = was_unreadable;
        }
        Ok(found)
    }

    /// Returns the record that a device has at `at`, if there is one that follows `last`.
    fn record_on(
        &mut self,
        copy: usize,
        tag: ArrayTag,
        at: u64,
        last: Option<u64>,
    ) -> Result<Option<ScannedRecord>, LogReadError> {
        let Some(bytes) = self.bytes_at(copy, at, RECORD_HEADER_BYTES)? else { return Ok(None) };
        let mut header_bytes = [0; RECORD_HEADER_BYTES];
        header_bytes.copy_from_slice(bytes);
        let Some(header) = RecordHeader::decode(&header_bytes, tag) else { return Ok(None) };
        if last.is_some_and(|last| header.follows != last) {
            return Ok(None);
        }
        let behind = at + RECORD_HEADER_BYTES as u64;
        let Some(data) = self.bytes_at(copy, behind, header.data_bytes as usize)? else {
            return Ok(None);
        };
        if !RecordHeader::is_whole(&header_bytes, data) {
            return Ok(None);
        }
        let mut on = CopySet::EMPTY;
        on.insert(copy);
        Ok(Some(ScannedRecord { header, data: data.to_vec(), at, on }))
    }

    /// Returns `length` bytes of a device from `at` on, or `None` if the half ends before, or they are unreadable.
    fn bytes_at(
        &mut self,
        copy: usize,
        at: u64,
        length: usize,
    ) -> Result<Option<&[u8]>, LogReadError> {
        if length as u64 > self.area.bytes.saturating_sub(at) {
            return Ok(None);
        }
        let end = at + length as u64;
        let window = &self.windows[copy];
        if at < window.start || end > window.start + window.bytes.len() as u64 {
            self.fill(copy, at, length)?;
        }
        let window = &self.windows[copy];
        let from = (at - window.start) as usize;
        let found = window.bytes.get(from..from + length);
        self.unreadable |= found.is_none();
        Ok(found)
    }

    /// Moves a device's window to the block of `at`, with at least `length` bytes if they are readable.
    fn fill(&mut self, copy: usize, at: u64, length: usize) -> Result<(), LogReadError> {
        let block = BLOCK_BYTES as u64;
        let start = at / block * block;
        let wanted = (at - start + length as u64).next_multiple_of(block).max(WINDOW_BYTES as u64);
        let wanted = wanted.min(self.area.bytes - start) as usize;
        let offset = self.area.offset + start;
        let mut bytes = Vec::new();
        match self.reader.read(copy, offset, wanted)? {
            Some(read) => bytes = read,
            None => {
                // Read block by block, up to the unreadable one.
                for at in (0..wanted).step_by(BLOCK_BYTES) {
                    let Some(read) = self.reader.read(copy, offset + at as u64, BLOCK_BYTES)?
                    else {
                        break;
                    };
                    bytes.extend_from_slice(&read);
                }
            }
        }
        self.windows[copy] = Window { start, bytes };
        Ok(())
    }
}
