//! What one device of a mirrored log lacks and the other has.

use super::halves::Halves;
use super::scan::ScannedRecord;
use crate::device::{BLOCK_BYTES, Buffer, DeviceIndex, IoError};
use crate::format::{ArrayTag, RECORD_HEADER_BYTES};

/// The most bytes repaired at once.
const REPAIR_BYTES: u64 = 1 << 20;

/// Whole blocks that a device of the log lacks.
///
/// They must be written before anything relies on records that the device lacks: if a restart applied half of such a
/// redo record, lost power and then the other device, nothing could tell the rest.
#[derive(Debug, Clone)]
pub struct LogRepair {
    /// Device that lacks them.
    pub device: DeviceIndex,
    /// Where the blocks begin, in bytes.
    pub offset: u64,
    /// What belongs there.
    pub bytes: Buffer,
}

/// What is wrong with a device of a mirrored log, and was made good by the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogDeviceFinding {
    /// The device does not answer.
    Failed {
        /// Device of the log, by its index.
        device: DeviceIndex,
        /// Why its reads fail.
        error: IoError,
    },
    /// The device has lost records that were durable on it.
    Lacks {
        /// Device of the log, by its index.
        device: DeviceIndex,
        /// How many.
        records: u64,
    },
}

/// Appends the repairs of each of `devices` that lacks records of `stream`, in halves with any record from number
/// `needed_from` on. The chain of a half begins with its first record, so all of the half is repaired.
pub(super) fn repairs(
    stream: &Halves,
    needed_from: u64,
    tag: ArrayTag,
    devices: &[(usize, DeviceIndex)],
    repairs: &mut Vec<LogRepair>,
) {
    for (offset, run) in &stream.runs {
        if !run.iter().any(|record| record.header.sequence >= needed_from) {
            continue;
        }
        for &(copy, device) in devices {
            for (start, end) in missing_blocks(run, copy) {
                let bytes = image(run, start, end, tag);
                repairs.push(LogRepair { device, offset: offset + start, bytes });
            }
        }
    }
}

/// Returns the ranges of whole blocks with records that a device lacks, by offset in the half.
fn missing_blocks(run: &[ScannedRecord], copy: usize) -> Vec<(u64, u64)> {
    let block = BLOCK_BYTES as u64;
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for record in run.iter().filter(|record| !record.on.contains(copy)) {
        let (start, end) = (record.at / block * block, record.end().next_multiple_of(block));
        match ranges.last_mut() {
            Some((from, to)) if start <= *to && end - *from <= REPAIR_BYTES => *to = end,
            Some((_, to)) => {
                // Blocks are written once, even if two records share one.
                let start = start.max(*to);
                if start < end {
                    ranges.push((start, end));
                }
            }
            None => ranges.push((start, end)),
        }
    }
    ranges
}

/// Returns what a half has in whole blocks from `start` to `end`.
fn image(run: &[ScannedRecord], start: u64, end: u64, tag: ArrayTag) -> Buffer {
    let mut image = Buffer::zeroed((end - start) as usize / BLOCK_BYTES);
    let first = run.partition_point(|record| record.end() <= start);
    for record in run[first..].iter().take_while(|record| record.at < end) {
        let header = record.header.encode(tag, &record.data);
        let mut put = |at: u64, bytes: &[u8]| {
            // The part within the range.
            let (from, to) = (at.max(start), (at + bytes.len() as u64).min(end));
            if from < to {
                let part = &bytes[(from - at) as usize..(to - at) as usize];
                image.bytes_mut()[(from - start) as usize..][..part.len()].copy_from_slice(part);
            }
        };
        put(record.at, &header);
        put(record.at + RECORD_HEADER_BYTES as u64, &record.data);
    }
    image
}

/// Counts the records from number `needed_from` on that a device lacks although they were durable.
///
/// Nothing tells that a half of the redo stream is free before the first whole record in it does. So the older half of
/// that stream, `is_redo`, is not counted: a write that a power loss tore may have overwritten any part of it.
pub(super) fn lost_records(
    stream: &Halves,
    is_redo: bool,
    needed_from: u64,
    durable: u64,
    copy: usize,
) -> u64 {
    let older = usize::from(is_redo && stream.runs.len() > 1);
    let records = stream.runs[older..].iter().flat_map(|(_, run)| run);
    let is_lost = |record: &&ScannedRecord| {
        (needed_from..=durable).contains(&record.header.sequence) && !record.on.contains(copy)
    };
    records.filter(is_lost).count() as u64
}
