//! What the log has after a crash.

use super::scan::{Half, ScannedHalf, ScannedRecord};
use super::stream::Area;
use super::{LogStart, Numbering};
use crate::device::{BLOCK_BYTES, IoError};
use crate::format::{
    ArrayTag, LogLayout, RECORD_HEADER_BYTES, RecordKind, RedoBlock, Superblock, decode_redo,
};

/// A redo record that is to be applied, before any host record and in the order of the records: all its blocks are
/// written to their places.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedoRecord {
    /// Its number.
    pub sequence: u64,
    /// What is written.
    pub blocks: Vec<RedoBlock>,
}

/// A host record that the superblock does not cover.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostRecord {
    /// The host wrote.
    Write {
        /// The record's number.
        sequence: u64,
        /// The first sector (of 512 bytes) of the LUN.
        first_sector: u64,
        /// The bytes: whole sectors.
        data: Vec<u8>,
    },
    /// The host gave back a range, which reads as zeros from then on.
    Unmap {
        /// The record's number.
        sequence: u64,
        /// The first sector (of 512 bytes) of the LUN.
        first_sector: u64,
        /// How many sectors.
        sectors: u64,
    },
}

impl HostRecord {
    /// The record's number.
    #[must_use]
    pub fn sequence(&self) -> u64 {
        match self {
            Self::Write { sequence, .. } | Self::Unmap { sequence, .. } => *sequence,
        }
    }
}

/// What the log has that the spindles may not have.
#[derive(Debug)]
pub struct RecoveredLog {
    /// The redo records, in order.
    pub redo: Vec<RedoRecord>,
    /// The host records, in order.
    pub host: Vec<HostRecord>,
    /// Where the numbers of new records begin: behind all that may be on the device, so that nothing of it is ever taken
    /// for new. Also the `log_start` and `redo_start` of the superblock that covers what was recovered.
    pub start: LogStart,
    /// Whether host records are missing that were durable and are not covered: a later half goes on behind the end of the
    /// one before it, or a record says so that was written later. A crash leaves no such log; a device that lost what it had
    /// does. What the very last records alone knew is not missed.
    pub breaks_off: bool,
    /// Whether a block that could have had records could not be read.
    pub unreadable: bool,
}

/// Reads the log of the array whose newest superblock is `superblock`. `read` gives so many bytes of the log device
/// from an offset on, both multiples of 4096.
///
/// # Errors
/// Those of `read`; but blocks that are [`IoError::Unreadable`] count as never written.
pub fn read_log<R>(
    layout: &LogLayout,
    superblock: &Superblock,
    read: &mut R,
) -> Result<RecoveredLog, IoError>
where
    R: FnMut(u64, usize) -> Result<Vec<u8>, IoError>,
{
    let tag = superblock.array.tag();
    let half_bytes = layout.half_bytes();
    let redo_bytes = layout.redo_half_blocks * BLOCK_BYTES as u64;
    // Behind what the array was shut down with nothing can be missing. Of redo records nothing could be said: a half that is free is
    // known to be only when a record behind it is written.
    let host = read_stream(layout.halves(), half_bytes, tag, !superblock.clean, read)?;
    let redo = read_stream(layout.redo_halves(), redo_bytes, tag, false, read)?;

    let start = LogStart {
        host: host.numbering(superblock.log_start, half_bytes),
        redo: redo.numbering(superblock.redo_start, redo_bytes),
    };
    let unreadable = host.unreadable || redo.unreadable;
    let (host, breaks_off) = host.chained(superblock.log_start);
    let redo = needed_redo(redo, superblock.redo_start);
    Ok(RecoveredLog {
        redo,
        host: host.into_iter().filter_map(host_record).collect(),
        start,
        breaks_off,
        unreadable,
    })
}

/// The records of both halves of a stream.
struct Halves {
    /// That with the earlier records first.
    runs: Vec<Vec<ScannedRecord>>,
    /// The highest of either half: see [`ScannedHalf::durable_beyond`].
    durable_beyond: u64,
    unreadable: bool,
}

fn read_stream<R>(
    offsets: [u64; 2],
    bytes: u64,
    tag: ArrayTag,
    look_beyond: bool,
    read: &mut R,
) -> Result<Halves, IoError>
where
    R: FnMut(u64, usize) -> Result<Vec<u8>, IoError>,
{
    let mut halves = Halves { runs: Vec::new(), durable_beyond: 0, unreadable: false };
    for offset in offsets {
        let half = Half::new(Area { offset, bytes }, read);
        let ScannedHalf { records, durable_beyond, unreadable } = half.find(tag, look_beyond)?;
        halves.durable_beyond = halves.durable_beyond.max(durable_beyond);
        halves.unreadable |= unreadable;
        halves.runs.push(records);
    }
    halves.runs.retain(|run| !run.is_empty());
    halves.runs.sort_by_key(|run| run.first().map(|record| record.header.sequence));
    Ok(halves)
}

impl Halves {
    /// Numbers behind all that may be in a half of `half_bytes`: a torn group has at most as many records behind those
    /// that are whole as have room.
    fn numbering(&self, at_least: u64, half_bytes: u64) -> Numbering {
        let last =
            self.runs.iter().flatten().map(|record| record.header.sequence).max().unwrap_or(0);
        let room = half_bytes / RECORD_HEADER_BYTES as u64;
        Numbering { next: at_least.max(last + 1) + room, last }
    }

    /// The records from number `from` on that follow each other without a gap, and whether others are missing that were durable.
    fn chained(self, from: u64) -> (Vec<ScannedRecord>, bool) {
        let mut chained: Vec<ScannedRecord> = Vec::new();
        for record in self.runs.into_iter().flatten() {
            if record.header.sequence < from {
                continue;
            }
            // The first follows one that is covered.
            let follows = match chained.last() {
                Some(last) => record.header.follows == last.header.sequence,
                None => record.header.follows < from,
            };
            if !follows {
                return (chained, true);
            }
            chained.push(record);
        }
        let last = chained.last().map_or(0, |record| record.header.sequence);
        let is_lost = self.durable_beyond > last && self.durable_beyond >= from;
        (chained, is_lost)
    }
}

/// The redo records from number `from` on whose block writes were not known to be safe.
///
/// Unlike host records these are all applied: what is missing before them was released, as their stream goes on in a
/// half only when it is.
fn needed_redo(halves: Halves, from: u64) -> Vec<RedoRecord> {
    let mut redo = Vec::new();
    let mut needed = from;
    for ScannedRecord { header, data } in halves.runs.into_iter().flatten() {
        if let RecordKind::Redo { needed_from } = header.kind {
            needed = needed.max(needed_from);
            if let Some(blocks) = decode_redo(header.sequence, &data) {
                redo.push(RedoRecord { sequence: header.sequence, blocks });
            }
        }
    }
    redo.retain(|record| record.sequence >= needed);
    redo
}

fn host_record(record: ScannedRecord) -> Option<HostRecord> {
    let sequence = record.header.sequence;
    match record.header.kind {
        RecordKind::Write { first_sector, .. } => {
            Some(HostRecord::Write { sequence, first_sector, data: record.data })
        }
        RecordKind::Unmap { first_sector, sectors } => {
            Some(HostRecord::Unmap { sequence, first_sector, sectors })
        }
        RecordKind::Redo { .. } => None,
    }
}
