//! Where the numbers of a profile come from.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;

/// The source of a number in a profile: who measured it, where it is published, or by what rule it was inferred. In a
/// file: `rpm = { published = "product manual, section 4.1" }`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Provenance {
    /// Measured on a drive: by whom, or how.
    Measured(String),
    /// Given by its maker: the document.
    Published(String),
    /// Computed from other numbers, taken from a similar drive, or remembered without a source at hand: the rule.
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

/// As written in a profile's file.
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

/// The sources by the field that holds the number: see [`Profile::numbers`](crate::Profile::numbers).
pub type Provenances = BTreeMap<String, Provenance>;
