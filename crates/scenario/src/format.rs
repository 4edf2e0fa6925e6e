//! The on-disk format of an array, and the log of either layout.

use strewn_base::BLOCK_BYTES;

use crate::quantity::Bytes;
use crate::section::Section;
use crate::value;

/// The on-disk format of an array.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Format {
    /// That of the array of its time, as in the published experiment.
    #[default]
    Modelled,
    /// Strewn's own, which a live array has: a directory and superblocks, parity that is never computed from what a
    /// free block held before, and in place whole 4 KiB blocks with checksums.
    Durable,
}

/// The words for a format.
const WORDS: [(&str, Format); 2] = [("modelled", Format::Modelled), ("durable", Format::Durable)];

/// The key of a format, in both layouts.
pub(crate) const FORMAT: &str = "format";

impl Format {
    /// Returns whether this is the format of a live array.
    #[must_use]
    pub const fn is_durable(self) -> bool {
        matches!(self, Self::Durable)
    }

    /// Returns its word in a scenario's file.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Modelled => WORDS[0].0,
            Self::Durable => WORDS[1].0,
        }
    }

    /// Reads the format of a layout.
    pub(crate) fn read(section: &mut Section<'_>) -> Option<Self> {
        section.required(FORMAT, "\"modelled\"", |v| value::choice(v, &WORDS))
    }
}

/// The size of an array's log.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LogSize {
    pub(crate) half_bytes: u64,
    pub(crate) record_header_bytes: u64,
}

impl LogSize {
    /// The keys of a log.
    pub(crate) const KEYS: [&'static str; 2] = ["log_half", "log_record_header"];

    /// Reads the log of a layout.
    pub(crate) fn read(section: &mut Section<'_>) -> Option<Self> {
        let [half, header] = Self::KEYS;
        let half_bytes = section.required(half, "\"64 MiB\"", value::positive_bytes);
        let record_header_bytes = section.required(header, "\"160 B\"", value::bytes);
        let (half_bytes, record_header_bytes) = (half_bytes?, record_header_bytes?);
        let least = record_header_bytes.saturating_add(BLOCK_BYTES);
        if half_bytes < least {
            section.problem(
                half,
                "does not hold one record of a block",
                format!("give at least {}, a header and a block", Bytes(least)),
            );
        }
        Some(Self { half_bytes, record_header_bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_has_its_word() {
        assert!(WORDS.iter().all(|(word, format)| format.as_str() == *word));
    }
}
