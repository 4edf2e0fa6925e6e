//! Listing settings by name.

use crate::fields::field::{Absence, Field, Listing, Naming};
use crate::fields::read::of_default;
use crate::fields::slot::Slot;
use crate::fields::{Context, Entries, Fields, Maybe, Table, Visitor};
use crate::setting_value::SettingValue;

/// Returns the settings of a table with their values as a file writes them, by name. Entries of lists are numbered from
/// 1, but for those that are found by name.
pub(crate) fn listed(table: &mut dyn Table, context: Context) -> Vec<(String, SettingValue)> {
    let mut lister = Lister::default();
    table.fields(&mut Fields::new(&mut lister, context));
    lister.found
}

#[derive(Default)]
struct Lister {
    beginning: String,
    found: Vec<(String, SettingValue)>,
}

impl Lister {
    fn within(&mut self, name: &str, table: &mut dyn Table, context: Context) {
        let outer = self.beginning.len();
        self.beginning.push_str(name);
        self.beginning.push('.');
        table.fields(&mut Fields::new(self, context));
        self.beginning.truncate(outer);
    }
}

/// Whether a value is what the setting is without one.
pub(crate) fn is_default(field: &Field, value: &SettingValue) -> bool {
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

impl Visitor for Lister {
    fn value(&mut self, field: &Field, slot: &mut dyn Slot) {
        let Some(value) = slot.get() else { return };
        let is_listed = match field.listing {
            Listing::Always => true,
            Listing::UnlessDefault => !is_default(field, &value),
            Listing::Never => false,
        };
        if is_listed {
            self.found
                .push((format!("{}{}", self.beginning, field.key), field.kind.written(value)));
        }
    }

    fn table(&mut self, field: &Field, table: &mut dyn Maybe, context: Context) {
        if let Some(table) = table.get() {
            self.within(field.key, table, context);
        }
    }

    fn part(&mut self, field: &Field, table: &mut dyn Table, context: Context) {
        self.within(field.key, table, context);
    }

    fn tables(&mut self, field: &Field, tables: &mut dyn Entries, context: Context) {
        for index in 0..tables.count() {
            let table = tables.get(index);
            let name = entry_name(field, table, index);
            self.within(&name, table, context);
        }
    }
}

/// Returns the name of the settings of an entry of a list: `array.FAS2050`, or `failure.1`.
pub(crate) fn entry_name(field: &Field, table: &mut dyn Table, index: usize) -> String {
    let name = match field.naming {
        Naming::Everywhere => name_of(table),
        Naming::Numbers | Naming::InProblems => None,
    };
    format!("{}.{}", field.key, name.unwrap_or_else(|| (index + 1).to_string()))
}

/// Returns the `name` of a table, if it has one.
pub(crate) fn name_of(table: &mut dyn Table) -> Option<String> {
    struct Name(Option<String>);

    impl Visitor for Name {
        fn value(&mut self, field: &Field, slot: &mut dyn Slot) {
            if let ("name", Some(SettingValue::Text(name))) = (field.key, slot.get()) {
                self.0 = Some(name);
            }
        }

        fn table(&mut self, _: &Field, _: &mut dyn Maybe, _: Context) {}
        fn part(&mut self, _: &Field, _: &mut dyn Table, _: Context) {}
        fn tables(&mut self, _: &Field, _: &mut dyn Entries, _: Context) {}
    }

    let mut name = Name(None);
    table.fields(&mut Fields::new(&mut name, Context::default()));
    name.0
}
