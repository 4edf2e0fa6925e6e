//! Settings that are fitted to rows of published tables.

use std::ops::Range;

use toml::de::DeTable;

use crate::fields::{Fields, Table, list_of, name};
use crate::place::place_of;
use crate::scenario::Scenario;
use crate::section::Section;
use crate::set::{OF_ARRAYS, SetError};
use crate::settings::SettingValue;

/// A setting, and the published rows that it is fitted to. Every other row is a prediction.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FittedRows {
    /// The setting, by the name that [`Scenario::parse_with`](crate::Scenario::parse_with) takes. If several arrays
    /// have it, it is one number, the same in all of them.
    pub parameter: String,
    /// The names of the rows, as in the file of published figures.
    pub rows: Vec<String>,
}

/// The most settings that a scenario may fit to rows. Few keep the rest a prediction.
pub(crate) const MOST_FITTED: usize = 4;

impl FittedRows {
    /// The key of the tables.
    pub(crate) const KEY: &str = "fitted";

    /// Checks every `[[fitted]]` against the others.
    pub(crate) fn check_all(section: &Section<'_>, all: &[Self]) {
        if all.len() > MOST_FITTED {
            section.problem(
                Self::KEY,
                format!("{} settings are fitted", all.len()),
                format!(
                    "few fitted numbers keep the rest a prediction: list at most {MOST_FITTED}"
                ),
            );
        }
        for (position, (fitted, table)) in all.iter().zip(section.inner(Self::KEY)).enumerate() {
            let others = || all[..position].iter().flat_map(|other| &other.rows);
            let twice = fitted.rows.iter().position(|row| others().any(|other| other == row));
            if let Some(index) = twice {
                table.problem_at(
                    table.element("rows", index),
                    "rows",
                    format!("`{}` is fitted to already", fitted.rows[index]),
                    "a row has one setting that is fitted to it",
                );
            }
        }
    }
}

impl Table for FittedRows {
    fn fields(&mut self, f: &mut Fields<'_>) {
        f.value(
            name(
                "parameter",
                "The name of a setting, as `--set` takes it. If several arrays have it, it is one number, the same in all \
                 of them.",
            )
            .required("\"link.adapter.per_second\""),
            &mut self.parameter,
        );
        f.value(
            list_of(name("rows", "The names of the rows, as in the file of published figures."))
                .required("[\"iSCSI, read\"]"),
            &mut self.rows,
        );
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
