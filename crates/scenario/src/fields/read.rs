//! Reading the settings of a text.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::fields::field::{Absence, Field, Naming};
use crate::fields::kind::Kind;
use crate::fields::section::Section;
use crate::fields::slot::Slot;
use crate::fields::{Context, Entries, Fields, Maybe, Table, Text, Visitor};
use crate::setting_value::SettingValue;
use crate::value::{self, Reading};

/// Reads a table and those in it. `section` knows afterwards what is wrong, and has the tables within.
pub fn read(section: &mut Section<'_>, table: &mut dyn Table, naming: Naming, context: Context) {
    table.fields(&mut Fields::new(&mut Reader { section, naming }, context));
    section.finish();
}

struct Reader<'s, 't> {
    section: &'s mut Section<'t>,
    naming: Naming,
}

impl Visitor for Reader<'_, '_> {
    fn value(&mut self, field: &Field, slot: &mut dyn Slot) {
        let section = &mut *self.section;
        let Some(given) = section.get(field.key) else {
            match &field.absence {
                Absence::None | Absence::OfKind(_) => slot.clear(),
                Absence::Present | Absence::Inherited => {}
                Absence::Default(text) => {
                    if let Some(value) = of_default(field, text) {
                        slot.set(value);
                    }
                }
                Absence::Required(example) | Absence::RequiredUnless(example) => {
                    section.require(field.key, example);
                }
            }
            return;
        };
        let value = match &field.kind {
            Kind::List { of, .. } => read_list(section, field, of, given),
            kind => read_value(field, kind, given.get_ref())
                .map_err(|wrong| {
                    section.problem_at(given.span(), field.key, wrong.message, wrong.help);
                })
                .ok(),
        };
        let Some(value) = value else { return section.spoil(field.key) };
        if let (Naming::InProblems | Naming::Everywhere, "name", SettingValue::Text(name)) =
            (self.naming, field.key, &value)
        {
            section.rename_entry(name);
        }
        slot.set(value);
    }

    fn table(&mut self, field: &Field, table: &mut dyn Maybe, context: Context) {
        let is_there = self.section.has(field.key);
        table.set(is_there);
        self.ask_for(field);
        match table.get() {
            Some(inner) => self.read_part(field, inner, context),
            None => self.section.knows(field.key),
        }
    }

    fn part(&mut self, field: &Field, table: &mut dyn Table, context: Context) {
        self.ask_for(field);
        if self.section.has(field.key) {
            self.read_part(field, table, context);
        } else {
            self.section.knows(field.key);
        }
    }

    fn tables(&mut self, field: &Field, tables: &mut dyn Entries, context: Context) {
        tables.clear();
        self.ask_for(field);
        let is_given = self.section.has(field.key);
        let Some(sections) = self.section.sections(field.key) else {
            if is_given {
                self.section.spoil(field.key);
            }
            return;
        };
        let mut read_sections = Vec::new();
        for mut section in sections {
            read(&mut section, tables.add(), field.naming, context);
            if !section.is_good() {
                self.section.spoil(field.key);
            }
            read_sections.push(section);
        }
        self.section.keep(field.key, read_sections);
    }

    fn text(&mut self) -> Option<&mut dyn Text> {
        Some(self.section)
    }
}

impl Reader<'_, '_> {
    fn ask_for(&mut self, field: &Field) {
        if let Absence::Required(remedy) | Absence::RequiredUnless(remedy) = field.absence {
            self.section.require_one_of(&[field.key], remedy);
        }
    }

    fn read_part(&mut self, field: &Field, table: &mut dyn Table, context: Context) {
        let Some(mut section) = self.section.section(field.key) else {
            return self.section.spoil(field.key);
        };
        read(&mut section, table, Naming::Numbers, context);
        if !section.is_good() {
            self.section.spoil(field.key);
        }
        self.section.keep(field.key, vec![section]);
    }
}

/// Reads a value. A refusal of the setting's own has more to say than one of its kind's limits.
fn read_value(field: &Field, kind: &Kind, given: &DeValue<'_>) -> Reading<SettingValue> {
    let Some(refusal) = field.refusal else { return kind.read(given) };
    let value = match kind {
        Kind::Count { .. } | Kind::Range(_) => Kind::Count { least: 0, most: u64::MAX }.read(given),
        Kind::Choice(_) => Kind::Text.read(given),
        kind => kind.read(given),
    }?;
    match refusal(&value) {
        Some((message, help)) => value::refuse(message, help),
        None => kind.read(given),
    }
}

/// Reads the elements of a list. Each that is wrong is a problem.
fn read_list(
    section: &Section<'_>,
    field: &Field,
    element: &Kind,
    given: &Spanned<DeValue<'_>>,
) -> Option<SettingValue> {
    let example = match &field.absence {
        Absence::Required(example)
        | Absence::RequiredUnless(example)
        | Absence::Default(example) => example,
        _ => field.each,
    };
    let write = || format!("write {} = {example}", field.key);
    let Some(elements) = given.get_ref().as_array() else {
        let message = format!("is not an array but {}", value::type_of(given.get_ref()));
        section.problem_at(given.span(), field.key, message, write());
        return None;
    };
    if elements.is_empty() {
        section.problem_at(given.span(), field.key, "is empty", write());
        return None;
    }
    let read = elements.iter().map(|given| {
        let read = element.read(given.get_ref());
        read.map_err(|wrong| {
            section.problem_at(given.span(), field.key, wrong.message, wrong.help);
        })
    });
    let read: Vec<_> = read.collect();
    read.into_iter().collect::<Result<_, ()>>().ok().map(SettingValue::List)
}

/// Returns the value that a default's text has; a test reads each.
pub fn of_default(field: &Field, text: &str) -> Option<SettingValue> {
    let document = format!("value = {text}");
    let table = DeTable::parse(&document).ok()?;
    let given = table.get_ref().get("value")?;
    match &field.kind {
        Kind::List { of: element, .. } => {
            let elements = given.get_ref().as_array()?.iter();
            let read = elements.map(|given| element.read(given.get_ref()).ok());
            read.collect::<Option<_>>().map(SettingValue::List)
        }
        kind => kind.read(given.get_ref()).ok(),
    }
}
