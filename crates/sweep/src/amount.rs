//! Values of settings as numbers, for axes: `4 KiB`, `20 min`, `0.5`.

use strewn_results::rounded;
use strewn_scenario::{Bytes, Nanoseconds};

/// Digits of a size or time between two others.
const DIGITS: usize = 4;
/// Digits of a number: those that arithmetic in binary leaves right.
const RIGHT_DIGITS: usize = 12;
const BINARY_UNITS: [&str; 4] = ["TiB", "GiB", "MiB", "KiB"];
const DECIMAL_UNITS: [&str; 4] = ["TB", "GB", "MB", "kB"];
const TIME_UNITS: [&str; 5] = ["h", "min", "s", "ms", "us"];

/// What a value counts, and how it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Bytes,
    Time,
    Number,
}

/// A value as a number of its base unit: bytes, nanoseconds, or a plain number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Amount {
    pub(crate) kind: Kind,
    pub(crate) base: f64,
}

impl Amount {
    /// Reads a value as a scenario writes it; none if it is a word.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let text = text.trim();
        if let Ok(number) = text.parse::<f64>() {
            return number.is_finite().then_some(Self { kind: Kind::Number, base: number });
        }
        if let Ok(Bytes(bytes)) = text.parse() {
            return Some(Self { kind: Kind::Bytes, base: bytes as f64 });
        }
        let Nanoseconds(ns) = text.parse().ok()?;
        Some(Self { kind: Kind::Time, base: ns as f64 })
    }

    /// Writes it as a scenario does. Bytes and times are whole.
    pub(crate) fn written(self) -> String {
        match self.kind {
            Kind::Bytes => Bytes(self.base.round() as u64).to_string(),
            Kind::Time => Nanoseconds(self.base.round() as u64).to_string(),
            // 0.3 and not 0.30000000000000004.
            Kind::Number => rounded(self.base, RIGHT_DIGITS).to_string(),
        }
    }

    /// Writes a size or time with four significant digits of the largest unit that fits, decimal or binary; a number in
    /// full.
    pub(crate) fn rounded(self, is_decimal: bool) -> String {
        let units = match self.kind {
            Kind::Bytes if is_decimal => &DECIMAL_UNITS[..],
            Kind::Bytes => &BINARY_UNITS,
            Kind::Time => &TIME_UNITS,
            Kind::Number => return self.written(),
        };
        let size = |unit: &&&str| Self::read(&format!("1 {unit}")).map(|one| one.base);
        let mut known = units.iter().filter_map(|unit| Some((unit, size(&unit)?)));
        match known.find(|(_, size)| self.base >= *size) {
            Some((unit, size)) => format!("{} {unit}", rounded(self.base / size, DIGITS)),
            None => self.written(),
        }
    }
}

/// Returns the values of an axis as numbers of one unit, and that unit: the one that the first value is written in.
pub(crate) fn numbers(values: &[String]) -> Option<(Vec<f64>, String)> {
    let amounts: Vec<Amount> =
        values.iter().map(|value| Amount::read(value)).collect::<Option<_>>()?;
    let first = amounts.first()?;
    if amounts.iter().any(|other| other.kind != first.kind) {
        return None;
    }
    let unit = values[0].trim_start_matches(|letter: char| !letter.is_alphabetic()).trim();
    let unit = if first.kind == Kind::Number { "" } else { unit };
    let per_unit = match first.kind {
        Kind::Number => 1.0,
        _ => Amount::read(&format!("1 {unit}"))?.base,
    };
    Some((amounts.iter().map(|amount| amount.base / per_unit).collect(), unit.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times_are_rounded_and_numbers_are_as_one_would_write_them() {
        let bytes = |base| Amount { kind: Kind::Bytes, base };
        assert_eq!(bytes(783_522_856.0).rounded(false), "747.2 MiB");
        assert_eq!(bytes(783_522_856.0).rounded(true), "783.5 MB");
        assert_eq!(bytes(1536.0).rounded(false), "1.5 KiB");
        assert_eq!(bytes(700.0).rounded(false), "700 B");
        assert_eq!(Amount { kind: Kind::Time, base: 1.234_56e9 }.rounded(false), "1.235 s");
        assert_eq!(Amount { kind: Kind::Number, base: 0.1 + 0.2 }.written(), "0.3");
    }

    #[test]
    fn values_become_numbers_of_the_first_ones_unit() {
        let values =
            |values: &[&str]| values.iter().map(|value| (*value).to_owned()).collect::<Vec<_>>();
        let read = numbers(&values(&["512 B", "4 KiB"]));
        assert_eq!(read, Some((vec![512.0, 4096.0], "B".to_owned())));
        let read = numbers(&values(&["20 min", "30 s"]));
        assert_eq!(read, Some((vec![20.0, 0.5], "min".to_owned())));
        assert_eq!(numbers(&values(&["0", "12.5"])), Some((vec![0.0, 12.5], String::new())));
        assert_eq!(numbers(&values(&["raid-4", "raid-dp"])), None);
        assert_eq!(numbers(&values(&["4 KiB", "4"])), None, "not of one kind");
    }
}
