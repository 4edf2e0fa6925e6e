//! Times with fio's units.

use crate::text::{ErrorKind, FileFormatError, Line, quoted};

/// The unit of a time that is given without one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unitless {
    Seconds,
    Microseconds,
}

/// Reads a time in `text`, a part of `line`, as microseconds.
pub(super) fn duration_us(
    line: &Line<'_>,
    text: &str,
    option: &str,
    unitless: Unitless,
) -> Result<u64, FileFormatError> {
    let help = match unitless {
        Unitless::Seconds => "write a whole number of seconds, or one with d, h, m, s, ms or us",
        Unitless::Microseconds => {
            "write a whole number of microseconds, or one with d, h, m, s, ms or us"
        }
    };
    let wrong = |what: &str| {
        let message = format!("{option}: {} {what}", quoted(text));
        Err(line.error_of(text, ErrorKind::Value, message, help))
    };
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    if digits.is_empty() {
        return wrong(if text.starts_with('-') { "is negative" } else { "is not a time" });
    }
    let unit_us: u64 = match (unit.to_ascii_lowercase().as_str(), unitless) {
        ("", Unitless::Seconds) | ("s" | "sec", _) => 1_000_000,
        ("", Unitless::Microseconds) | ("us" | "usec", _) => 1,
        ("ms" | "msec", _) => 1_000,
        ("m", _) => 60_000_000,
        ("h", _) => 3_600_000_000,
        ("d", _) => 86_400_000_000,
        _ => return wrong("has a unit that is not one of fio's times"),
    };
    match digits.parse::<u64>().ok().and_then(|number| number.checked_mul(unit_us)) {
        Some(time_us) => Ok(time_us),
        None => wrong("is more than 2^64 microseconds"),
    }
}
