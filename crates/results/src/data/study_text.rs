//! What a study says beside its figures: the question, who argued what, and predictions.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The words of a study.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StudyText {
    /// What it asks.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub question: String,
    /// Who argued what.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<Argument>,
    /// What was predicted before it ran.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub predictions: Vec<Prediction>,
    /// What it found: a template, in which `at('FIGURE', 'AXIS = VALUE; …')` is a figure of the sweep.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub finding: String,
    /// What the finding depends on; a template too.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub depends: String,
}

/// What someone argued.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Argument {
    /// Who, where and when.
    pub who: String,
    /// What, in our words.
    pub said: String,
}

/// A prediction of one figure of a sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prediction {
    /// It in words.
    pub text: String,
    /// The reason.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// Name of the figure ([`SweepFigure::name`](crate::SweepFigure::name)).
    pub figure: String,
    /// The values of axes, by their labels; an axis that is not named is at its first value.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub at: BTreeMap<String, String>,
    /// If given, the figure is in percent of the same figure there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Option<BTreeMap<String, String>>,
    /// Only of this segment, of a figure by segment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segment: Option<u32>,
    /// The lowest value with which it holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least: Option<f64>,
    /// The highest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most: Option<f64>,
}
