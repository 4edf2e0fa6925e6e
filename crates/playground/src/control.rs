//! A control of the page: a setting with its unit and limits.

use serde::Serialize;

/// A control of the page.
#[derive(Debug, Serialize)]
pub(crate) struct Control {
    /// The setting, by its full name.
    pub(crate) path: String,
    /// What it is of: the run, a workload, or an array.
    pub(crate) of: String,
    pub(crate) label: &'static str,
    /// What the setting means.
    pub(crate) about: String,
    pub(crate) kind: Kind,
    /// Its value as a scenario writes it; none if it is not set.
    pub(crate) value: Option<String>,
    pub(crate) unit: Option<&'static str>,
    pub(crate) least: Option<String>,
    pub(crate) most: Option<String>,
    pub(crate) choices: Vec<Choice>,
    /// Whether it may be left out.
    pub(crate) optional: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    Choice,
    Number,
    /// A number with its unit, as text.
    Quantity,
    Text,
}

/// A value to choose.
#[derive(Debug, Serialize)]
pub(crate) struct Choice {
    pub(crate) value: String,
    pub(crate) label: String,
}

impl Control {
    /// Returns a control that chooses among values.
    pub(crate) fn choice(
        path: String,
        of: &str,
        label: &'static str,
        about: &str,
        value: String,
        choices: Vec<Choice>,
    ) -> Self {
        Self {
            path,
            of: of.to_owned(),
            label,
            about: about.to_owned(),
            kind: Kind::Choice,
            value: Some(value),
            unit: None,
            least: None,
            most: None,
            choices,
            optional: false,
        }
    }
}
