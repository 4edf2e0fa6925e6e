//! Settings as a person sees and changes them.

use crate::fields::field::{Absence, Field, Listing};
use crate::fields::kind::Kind;
use crate::fields::list::{entry_name, is_default};
use crate::fields::slot::Slot;
use crate::fields::{Context, Entries, Fields, Maybe, Table, Visitor};
use crate::setting_value::SettingValue;

/// A setting that a scenario has, or may be given.
#[derive(Debug, Clone)]
pub struct Setting {
    /// Its full name, such as `array.FAS2050.write_anywhere.policy`.
    pub name: String,
    /// Its value as a scenario's file writes it; none if it is not set.
    pub value: Option<String>,
    /// What it means.
    pub about: &'static str,
    /// What it takes.
    pub takes: Takes,
    /// Whether a scenario need not have it, and then has nothing in its place.
    pub is_optional: bool,
    /// How a form shows it; none of what people hardly ever argue about.
    pub control: Option<Control>,
}

/// What a setting takes.
#[derive(Debug, Clone, PartialEq)]
pub enum Takes {
    /// One of these words.
    Words(Vec<&'static str>),
    /// A number, whole or not, from one to another.
    Number {
        /// The least that it may be.
        least: f64,
        /// The most, if there is a limit.
        most: Option<u64>,
    },
    /// A number of bytes, with its unit.
    Size,
    /// A time, with its unit.
    Time,
    /// Anything else.
    Text,
}

/// How a form shows a setting.
#[derive(Debug, Clone)]
pub struct Control {
    /// Its place among the controls of an array, of a workload, or of the run.
    pub place: u8,
    /// Its name for a reader.
    pub label: &'static str,
    /// The unit of a number.
    pub unit: Option<&'static str>,
    /// What the setting means, to someone who argues about it.
    pub about: String,
}

/// Returns every setting of a table, with what it means and takes.
pub(crate) fn described(table: &mut dyn Table) -> Vec<Setting> {
    let mut describer = Describer::default();
    table.fields(&mut Fields::new(&mut describer, Context::default()));
    describer.found
}

#[derive(Default)]
struct Describer {
    beginning: String,
    /// Whether the whole table is absent.
    is_new: bool,
    found: Vec<Setting>,
}

impl Describer {
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

impl Visitor for Describer {
    fn value(&mut self, field: &Field, slot: &mut dyn Slot) {
        if field.listing == Listing::Never {
            return;
        }
        // What is not listed at its default is as good as absent.
        let is_off = |value: &SettingValue| {
            field.listing == Listing::UnlessDefault && is_default(field, value)
        };
        let value = slot.get().filter(|value| !self.is_new && !is_off(value));
        let control = field.page.map(|page| Control {
            place: page.place,
            label: page.label,
            unit: page.unit,
            about: [page.about.unwrap_or(field.help), page.more].join(" ").trim_end().to_owned(),
        });
        self.found.push(Setting {
            name: format!("{}{}", self.beginning, field.key),
            is_optional: self.is_new
                || field.absence == Absence::None
                || field.listing == Listing::UnlessDefault,
            value: value.map(|value| field.kind.written(value).to_string()),
            about: field.help,
            takes: takes(&field.kind),
            control,
        });
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

fn takes(kind: &Kind) -> Takes {
    let from = |least: u64, most: Option<u64>| Takes::Number { least: least as f64, most };
    match kind {
        Kind::Count { least, most } => {
            from(*least, Some(*most).filter(|most| *most != u64::from(u32::MAX)))
        }
        Kind::Range(range) => from(*range.start(), Some(*range.end())),
        Kind::Percent => from(0, Some(100)),
        Kind::WholePercent { least } => from(*least, Some(100)),
        Kind::Number { .. } => from(0, None),
        Kind::Choice(words) => Takes::Words(words.clone()),
        Kind::Known(_, names) => Takes::Words(names()),
        kind if kind.is_size() => Takes::Size,
        kind if kind.is_time() => Takes::Time,
        _ => Takes::Text,
    }
}
