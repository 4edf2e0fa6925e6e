//! Settings that are fitted to rows of published tables.

use std::ops::Range;

use toml::Spanned;
use toml::de::DeTable;

use crate::place::place_of;
use crate::scenario::Scenario;
use crate::section::Section;
use crate::set::{OF_ARRAYS, SetError};
use crate::settings::SettingValue;
use crate::value;

/// A setting, and the published rows that it is fitted to. Every other row is a prediction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FittedRows {
    /// The setting, by the name that [`Scenario::parse_with`](crate::Scenario::parse_with) takes. If several arrays
    /// have it, it is one number, the same in all of them.
    pub parameter: String,
    /// The names of the rows, as in the file of published figures.
    pub rows: Vec<String>,
}

/// The most settings that a scenario may fit to rows. Few keep the rest a prediction.
const MOST_FITTED: usize = 4;

impl FittedRows {
    /// The key of the tables.
    pub(crate) const KEY: &str = "fitted";

    /// Reads every `[[fitted]]`, with the place of its setting; a scenario may have none.
    pub(crate) fn read_all(section: &mut Section<'_>) -> Option<Vec<(Self, Range<usize>)>> {
        let is_given = section.has(Self::KEY);
        let sections = section.sections(Self::KEY);
        if !is_given {
            return Some(Vec::new());
        }
        let sections = sections?;
        if sections.len() > MOST_FITTED {
            section.problem(
                Self::KEY,
                format!("{} settings are fitted", sections.len()),
                format!(
                    "few fitted numbers keep the rest a prediction: list at most {MOST_FITTED}"
                ),
            );
        }
        let mut all: Vec<(Self, Range<usize>)> = Vec::new();
        let mut all_good = true;
        for mut section in sections {
            let at = section.get("parameter").map(Spanned::span).unwrap_or_default();
            let parameter =
                section.required("parameter", "\"link.adapter.per_second\"", value::name);
            let rows = section.list("rows", "[\"iSCSI, read\"]", value::name);
            let is_listed = |row: &Spanned<String>| {
                let listed = all.iter().flat_map(|(fitted, _)| &fitted.rows);
                listed.into_iter().any(|other| other == row.get_ref())
            };
            if let Some(row) = rows.iter().flatten().find(|row| is_listed(row)) {
                section.problem_at(
                    row.span(),
                    "rows",
                    format!("`{}` is fitted to already", row.get_ref()),
                    "a row has one setting that is fitted to it",
                );
            }
            section.finish();
            match (parameter, rows) {
                (Some(parameter), Some(rows)) => {
                    let rows = rows.into_iter().map(Spanned::into_inner).collect();
                    all.push((Self { parameter, rows }, at));
                }
                _ => all_good = false,
            }
        }
        all_good.then_some(all)
    }
}

impl Scenario {
    /// Returns the settings that `parameter` names, with their values: one, or the same one of several arrays.
    ///
    /// # Errors
    ///
    /// If there is no such setting, or if it is that of several links or workloads.
    pub fn fitted_values(&self, parameter: &str) -> Result<Vec<(String, SettingValue)>, SetError> {
        let all = self.every_setting();
        let value = |name: &String| all.iter().find(|(full, _)| full == name).cloned();
        match self.named_among_all(parameter, &self.setting_names()) {
            Ok(name) => Ok(value(&name).into_iter().collect()),
            Err(SetError::Ambiguous { path, candidates }) => {
                // What is not of arrays must be one setting.
                let of_arrays: Option<Vec<_>> =
                    candidates.iter().map(|name| value(&format!("{OF_ARRAYS}{name}"))).collect();
                of_arrays.ok_or(SetError::Ambiguous { path, candidates })
            }
            Err(error) => Err(error),
        }
    }
}

/// Returns the text of a scenario with the settings of these full names set to `value`, written as in the file. Every
/// other byte stays as it is. None if the text does not give one of them.
#[must_use]
pub fn with_settings(text: &str, names: &[String], value: &str) -> Option<String> {
    if names.is_empty() {
        return None;
    }
    let document = DeTable::parse(text).ok()?;
    let mut places: Vec<Range<usize>> =
        names.iter().map(|name| place_of(document.get_ref(), name)).collect::<Option<_>>()?;
    // From the end, so that those before stay where they are.
    places.sort_by_key(|place| std::cmp::Reverse(place.start));
    let mut text = text.to_owned();
    for place in places {
        text.replace_range(place, value);
    }
    Some(text)
}
