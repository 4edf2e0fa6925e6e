//! Whole numbers with fio's units.

use crate::text::{ErrorKind, FileFormatError, Line, quoted};

use super::Extent;

/// The meaning of `k`, set by the option `kb_base`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KbBase {
    /// `k` is 1024 and `KiB` is 1000: fio's default, kept for old job files.
    Binary,
    /// `k` is 1000 and `KiB` is 1024.
    Decimal,
}

const SIZE_HELP: &str =
    "write a whole number with a unit of fio's (k, m, g, t, p; kb; kib), such as 64k";

impl KbBase {
    pub(super) fn parse(line: &Line<'_>, text: &str) -> Result<Self, FileFormatError> {
        match text {
            "1024" => Ok(Self::Binary),
            "1000" => Ok(Self::Decimal),
            _ => {
                let message = format!("kb_base: {} is neither 1000 nor 1024", quoted(text));
                Err(line.error_of(text, ErrorKind::Value, message, "write 1024 or 1000"))
            }
        }
    }

    /// Returns the factor of a unit, or none if it is not a unit.
    ///
    /// In fio 3.33 as it runs, `k`, `kb` and `ki` are the same, and `kib` is the other base. Its
    /// manual page makes `ki` the other base too.
    fn multiplier(self, unit: &str) -> Option<u64> {
        let unit = unit.to_ascii_lowercase();
        let mut letters = unit.chars();
        let power = match letters.next() {
            None | Some('b') => return letters.as_str().is_empty().then_some(1),
            Some('k') => 1,
            Some('m') => 2,
            Some('g') => 3,
            Some('t') => 4,
            Some('p') => 5,
            Some(_) => return None,
        };
        let other = match letters.as_str() {
            "" | "b" | "i" => false,
            "ib" => true,
            _ => return None,
        };
        let base: u64 = if (self == Self::Binary) != other { 1024 } else { 1000 };
        base.checked_pow(power)
    }

    /// Reads a whole number with a unit in `text`, a part of `line`.
    pub(super) fn number(
        self,
        line: &Line<'_>,
        text: &str,
        option: &str,
    ) -> Result<u64, FileFormatError> {
        let wrong = |what: &str, help: &str| {
            let message = format!("{option}: {} {what}", quoted(text));
            Err(line.error_of(text, ErrorKind::Value, message, help))
        };
        if text.starts_with('-') {
            return wrong("is negative", SIZE_HELP);
        }
        if text.starts_with('(') {
            return wrong(
                "is an expression, which is not worked out here",
                "write the number that it comes to",
            );
        }
        let (digits, radix) = match text.strip_prefix("0x").or(text.strip_prefix("0X")) {
            Some(digits) => (digits, 16),
            None => (text, 10),
        };
        // A hexadecimal number has no unit here: `0x1b` would be ambiguous.
        let end = digits.find(|c: char| !c.is_digit(radix)).unwrap_or(digits.len());
        let (digits, unit) = digits.split_at(end);
        if digits.is_empty() {
            return wrong("is not a number", SIZE_HELP);
        }
        if unit.starts_with('.') {
            return wrong("is not a whole number", SIZE_HELP);
        }
        let Some(multiplier) = self.multiplier(unit).filter(|_| radix == 10 || unit.is_empty())
        else {
            return wrong("has a unit that is not one of fio's", SIZE_HELP);
        };
        let number = u64::from_str_radix(digits, radix).ok();
        match number.and_then(|number| number.checked_mul(multiplier)) {
            Some(number) => Ok(number),
            None => wrong("is more than 2^64", SIZE_HELP),
        }
    }

    /// Reads a number as [`KbBase::number`] does, within bounds.
    pub(super) fn number_within(
        self,
        line: &Line<'_>,
        text: &str,
        option: &str,
        least: u64,
        most: u64,
    ) -> Result<u64, FileFormatError> {
        let number = self.number(line, text, option)?;
        if (least..=most).contains(&number) {
            return Ok(number);
        }
        let message = format!("{option}: {} is not from {least} to {most}", quoted(text));
        let help = format!("write a number from {least} to {most}");
        Err(line.error_of(text, ErrorKind::Value, message, help))
    }

    /// Reads bytes, or a percentage of the device.
    pub(super) fn extent(
        self,
        line: &Line<'_>,
        text: &str,
        option: &str,
    ) -> Result<Extent, FileFormatError> {
        if let Some(percent) = text.strip_suffix('%') {
            let percent = self.number_within(line, percent, option, 0, 100)?;
            return Ok(Extent::Percent(percent as u8));
        }
        if text.ends_with(['z', 'Z']) {
            let message = format!("{option}: {} counts zones", quoted(text));
            let help = "zoned devices are not simulated: write bytes or a percentage";
            return Err(line.error_of(text, ErrorKind::Refused, message, help));
        }
        self.number(line, text, option).map(Extent::Bytes)
    }
}

/// Reads a whole percentage, 0 to 100.
pub(super) fn percent(line: &Line<'_>, text: &str, option: &str) -> Result<u8, FileFormatError> {
    KbBase::Binary.number_within(line, text, option, 0, 100).map(|percent| percent as u8)
}
