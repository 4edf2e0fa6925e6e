//! Values with units, as a scenario writes them: `"100 GiB"`, `"20 min"`.
//!
//! Both quantities are whole numbers of their base unit. A fraction in the text is rounded to the
//! nearest one (`"1.3 GiB"` is 1,395,864,371 bytes), and [`Display`](fmt::Display) writes a text
//! that reads back as the same number.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A number of bytes, written with a decimal (`kB`, `MB`, `GB`, `TB`) or a binary (`KiB`, `MiB`,
/// `GiB`, `TiB`) unit, or `B`.
///
/// ```
/// use strewn_scenario::Bytes;
///
/// assert_eq!("128 KiB".parse(), Ok(Bytes(131_072)));
/// assert_eq!(Bytes(131_072).to_string(), "128 KiB");
/// assert!("128 KB".parse::<Bytes>().is_err(), "neither kB nor KiB");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Bytes(
    /// In bytes.
    pub u64,
);

/// A length of time in nanoseconds, written in `ns`, `us` (or `µs`), `ms`, `s`, `min` or `h`.
///
/// ```
/// use strewn_scenario::Nanoseconds;
///
/// assert_eq!("0.5 ms".parse(), Ok(Nanoseconds(500_000)));
/// assert_eq!(Nanoseconds(1_200_000_000_000).to_string(), "20 min");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Nanoseconds(
    /// In nanoseconds.
    pub u64,
);

/// What is wrong with the text of a quantity.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QuantityError {
    /// The text does not begin with a plain decimal number.
    #[error("`{text}` does not begin with a number; {accepted}")]
    NotANumber {
        /// The text as given.
        text: String,
        /// The units accepted, in words.
        accepted: &'static str,
    },
    /// The number is negative.
    #[error("`{text}` is negative; {accepted}")]
    Negative {
        /// The text as given.
        text: String,
        /// The units accepted, in words.
        accepted: &'static str,
    },
    /// There is a number and no unit.
    #[error("`{text}` has no unit; {accepted}")]
    NoUnit {
        /// The text as given.
        text: String,
        /// The units accepted, in words.
        accepted: &'static str,
    },
    /// The unit is not one of this quantity's.
    #[error("`{unit}` is not a unit of this quantity; {accepted}")]
    UnknownUnit {
        /// The unit as given.
        unit: String,
        /// The units accepted, in words.
        accepted: &'static str,
    },
    /// The value is not zero, but less than half of the base unit.
    #[error("`{text}` is less than one {base}")]
    TooSmall {
        /// The text as given.
        text: String,
        /// The base unit.
        base: &'static str,
    },
    /// The value does not fit into 64 bits of the base unit.
    #[error("`{text}` is more than 2^64 {base}s")]
    TooLarge {
        /// The text as given.
        text: String,
        /// The base unit.
        base: &'static str,
    },
}

/// One unit's spelling and its size in the base unit.
struct Unit {
    spelling: &'static str,
    size: u64,
}

/// The units of one quantity, largest first, and how to name them in an error.
struct Units {
    base: &'static str,
    accepted: &'static str,
    units: &'static [Unit],
    /// Spellings read but never written.
    aliases: &'static [Unit],
}

const fn unit(spelling: &'static str, size: u64) -> Unit {
    Unit { spelling, size }
}

const BYTE_UNITS: Units = Units {
    base: "byte",
    accepted: "units of size are B, kB, MB, GB, TB (powers of 1000) and KiB, MiB, GiB, TiB (powers of 1024)",
    units: &[
        unit("TiB", 1 << 40),
        unit("TB", 1_000_000_000_000),
        unit("GiB", 1 << 30),
        unit("GB", 1_000_000_000),
        unit("MiB", 1 << 20),
        unit("MB", 1_000_000),
        unit("KiB", 1 << 10),
        unit("kB", 1_000),
        unit("B", 1),
    ],
    aliases: &[],
};

const TIME_UNITS: Units = Units {
    base: "nanosecond",
    accepted: "units of time are ns, us (or µs), ms, s, min and h",
    units: &[
        unit("h", 3_600_000_000_000),
        unit("min", 60_000_000_000),
        unit("s", 1_000_000_000),
        unit("ms", 1_000_000),
        unit("us", 1_000),
        unit("ns", 1),
    ],
    // Unicode has two: the micro sign and the Greek letter.
    aliases: &[unit("\u{b5}s", 1_000), unit("\u{3bc}s", 1_000)],
};

impl Units {
    /// Reads a number and a unit, in exact decimal arithmetic, to the nearest base unit.
    fn read(&self, text: &str) -> Result<u64, QuantityError> {
        let trimmed = text.trim();
        if trimmed.starts_with('-') {
            return Err(QuantityError::Negative { text: text.to_owned(), accepted: self.accepted });
        }
        let end = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
        let (number, spelling) = trimmed.split_at(end);
        let (mantissa, scale) = decimal(number).ok_or_else(|| QuantityError::NotANumber {
            text: text.to_owned(),
            accepted: self.accepted,
        })?;
        let spelling = spelling.trim_start();
        if spelling.is_empty() {
            return Err(QuantityError::NoUnit { text: text.to_owned(), accepted: self.accepted });
        }
        let unit = self
            .units
            .iter()
            .chain(self.aliases)
            .find(|unit| unit.spelling == spelling)
            .ok_or_else(|| QuantityError::UnknownUnit {
                unit: spelling.to_owned(),
                accepted: self.accepted,
            })?;
        let too_large = || QuantityError::TooLarge { text: text.to_owned(), base: self.base };
        let product = mantissa.checked_mul(u128::from(unit.size)).ok_or_else(too_large)?;
        let rounded = product.checked_add(scale / 2).ok_or_else(too_large)? / scale;
        if rounded == 0 && mantissa != 0 {
            return Err(QuantityError::TooSmall { text: text.to_owned(), base: self.base });
        }
        u64::try_from(rounded).map_err(|_| too_large())
    }

    /// Returns texts that would be read where `text` is not, and that its writer may have meant; empty if none comes to
    /// mind.
    fn suggestions(&self, text: &str) -> Vec<String> {
        let text = text.trim();
        let end = text.find(|c: char| !c.is_ascii_digit() && !['.', ','].contains(&c));
        let (number, spelling) = text.split_at(end.unwrap_or(text.len()));
        // A decimal comma; with several, they separate thousands.
        let number = match number.matches(',').count() {
            1 => number.replace(',', "."),
            _ => number.replace(',', ""),
        };
        let given = spelling.trim_start();
        let spelling = given.to_lowercase();
        if decimal(&number).is_none() || spelling.is_empty() {
            return Vec::new();
        }
        let of_spelling = |spelling: &str| {
            self.units.iter().find(|unit| unit.spelling.to_lowercase() == spelling)
        };
        let mut meant: Vec<&Unit> = match of_spelling(&spelling) {
            // The number is wrong.
            Some(same) if same.spelling == given => vec![same],
            // The case is: `KB` is neither kB nor KiB.
            Some(same) => {
                let binary = format!("{}i{}", &spelling[..1], &spelling[1..]);
                std::iter::once(same).chain(of_spelling(&binary)).collect()
            }
            None => {
                let begins = |unit: &&Unit| unit.spelling.to_lowercase().starts_with(&spelling);
                self.units.iter().filter(begins).collect()
            }
        };
        if meant.is_empty() {
            // `minutes`, `sec`, `bytes`.
            let longest = self
                .units
                .iter()
                .filter(|unit| spelling.starts_with(&unit.spelling.to_lowercase()));
            meant.extend(longest.max_by_key(|unit| unit.spelling.len()));
        }
        meant.iter().map(|unit| format!("{number} {}", unit.spelling)).collect()
    }

    /// Writes the exact text with the fewest digits, at most three of them decimals, in the largest unit that has so
    /// few. A fraction counts as a digit more and comes after a whole number, except in binary units: 90 s and 10 min,
    /// but 1.5 MiB.
    fn write(&self, value: u64) -> String {
        let mut best: Option<((usize, bool), String)> = None;
        for unit in self.units.iter().filter(|unit| value >= unit.size || unit.size == 1) {
            let thousandths = u128::from(value) * 1000;
            if !thousandths.is_multiple_of(u128::from(unit.size)) {
                continue;
            }
            let thousandths = thousandths / u128::from(unit.size);
            let whole = thousandths / 1000;
            let text = match thousandths % 1000 {
                0 => format!("{whole} {}", unit.spelling),
                fraction => {
                    let digits = format!("{fraction:03}");
                    format!("{whole}.{} {}", digits.trim_end_matches('0'), unit.spelling)
                }
            };
            let is_costly = text.contains('.') && !unit.size.is_power_of_two();
            let digits = text.bytes().filter(u8::is_ascii_digit).count();
            let cost = (digits + usize::from(is_costly), is_costly);
            if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                best = Some((cost, text));
            }
        }
        // The base unit is always exact, so there is always a text.
        best.map(|(_, text)| text).unwrap_or_default()
    }
}

/// Reads a plain decimal number as an integer over a power of ten; `None` if it is not one.
fn decimal(number: &str) -> Option<(u128, u128)> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    // 18 decimals are past any unit here, and keep the product with a unit within 128 bits.
    if whole.is_empty() || fraction.contains('.') || fraction.len() > 18 || number.ends_with('.') {
        return None;
    }
    let mantissa = format!("{whole}{fraction}").parse().ok()?;
    Some((mantissa, 10u128.pow(u32::try_from(fraction.len()).ok()?)))
}

impl Bytes {
    /// Rounds down to a size that is short to write: to whole GiB, below one to MiB, below one to blocks of 4 KiB.
    pub(crate) fn rounded_down(self) -> Self {
        let shift = [30, 20].into_iter().find(|shift| self.0 >> shift > 0).unwrap_or(12);
        Self(self.0 >> shift << shift)
    }

    /// Formats about this many bytes, for messages: [`Display`](fmt::Display)'s text if that is
    /// short, otherwise a suitable binary unit and one decimal.
    ///
    /// ```
    /// use strewn_scenario::Bytes;
    ///
    /// assert_eq!(Bytes(6_710_886_400).approximately(), "6.25 GiB");
    /// assert_eq!(Bytes(87_241_523).approximately(), "83.2 MiB");
    /// ```
    #[must_use]
    pub fn approximately(self) -> String {
        let exact = self.to_string();
        if exact.len() <= "999.9 GB".len() {
            return exact;
        }
        let binary = ["TiB", "GiB", "MiB", "KiB"];
        let unit = BYTE_UNITS
            .units
            .iter()
            .find(|unit| binary.contains(&unit.spelling) && unit.size <= self.0);
        let Some(unit) = unit else { return exact };
        let size = u128::from(unit.size);
        let tenths = (u128::from(self.0) * 10 + size / 2) / size;
        format!("{}.{} {}", tenths / 10, tenths % 10, unit.spelling)
    }
}

macro_rules! quantity {
    ($type:ident, $units:ident) => {
        impl FromStr for $type {
            type Err = QuantityError;

            fn from_str(text: &str) -> Result<Self, QuantityError> {
                $units.read(text).map(Self)
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.pad(&$units.write(self.0))
            }
        }

        impl $type {
            /// Returns what to write in place of a text that is not such a quantity, in words: `did you mean \"64 MiB\"
            /// or \"64 MB\"?`. None if nothing comes to mind.
            #[must_use]
            pub fn suggestion(text: &str) -> Option<String> {
                let meant = $units.suggestions(text);
                let others = meant.iter().filter(|meant| *meant != text);
                let quoted: Vec<String> = others.map(|meant| format!("\"{meant}\"")).collect();
                (!quoted.is_empty()).then(|| format!("did you mean {}?", quoted.join(" or ")))
            }
        }

        impl TryFrom<String> for $type {
            type Error = QuantityError;

            fn try_from(text: String) -> Result<Self, QuantityError> {
                text.parse()
            }
        }

        impl From<$type> for String {
            fn from(quantity: $type) -> Self {
                quantity.to_string()
            }
        }
    };
}

quantity!(Bytes, BYTE_UNITS);
quantity!(Nanoseconds, TIME_UNITS);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_every_unit() {
        let bytes = [
            ("160 B", 160),
            ("1kB", 1000),
            ("128 KiB", 131_072),
            ("146.8 GB", 146_800_000_000),
            ("1000 GB", 1_000_000_000_000),
            ("100 GiB", 107_374_182_400),
            ("1.3 GiB", 1_395_864_371),
            ("0 B", 0),
            ("2 TiB", 2 << 40),
        ];
        for (text, expected) in bytes {
            assert_eq!(text.parse(), Ok(Bytes(expected)), "{text}");
        }
        let times = [
            ("20 min", 1_200_000_000_000),
            ("10 s", 10_000_000_000),
            ("76 us", 76_000),
            ("0.5 ms", 500_000),
            ("76 \u{b5}s", 76_000),
            ("76 \u{3bc}s", 76_000),
            ("0.5us", 500),
            ("1 h", 3_600_000_000_000),
        ];
        for (text, expected) in times {
            assert_eq!(text.parse(), Ok(Nanoseconds(expected)), "{text}");
        }
    }

    #[test]
    fn says_what_is_wrong_and_what_is_accepted() {
        let bad = [
            ("", "does not begin with a number"),
            ("GiB", "does not begin with a number"),
            ("1e3 B", "`e3 B` is not a unit"),
            ("nan B", "does not begin with a number"),
            ("1.2.3 B", "does not begin with a number"),
            ("-5 GiB", "is negative"),
            ("5", "has no unit"),
            ("5 KB", "`KB` is not a unit of this quantity; units of size are B, kB"),
            ("5 s", "`s` is not a unit"),
            ("0.1 B", "less than one byte"),
            ("999999999999 TiB", "more than 2^64 bytes"),
            ("99999999999999999999999999999999999999 TiB", "more than 2^64 bytes"),
        ];
        for (text, fragment) in bad {
            let error = text.parse::<Bytes>().expect_err(text).to_string();
            assert!(error.contains(fragment), "{text}: {error}");
        }
        let error = "5 minutes".parse::<Nanoseconds>().expect_err("no such unit").to_string();
        assert!(error.contains("ns, us (or µs), ms, s, min and h"), "{error}");
    }

    #[test]
    fn suggests_what_was_meant() {
        let bytes = |text| Bytes::suggestion(text).unwrap_or_default();
        assert_eq!(Bytes::suggestion("99999999999999999999 GiB"), None);
        assert_eq!(bytes("1,3 GiB"), "did you mean \"1.3 GiB\"?");
        assert_eq!(bytes("64M"), "did you mean \"64 MiB\" or \"64 MB\"?");
        assert_eq!(bytes("64 m"), "did you mean \"64 MiB\" or \"64 MB\"?");
        assert_eq!(bytes("5 KB"), "did you mean \"5 kB\" or \"5 KiB\"?");
        assert_eq!(bytes("1,000,000 B"), "did you mean \"1000000 B\"?");
        assert_eq!(bytes("512 bytes"), "did you mean \"512 B\"?");
        let time = |text| Nanoseconds::suggestion(text).unwrap_or_default();
        assert_eq!(time("64 m"), "did you mean \"64 min\" or \"64 ms\"?");
        assert_eq!(time("20 minutes"), "did you mean \"20 min\"?");
        assert_eq!(time("0,5 s"), "did you mean \"0.5 s\"?");
        for nonsense in ["", "GiB", "5 parsecs", "1.2.3 B", "\u{e9}", "5 \u{130}"] {
            assert_eq!(bytes(nonsense), "", "{nonsense}");
        }
    }

    #[test]
    fn writes_the_exact_text_with_the_fewest_digits() {
        let cases = [
            (0, "0 B"),
            (512, "512 B"),
            (131_072, "128 KiB"),
            (107_374_182_400, "100 GiB"),
            (1_000_000_000_000, "1 TB"),
            (142_606_336_000, "136000 MiB"),
            (146_800_000_000, "146.8 GB"),
            (6_710_886_400, "6.25 GiB"),
            // Neither kB for KiB, nor KiB for MiB.
            (512_000, "500 KiB"),
            (1_395_864_371, "1395864371 B"),
            (64_000, "64 kB"),
            (4_160, "4160 B"),
            (2_228_224, "2.125 MiB"),
            (3 << 19, "1.5 MiB"),
        ];
        for (bytes, expected) in cases {
            assert_eq!(Bytes(bytes).to_string(), expected);
        }
        for (seconds, expected) in [
            (75, "75 s"),
            (90, "90 s"),
            (150, "150 s"),
            (300, "5 min"),
            (600, "10 min"),
            (3600, "1 h"),
        ] {
            assert_eq!(Nanoseconds(seconds * 1_000_000_000).to_string(), expected);
        }
        assert_eq!(format!("{:>8}|{:<8}", Bytes(512), Bytes(512)), "   512 B|512 B   ");
    }

    proptest::proptest! {
        #[test]
        fn what_is_written_reads_back(value: u64, shift in 0u32..64) {
            let value = value >> shift;
            proptest::prop_assert_eq!(Bytes(value).to_string().parse(), Ok(Bytes(value)));
            proptest::prop_assert_eq!(
                Nanoseconds(value).to_string().parse(),
                Ok(Nanoseconds(value))
            );
        }

        #[test]
        fn no_text_panics(text: String) {
            let _ = (Bytes::suggestion(&text), Nanoseconds::suggestion(&text));
            let _ = text.parse::<Bytes>();
            let _ = text.parse::<Nanoseconds>();
        }
    }
}
