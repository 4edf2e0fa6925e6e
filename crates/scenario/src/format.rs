//! The on-disk format of an array, and the log of either layout.

use strewn_base::BLOCK_BYTES;

use crate::fields::{Field, Words, choice};
use crate::quantity::Bytes;
use crate::section::Section;

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

/// The key of a format, in both layouts.
pub(crate) const FORMAT: &str = "format";

impl Words for Format {
    const WORDS: &'static [(&'static str, Self)] =
        &[("modelled", Self::Modelled), ("durable", Self::Durable)];
}

impl Format {
    /// Returns whether this is the format of a live array.
    #[must_use]
    pub const fn is_durable(self) -> bool {
        matches!(self, Self::Durable)
    }

    /// Returns its word in a scenario's file.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.word()
    }
}

/// The format of a layout.
pub(crate) fn field(help: &'static str) -> Field {
    choice::<Format>(FORMAT, help).default("\"modelled\"", "that of the published experiment")
}

/// Notes a problem if half of a log holds no record.
pub(crate) fn check_log(section: &Section<'_>, half_bytes: u64, record_header_bytes: u64) {
    let least = record_header_bytes.saturating_add(BLOCK_BYTES);
    if section.are_right(&["log_half", "log_record_header"]) && half_bytes < least {
        section.problem(
            "log_half",
            "does not hold one record of a block",
            format!("give at least {}, a header and a block", Bytes(least)),
        );
    }
}
