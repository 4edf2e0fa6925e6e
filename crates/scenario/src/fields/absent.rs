//! Names of settings that a scenario does not have, and that it may be given.

use crate::fields::field::{Absence, Field, Listing};
use crate::fields::list::{entry_name, is_default};
use crate::fields::slot::Slot;
use crate::fields::{Context, Entries, Fields, Maybe, Table, Visitor};

/// Returns the names of settings of a table that are not listed and may be given: what is off, at a default that is not
/// listed, or of no use as other settings are, which is refused with its remedy.
pub(crate) fn absent_names(table: &mut dyn Table, context: Context) -> Vec<String> {
    let mut absent = Absent { beginning: String::new(), is_new: false, found: Vec::new() };
    table.fields(&mut Fields::new(&mut absent, context));
    absent.found
}

struct Absent {
    beginning: String,
    /// Whether the whole table is absent.
    is_new: bool,
    found: Vec<String>,
}

impl Absent {
    fn within(&mut self, key: &str, is_new: bool, table: &mut dyn Table, context: Context) {
        let outer = (self.beginning.len(), self.is_new);
        self.beginning.push_str(key);
        self.beginning.push('.');
        self.is_new |= is_new;
        table.fields(&mut Fields::new(self, context));
        self.beginning.truncate(outer.0);
        self.is_new = outer.1;
    }
}

impl Visitor for Absent {
    fn value(&mut self, field: &Field, slot: &mut dyn Slot) {
        let has_default = matches!(field.absence, Absence::Default(_));
        let is_absent = match (field.listing, slot.get()) {
            (Listing::Never, _) => has_default,
            _ if self.is_new => true,
            (_, None) => !field.is_apart,
            (Listing::UnlessDefault, Some(value)) => is_default(field, &value),
            (Listing::Always, Some(_)) => false,
        };
        if is_absent {
            self.found.push(format!("{}{}", self.beginning, field.key));
        }
    }

    fn table(&mut self, field: &Field, table: &mut dyn Maybe, context: Context) {
        match table.get() {
            Some(table) => self.within(field.key, false, table, context),
            None if field.is_apart => {}
            None => self.within(field.key, true, &mut *table.blank(), context),
        }
    }

    fn part(&mut self, field: &Field, table: &mut dyn Table, context: Context) {
        self.within(field.key, false, table, context);
    }

    fn tables(&mut self, field: &Field, tables: &mut dyn Entries, context: Context) {
        for index in 0..tables.count() {
            let table = tables.get(index);
            let name = entry_name(field, table, index);
            self.within(&name, false, table, context);
        }
    }
}
