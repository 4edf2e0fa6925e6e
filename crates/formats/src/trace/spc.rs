//! `ASU,LBA,Size,Opcode,Timestamp` and optional fields.

use strewn_base::{Direction, SECTOR_BYTES};

use crate::text::{
    Decimal, ErrorKind, FileFormatError, Line, decimal, is_digits, quoted, unsigned, unsigned_up_to,
};

use super::record::{Parsed, RawRecord};

const FIELDS: &str = "a line of an SPC trace is ASU,LBA,Size,Opcode,Timestamp";

pub(super) fn parse(line: &Line<'_>) -> Result<Parsed, FileFormatError> {
    let mut fields = line.text.split(',').map(str::trim);
    let mut next = |name: &str| {
        fields
            .next()
            .ok_or_else(|| line.error(ErrorKind::Syntax, format!("{name} is missing"), FIELDS))
    };
    let (unit, block, size) = (next("ASU")?, next("LBA")?, next("Size")?);
    let (opcode, timestamp) = (next("Opcode")?, next("Timestamp")?);
    let device = unsigned_up_to(
        line,
        unit,
        "ASU",
        u32::MAX.into(),
        "write the number of an application storage unit, such as 0",
    )?;
    let most_blocks = u64::MAX / SECTOR_BYTES;
    let help = "write a block of 512 bytes, such as 2048";
    let lba = unsigned_up_to(line, block, "LBA", most_blocks, help)?;
    let length_bytes = unsigned(line, size, "Size", "write bytes, such as 4096")?;
    let direction = match opcode {
        "r" | "R" => Direction::Read,
        "w" | "W" => Direction::Write,
        _ => {
            let message = format!("Opcode: {} is neither r nor w", quoted(opcode));
            return Err(line.error_of(opcode, ErrorKind::Value, message, "write r or w"));
        }
    };
    let help = "write seconds from the start, such as 0.026214";
    let at_ns = decimal(line, timestamp, "Timestamp", Decimal::Seconds, help)?;
    Ok(Parsed::Record(RawRecord {
        at_ns: at_ns.into(),
        device: device as u32,
        offset_bytes: lba * SECTOR_BYTES,
        length_bytes,
        direction,
        response_ns: None,
    }))
}

/// Returns whether a line of a trace of unknown format is of this one.
pub(super) fn recognises(line: &str) -> bool {
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    match fields.as_slice() {
        [unit, block, size, opcode, timestamp, ..] => {
            is_digits(unit)
                && is_digits(block)
                && is_digits(size)
                && ["r", "R", "w", "W"].contains(opcode)
                && timestamp.parse::<f64>().is_ok()
        }
        _ => false,
    }
}
