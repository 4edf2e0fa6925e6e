//! Checking tables that have been read, with those in them.

use crate::fields::field::Field;
use crate::fields::section::Section;
use crate::fields::slot::Slot;
use crate::fields::{Around, Context, Entries, Fields, Maybe, Table, Visitor};

/// Notes what is wrong between the settings of a table, and of those in it.
pub fn check(section: &Section<'_>, table: &mut dyn Table, around: &Around) {
    table.fields(&mut Fields::new(&mut Checker { section, around }, Context::default()));
    table.check(section, around);
}

struct Checker<'s, 't> {
    section: &'s Section<'t>,
    around: &'s Around,
}

impl Visitor for Checker<'_, '_> {
    fn value(&mut self, _: &Field, _: &mut dyn Slot) {}

    fn table(&mut self, field: &Field, table: &mut dyn Maybe, context: Context) {
        if let Some(table) = table.get() {
            self.part(field, table, context);
        }
    }

    fn part(&mut self, field: &Field, table: &mut dyn Table, _: Context) {
        if let [section] = self.section.inner(field.key) {
            check(section, table, self.around);
        }
    }

    fn tables(&mut self, field: &Field, tables: &mut dyn Entries, _: Context) {
        // Of two forms of a setting that exclude each other, one has no entries.
        for (index, section) in (0..tables.count()).zip(self.section.inner(field.key)) {
            check(section, tables.get(index), self.around);
        }
    }
}
