//! Sizes and times in the unit that a reader would use.

use crate::data::number::rounded;

/// Units of one kind from the largest down to the base, each with its size in the base unit.
type Units = &'static [(&'static str, f64)];

const SIZES: Units = &[
    ("TiB", (1_u64 << 40) as f64),
    ("GiB", (1_u64 << 30) as f64),
    ("MiB", (1_u64 << 20) as f64),
    ("KiB", (1_u64 << 10) as f64),
    ("B", 1.0),
];
/// Those that a scenario may be written in. Nothing is expressed in them here.
const DECIMAL_SIZES: Units = &[("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)];
const TIMES: Units =
    &[("h", 3.6e12), ("min", 6e10), ("s", 1e9), ("ms", 1e6), ("\u{b5}s", 1e3), ("ns", 1.0)];

/// Digits beyond these come from binary fractions that decimals cannot represent.
const DIGITS: usize = 12;

/// Returns a whole number unchanged, and drops the last digits that a division leaves on another.
fn shortened(value: f64) -> f64 {
    if value.fract() == 0.0 { value } else { rounded(value, DIGITS) }
}

/// Expresses a value in the unit in which it has the fewest digits, without losing one: 268435456 B are 256 MiB. A
/// value whose unit is neither a size nor a time is unchanged.
pub fn in_words(value: f64, unit: &str) -> (String, String) {
    let plain = || (shortened(value).to_string(), unit.to_owned());
    // Results spell micro as `u`.
    let is = |name: &str| name == unit || (unit == "us" && name == "\u{b5}s");
    let found = [SIZES, TIMES]
        .into_iter()
        .find_map(|units| Some((units, units.iter().find(|(name, _)| is(name))?.1)));
    let Some((units, of_base)) = found else { return plain() };
    let base = value * of_base;
    let candidates = units.iter().filter(|(_, size)| base.abs() >= *size || *size == 1.0);
    let exact = candidates.filter_map(|(name, size)| {
        let number = shortened(base / size);
        // Less than anyone can set.
        ((number * size - base).abs() < 1e-6).then(|| (number.to_string(), (*name).to_owned()))
    });
    // Among equal numbers of digits the first wins, which has the largest unit.
    let digits = |number: &str| number.bytes().filter(u8::is_ascii_digit).count();
    exact.min_by_key(|(number, _)| digits(number)).unwrap_or_else(plain)
}

/// Returns the same as one text.
pub(crate) fn text(value: f64, unit: &str) -> String {
    let (number, unit) = in_words(value, unit);
    format!("{number} {unit}").trim_end().to_owned()
}

/// Reads a number and its unit, as in `64 MiB`; none for other texts.
pub(crate) fn read(text: &str) -> Option<(f64, &str)> {
    let (number, unit) = text.split_once(' ')?;
    let known = |(name, _): &(&str, f64)| *name == unit || (unit == "us" && *name == "\u{b5}s");
    [SIZES, DECIMAL_SIZES, TIMES].into_iter().any(|units| units.iter().any(&known)).then_some(())?;
    Some((number.parse().ok()?, unit))
}

/// Returns quantities of one kind as texts in one unit: the one in which all together have the fewest digits, without
/// losing one. None if they are not of one kind.
pub(crate) fn in_one_unit(quantities: &[(f64, &str)]) -> Option<Vec<String>> {
    let is = |name: &str, unit: &str| name == unit || (unit == "us" && name == "\u{b5}s");
    let of_base = |read: [Units; 2], unit: &str| {
        read.into_iter().flatten().find(|(name, _)| is(name, unit)).map(|(_, size)| *size)
    };
    let (units, bases) =
        [(SIZES, DECIMAL_SIZES), (TIMES, &[])].into_iter().find_map(|(units, also_read)| {
            let bases = quantities
                .iter()
                .map(|(value, unit)| Some(value * of_base([units, also_read], unit)?));
            Some((units, bases.collect::<Option<Vec<f64>>>()?))
        })?;
    let candidates = units.iter().filter_map(|(name, size)| {
        let numbers: Vec<f64> = bases.iter().map(|base| shortened(base / size)).collect();
        let exact = numbers.iter().zip(&bases);
        let exact = { exact }.all(|(number, base)| (number * size - base).abs() < 1e-3);
        exact.then(|| numbers.iter().map(|number| format!("{number} {name}")).collect())
    });
    // More decimals than three are hard to read, however short the text.
    let decimals = |text: &String| {
        let (number, _) = text.split_once(' ').unwrap_or((text, ""));
        number.split_once('.').map_or(0, |(_, decimals)| decimals.len())
    };
    candidates.min_by_key(|texts: &Vec<String>| {
        let unreadable = texts.iter().any(|text| decimals(text) > 3);
        (unreadable, texts.iter().map(String::len).sum::<usize>())
    })
}

/// Formats a number of bytes, to three digits if no unit expresses it in a few.
pub fn about(bytes: f64) -> String {
    let (number, unit) = in_words(bytes, "B");
    if number.len() <= 4 || unit == "B" && bytes < 1024.0 {
        return format!("{number} {unit}");
    }
    let fits = |(_, size): &&(&str, f64)| bytes >= *size;
    let (name, size) = SIZES.iter().find(fits).unwrap_or(&("B", 1.0));
    format!("{} {name}", rounded(bytes / size, 3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_digit_is_lost() {
        for (value, unit, words) in [
            (268_435_456.0, "B", "256 MiB"),
            (268_435_000.0, "B", "268435000 B"),
            (10_000_000_000.0, "ns", "10 s"),
            (1_200_000_000_000.0, "ns", "20 min"),
            (66_011.0, "ns", "66.011 \u{b5}s"),
            (150_000_000_000.0, "ns", "2.5 min"),
            (76.0, "us", "76 \u{b5}s"),
            (0.0, "ns", "0 ns"),
            (52_428_800.0, "B", "50 MiB"),
            (9_007_199_254_740_991.0, "B", "9007199254740991 B"),
            (12.5, "%", "12.5 %"),
            (4.0, "", "4"),
        ] {
            assert_eq!(text(value, unit), words);
        }
        let one = |all: &[(f64, &str)]| in_one_unit(all).unwrap_or_default();
        assert_eq!(one(&[(66.011, "us"), (1.0, "ms")]), ["66.011 \u{b5}s", "1000 \u{b5}s"]);
        assert_eq!(one(&[(0.5, "GiB"), (1.0, "GiB")]), ["0.5 GiB", "1 GiB"]);
        assert_eq!(one(&[(1.0, "GiB"), (2.0, "GiB")]), ["1 GiB", "2 GiB"]);
        assert!(one(&[(1.0, "GiB"), (2.0, "s")]).is_empty());
        assert_eq!(one(&[(1.0, "TB"), (122_070_312.0, "KiB")]), ["976562500 KiB", "122070312 KiB"]);
        assert_eq!(
            (read("64 MiB"), read("raid-dp"), read("4 spindles")),
            (Some((64.0, "MiB")), None, None)
        );
        assert_eq!([about(11_345.9), about(4096.0), about(512.0)], ["11.1 KiB", "4 KiB", "512 B"]);
    }
}
