//! Alibaba's traces of virtual disks: `device_id,opcode,offset,length,timestamp`.

use strewn_base::Direction;

use crate::text::{ErrorKind, FileFormatError, Line, is_digits, quoted, unsigned, unsigned_up_to};

use super::record::{Parsed, RawRecord};

const HEADER: &str = "device_id,opcode,";
const FIELDS: &str = "a line of an Alibaba trace is device_id,opcode,offset,length,timestamp";

pub(super) fn parse(line: &Line<'_>) -> Result<Parsed, FileFormatError> {
    // The README names the fields; some tools put the names into the file.
    if line.number == 1 && line.text.starts_with(HEADER) {
        return Ok(Parsed::Nothing);
    }
    let mut fields = line.text.split(',').map(str::trim);
    let mut next = |name: &str| {
        fields
            .next()
            .ok_or_else(|| line.error(ErrorKind::Syntax, format!("{name} is missing"), FIELDS))
    };
    let (device, opcode) = (next("device_id")?, next("opcode")?);
    let (offset, length, timestamp) = (next("offset")?, next("length")?, next("timestamp")?);
    if let Some(more) = fields.next() {
        let message = format!("{} follows the timestamp", quoted(more));
        return Err(line.error_of(more, ErrorKind::Syntax, message, FIELDS));
    }
    let help = "write the number of a virtual disk, such as 0";
    let device = unsigned_up_to(line, device, "device_id", u32::MAX.into(), help)?;
    let direction = match opcode {
        "R" | "r" => Direction::Read,
        "W" | "w" => Direction::Write,
        _ => {
            let message = format!("opcode: {} is neither R nor W", quoted(opcode));
            return Err(line.error_of(opcode, ErrorKind::Value, message, "write R or W"));
        }
    };
    let offset_bytes = unsigned(line, offset, "offset", "write bytes, such as 4096")?;
    let length_bytes = unsigned(line, length, "length", "write bytes, such as 4096")?;
    let at_us = unsigned(line, timestamp, "timestamp", "write microseconds since 1970")?;
    Ok(Parsed::Record(RawRecord {
        at_ns: u128::from(at_us) * 1000,
        device: device as u32,
        offset_bytes,
        length_bytes,
        direction,
        response_ns: None,
    }))
}

/// Returns whether a line of a trace of unknown format is of this one.
pub(super) fn recognises(line: &str) -> bool {
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    match fields.as_slice() {
        ["device_id", "opcode", ..] => true,
        [device, opcode, offset, length, timestamp] => {
            ["R", "r", "W", "w"].contains(opcode)
                && [device, offset, length, timestamp].into_iter().all(|field| is_digits(field))
        }
        _ => false,
    }
}
