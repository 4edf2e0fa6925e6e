//! blkparse's default output: a header of seven fields, and what depends on the action.

use strewn_base::{Direction, SECTOR_BYTES};

use crate::text::{
    Decimal, ErrorKind, FileFormatError, Line, decimal, is_digits, quoted, unsigned_up_to,
};

use super::options::BlkparseAction;
use super::record::{Parsed, RawRecord};

const FIELDS: &str =
    "a line of blkparse is: major,minor cpu sequence time pid action RWBS sector + sectors";
/// The kernel keeps a device number in 12 bits of major and 20 of minor.
const MINOR_BITS: u32 = 20;
const MOST_MAJOR: u64 = (1 << 12) - 1;
const MOST_MINOR: u64 = (1 << MINOR_BITS) - 1;

pub(super) fn parse(line: &Line<'_>, action: BlkparseAction) -> Result<Parsed, FileFormatError> {
    let mut fields = line.text.split_ascii_whitespace();
    let Some(device) = fields.next() else { return Ok(Parsed::Nothing) };
    if is_summary(line.text) {
        return Ok(Parsed::End);
    }
    if device == "Input" {
        return Ok(Parsed::Nothing);
    }
    let mut next = |name: &str| {
        fields
            .next()
            .ok_or_else(|| line.error(ErrorKind::Syntax, format!("{name} is missing"), FIELDS))
    };
    let Some((major, minor)) = device.split_once(',') else {
        let message = format!("device: {} is not major,minor", quoted(device));
        return Err(line.error_of(device, ErrorKind::Syntax, message, FIELDS));
    };
    let help = "write the numbers of a device, such as 8,0";
    let major = unsigned_up_to(line, major, "major number", MOST_MAJOR, help)?;
    let minor = unsigned_up_to(line, minor, "minor number", MOST_MINOR, help)?;
    next("cpu")?;
    next("sequence")?;
    let time = next("time")?;
    next("pid")?;
    let letter = next("action")?;
    let completes = letter == "C" && action != BlkparseAction::Completed;
    if !completes && !letter.chars().eq([action.letter()]) {
        return Ok(Parsed::OtherAction);
    }
    let help = "write seconds from the start, such as 0.026214000";
    let at_ns = decimal(line, time, "time", Decimal::Seconds, help)?;
    // One letter per property: Read, Write, Discard, sEcure erase, Flush, None; and for the request
    // Sync, Ahead, Meta, Barrier.
    let properties = next("RWBS")?;
    let has = |letter| properties.contains(letter);
    // What is completed without data was no record before.
    let no_data = if completes { Parsed::OtherAction } else { Parsed::NoData };
    let direction = match (has('D') || has('E'), has('R'), has('W')) {
        _ if has('N') => return Ok(no_data),
        (true, ..) if completes => return Ok(Parsed::OtherAction),
        (true, ..) => return Ok(Parsed::Trim),
        (false, false, false) => return Ok(no_data),
        (false, true, false) => Direction::Read,
        (false, false, true) => Direction::Write,
        (false, true, true) => {
            let message = format!("RWBS: {} both reads and writes", quoted(properties));
            return Err(line.error_of(properties, ErrorKind::Value, message, FIELDS));
        }
    };
    let Some(sector) = fields.next() else { return Ok(no_data) };
    // A flush has a command in brackets in place of a sector.
    if sector.starts_with(['[', '(']) {
        return Ok(no_data);
    }
    let mut next = |name: &str| {
        fields
            .next()
            .ok_or_else(|| line.error(ErrorKind::Syntax, format!("{name} is missing"), FIELDS))
    };
    let plus = next("+")?;
    // A passed-through command has its bytes in place of sectors.
    if plus.starts_with('(') {
        return Ok(no_data);
    }
    if plus != "+" {
        let message = format!("there is {} where a + is due", quoted(plus));
        return Err(line.error_of(plus, ErrorKind::Syntax, message, FIELDS));
    }
    let sectors = next("sectors")?;
    let most_sectors = u64::MAX / SECTOR_BYTES;
    let help = "write a sector of 512 bytes, such as 2048";
    let sector = unsigned_up_to(line, sector, "sector", most_sectors, help)?;
    let help = "write a number of sectors of 512 bytes, such as 8";
    let sectors = unsigned_up_to(line, sectors, "sectors", most_sectors, help)?;
    let record = RawRecord {
        at_ns: at_ns.into(),
        device: ((major << MINOR_BITS) | minor) as u32,
        offset_bytes: sector * SECTOR_BYTES,
        length_bytes: sectors * SECTOR_BYTES,
        direction,
        response_ns: None,
    };
    Ok(if completes { Parsed::Completion(record) } else { Parsed::Record(record) })
}

/// Returns whether the line begins the summary that blkparse prints after the trace, by processor
/// and in total.
fn is_summary(line: &str) -> bool {
    let digit = |rest: &str| rest.starts_with(|c: char| c.is_ascii_digit());
    line.strip_prefix("CPU").is_some_and(digit) || line.starts_with("Total (")
}

/// Returns whether a line of a trace of unknown format is of this one.
pub(super) fn recognises(line: &str) -> bool {
    let fields: Vec<&str> = line.split_ascii_whitespace().take(7).collect();
    match fields.as_slice() {
        [device, cpu, sequence, time, pid, ..] => {
            device
                .split_once(',')
                .is_some_and(|(major, minor)| is_digits(major) && is_digits(minor))
                && [cpu, sequence, pid].into_iter().all(|field| is_digits(field))
                && time.parse::<f64>().is_ok()
        }
        _ => false,
    }
}

/// Returns the major and minor number of a record's device.
pub(super) fn major_and_minor(device: u32) -> (u32, u32) {
    (device >> MINOR_BITS, device & MOST_MINOR as u32)
}
