//! blktrace's own files: events of 48 bytes (`struct blk_io_trace` of the kernel's `blktrace_api.h`), each followed by
//! as many bytes as it says, in the byte order of the machine that wrote them.

use strewn_base::{Direction, SECTOR_BYTES};

use crate::text::{ErrorKind, FileFormatError, Line};

use super::bytes::{u16_at, u32_at, u64_at};
use super::options::BlkparseAction;
use super::record::{Parsed, RawRecord};

pub(super) const EVENT_BYTES: usize = 48;
/// `BLK_IO_TRACE_MAGIC`; the lowest byte has the version.
const MAGIC: u32 = 0x6561_7400;
const VERSION: u32 = 7;

/// `enum blktrace_act`, without the bit that marks events of a control group.
const QUEUE: u32 = 1;
const ISSUE: u32 = 7;
const COMPLETE: u32 = 8;
const ACTION_MASK: u32 = 0xff;

/// `enum blktrace_cat`, in the upper half of an action.
const WRITES: u32 = 1 << (16 + 1);
const FLUSHES: u32 = 1 << (16 + 2);
const PASSED_THROUGH: u32 = 1 << (16 + 9);
const NOTIFIES: u32 = 1 << (16 + 10);
const DISCARDS: u32 = 1 << (16 + 13);
const DRIVER_DATA: u32 = 1 << (16 + 14);

/// The byte order of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Order {
    is_big_endian: bool,
}

impl Order {
    /// Returns the byte order of a trace that begins with these bytes; none if they begin no such trace.
    pub(super) fn of(head: &[u8]) -> Option<Self> {
        let is_magic = |is_big_endian| u32_at(head, 0, is_big_endian) & !0xff == MAGIC;
        [false, true]
            .into_iter()
            .find(|order| is_magic(*order))
            .map(|is_big_endian| Self { is_big_endian })
    }

    /// Returns how many bytes follow an event.
    pub(super) fn payload_bytes(self, event: &[u8]) -> u16 {
        u16_at(event, 46, self.is_big_endian)
    }

    pub(super) fn parse(
        self,
        line: &Line<'_>,
        event: &[u8],
        at_byte: u64,
        action: BlkparseAction,
    ) -> Result<Parsed, FileFormatError> {
        let u32_at = |at| u32_at(event, at, self.is_big_endian);
        let magic = u32_at(0);
        if magic & !0xff != MAGIC {
            return Err(line.error(
                ErrorKind::Syntax,
                format!(
                    "the event at byte {at_byte} begins with 0x{magic:08x} and not 0x{MAGIC:08x}"
                ),
                "the file is damaged there, or was cut: copy it again",
            ));
        }
        if magic & 0xff != VERSION {
            return Err(line.error(
                ErrorKind::Refused,
                format!("the event at byte {at_byte} is of version {} of blktrace", magic & 0xff),
                format!("version {VERSION} is read: turn the trace into text with blkparse"),
            ));
        }
        let what = u32_at(28);
        if what & (NOTIFIES | DRIVER_DATA) != 0 {
            return Ok(Parsed::OtherAction);
        }
        let wanted = match action {
            BlkparseAction::Queued => QUEUE,
            BlkparseAction::Issued => ISSUE,
            BlkparseAction::Completed => COMPLETE,
        };
        let is = what & ACTION_MASK;
        let completes = is == COMPLETE && is != wanted;
        if is != wanted && !completes {
            return Ok(Parsed::OtherAction);
        }
        let length_bytes = u32_at(24);
        let without_data = if what & DISCARDS != 0 {
            Some(Parsed::Trim)
        } else if what & PASSED_THROUGH != 0 || (what & FLUSHES != 0 && length_bytes == 0) {
            Some(Parsed::NoData)
        } else {
            None
        };
        match without_data {
            Some(_) if completes => return Ok(Parsed::OtherAction),
            Some(parsed) => return Ok(parsed),
            None => {}
        }
        let sector = u64_at(event, 16, self.is_big_endian);
        let Some(offset_bytes) = sector.checked_mul(SECTOR_BYTES) else {
            return Err(line.error(
                ErrorKind::Value,
                format!("the event at byte {at_byte} is of sector {sector}, past 2^64 bytes"),
                "the file is damaged there: copy it again",
            ));
        };
        let record = RawRecord {
            at_ns: u64_at(event, 8, self.is_big_endian).into(),
            device: u32_at(36),
            offset_bytes,
            length_bytes: length_bytes.into(),
            direction: if what & WRITES != 0 { Direction::Write } else { Direction::Read },
            response_ns: None,
        };
        Ok(if completes { Parsed::Completion(record) } else { Parsed::Record(record) })
    }
}

/// Returns an event as the kernel writes it on a little-endian machine.
pub(super) fn event(
    sequence: u64,
    at_ns: u64,
    device: u32,
    (sector, bytes): (u64, u32),
    action: BlkparseAction,
    direction: Direction,
) -> [u8; EVENT_BYTES] {
    // The category of the action, and the action.
    let (category, act) = match action {
        BlkparseAction::Queued => (1 << 4, QUEUE),
        BlkparseAction::Issued => (1 << 6, ISSUE),
        BlkparseAction::Completed => (1 << 7, COMPLETE),
    };
    let direction = match direction {
        Direction::Read => 1,
        Direction::Write => 1 << 1,
    };
    let what: u32 = ((category | direction) << 16) | act;
    let mut event = [0; EVENT_BYTES];
    event[0..4].copy_from_slice(&(MAGIC | VERSION).to_le_bytes());
    event[4..8].copy_from_slice(&(sequence as u32).to_le_bytes());
    event[8..16].copy_from_slice(&at_ns.to_le_bytes());
    event[16..24].copy_from_slice(&sector.to_le_bytes());
    event[24..28].copy_from_slice(&bytes.to_le_bytes());
    event[28..32].copy_from_slice(&what.to_le_bytes());
    event[36..40].copy_from_slice(&device.to_le_bytes());
    event
}
