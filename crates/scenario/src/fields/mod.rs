//! Settings, each declared once.
//!
//! A table of a scenario is a [`Table`]: it goes over its settings, and gives each a [`Field`] and the place of its
//! value. Whatever is done with settings goes over them the same way: they are read, listed, fitted, scaled, described
//! in the schema and in the reference. So one line declares a setting:
//!
//! ```text
//! f.value(count("tetrises_in_flight", "Tetrises of a consistency point in flight at once.").chosen("2"),
//!     &mut self.tetrises_in_flight);
//! ```

mod absent;
mod check;
mod faults;
mod field;
mod kind;
mod list;
mod moments;
mod number;
mod read;
mod reference;
mod scale;
mod schema;
mod section;
mod setting;
mod slot;
mod walk;

pub use absent::absent_names;
pub use check::check;
pub(crate) use faults::{faults_of, is_key, keys_of};
pub use field::{
    Field, Naming, Scales, choice, cost, count, flag, known, list_of, name, number, own, percent,
    size, spindles, table, text, time, whole, whole_percent,
};
pub use kind::{Multiple, Own};
pub use list::listed;
pub use moments::moments;
pub(crate) use number::numbers;
pub use number::{ArrayParameter, ParameterUnit};
pub use read::read;
pub use reference::reference;
pub use scale::{change, divided_size, scale};
pub use schema::schema_of;
pub use section::{Problems, Section};
pub(crate) use setting::described;
pub use setting::{Control, Setting, Takes};
pub use slot::{Limit, Slot, UnlessZero, Words};

use toml::de::DeTable;

/// A table of a scenario, with the values of its settings.
pub trait Table {
    /// Goes over its settings, in the order in which they are listed.
    fn fields(&mut self, f: &mut Fields<'_>);

    /// Notes what is wrong between settings, each of which is right by itself. `section` knows which are not.
    fn check(&self, _section: &Section<'_>, _around: &Around) {}

    /// What its schema says beside its settings, as the members of a JSON object.
    fn rules(&self) -> String {
        String::new()
    }
}

/// What checking a table must know of the scenario that it is in. What is not right by itself is left out.
#[derive(Debug, Clone, Copy, Default)]
pub struct Around {
    /// The scenario's segments.
    pub(crate) segments: Option<u32>,
    /// The length of the run, in nanoseconds.
    pub(crate) length_ns: Option<u64>,
}

/// What goes over settings.
pub trait Visitor {
    /// A setting.
    fn value(&mut self, field: &Field, slot: &mut dyn Slot);

    /// A table that may be absent.
    fn table(&mut self, field: &Field, table: &mut dyn Maybe, context: Context);

    /// A table whose settings are there even if it is absent.
    fn part(&mut self, field: &Field, table: &mut dyn Table, context: Context);

    /// A list of tables.
    fn tables(&mut self, field: &Field, tables: &mut dyn Entries, context: Context);

    /// What is asked of the text. Only a reader has one.
    fn text(&mut self) -> Option<&mut dyn Text> {
        None
    }

    /// Whether settings are described, and so all that there can be.
    fn describes(&self) -> bool {
        false
    }
}

/// What decides, outside of a table, which settings it has.
#[derive(Debug, Clone, Copy, Default)]
pub struct Context {
    /// Whether workloads have names, and outstanding operations of their own.
    pub(crate) workloads_are_named: bool,
    /// Whether hosts have names, and cores of their own.
    pub(crate) hosts_are_named: bool,
    /// Why the array has no consistency points, and a remedy for what costs them; none if it has some.
    pub(crate) no_consistency_points: Option<(&'static str, &'static str)>,
    /// Whether each blade has a link of its own.
    pub(crate) has_blade_link: bool,
    /// Whether it has several disk groups.
    pub(crate) has_disk_groups: bool,
    /// Whether it has two controllers.
    pub(crate) is_pair: bool,
}

/// Settings being gone over.
pub struct Fields<'v> {
    visitor: &'v mut dyn Visitor,
    pub(crate) context: Context,
}

impl<'v> Fields<'v> {
    pub(crate) fn new(visitor: &'v mut dyn Visitor, context: Context) -> Self {
        Self { visitor, context }
    }

    /// A setting with one value, which has its place in `slot`.
    pub fn value(&mut self, field: Field, slot: &mut dyn Slot) {
        self.visitor.value(&field, slot);
    }

    /// A table that may be absent.
    pub fn table<T: Table + Default + 'static>(&mut self, field: Field, table: &mut Option<T>) {
        self.visitor.table(&field, table, self.context);
    }

    /// A table that is always there, if only with defaults.
    pub fn part(&mut self, field: Field, table: &mut dyn Table) {
        self.visitor.part(&field, table, self.context);
    }

    /// A list of tables.
    pub fn tables<T: Table + Default>(&mut self, field: Field, tables: &mut Vec<T>) {
        self.tables_like(field, tables, &T::default);
    }

    /// A list of tables, each of which is at first as `new` makes it.
    pub fn tables_like<T: Table>(
        &mut self,
        field: Field,
        tables: &mut Vec<T>,
        new: &dyn Fn() -> T,
    ) {
        let entries = &mut EntriesOf { tables, new };
        self.visitor.tables(&field, entries, self.context);
    }

    /// Whether the text is read.
    pub fn reads(&mut self) -> bool {
        self.visitor.text().is_some()
    }

    /// Whether settings are described, and so all that there can be.
    pub fn describes(&self) -> bool {
        self.visitor.describes()
    }

    /// Whether the text itself gives a key; true where no text is read.
    pub fn is_given(&mut self, key: &str) -> bool {
        self.visitor.text().is_none_or(|text| text.gives(key))
    }

    /// Whether the value of a key is right by itself; true where no text is read.
    pub fn is_right(&mut self, key: &str) -> bool {
        self.visitor.text().is_none_or(|text| text.is_right(key))
    }

    /// Whether a key has a value, by the text or its controller; true where no text is read.
    pub fn has(&mut self, key: &str) -> bool {
        self.visitor.text().is_none_or(|text| text.has(key))
    }

    /// Whether the text has `[[key]]`, if one is read.
    pub fn is_list(&mut self, key: &str) -> Option<bool> {
        self.visitor.text().map(|text| text.is_list(key))
    }

    /// Takes what the text does not give from a controller.
    pub fn set_defaults(&mut self, constants: &'static DeTable<'static>) {
        if let Some(text) = self.visitor.text() {
            text.set_defaults(constants);
        }
    }

    /// Asks for one of some keys, with what to add if the text has none.
    pub fn requires_one_of(&mut self, keys: &[&'static str], help: &str) {
        if let Some(text) = self.visitor.text() {
            text.require_one_of(keys, help);
        }
    }

    /// The text of a key of a table in this one, if it has one.
    pub fn peek_within(&mut self, table: &str, key: &str) -> Option<String> {
        self.visitor.text()?.peek_within(table, key)
    }

    /// A key that has no meaning here: it is no mistake by itself, and its value is not read.
    pub fn passes_over(&mut self, key: &'static str) {
        if let Some(text) = self.visitor.text() {
            text.knows(key);
        }
    }

    /// A key that must not be given here.
    pub fn refuses(&mut self, key: &'static str, message: &str, help: &str) {
        if let Some(text) = self.visitor.text() {
            text.refuse(key, message, help);
        }
    }
}

/// The text of a table that is being read.
pub trait Text {
    /// Whether the text itself has the key.
    fn gives(&self, key: &str) -> bool;

    /// Whether the text, or its controller, has the key.
    fn has(&self, key: &str) -> bool;

    /// Whether the value of a key is right by itself.
    fn is_right(&self, key: &str) -> bool;

    /// Whether a key is a list, as `[[key]]` makes one.
    fn is_list(&self, key: &str) -> bool;

    /// Returns the text of a key of a table in this one, if it has one.
    fn peek_within(&self, table: &str, key: &str) -> Option<String>;

    /// Takes what the text does not give from a controller.
    fn set_defaults(&mut self, constants: &'static DeTable<'static>);

    /// Asks for one of some keys, with what to add if none is there.
    fn require_one_of(&mut self, keys: &[&'static str], help: &str);

    /// Takes note of a key that is no mistake by itself.
    fn knows(&mut self, key: &'static str);

    /// Refuses a key that the text gives.
    fn refuse(&mut self, key: &'static str, message: &str, help: &str);
}

/// A table that may be absent.
pub trait Maybe {
    fn get(&mut self) -> Option<&mut dyn Table>;
    fn set(&mut self, is_there: bool);
    /// Another one like it, with what a table has that gives nothing.
    fn blank(&self) -> Box<dyn Table>;
}

impl<T: Table + Default + 'static> Maybe for Option<T> {
    fn get(&mut self) -> Option<&mut dyn Table> {
        self.as_mut().map(|table| table as &mut dyn Table)
    }

    fn set(&mut self, is_there: bool) {
        *self = is_there.then(T::default);
    }

    fn blank(&self) -> Box<dyn Table> {
        Box::new(T::default())
    }
}

/// The entries of a list of tables.
pub trait Entries {
    fn count(&self) -> usize;
    fn get(&mut self, index: usize) -> &mut dyn Table;
    /// Adds an entry to a list that is being read, which is empty at first.
    fn add(&mut self) -> &mut dyn Table;
    fn clear(&mut self);
    fn blank(&self) -> Box<dyn Table + '_>;
}

struct EntriesOf<'t, T> {
    tables: &'t mut Vec<T>,
    new: &'t dyn Fn() -> T,
}

impl<T: Table> Entries for EntriesOf<'_, T> {
    fn count(&self) -> usize {
        self.tables.len()
    }

    fn get(&mut self, index: usize) -> &mut dyn Table {
        &mut self.tables[index]
    }

    fn add(&mut self) -> &mut dyn Table {
        self.tables.push((self.new)());
        let last = self.tables.len() - 1;
        &mut self.tables[last]
    }

    fn clear(&mut self) {
        self.tables.clear();
    }

    fn blank(&self) -> Box<dyn Table + '_> {
        Box::new((self.new)())
    }
}
