//! What is wrong with the declarations of a table, which come from outside.

use toml::de::DeTable;

use crate::fields::field::{Absence, Field};
use crate::fields::slot::Slot;
use crate::fields::{Context, Entries, Fields, Maybe, Table, Visitor};

/// Returns the keys of a table.
pub(crate) fn keys_of(table: &mut dyn Table) -> Vec<&'static str> {
    let mut found = Faults::default();
    table.fields(&mut Fields::new(&mut found, Context::default()));
    found.keys
}

/// Returns what is wrong with the declarations of a table: keys that no file can have or that are there twice, and
/// defaults that are no value of their settings.
pub(crate) fn faults_of(table: &mut dyn Table) -> Vec<String> {
    let mut found = Faults::default();
    table.fields(&mut Fields::new(&mut found, Context::default()));
    found.faults
}

/// Whether a file writes a key without quotes, as all are here.
pub(crate) fn is_key(key: &str) -> bool {
    key.starts_with(|first: char| first.is_ascii_lowercase())
        && key.chars().all(|one| one.is_ascii_lowercase() || one.is_ascii_digit() || one == '_')
}

#[derive(Default)]
struct Faults {
    keys: Vec<&'static str>,
    faults: Vec<String>,
}

impl Faults {
    fn key(&mut self, key: &'static str) {
        if !is_key(key) {
            self.faults.push(format!("`{key}` is no key: give lower-case letters, digits and _"));
        }
        if self.keys.contains(&key) {
            self.faults.push(format!("{key} is declared twice"));
        }
        self.keys.push(key);
    }

    fn within(&mut self, table: &mut dyn Table) {
        self.faults.extend(faults_of(table));
    }
}

/// Returns why a default, as TOML, is no value of its setting; none if it is one.
fn fault_of_default(field: &Field, default: &str) -> Option<String> {
    let text = format!("value = {default}");
    let wrong = |why: &str| Some(format!("{} has the default {default}, which {why}", field.key));
    let Ok(table) = DeTable::parse(&text) else { return wrong("is no TOML") };
    let value = table.get_ref().get("value")?.get_ref();
    let read = match value.as_array() {
        Some(list) => list.iter().try_for_each(|one| field.kind.read(one.get_ref()).map(drop)),
        None => field.kind.read(value).map(drop),
    };
    read.err().and_then(|_| wrong("is no value of it"))
}

impl Visitor for Faults {
    fn value(&mut self, field: &Field, _: &mut dyn Slot) {
        self.key(field.key);
        if let Absence::Default(default) = field.absence {
            self.faults.extend(fault_of_default(field, default));
        }
    }

    fn table(&mut self, field: &Field, table: &mut dyn Maybe, _: Context) {
        self.key(field.key);
        self.within(&mut *table.blank());
    }

    fn part(&mut self, field: &Field, table: &mut dyn Table, _: Context) {
        self.key(field.key);
        self.within(table);
    }

    fn tables(&mut self, field: &Field, tables: &mut dyn Entries, _: Context) {
        self.key(field.key);
        self.within(&mut *tables.blank());
    }
}
