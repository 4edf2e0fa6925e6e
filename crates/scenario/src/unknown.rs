//! Constants that nobody published, and what else they might have been.

use std::ops::Range;

use toml::Spanned;

use crate::section::Section;
use crate::value;

/// A constant that was chosen, with other values that it might have had. A run does not depend on these; a study of the
/// scenario's sensitivity does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unknown {
    /// The setting, by the name that [`Scenario::parse_with`](crate::Scenario::parse_with) takes.
    pub constant: String,
    /// Other values, each as in the file.
    pub values: Vec<String>,
}

impl Unknown {
    pub(crate) const KEY: &str = "unknown";

    /// Reads every `[[unknown]]`, with the place of its constant; a scenario may have none.
    pub(crate) fn read_all(section: &mut Section<'_>) -> Option<Vec<(Self, Range<usize>)>> {
        let is_given = section.has(Self::KEY);
        let sections = section.sections(Self::KEY);
        if !is_given {
            return Some(Vec::new());
        }
        let mut unknowns: Vec<(Self, Range<usize>)> = Vec::new();
        let mut all_good = true;
        for mut section in sections? {
            let at = section.get("constant").map(Spanned::span).unwrap_or_default();
            let constant = section.required("constant", "\"FAS2050.buffer_cache\"", value::name);
            let values = section.list("values", "[\"1 GiB\"]", value::name);
            if let Some(constant) = &constant
                && unknowns.iter().any(|(unknown, _)| unknown.constant == *constant)
            {
                section.problem(
                    "constant",
                    format!("`{constant}` is given twice"),
                    "put the values of both into one list",
                );
            }
            section.finish();
            match (constant, values) {
                (Some(constant), Some(values)) => {
                    let values = values.into_iter().map(Spanned::into_inner).collect();
                    unknowns.push((Self { constant, values }, at));
                }
                _ => all_good = false,
            }
        }
        all_good.then_some(unknowns)
    }
}
