//! Formats sizes for people.

use std::fmt;

/// A number of bytes, shown as a whole number of the largest binary unit that divides it, or with one decimal if that
/// number is long.
pub(crate) struct Size(pub u64);

const UNITS: [(&str, u64); 4] =
    [("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];

impl fmt::Display for Size {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.0;
        for (unit, size) in UNITS {
            // Whole numbers have up to four digits: 1536 MiB, not 1.5 GiB.
            if bytes >= size && bytes.is_multiple_of(size) && bytes / size < 10_000 {
                return write!(formatter, "{} {unit}", bytes / size);
            }
        }
        match UNITS.into_iter().find(|(_, size)| bytes >= *size) {
            // Round down: a size that is said to fit must fit.
            Some((unit, size)) => {
                let tenths = u128::from(bytes) * 10 / u128::from(size);
                write!(formatter, "{}.{} {unit}", tenths / 10, tenths % 10)
            }
            None => write!(formatter, "{bytes} B"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_short_and_never_more_than_they_are() {
        let cases = [
            (0, "0 B"),
            (512, "512 B"),
            (4096, "4 KiB"),
            (1 << 30, "1 GiB"),
            (1536 << 20, "1536 MiB"),
            ((1 << 30) + 4096, "1.0 GiB"),
            ((1 << 40) - 1, "1023.9 GiB"),
        ];
        for (bytes, text) in cases {
            assert_eq!(Size(bytes).to_string(), text);
        }
    }
}
