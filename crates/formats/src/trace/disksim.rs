//! `time device block blocks flags`.

use strewn_base::{Direction, SECTOR_BYTES};

use crate::text::{
    Decimal, ErrorKind, FileFormatError, Line, decimal, is_digits, quoted, unsigned_up_to,
};

use super::record::{Parsed, RawRecord};

const FIELDS: &str = "a line of a DiskSim ASCII trace is: time device block blocks flags";
/// Flag that is set for a read (`READ` in DiskSim's `disksim_global.h`).
const READ_FLAG: u64 = 1;

pub(super) fn parse(line: &Line<'_>) -> Result<Parsed, FileFormatError> {
    let mut fields = line.text.split_ascii_whitespace();
    let Some(time) = fields.next() else { return Ok(Parsed::Nothing) };
    let mut next = |name: &str| {
        fields
            .next()
            .ok_or_else(|| line.error(ErrorKind::Syntax, format!("{name} is missing"), FIELDS))
    };
    let (device, block) = (next("device")?, next("block")?);
    let (blocks, flags) = (next("blocks")?, next("flags")?);
    if let Some(more) = fields.next() {
        let message = format!("{} follows the flags", quoted(more));
        return Err(line.error_of(more, ErrorKind::Syntax, message, FIELDS));
    }
    let help = "write milliseconds from the start, such as 13.191135";
    let at_ns = decimal(line, time, "time", Decimal::Milliseconds, help)?;
    let help = "write the number of a device, such as 0";
    let device = unsigned_up_to(line, device, "device", u32::MAX.into(), help)?;
    let most_blocks = u64::MAX / SECTOR_BYTES;
    let help = "write a block of 512 bytes, such as 2048";
    let block = unsigned_up_to(line, block, "block", most_blocks, help)?;
    let help = "write a number of blocks of 512 bytes, such as 8";
    let blocks = unsigned_up_to(line, blocks, "blocks", most_blocks, help)?;
    let hexadecimal = flags.strip_prefix("0x").or(flags.strip_prefix("0X")).unwrap_or(flags);
    let signed = hexadecimal.starts_with(['+', '-']);
    let Some(bits) = u64::from_str_radix(hexadecimal, 16).ok().filter(|_| !signed) else {
        let message = format!("flags: {} is not a hexadecimal number", quoted(flags));
        return Err(line.error_of(
            flags,
            ErrorKind::Value,
            message,
            "write 1 for a read, 0 for a write",
        ));
    };
    Ok(Parsed::Record(RawRecord {
        at_ns: at_ns.into(),
        device: device as u32,
        offset_bytes: block * SECTOR_BYTES,
        length_bytes: blocks * SECTOR_BYTES,
        direction: if bits & READ_FLAG == 0 { Direction::Write } else { Direction::Read },
        response_ns: None,
    }))
}

/// Returns whether a line of a trace of unknown format is of this one.
pub(super) fn recognises(line: &str) -> bool {
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    match fields.as_slice() {
        [time, device, block, blocks, flags] => {
            time.contains('.')
                && time.parse::<f64>().is_ok()
                && [device, block, blocks].into_iter().all(|field| is_digits(field))
                && u64::from_str_radix(flags.trim_start_matches("0x"), 16).is_ok()
        }
        _ => false,
    }
}
