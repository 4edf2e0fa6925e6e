//! Tencent's traces of cloud block storage: `Timestamp,Offset,Size,IOType,VolumeID`.

use strewn_base::{Direction, SECTOR_BYTES};

use crate::text::{
    Decimal, ErrorKind, FileFormatError, Line, decimal, is_digits, quoted, unsigned_up_to,
};

use super::record::{Parsed, RawRecord};

const HEADER: &str = "Timestamp,Offset,";
const FIELDS: &str = "a line of a Tencent trace is Timestamp,Offset,Size,IOType,VolumeID";

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
    let (timestamp, offset, size) = (next("Timestamp")?, next("Offset")?, next("Size")?);
    let (kind, volume) = (next("IOType")?, next("VolumeID")?);
    if let Some(more) = fields.next() {
        let message = format!("{} follows the VolumeID", quoted(more));
        return Err(line.error_of(more, ErrorKind::Syntax, message, FIELDS));
    }
    let help = "write seconds since 1970, such as 1538323200";
    let at_ns = decimal(line, timestamp, "Timestamp", Decimal::Seconds, help)?;
    let most_sectors = u64::MAX / SECTOR_BYTES;
    let help = "write a sector of 512 bytes, such as 2048";
    let sector = unsigned_up_to(line, offset, "Offset", most_sectors, help)?;
    let help = "write a number of sectors of 512 bytes, such as 8";
    let sectors = unsigned_up_to(line, size, "Size", most_sectors, help)?;
    let direction = match kind {
        "0" => Direction::Read,
        "1" => Direction::Write,
        _ => {
            let message = format!("IOType: {} is neither 0 nor 1", quoted(kind));
            let help = "write 0 for a read, 1 for a write";
            return Err(line.error_of(kind, ErrorKind::Value, message, help));
        }
    };
    let help = "write the number of a volume, such as 1283";
    let volume = unsigned_up_to(line, volume, "VolumeID", u32::MAX.into(), help)?;
    Ok(Parsed::Record(RawRecord {
        at_ns: at_ns.into(),
        device: volume as u32,
        offset_bytes: sector * SECTOR_BYTES,
        length_bytes: sectors * SECTOR_BYTES,
        direction,
        response_ns: None,
    }))
}

/// Returns whether a line of a trace of unknown format is of this one.
pub(super) fn recognises(line: &str) -> bool {
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    match fields.as_slice() {
        ["Timestamp", "Offset", ..] => true,
        [timestamp, offset, size, kind, volume] => {
            ["0", "1"].contains(kind)
                && [timestamp, offset, size, volume].into_iter().all(|field| is_digits(field))
        }
        _ => false,
    }
}
