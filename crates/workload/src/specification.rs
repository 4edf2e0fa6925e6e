//! Access specifications: sizes, shares and alignment.

use crate::WorkloadError;
use strewn_base::SECTOR_BYTES;

/// One kind of access within a specification.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct AccessLine {
    /// Bytes of an access: a positive multiple of 512.
    pub bytes: u32,
    /// The percentage of all accesses that are of this line, 0 to 100.
    pub percent_of_accesses: u8,
    /// The percentage of this line's accesses that read, 0 to 100; the others write.
    pub read_percent: u8,
    /// The percentage of this line's accesses that go to a random place, 0 to 100; the others start
    /// where the previous access ended.
    pub random_percent: u8,
}

/// A mix of accesses: sizes with their shares, reads and writes, and an alignment.
///
/// The terms are those of Iometer's access specifications, without delays, bursts and replies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessSpecification {
    pub(crate) name: String,
    pub(crate) lines: Vec<AccessLine>,
    pub(crate) alignment_bytes: u32,
}

impl AccessSpecification {
    /// Creates a specification of `lines`. Its accesses start at multiples of `alignment_bytes`.
    ///
    /// # Errors
    ///
    /// [`WorkloadError`] if the lines do not add up to 100 % of accesses, if a size or the
    /// alignment is not a positive multiple of 512 bytes, or if a percentage is above 100.
    pub fn new(
        name: impl Into<String>,
        lines: Vec<AccessLine>,
        alignment_bytes: u32,
    ) -> Result<Self, WorkloadError> {
        let name = name.into();
        for (position, line) in lines.iter().enumerate() {
            let line_number = position + 1;
            if !is_whole_sectors(line.bytes) {
                return Err(WorkloadError::Size { name, line_number, bytes: line.bytes });
            }
            for (field, percent) in [
                ("percent_of_accesses", line.percent_of_accesses),
                ("read_percent", line.read_percent),
                ("random_percent", line.random_percent),
            ] {
                if percent > 100 {
                    return Err(WorkloadError::Percent { name, line_number, field, percent });
                }
            }
        }
        if !is_whole_sectors(alignment_bytes) {
            return Err(WorkloadError::Alignment { name, alignment_bytes });
        }
        let percent = lines.iter().map(|line| u32::from(line.percent_of_accesses)).sum();
        if percent != 100 {
            return Err(WorkloadError::Sum { name, percent });
        }
        Ok(Self { name, lines, alignment_bytes })
    }

    /// Returns the name of the specification.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the kinds of access it mixes.
    pub fn lines(&self) -> &[AccessLine] {
        &self.lines
    }

    /// Returns the alignment: every access starts at a multiple of this many bytes.
    pub fn alignment_bytes(&self) -> u32 {
        self.alignment_bytes
    }

    /// Returns the mean bytes of an access.
    pub fn mean_bytes(&self) -> f64 {
        let bytes_of_100: u64 = self
            .lines
            .iter()
            .map(|line| u64::from(line.bytes) * u64::from(line.percent_of_accesses))
            .sum();
        bytes_of_100 as f64 / 100.0
    }

    /// Returns the share of accesses that read, 0 to 1.
    pub fn read_fraction(&self) -> f64 {
        let reads_of_10_000: u32 = self
            .lines
            .iter()
            .map(|line| u32::from(line.read_percent) * u32::from(line.percent_of_accesses))
            .sum();
        f64::from(reads_of_10_000) / 10_000.0
    }

    /// Bytes of the largest access that the stream can draw.
    pub fn largest_bytes(&self) -> u32 {
        let drawn = self.lines.iter().filter(|line| line.percent_of_accesses > 0);
        drawn.map(|line| line.bytes).max().unwrap_or(0)
    }
}

/// Returns whether accesses may have this size or alignment.
pub(crate) fn is_whole_sectors(bytes: u32) -> bool {
    bytes > 0 && u64::from(bytes).is_multiple_of(SECTOR_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: AccessLine =
        AccessLine { bytes: 4096, percent_of_accesses: 100, read_percent: 50, random_percent: 0 };

    fn message(lines: Vec<AccessLine>, alignment_bytes: u32) -> String {
        AccessSpecification::new("mix", lines, alignment_bytes).unwrap_err().to_string()
    }

    #[test]
    fn errors_name_the_line_and_the_field() {
        assert_eq!(
            message(vec![AccessLine { percent_of_accesses: 95, ..LINE }], 512),
            "the lines of access specification \"mix\" take 95 % of accesses; they must take 100 %"
        );
        assert_eq!(
            message(vec![], 512),
            "the lines of access specification \"mix\" take 0 % of accesses; they must take 100 %"
        );
        for bytes in [0, 4095] {
            assert_eq!(
                message(vec![LINE, AccessLine { bytes, ..LINE }], 512),
                format!(
                    "line 2 of access specification \"mix\": bytes must be a positive multiple of \
                     512, not {bytes}"
                )
            );
        }
        for (field, line) in [
            ("percent_of_accesses", AccessLine { percent_of_accesses: 101, ..LINE }),
            ("read_percent", AccessLine { read_percent: 101, ..LINE }),
            ("random_percent", AccessLine { random_percent: 101, ..LINE }),
        ] {
            assert_eq!(
                message(vec![line], 512),
                format!(
                    "line 1 of access specification \"mix\": {field} must be 0 to 100, not 101"
                )
            );
        }
        for alignment_bytes in [0, 100] {
            assert_eq!(
                message(vec![LINE], alignment_bytes),
                format!(
                    "access specification \"mix\": alignment_bytes must be a positive multiple of \
                     512, not {alignment_bytes}"
                )
            );
        }
    }

    #[test]
    fn means_weigh_by_share() {
        let lines = vec![
            AccessLine { percent_of_accesses: 25, read_percent: 0, ..LINE },
            AccessLine { bytes: 8192, percent_of_accesses: 75, read_percent: 100, ..LINE },
            AccessLine { bytes: 1 << 20, percent_of_accesses: 0, ..LINE },
        ];
        let mix = AccessSpecification::new("mix", lines, 512).unwrap();
        assert_eq!(mix.mean_bytes(), 7168.0);
        assert_eq!(mix.read_fraction(), 0.75);
        assert_eq!(mix.largest_bytes(), 8192);
    }
}
