//! Going over the settings of a table, and of those in it, by their names.

use crate::fields::field::{Field, Naming};
use crate::fields::slot::Slot;
use crate::fields::{Context, Entries, Fields, Maybe, Table, Visitor};
use crate::setting_value::SettingValue;

/// A setting, where it is.
pub struct Found<'s> {
    /// The names of the tables that it is in, each with a point.
    beginning: &'s str,
    pub(crate) field: &'s Field,
    pub(crate) slot: &'s mut dyn Slot,
    /// Whether its table is absent, and this is what a new one would have.
    pub(crate) is_new: bool,
    /// Whether it is of an entry of a list.
    pub(crate) is_of_entry: bool,
}

impl Found<'_> {
    /// Returns its name. Entries of lists are numbered from 1, but for those that are found by name.
    pub fn name(&self) -> String {
        format!("{}{}", self.beginning, self.field.key)
    }
}

/// Calls `visit` for each setting, in order, also for those of absent tables that need not be in the text to be set.
pub fn each_setting(table: &mut dyn Table, context: Context, visit: &mut dyn FnMut(Found<'_>)) {
    let mut walker = Walker { beginning: String::new(), is_new: false, is_of_entry: false, visit };
    table.fields(&mut Fields::new(&mut walker, context));
}

struct Walker<'v> {
    beginning: String,
    is_new: bool,
    is_of_entry: bool,
    visit: &'v mut dyn FnMut(Found<'_>),
}

impl Walker<'_> {
    fn within(&mut self, name: &str, table: &mut dyn Table, context: Context) {
        let outer = self.beginning.len();
        self.beginning.push_str(name);
        self.beginning.push('.');
        table.fields(&mut Fields::new(self, context));
        self.beginning.truncate(outer);
    }
}

impl Visitor for Walker<'_> {
    fn value(&mut self, field: &Field, slot: &mut dyn Slot) {
        let Self { is_new, is_of_entry, .. } = *self;
        (self.visit)(Found { beginning: &self.beginning, field, slot, is_new, is_of_entry });
    }

    fn table(&mut self, field: &Field, table: &mut dyn Maybe, context: Context) {
        if let Some(table) = table.get() {
            self.within(field.key, table, context);
        } else if !field.is_apart {
            let outer = std::mem::replace(&mut self.is_new, true);
            self.within(field.key, &mut *table.blank(), context);
            self.is_new = outer;
        }
    }

    fn part(&mut self, field: &Field, table: &mut dyn Table, context: Context) {
        self.within(field.key, table, context);
    }

    fn tables(&mut self, field: &Field, tables: &mut dyn Entries, context: Context) {
        let outer = std::mem::replace(&mut self.is_of_entry, true);
        for index in 0..tables.count() {
            let table = tables.get(index);
            let name = entry_name(field, table, index);
            self.within(&name, table, context);
        }
        self.is_of_entry = outer;
    }
}

/// Returns the name of the settings of an entry of a list: `array.FAS2050`, or `failure.1`.
fn entry_name(field: &Field, table: &mut dyn Table, index: usize) -> String {
    let name = match field.naming {
        Naming::Everywhere => name_of(table),
        Naming::Numbers | Naming::InProblems => None,
    };
    format!("{}.{}", field.key, name.unwrap_or_else(|| (index + 1).to_string()))
}

/// Returns the `name` of a table, if it has one.
pub fn name_of(table: &mut dyn Table) -> Option<String> {
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
