//! Reads what the log holds after a crash.

use super::LogStart;
use super::halves::Halves;
use super::read_error::LogReadError;
use super::repair::{LogDeviceFinding, LogRepair, lost_records, repairs};
use super::scan::{Half, LogReader, ScannedHalf, ScannedRecord};
use super::stream::Area;
use crate::device::{BLOCK_BYTES, DeviceIndex, IoError};
use crate::format::{ArrayTag, LogLayout, RecordKind, RedoBlock, Superblock, decode_redo};

/// A redo record to apply: a recovery writes all its blocks to their places. Redo records are applied in order,
/// before any host record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedoRecord {
    /// Its number in the stream of redo records.
    pub sequence: u64,
    /// Blocks to write, each with its place.
    pub blocks: Vec<RedoBlock>,
}

/// A host record that the superblock does not cover.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostRecord {
    /// A write that was acknowledged, or may have been.
    Write {
        /// The record's number.
        sequence: u64,
        /// The number of the LUN's file.
        file: u32,
        /// The first sector of the LUN.
        first_sector: u64,
        /// Whole sectors of 512 bytes.
        data: Vec<u8>,
    },
    /// An unmap: the range reads as zeros from then on.
    Unmap {
        /// The record's number.
        sequence: u64,
        /// The number of the LUN's file.
        file: u32,
        /// The first sector of the LUN.
        first_sector: u64,
        /// How many sectors.
        sectors: u64,
    },
}

impl HostRecord {
    /// Returns the record's number.
    #[must_use]
    pub fn sequence(&self) -> u64 {
        match self {
            Self::Write { sequence, .. } | Self::Unmap { sequence, .. } => *sequence,
        }
    }
}

/// The part of the log that the spindles may lack.
#[derive(Debug)]
pub struct RecoveredLog {
    /// The redo records, in order.
    pub redo: Vec<RedoRecord>,
    /// The host records, in order.
    pub host: Vec<HostRecord>,
    /// The first numbers of new records, beyond all that may be on the device, so that no old record can pass for a
    /// new one. They are also the `log_start` and `redo_start` of the superblock that covers what was recovered.
    pub start: LogStart,
    /// Whether host records are missing that were durable and are not covered: the later half does not continue where
    /// the earlier one ends, or a later record or the superblock states that more was durable. A crash does not do
    /// this; a device that lost writes does. The loss of the last records of a half goes unnoticed, but not of all of
    /// them: the superblock names the first one before it is acknowledged.
    pub breaks_off: bool,
    /// Whether a block that may have held records is unreadable, on all devices of the log.
    pub unreadable: bool,
    /// What each device of a mirrored log lacks, to be written before anything relies on these records.
    pub repairs: Vec<LogRepair>,
    /// What is wrong with one device of a mirrored log, and was made good by the other.
    pub findings: Vec<LogDeviceFinding>,
}

/// Reads the log of the array whose newest superblock is `superblock`, on `devices`: one or two. `read(device, offset,
/// bytes)` reads a device; offset and bytes are multiples of 4096.
///
/// # Errors
/// If no device answers, or two differ. Blocks that are [`IoError::Unreadable`] count as never written.
pub fn read_log<R>(
    layout: &LogLayout,
    superblock: &Superblock,
    devices: &[DeviceIndex],
    read: &mut R,
) -> Result<RecoveredLog, LogReadError>
where
    R: FnMut(DeviceIndex, u64, usize) -> Result<Vec<u8>, IoError>,
{
    let tag = superblock.array.tag();
    let half_bytes = layout.half_bytes();
    let redo_bytes = layout.redo_half_blocks * BLOCK_BYTES as u64;
    // After a clean shutdown nothing can be missing. Redo records allow no such check: only a later record tells that
    // a half is free.
    let mut reader = LogReader::new(devices, read);
    let mut host = read_stream(layout.halves(), half_bytes, tag, !superblock.clean, &mut reader)?;
    host.durable_beyond = host.durable_beyond.max(superblock.log_durable);
    let redo = read_stream(layout.redo_halves(), redo_bytes, tag, false, &mut reader)?;

    let start = LogStart {
        host: host.numbering(superblock.log_start, half_bytes),
        redo: redo.numbering(superblock.redo_start, redo_bytes),
    };
    let unreadable = host.unreadable || redo.unreadable;
    let redo_from = redo.needed_from(superblock.redo_start);
    let (repairs, findings) = match devices.len() {
        1 => Default::default(),
        _ => compare(&host, superblock.log_start, &redo, redo_from, tag, &reader),
    };
    let (host, breaks_off) = host.chained(superblock.log_start);
    Ok(RecoveredLog {
        redo: needed_redo(redo, redo_from),
        host: host.into_iter().filter_map(host_record).collect(),
        start,
        breaks_off,
        unreadable,
        repairs,
        findings,
    })
}

/// Compares the devices of a mirrored log.
fn compare<R>(
    host: &Halves,
    host_from: u64,
    redo: &Halves,
    redo_from: u64,
    tag: ArrayTag,
    reader: &LogReader<'_, R>,
) -> (Vec<LogRepair>, Vec<LogDeviceFinding>)
where
    R: FnMut(DeviceIndex, u64, usize) -> Result<Vec<u8>, IoError>,
{
    let (mut all, mut answering, mut findings) = (Vec::new(), Vec::new(), Vec::new());
    for (copy, (&device, failed)) in reader.devices.iter().zip(&reader.failed).enumerate() {
        if let Some(error) = failed {
            findings.push(LogDeviceFinding::Failed { device, error: error.clone() });
            continue;
        }
        answering.push((copy, device));
        let records = lost_records(host, false, host_from, host.last_known_durable(), copy)
            + lost_records(redo, true, redo_from, redo.last_known_durable(), copy);
        if records > 0 {
            findings.push(LogDeviceFinding::Lacks { device, records });
        }
    }
    for (stream, from) in [(host, host_from), (redo, redo_from)] {
        repairs(stream, from, tag, &answering, &mut all);
    }
    (all, findings)
}

fn read_stream<R>(
    offsets: [u64; 2],
    bytes: u64,
    tag: ArrayTag,
    look_beyond: bool,
    reader: &mut LogReader<'_, R>,
) -> Result<Halves, LogReadError>
where
    R: FnMut(DeviceIndex, u64, usize) -> Result<Vec<u8>, IoError>,
{
    let mut halves = Halves { runs: Vec::new(), durable_beyond: 0, unreadable: false };
    for offset in offsets {
        let half = Half::new(Area { offset, bytes }, reader);
        let ScannedHalf { records, durable_beyond, unreadable } = half.find(tag, look_beyond)?;
        halves.durable_beyond = halves.durable_beyond.max(durable_beyond);
        halves.unreadable |= unreadable;
        halves.runs.push((offset, records));
    }
    halves.runs.retain(|(_, run)| !run.is_empty());
    halves.runs.sort_by_key(|(_, run)| run.first().map(|record| record.header.sequence));
    Ok(halves)
}

/// Returns the redo records from number `from` on.
///
/// Unlike host records, all of them are applied: records missing before them were released, because the stream enters
/// a half only once it is free.
fn needed_redo(halves: Halves, from: u64) -> Vec<RedoRecord> {
    let records = halves.runs.into_iter().flat_map(|(_, run)| run);
    let needed = records.filter(|record| record.header.sequence >= from);
    needed
        .filter_map(|ScannedRecord { header, data, .. }| {
            let blocks = decode_redo(header.sequence, &data)?;
            Some(RedoRecord { sequence: header.sequence, blocks })
        })
        .collect()
}

fn host_record(record: ScannedRecord) -> Option<HostRecord> {
    let sequence = record.header.sequence;
    match record.header.kind {
        RecordKind::Write { file, first_sector, .. } => {
            Some(HostRecord::Write { sequence, file, first_sector, data: record.data })
        }
        RecordKind::Unmap { file, first_sector, sectors } => {
            let sectors = sectors.into();
            Some(HostRecord::Unmap { sequence, file, first_sector, sectors })
        }
        RecordKind::Redo { .. } => None,
    }
}
