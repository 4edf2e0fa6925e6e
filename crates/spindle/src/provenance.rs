//! Where the numbers of a profile come from.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;

use strewn_base::nearest;

/// The entry of a file's table `provenance` that holds for every number without one of its own.
pub(crate) const DEFAULT_SOURCE: &str = "default";

/// The source of a number in a profile: who measured it, where it is published, or by what rule it was inferred. In a
/// file: `rpm = { published = "product manual, section 4.1" }`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Provenance {
    /// Measured on a drive: by whom, or how.
    Measured(String),
    /// Given by its maker: the document.
    Published(String),
    /// Computed from other figures that have a source: the arithmetic.
    Derived(String),
    /// Without a source: the rule that gave it.
    Assumed(String),
    /// Computed from other numbers, taken from a similar drive, or remembered without a source at hand: the rule.
    Inferred(String),
}

impl Provenance {
    /// By whom, where, or by what rule.
    pub fn source(&self) -> &str {
        match self {
            Self::Measured(source)
            | Self::Published(source)
            | Self::Derived(source)
            | Self::Assumed(source)
            | Self::Inferred(source) => source,
        }
    }

    /// The kind of source, as a file writes it, such as `published`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Measured(_) => "measured",
            Self::Published(_) => "published",
            Self::Derived(_) => "derived",
            Self::Assumed(_) => "assumed",
            Self::Inferred(_) => "inferred",
        }
    }
}

/// As written in a profile's file.
impl fmt::Display for Provenance {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{{ {} = {} }}", self.kind(), toml::Value::from(self.source()))
    }
}

/// The sources by the field that holds the number: see [`Profile::numbers`](crate::Profile::numbers). The source under
/// `default` is that of every number that is not in the map.
pub type Provenances = BTreeMap<String, Provenance>;

/// A field of a profile, and what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfileFault {
    /// Path of the field, such as `provenance.rpm`.
    pub field: String,
    /// What is wrong with it, and what to write.
    pub reason: String,
}

impl fmt::Display for ProfileFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.field, self.reason)
    }
}

/// Fields whose numbers every profile has.
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

/// The fields that need a source, of a profile with an outline or without, and with a bus and a cache or without.
pub(crate) fn numbers(
    has_template: bool,
    has_bus: bool,
    has_cache: bool,
) -> impl Iterator<Item = &'static str> {
    let layout: &[&str] = match has_template {
        true => &["zones", "sectors_per_track", "seek_ms"],
        false => &["seek", "zone"],
    };
    let bus = has_bus.then_some("bus_mb_per_s");
    let cache = has_cache.then_some("cache");
    ALWAYS.into_iter().chain(layout.iter().copied()).chain(bus).chain(cache)
}

/// All that is wrong with the sources `given`, of which an entry that is no source is `None`, for a profile with these
/// numbers.
pub(crate) fn provenance_faults<'g>(
    given: impl Iterator<Item = (&'g str, Option<&'g Provenance>)>,
    numbers: &[&str],
) -> Vec<ProfileFault> {
    let given: BTreeMap<&str, Option<&Provenance>> = given.collect();
    let is_empty =
        |source: &Option<&Provenance>| source.is_some_and(|it| it.source().trim().is_empty());
    let mut faults = Vec::new();
    let mut fault = |number: &str, reason: String| {
        faults.push(ProfileFault { field: format!("provenance.{number}"), reason });
    };
    let missing: Vec<&str> = match given.contains_key(DEFAULT_SOURCE) {
        true => Vec::new(),
        false => numbers.iter().copied().filter(|number| !given.contains_key(number)).collect(),
    };
    if let [first, others @ ..] = &missing[..] {
        let remedy = how_to_write(first);
        let all = format!("or {} for all that is not said otherwise", to_write(DEFAULT_SOURCE));
        match others {
            [] => {
                fault(first, format!("does not say where the number comes from: {remedy}, {all}"))
            }
            _ => fault(
                &missing.join(", provenance."),
                format!("do not say where the numbers come from: {remedy}, and so on, {all}"),
            ),
        }
    }
    for (number, source) in &given {
        let is_known = *number == DEFAULT_SOURCE || numbers.contains(number);
        if !is_known {
            let remedy = match nearest(number, numbers.iter().copied()) {
                Some(near) => format!("did you mean {near}?"),
                None => format!("its numbers are {}", numbers.join(", ")),
            };
            fault(number, format!("this profile has no such number: {remedy}"));
        } else if source.is_none() {
            fault(number, format!("is no source: {}", how_to_write(number)));
        } else if is_empty(source) {
            fault(
                number,
                format!("does not say where the number comes from: {}", how_to_write(number)),
            );
        }
    }
    faults
}

fn to_write(number: &str) -> String {
    format!("{number} = {{ published = \"where\" }}")
}

fn how_to_write(number: &str) -> String {
    format!(
        "write {number} = {{ measured = \"by whom\" }}, {{ published = \"where\" }}, \
         {{ derived = \"by what arithmetic\" }} or {{ assumed = \"by what rule\" }} under [provenance]"
    )
}

/// All that is wrong with the sources of a text that is not a profile, if that is why it is none, and the profile's
/// name. The parser of profiles stops at the first entry that is no source.
pub(crate) fn faults_of_text(text: &str, origin: &str) -> Option<(String, Vec<ProfileFault>)> {
    let table: toml::Table = text.parse().ok()?;
    let entries = table.get("provenance")?.as_table()?;
    let sources: Vec<(&str, Option<Provenance>)> = entries
        .iter()
        .map(|(number, value)| (number.as_str(), value.clone().try_into().ok()))
        .collect();
    if sources.iter().all(|(_, source)| source.is_some()) {
        return None;
    }
    let has = |key: &str| table.contains_key(key);
    let numbers: Vec<&str> = numbers(has("outline"), has("bus_mb_per_s"), has("cache")).collect();
    let given = sources.iter().map(|(number, source)| (*number, source.as_ref()));
    let name = table.get("name").and_then(toml::Value::as_str).unwrap_or(origin);
    Some((name.to_owned(), provenance_faults(given, &numbers)))
}
