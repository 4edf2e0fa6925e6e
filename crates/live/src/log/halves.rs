//! The records of both halves of a stream, as they were scanned.

use super::Numbering;
use super::scan::ScannedRecord;
use crate::format::{RECORD_HEADER_BYTES, RecordKind};

/// The records of both halves of a stream.
pub(super) struct Halves {
    /// The records of each half, after the half's offset on the device. The half with the earlier records comes first.
    pub(super) runs: Vec<(u64, Vec<ScannedRecord>)>,
    /// The highest of both halves: see [`ScannedHalf::durable_beyond`].
    pub(super) durable_beyond: u64,
    pub(super) unreadable: bool,
}

impl Halves {
    pub(super) fn records(&self) -> impl Iterator<Item = &ScannedRecord> {
        self.runs.iter().flat_map(|(_, run)| run)
    }

    /// Returns the last record that is known to have been durable.
    pub(super) fn last_known_durable(&self) -> u64 {
        let durable = self.records().map(|record| record.header.durable);
        durable.fold(self.durable_beyond, u64::max)
    }

    /// Returns the first redo record whose block writes may not be durable, if the superblock says `from`.
    pub(super) fn needed_from(&self, from: u64) -> u64 {
        let needed = self.records().filter_map(|record| match record.header.kind {
            RecordKind::Redo { needed_from } => Some(needed_from),
            _ => None,
        });
        needed.fold(from, u64::max)
    }

    /// Returns numbers beyond all that may be in a half of `half_bytes`: after the whole records, a torn group has at
    /// most as many records as there is room for. What the superblock no longer needs, records before number `from`,
    /// was durable, also where no device has it any more because each was replaced.
    pub(super) fn numbering(&self, from: u64, half_bytes: u64) -> Numbering {
        let found = self.records().map(|record| record.header.sequence).max().unwrap_or(0);
        let last = found.max(from.saturating_sub(1));
        let room = half_bytes / RECORD_HEADER_BYTES as u64;
        Numbering { next: last + 1 + room, last }
    }

    /// Returns the records from number `from` on that follow each other without a gap, and whether durable ones are
    /// missing after them.
    pub(super) fn chained(self, from: u64) -> (Vec<ScannedRecord>, bool) {
        let mut chained: Vec<ScannedRecord> = Vec::new();
        for record in self.runs.into_iter().flat_map(|(_, run)| run) {
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
