//! Numbers in a line. A refusal gives the position and the remedy.

use super::error::{ErrorKind, FileFormatError};
use super::lines::Line;

/// Quotes as much of a text as a person reads in a message, between backquotes.
pub(crate) fn quoted(text: &str) -> String {
    const MOST: usize = 40;
    let mut shown: String = text.chars().take(MOST).flat_map(char::escape_debug).collect();
    if text.chars().nth(MOST).is_some() {
        shown.push_str("...");
    }
    // escape_debug escapes quotes for Rust's own literals, which is not needed here.
    let shown = shown.replace("\\'", "'").replace("\\\"", "\"");
    format!("`{shown}`")
}

/// Returns whether a text is a whole number without a sign.
pub(crate) fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Reads a whole number without a sign from `field`, a part of `line`. `name` names it in errors,
/// and `help` is the remedy.
pub(crate) fn unsigned(
    line: &Line<'_>,
    field: &str,
    name: &str,
    help: &str,
) -> Result<u64, FileFormatError> {
    unsigned_up_to(line, field, name, u64::MAX, help)
}

/// Reads a number as [`unsigned`] does, up to `most`.
pub(crate) fn unsigned_up_to(
    line: &Line<'_>,
    field: &str,
    name: &str,
    most: u64,
    help: &str,
) -> Result<u64, FileFormatError> {
    let wrong =
        |what: String| Err(line.error_of(field, ErrorKind::Value, format!("{name}: {what}"), help));
    if field.is_empty() {
        return Err(line.error_of(field, ErrorKind::Missing, format!("{name} is empty"), help));
    }
    let mut number: u64 = 0;
    for byte in field.bytes() {
        if !byte.is_ascii_digit() {
            let negative = field
                .strip_prefix('-')
                .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()));
            let what = if negative { "is negative" } else { "is not a whole number" };
            return wrong(format!("{} {what}", quoted(field)));
        }
        let next = number.checked_mul(10).and_then(|ten| ten.checked_add(u64::from(byte - b'0')));
        match next {
            Some(next) if next <= most => number = next,
            _ => return wrong(format!("{} is more than {most}", quoted(field))),
        }
    }
    Ok(number)
}

/// The unit of a decimal number.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Decimal {
    Seconds,
    Milliseconds,
}

impl Decimal {
    /// Returns how many decimals make whole nanoseconds.
    fn places(self) -> usize {
        match self {
            Self::Seconds => 9,
            Self::Milliseconds => 6,
        }
    }
}

/// Reads a time in `field` as nanoseconds, exactly; further decimals are rounded. An exponent is
/// accepted, since scripts print small numbers so.
pub(crate) fn decimal(
    line: &Line<'_>,
    field: &str,
    name: &str,
    unit: Decimal,
    help: &str,
) -> Result<u64, FileFormatError> {
    let wrong = |what: &str| {
        let message = format!("{name}: {} {what}", quoted(field));
        Err(line.error_of(field, ErrorKind::Value, message, help))
    };
    if field.is_empty() {
        return Err(line.error_of(field, ErrorKind::Missing, format!("{name} is empty"), help));
    }
    if field.starts_with('-') {
        return wrong("is negative");
    }
    const TOO_LATE: &str = "is more than 2^64 nanoseconds";
    if field.contains(['e', 'E']) {
        let starts_as_number = field.starts_with(|c: char| c.is_ascii_digit() || c == '.');
        let Some(number) = field.parse::<f64>().ok().filter(|_| starts_as_number) else {
            return wrong("is not a number");
        };
        let nanoseconds = number * 10_f64.powi(unit.places() as i32);
        return if nanoseconds < u64::MAX as f64 {
            Ok(nanoseconds.round() as u64)
        } else {
            wrong(TOO_LATE)
        };
    }
    let (whole, fraction) = field.split_once('.').unwrap_or((field, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if (whole.is_empty() && fraction.is_empty()) || !digits(whole) || !digits(fraction) {
        return wrong("is not a number");
    }
    let mut nanoseconds: Option<u64> = Some(0);
    let mut push = |digit: u8| {
        nanoseconds = nanoseconds
            .and_then(|number| number.checked_mul(10))
            .and_then(|number| number.checked_add(u64::from(digit - b'0')));
    };
    whole.bytes().for_each(&mut push);
    let padded = fraction.bytes().chain(std::iter::repeat(b'0'));
    padded.take(unit.places()).for_each(&mut push);
    let rounds_up = fraction.as_bytes().get(unit.places()).is_some_and(|digit| *digit >= b'5');
    match nanoseconds.and_then(|number| number.checked_add(u64::from(rounds_up))) {
        Some(nanoseconds) => Ok(nanoseconds),
        None => wrong(TOO_LATE),
    }
}

#[cfg(test)]
mod tests {
    use super::super::lines::{Limits, Lines};
    use super::*;

    fn on<T>(
        text: &str,
        read: impl Fn(&Line<'_>, &str) -> Result<T, FileFormatError>,
    ) -> Result<T, String> {
        let mut lines = Lines::new(text.as_bytes(), None, Limits::STREAM).unwrap();
        let line = lines.next_line().unwrap().unwrap();
        read(&line, line.text).map_err(|error| error.to_string())
    }

    #[test]
    fn times_are_exact() {
        let seconds =
            |text| on(text, |line, field| decimal(line, field, "time", Decimal::Seconds, "h"));
        assert_eq!(seconds("0.000000001"), Ok(1));
        assert_eq!(seconds("18446744073.709551615"), Ok(u64::MAX));
        assert_eq!(seconds("1.0000000005"), Ok(1_000_000_001));
        assert_eq!(seconds(".5"), Ok(500_000_000));
        assert_eq!(seconds("5."), Ok(5_000_000_000));
        assert_eq!(seconds("1e-6"), Ok(1_000));
        assert_eq!(seconds("2.5E0"), Ok(2_500_000_000));
        let milliseconds =
            |text| on(text, |line, field| decimal(line, field, "time", Decimal::Milliseconds, "h"));
        assert_eq!(milliseconds("13.191135"), Ok(13_191_135));
        for (text, what) in [
            ("-0.5", "is negative"),
            (".", "is not a number"),
            ("nan", "is not a number"),
            ("inf", "is not a number"),
            ("1.2.3", "is not a number"),
            ("e5", "is not a number"),
            ("1e400", "is more than 2^64 nanoseconds"),
            ("18446744073.709551616", "is more than 2^64 nanoseconds"),
            ("99999999999999999999999999", "is more than 2^64 nanoseconds"),
        ] {
            assert_eq!(seconds(text), Err(format!("line 1, column 1: time: `{text}` {what}; h")));
        }
    }

    #[test]
    fn whole_numbers_say_what_is_wrong() {
        let read = |text| on(text, |line, field| unsigned_up_to(line, field, "size", 100, "h"));
        assert_eq!(read("0100"), Ok(100));
        for (text, what) in [
            ("-5", "is negative"),
            ("4K", "is not a whole number"),
            ("-", "is not a whole number"),
            ("101", "is more than 100"),
            ("99999999999999999999", "is more than 100"),
        ] {
            assert_eq!(read(text), Err(format!("line 1, column 1: size: `{text}` {what}; h")));
        }
    }

    #[test]
    fn long_and_odd_texts_are_shown_short() {
        assert_eq!(quoted("it's \"so\""), "`it's \"so\"`");
        assert_eq!(quoted("a\tb"), "`a\\tb`");
        assert_eq!(quoted(&"x".repeat(50)), format!("`{}...`", "x".repeat(40)));
    }
}
