//! The NVRAM log, which protects a write until it is on a spindle.
//!
//! An array does not know how full its log is: it asks [`Driver::log`](crate::Driver::log) for each record, and the log
//! answers. A driver without a real log keeps a [`LogLedger`].

use strewn_base::SECTOR_BYTES;

use crate::lun_id::LunId;

/// The size of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogSize {
    /// Bytes of each of its two halves.
    pub half_bytes: u64,
    /// Bytes of a record besides its data.
    pub record_header_bytes: u64,
}

/// What a log keeps of a host operation, until a consistency point covers it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogRecord {
    /// Sectors of a LUN have been written; the record has their data.
    Write {
        /// LUN that was written.
        lun: LunId,
        /// First sector of the LUN.
        first_sector: u64,
        /// Number of sectors.
        sectors: u32,
    },
    /// Sectors of a LUN have been unmapped. The record has no data.
    Unmap {
        /// LUN that was unmapped.
        lun: LunId,
        /// First sector of the LUN.
        first_sector: u64,
        /// Number of sectors.
        sectors: u32,
    },
}

impl LogRecord {
    /// Bytes of data in the record.
    #[must_use]
    pub fn data_bytes(&self) -> u64 {
        match self {
            Self::Write { sectors, .. } => u64::from(*sectors) * SECTOR_BYTES,
            Self::Unmap { .. } => 0,
        }
    }
}

/// The log's answer to a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Logged {
    /// It is in the log: the operation can be acknowledged.
    Done,
    /// The half in use is full and the other is free: a consistency point must begin.
    HalfFull,
    /// Both halves are full: the operation waits for the consistency point in progress.
    BothFull,
}

/// How full a log of two halves is: one takes records while a consistency point writes what the other protects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogLedger {
    size: LogSize,
    filled_bytes: u64,
    other_in_use: bool,
}

impl LogLedger {
    /// A ledger of a log of that size without records.
    #[must_use]
    pub fn new(size: LogSize) -> Self {
        Self { size, filled_bytes: 0, other_in_use: false }
    }

    /// Takes a record. An empty half takes one larger than itself, which could otherwise never be logged.
    #[inline]
    pub fn append(&mut self, record: &LogRecord) -> Logged {
        let bytes = record.data_bytes() + self.size.record_header_bytes;
        if self.filled_bytes == 0 || self.filled_bytes + bytes <= self.size.half_bytes {
            self.filled_bytes += bytes;
            Logged::Done
        } else if self.other_in_use {
            Logged::BothFull
        } else {
            Logged::HalfFull
        }
    }

    /// Bytes left in the half in use.
    #[must_use]
    pub fn room_bytes(&self) -> u64 {
        self.size.half_bytes.saturating_sub(self.filled_bytes)
    }

    /// A consistency point begins: it writes what this half protects, and the other half takes over.
    ///
    /// # Panics
    /// If the other half still protects an earlier one.
    pub fn switch(&mut self) {
        assert!(
            !self.other_in_use,
            "a consistency point begins while another protects its half of the log"
        );
        self.other_in_use = true;
        self.filled_bytes = 0;
    }

    /// The consistency point is committed: its half is free.
    ///
    /// # Panics
    /// If no consistency point was in progress.
    pub fn release(&mut self) {
        assert!(self.other_in_use, "a half of the log is freed that protects nothing");
        self.other_in_use = false;
    }
}

strewn_base::saved_state! {
    impl for LogLedger {
        parts:;
        values: filled_bytes, other_in_use;
        built: size;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(half_bytes: u64, record_header_bytes: u64) -> LogLedger {
        LogLedger::new(LogSize { half_bytes, record_header_bytes })
    }

    const fn write(sectors: u32) -> LogRecord {
        LogRecord::Write { lun: LunId(0), first_sector: 0, sectors }
    }

    #[test]
    fn a_second_full_half_waits_for_the_first() {
        let mut log = log(51_200, 0);
        assert_eq!(log.append(&write(60)), Logged::Done);
        assert_eq!(log.append(&write(41)), Logged::HalfFull);
        log.switch();
        assert_eq!(log.append(&write(100)), Logged::Done);
        assert_eq!(log.append(&write(1)), Logged::BothFull);
        log.release();
        assert_eq!(log.append(&write(1)), Logged::HalfFull);
    }

    #[test]
    #[should_panic(expected = "a half of the log is freed that protects nothing")]
    fn a_half_is_freed_once() {
        let mut log = log(100, 0);
        log.switch();
        log.release();
        log.release();
    }

    #[test]
    fn a_record_larger_than_a_half_is_logged_alone() {
        let mut log = log(51_200, 0);
        assert_eq!(log.append(&write(500)), Logged::Done);
        assert_eq!(log.append(&write(1)), Logged::HalfFull);
    }

    #[test]
    fn an_unmap_takes_no_more_than_its_header() {
        let mut log = log(1_600, 160);
        for _ in 0..10 {
            let record = LogRecord::Unmap { lun: LunId(0), first_sector: 0, sectors: 1 << 21 };
            assert_eq!(log.append(&record), Logged::Done);
        }
        assert_eq!(log.append(&write(0)), Logged::HalfFull);
    }
}
