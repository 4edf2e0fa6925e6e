//! Figures in decimal: rounded for a file, fixed for a table.

/// Significant digits of measured figures: more than any published figure has, and few enough for a
/// person to read the file.
pub const SIGNIFICANT_DIGITS: usize = 6;

/// MB of a MiB.
pub const MB_PER_MIB: f64 = 1.048_576;

/// Returns nanoseconds in seconds, as results have them.
#[must_use]
pub fn seconds(ns: u64) -> f64 {
    rounded(ns as f64 / 1e9, SIGNIFICANT_DIGITS)
}

/// Rounds `value` to `significant_digits` decimal digits (at least one). A half goes to the even
/// digit, judged by the decimal expansion of the binary value. Zero and non-finite values are
/// returned unchanged.
///
/// ```
/// assert_eq!(strewn_results::rounded(4863.6666, 6), 4863.67);
/// assert_eq!(strewn_results::rounded(0.000_123_456_78, 3), 0.000_123);
/// ```
#[must_use]
pub fn rounded(value: f64, significant_digits: usize) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    // Goes through decimal text, so that the result is the double nearest to a short decimal and
    // prints as one. Scaling by a power of ten in binary would not give that.
    let text = format!("{value:.*e}", significant_digits.max(1) - 1);
    text.parse().unwrap_or(value)
}

/// Formats `value` with `decimals` decimals.
pub fn fixed(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    // A small negative number that rounds to zero is shown as zero.
    let is_zero = text.bytes().all(|byte| matches!(byte, b'-' | b'0' | b'.'));
    if is_zero { text.trim_start_matches('-').to_owned() } else { text }
}

/// Returns digits with a comma every three.
pub fn with_commas(digits: &str) -> String {
    let mut text = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a whole number with a comma every three digits, and with its sign if it is a change.
pub fn grouped(figure: f64, is_change: bool) -> String {
    let text = with_commas(&format!("{:.0}", figure.abs()));
    match figure.round() {
        whole if whole < 0.0 => format!("\u{2212}{text}"),
        whole if is_change && whole > 0.0 => format!("+{text}"),
        _ => text,
    }
}

/// Formats as [`fixed`] does, with a plus sign if it is positive.
pub fn signed(value: f64, decimals: usize) -> String {
    let text = fixed(value, decimals);
    if value > 0.0 { format!("+{text}") } else { text }
}

/// Returns a time of the run in the unit that suits it.
pub(crate) fn duration(seconds: f64) -> String {
    let (value, unit) = match seconds {
        ..120.0 => (seconds, "s"),
        ..7_200.0 => (seconds / 60.0, "min"),
        ..172_800.0 => (seconds / 3_600.0, "h"),
        _ => (seconds / 86_400.0, "days"),
    };
    format!("{} {unit}", rounded(value, 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_keep_all_their_digits() {
        assert_eq!(grouped(165_616_143.0, false), "165,616,143");
        assert_eq!(grouped(-1298.6, true), "\u{2212}1,299");
        assert_eq!([grouped(12.2, true), grouped(0.2, true)], ["+12", "0"]);
    }
}
