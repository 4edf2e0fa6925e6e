//! Where the numbers of a profile come from.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;

use crate::profile::Profile;

/// How a number in a profile was come by, with who measured it, where it is published, or by what
/// rule it was inferred. In a file: `rpm = { published = "product manual, section 4.1" }`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Provenance {
    /// Measured on a drive: by whom, or how.
    Measured(String),
    /// Given by its maker: the document.
    Published(String),
    /// Worked out from other numbers, taken from a drive like it, or remembered without a source
    /// at hand: the rule.
    Inferred(String),
}

impl Provenance {
    /// By whom, where, or by what rule.
    pub fn source(&self) -> &str {
        match self {
            Self::Measured(source) | Self::Published(source) | Self::Inferred(source) => source,
        }
    }
}

/// As a profile's file has it.
impl fmt::Display for Provenance {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self {
            Self::Measured(_) => "measured",
            Self::Published(_) => "published",
            Self::Inferred(_) => "inferred",
        };
        write!(formatter, "{{ {kind} = {} }}", toml::Value::from(self.source()))
    }
}

/// By the field that holds the number: see [`Profile::numbers`].
pub type Provenances = BTreeMap<String, Provenance>;

/// Numbers that every profile has.
const ALWAYS: [&str; 9] = [
    "rpm",
    "heads",
    "sector_bytes",
    "capacity_sectors",
    "band_cylinders",
    "head_switch_ms",
    "write_settle_ms",
    "zero_latency",
    "overhead_ms",
];

impl Profile {
    /// The numbers that this profile holds, by the field, each of which must say where it comes
    /// from. `zone` is the layout: cylinders, sectors per track, skews, defects; `zero_latency` is
    /// that of reads and of writes.
    pub fn numbers(&self) -> impl Iterator<Item = &'static str> {
        let layout: &[&str] = match self.outline {
            Some(_) => &["zones", "sectors_per_track", "seek_ms"],
            None => &["seek", "zone"],
        };
        let bus = self.bus_mb_per_s.map(|_| "bus_mb_per_s");
        let cache = self.cache.as_ref().map(|_| "cache");
        ALWAYS.into_iter().chain(layout.iter().copied()).chain(bus).chain(cache)
    }

    /// The field of `provenance` that is missing, says nothing, or is of no number, and what is
    /// wrong with it.
    pub(crate) fn provenance_fault(&self) -> Option<(String, String)> {
        for number in self.numbers() {
            let says_something = |given: &Provenance| !given.source().trim().is_empty();
            if !self.provenance.get(number).is_some_and(says_something) {
                let reason = format!(
                    "does not say where the number comes from: write {number} = \
                     {{ measured = \"by whom\" }}, {{ published = \"where\" }} or \
                     {{ inferred = \"by what rule\" }} under [provenance]"
                );
                return Some((format!("provenance.{number}"), reason));
            }
        }
        let stray = self.provenance.keys().find(|given| !self.numbers().any(|it| it == *given))?;
        Some((format!("provenance.{stray}"), "this profile has no such number".to_owned()))
    }
}
