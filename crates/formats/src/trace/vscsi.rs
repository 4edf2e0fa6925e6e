//! Traces of VMware's vscsi layer, as CloudPhysics keeps them: records of 32 bytes (version 1) or 40 (version 2),
//! little endian, without a header.

use strewn_base::{Direction, SECTOR_BYTES};

use crate::text::{ErrorKind, FileFormatError, Line};

use super::bytes::{u16_at, u32_at, u64_at};
use super::record::{Parsed, RawRecord};

const MICROSECOND_NS: u128 = 1000;

/// A version of the records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    /// Serial number, length, segments (32 bits each), command, version (16 each), block, time (64 each).
    One,
    /// Command, version (16 bits each), serial number, length, segments (32 each), block, time, response time (64
    /// each). What unit the response time has is documented nowhere, so it is not used.
    Two,
}

impl Version {
    pub(super) fn record_bytes(self) -> usize {
        match self {
            Self::One => 32,
            Self::Two => 40,
        }
    }

    /// Returns the command and the version that a record has.
    fn command_and_version(self, record: &[u8]) -> (u16, u16) {
        let at = match self {
            Self::One => 12,
            Self::Two => 0,
        };
        (u16_at(record, at, false), u16_at(record, at + 2, false))
    }

    /// Returns whether a record is of this version, whose number is in the upper byte.
    fn is_of(self, record: &[u8]) -> bool {
        let number = match self {
            Self::One => 1,
            Self::Two => 2,
        };
        let (command, version) = self.command_and_version(record);
        version >> 8 == number && command <= 0xff
    }

    /// Returns the version of a trace that begins with these bytes, by its first two records or its only one; none if
    /// they begin no such trace.
    pub(super) fn of(head: &[u8]) -> Option<Self> {
        [Self::Two, Self::One].into_iter().find(|version| {
            let mut records = head.chunks_exact(version.record_bytes()).take(2).peekable();
            records.peek().is_some() && records.all(|record| version.is_of(record))
        })
    }

    pub(super) fn parse(
        self,
        line: &Line<'_>,
        record: &[u8],
        at_byte: u64,
    ) -> Result<Parsed, FileFormatError> {
        if !self.is_of(record) {
            let (command, version) = self.command_and_version(record);
            return Err(line.error(
                ErrorKind::Syntax,
                format!(
                    "the record at byte {at_byte} has version 0x{version:04x} and command 0x{command:04x}, where the \
                     first has version {}",
                    if self == Self::One { 1 } else { 2 }
                ),
                "the file is damaged there, or was joined from files of different versions: copy it again",
            ));
        }
        let (command, _) = self.command_and_version(record);
        let (length, block, time) = match self {
            Self::One => (4, 16, 24),
            Self::Two => (8, 16, 24),
        };
        // SCSI's operation codes, of 6, 10, 12 and 16 bytes; the last are WRITE AND VERIFY.
        let direction = match command {
            0x08 | 0x28 | 0xa8 | 0x88 => Direction::Read,
            0x0a | 0x2a | 0xaa | 0x8a | 0x2e | 0xae | 0x8e => Direction::Write,
            // UNMAP.
            0x42 => return Ok(Parsed::Trim),
            _ => return Ok(Parsed::NoData),
        };
        let block = u64_at(record, block, false);
        let Some(offset_bytes) = block.checked_mul(SECTOR_BYTES) else {
            return Err(line.error(
                ErrorKind::Value,
                format!("the record at byte {at_byte} is of block {block}, past 2^64 bytes"),
                "the file is damaged there: copy it again",
            ));
        };
        Ok(Parsed::Record(RawRecord {
            at_ns: u128::from(u64_at(record, time, false)) * MICROSECOND_NS,
            device: 0,
            offset_bytes,
            length_bytes: u32_at(record, length, false).into(),
            direction,
            response_ns: None,
        }))
    }
}
