//! Listing settings by name.

use crate::fields::field::{Absence, Field, Listing};
use crate::fields::read::of_default;
use crate::fields::walk::each_setting;
use crate::fields::{Context, Table};
use crate::setting_value::SettingValue;

/// Returns the settings of a table with their values as a file writes them, by name.
pub fn listed(table: &mut dyn Table, context: Context) -> Vec<(String, SettingValue)> {
    let mut listed = Vec::new();
    each_setting(table, context, &mut |found| {
        let field = found.field;
        let Some(value) = found.slot.get().filter(|_| !found.is_new) else { return };
        let is_listed = match field.listing {
            Listing::Always => true,
            Listing::UnlessDefault => !is_default(field, &value),
            Listing::Never => false,
        };
        if is_listed {
            listed.push((found.name(), field.kind.written(value)));
        }
    });
    listed
}

/// Whether a value is what the setting is without one.
pub fn is_default(field: &Field, value: &SettingValue) -> bool {
    match &field.absence {
        Absence::Default(text) => of_default(field, text).is_some_and(|default| {
            // A cost is a number of nanoseconds, and a time a count of them.
            match (&default, value) {
                (SettingValue::Count(default), SettingValue::Number(value)) => {
                    *default as f64 == *value
                }
                (default, value) => default == value,
            }
        }),
        _ => false,
    }
}
