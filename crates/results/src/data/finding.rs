//! What a reader of results must know before the tables.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A thing that a run shows, or that keeps its figures from showing it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// Its kind: one of the words in `docs/results.md`.
    pub kind: String,
    /// What it means for the figures.
    pub severity: Severity,
    /// The array that it is of; absent if it is of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub array: Option<String>,
    /// The segment that it is of; absent if it is of several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segment: Option<u32>,
    /// The figures that it rests on. Units are in their names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub figures: BTreeMap<String, f64>,
    /// It in a sentence or two.
    pub text: String,
}

/// What a finding means for the figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Some figures are not of what the scenario describes.
    Warning,
    /// Some figures do not show what a reader may take them for.
    Caution,
    /// It explains figures.
    Note,
}

impl Severity {
    /// Returns the word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Warning => "warning",
            Self::Caution => "caution",
            Self::Note => "note",
        }
    }
}

impl Finding {
    /// A finding of an array, without figures.
    pub(crate) fn of(array: &str, kind: &str, severity: Severity, text: String) -> Self {
        Self {
            kind: kind.to_owned(),
            severity,
            array: Some(array.to_owned()),
            segment: None,
            figures: BTreeMap::new(),
            text,
        }
    }

    /// In a segment.
    pub(crate) fn in_segment(self, segment: u32) -> Self {
        Self { segment: Some(segment), ..self }
    }

    /// With figures.
    pub(crate) fn with<const N: usize>(mut self, figures: [(&str, f64); N]) -> Self {
        self.figures.extend(figures.map(|(name, value)| (name.to_owned(), value)));
        self
    }
}
