//! `Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime`.

use strewn_base::Direction;

use crate::text::{ErrorKind, FileFormatError, Line, is_digits, quoted, unsigned, unsigned_up_to};

use super::record::{Parsed, RawRecord};

const TICK_NS: u128 = 100;
const FIELDS: &str = "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime";

pub(super) fn parse(line: &Line<'_>) -> Result<Parsed, FileFormatError> {
    // The README names the fields; some tools put the names into the file.
    if line.number == 1 && line.text.starts_with("Timestamp,") {
        return Ok(Parsed::Nothing);
    }
    let mut fields = line.text.split(',').map(str::trim);
    let mut next = |name: &str| {
        fields.next().ok_or_else(|| {
            line.error(
                ErrorKind::Syntax,
                format!("{name} is missing"),
                format!("a line of an MSR trace is {FIELDS}"),
            )
        })
    };
    let timestamp = next("Timestamp")?;
    next("Hostname")?;
    let (disk, kind) = (next("DiskNumber")?, next("Type")?);
    let (offset, size) = (next("Offset")?, next("Size")?);
    let response = fields.next();
    if fields.next().is_some() {
        return Err(line.error(
            ErrorKind::Syntax,
            "there are more than 7 fields",
            format!("a line of an MSR trace is {FIELDS}"),
        ));
    }
    let ticks = unsigned(line, timestamp, "Timestamp", "write a Windows file time, in 100 ns")?;
    let device = unsigned_up_to(
        line,
        disk,
        "DiskNumber",
        u32::MAX.into(),
        "write the number of a disk, such as 0",
    )?;
    let direction = if kind.eq_ignore_ascii_case("Read") {
        Direction::Read
    } else if kind.eq_ignore_ascii_case("Write") {
        Direction::Write
    } else {
        let message = format!("Type: {} is neither Read nor Write", quoted(kind));
        return Err(line.error_of(kind, ErrorKind::Value, message, "write Read or Write"));
    };
    let offset_bytes = unsigned(line, offset, "Offset", "write bytes, such as 4096")?;
    let length_bytes = unsigned(line, size, "Size", "write bytes, such as 4096")?;
    let help = "write the response time in 100 ns, or leave the field out";
    let response_ticks =
        response.map(|response| unsigned(line, response, "ResponseTime", help)).transpose()?;
    Ok(Parsed::Record(RawRecord {
        at_ns: u128::from(ticks) * TICK_NS,
        device: device as u32,
        offset_bytes,
        length_bytes,
        direction,
        // Nothing takes no time: tools that do not know it write 0.
        response_ns: response_ticks
            .filter(|ticks| *ticks > 0)
            .map(|ticks| ticks.saturating_mul(TICK_NS as u64)),
    }))
}

/// Returns whether a line of a trace of unknown format is of this one.
pub(super) fn recognises(line: &str) -> bool {
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    match fields.as_slice() {
        ["Timestamp", "Hostname", ..] => true,
        [timestamp, _, disk, kind, offset, size] | [timestamp, _, disk, kind, offset, size, _] => {
            is_digits(timestamp)
                && is_digits(disk)
                && ["read", "write"].contains(&kind.to_ascii_lowercase().as_str())
                && is_digits(offset)
                && is_digits(size)
        }
        _ => false,
    }
}
