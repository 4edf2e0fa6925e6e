//! The copy of a controller's log in its partner's memory.

use strewn_array::{LogRecord, OperationId};
use strewn_base::SECTOR_BYTES;
use strewn_base::state::SavedValue;

/// What joins the two controllers of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, SavedValue)]
pub struct Interconnect {
    /// Bytes a second that it moves, in each direction.
    pub bytes_per_second: u64,
    /// From the end of a record's transfer to the partner's confirmation, in nanoseconds.
    pub latency_ns: u64,
}

/// Records that a consistency point does not cover yet, and their sectors.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, SavedValue)]
pub(crate) struct Logged {
    pub(crate) records: u64,
    pub(crate) sectors: u64,
}

/// A log's copy: what a takeover replays. A write is acknowledged once its record is here too.
#[derive(Debug, Clone, SavedValue)]
pub(crate) struct LogMirror {
    interconnect: Interconnect,
    record_header_bytes: u64,
    /// Whether the partner works. A controller alone copies nothing.
    is_on: bool,
    free_ns: u64,
    /// The record copied last: its operation, and when the partner has confirmed it.
    last: Option<(OperationId, u64)>,
    /// In the half that takes records, and in the one that a consistency point is writing.
    halves: [Logged; 2],
    /// Bytes copied since the beginning.
    pub(crate) bytes: u64,
}

impl LogMirror {
    pub(crate) fn new(interconnect: Interconnect, record_header_bytes: u64) -> Self {
        Self {
            interconnect,
            record_header_bytes,
            is_on: true,
            free_ns: 0,
            last: None,
            halves: [Logged::default(); 2],
            bytes: 0,
        }
    }

    /// The partner has gone, or is back.
    pub(crate) fn set_on(&mut self, is_on: bool) {
        self.is_on = is_on;
        self.last = None;
    }

    /// Copies a record that leaves at `leaves_ns`, behind those before it.
    pub(crate) fn copy(&mut self, leaves_ns: u64, operation: OperationId, record: &LogRecord) {
        let data_bytes = record.data_bytes();
        self.halves[0].records += 1;
        self.halves[0].sectors += data_bytes / SECTOR_BYTES;
        if !self.is_on {
            return;
        }
        let bytes = data_bytes + self.record_header_bytes;
        self.bytes += bytes;
        let Interconnect { bytes_per_second, latency_ns } = self.interconnect;
        self.free_ns = self.free_ns.max(leaves_ns) + bytes * 1_000_000_000 / bytes_per_second;
        self.last = Some((operation, self.free_ns + latency_ns));
    }

    /// When the partner confirms the record of `operation`, if it was logged last; zero for another operation.
    pub(crate) fn copied_ns(&self, operation: OperationId) -> u64 {
        self.last.filter(|(last, _)| *last == operation).map_or(0, |(_, copied_ns)| copied_ns)
    }

    pub(crate) fn consistency_point_begins(&mut self) {
        self.halves[1] = std::mem::take(&mut self.halves[0]);
    }

    pub(crate) fn consistency_point_ends(&mut self) {
        self.halves[1] = Logged::default();
    }

    /// All records that no committed consistency point covers.
    pub(crate) fn logged(&self) -> Logged {
        let [one, other] = self.halves;
        Logged { records: one.records + other.records, sectors: one.sectors + other.sectors }
    }
}
