//! Times of the run at which something happens.

use crate::fields::field::Field;
use crate::fields::slot::Slot;
use crate::fields::{Context, Entries, Fields, Maybe, Table, Visitor};
use crate::setting_value::SettingValue;

/// Returns the times of the run, in nanoseconds, at which something happens by the settings of a table.
pub(crate) fn moments(table: &mut dyn Table) -> Vec<u64> {
    let mut moments = Moments::default();
    table.fields(&mut Fields::new(&mut moments, Context::default()));
    moments.0
}

#[derive(Default)]
struct Moments(Vec<u64>);

impl Visitor for Moments {
    fn value(&mut self, field: &Field, slot: &mut dyn Slot) {
        if let (true, Some(SettingValue::Count(ns))) = (field.is_moment, slot.get()) {
            self.0.push(ns);
        }
    }

    fn table(&mut self, field: &Field, table: &mut dyn Maybe, context: Context) {
        if let Some(table) = table.get() {
            self.part(field, table, context);
        }
    }

    fn part(&mut self, _: &Field, table: &mut dyn Table, context: Context) {
        table.fields(&mut Fields::new(self, context));
    }

    fn tables(&mut self, _: &Field, tables: &mut dyn Entries, context: Context) {
        for index in 0..tables.count() {
            tables.get(index).fields(&mut Fields::new(self, context));
        }
    }
}
