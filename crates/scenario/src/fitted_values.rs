//! The settings that `[[fitted]]` names, and setting them in a text.

use std::ops::Range;

use toml::de::DeTable;

use crate::place::place_of;
use crate::scenario::Scenario;
use crate::set::{OF_ARRAYS, SetError};
use crate::setting_value::SettingValue;

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
