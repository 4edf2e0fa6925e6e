//! The on-disk format of an array, and the log of either layout.

use strewn_array::Format;
use strewn_base::BLOCK_BYTES;

use crate::fields::{Field, Section, Words, choice};
use crate::quantity::Bytes;

/// The key of a format, in both layouts.
pub(crate) const FORMAT: &str = "format";

impl Words for Format {
    const WORDS: &'static [(&'static str, Self)] =
        &[("modelled", Self::Modelled), ("durable", Self::Durable)];
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
