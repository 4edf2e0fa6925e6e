//! Where the numbers of a profile come from.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;

/// How a number in a profile was come by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Provenance {
    /// Measured on a drive.
    Measured,
    /// Given by its maker.
    Published,
    /// Worked out from other numbers, or taken from a drive like it.
    Inferred,
}

impl fmt::Display for Provenance {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Measured => "measured",
            Self::Published => "published",
            Self::Inferred => "inferred",
        })
    }
}

/// The numbers of which a profile may say where they come from, by the field that holds them.
/// `zone` is the layout: cylinders, sectors per track, skews, defects.
pub const NUMBERS: [&str; 12] = [
    "rpm",
    "heads",
    "sector_bytes",
    "capacity_sectors",
    "seek",
    "head_switch_ms",
    "write_settle_ms",
    "zero_latency",
    "overhead_ms",
    "bus_mb_per_s",
    "cache",
    "zone",
];

/// By field of [`NUMBERS`].
pub type Provenances = BTreeMap<String, Provenance>;

/// The first field named that is none of [`NUMBERS`].
pub(crate) fn unknown(provenances: &Provenances) -> Option<&str> {
    provenances.keys().map(String::as_str).find(|field| !NUMBERS.contains(field))
}
