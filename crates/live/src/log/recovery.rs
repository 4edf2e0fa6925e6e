//! Reads what the log holds after a crash.

use super::scan::{Half, ScannedHalf, ScannedRecord};
use super::stream::Area;
use super::{LogStart, Numbering};
use crate::device::{BLOCK_BYTES, IoError};
use crate::format::{
    ArrayTag, LogLayout, RECORD_HEADER_BYTES, RecordKind, RedoBlock, Superblock, decode_redo,
};

/// A redo record to apply: a recovery writes all its blocks to their places. Redo records are applied in order,
/// before any host record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedoRecord {
    /// Its number.
    pub sequence: u64,
    /// Its blocks.
    pub blocks: Vec<RedoBlock>,
}

/// A host record that the superblock does not cover.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostRecord {
    /// A write.
    Write {
        /// The record's number.
        sequence: u64,
        /// The first sector of the LUN.
        first_sector: u64,
        /// Whole sectors of 512 bytes.
        data: Vec<u8>,
    },
    /// An unmap: the range reads as zeros from then on.
    Unmap {
        /// The record's number.
        sequence: u64,
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
    /// Whether a block that may have held records is unreadable.
    pub unreadable: bool,
}

/// Reads the log of the array whose newest superblock is `superblock`. `read(offset, bytes)` reads the log device;
/// both are multiples of 4096.
///
/// The errors of `read`; but blocks that are [`IoError::Unreadable`] count as never written.
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
    // After a clean shutdown nothing can be missing. Redo records allow no such check: only a later record tells that
    // a half is free.
    let mut host = read_stream(layout.halves(), half_bytes, tag, !superblock.clean, read)?;
    host.durable_beyond = host.durable_beyond.max(superblock.log_durable);
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
    /// The half with the earlier records first.
    runs: Vec<Vec<ScannedRecord>>,
    /// The highest of both halves: see [`ScannedHalf::durable_beyond`].
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
    /// Returns numbers beyond all that may be in a half of `half_bytes`: after the whole records, a torn group has at
    /// most as many records as there is room for.
    fn numbering(&self, at_least: u64, half_bytes: u64) -> Numbering {
        let last =
            self.runs.iter().flatten().map(|record| record.header.sequence).max().unwrap_or(0);
        let room = half_bytes / RECORD_HEADER_BYTES as u64;
        Numbering { next: at_least.max(last + 1) + room, last }
    }

    /// Returns the records from number `from` on that follow each other without a gap, and whether durable ones are
    /// missing after them.
    fn chained(self, from: u64) -> (Vec<ScannedRecord>, bool) {
        let mut chained: Vec<ScannedRecord> = Vec::new();
        for record in self.runs.into_iter().flatten() {
            if record.header.sequence < from {
                continue;
            }
            // The first record must follow a covered one.
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

/// Returns the redo records from number `from` on whose block writes may not be durable.
///
/// Unlike host records, all of them are applied: records missing before them were released, because the stream enters
/// a half only once it is free.
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
