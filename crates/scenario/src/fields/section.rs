//! One table of a scenario while it is read: the keys it has, the keys it should have, and every
//! problem found.
//!
//! The tables are read from the parser's spanned values, not by deserialization: that stops at the
//! first problem, and a person wants all of them.

use std::cell::RefCell;
use std::ops::Range;
use std::sync::LazyLock;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::fields::Text;
use crate::problem::{Problem, ProblemKind};
use crate::value::{self, one_of};
use strewn_base::nearest;

/// A table without keys: that of a text which leaves it to its defaults.
static NOTHING: LazyLock<DeTable<'static>> = LazyLock::new(DeTable::new);

/// The problems of one text.
pub struct Problems<'t> {
    text: &'t str,
    found: RefCell<Vec<Problem>>,
}

impl<'t> Problems<'t> {
    pub fn new(text: &'t str) -> Self {
        Self { text, found: RefCell::default() }
    }

    pub fn add(
        &self,
        kind: ProblemKind,
        span: Range<usize>,
        field: String,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        let problem = Problem::new(kind, self.text, span, field, message.into(), help.into());
        self.found.borrow_mut().push(problem);
    }

    pub fn into_found(self) -> Vec<Problem> {
        self.found.into_inner()
    }
}

/// Returns the value of a key, or the entry `list[name]` of a list of tables that has this name.
fn value_in<'t>(table: &'t DeTable<'t>, key: &str) -> Option<&'t Spanned<DeValue<'t>>> {
    let Some((list, name)) = key.strip_suffix(']').and_then(|entry| entry.split_once('[')) else {
        return table.get(key);
    };
    let mut entries = table.get(list)?.get_ref().as_array()?.iter();
    entries.find(|entry| {
        let of_entry = entry.get_ref().as_table().and_then(|entry| entry.get("name"));
        of_entry.and_then(|value| value.get_ref().as_str()) == Some(name)
    })
}

/// Returns a field as the header of a table writes it: an entry of a list has no name there.
fn header(field: &str) -> String {
    let steps = field.split('[').enumerate().map(|(step, part)| match step {
        0 => part,
        _ => part.split_once(']').map_or("", |(_, rest)| rest),
    });
    steps.collect()
}

/// A required key, or one of several, that is missing.
struct Missing {
    field: &'static str,
    /// Any of these would be enough.
    keys: Vec<&'static str>,
    help: String,
}

/// One table being read. Every key requested becomes a known key; [`finish`](Self::finish) reports
/// the others.
pub struct Section<'t> {
    path: String,
    span: Range<usize>,
    table: &'t DeTable<'t>,
    /// The values of keys that the table does not give.
    defaults: Option<&'t DeTable<'t>>,
    problems: &'t Problems<'t>,
    known: Vec<&'static str>,
    missing: Vec<Missing>,
    /// Keys whose values are wrong or missing.
    spoilt: Vec<&'static str>,
    /// The tables in it that were read, by key.
    inner: Vec<(&'static str, Vec<Section<'t>>)>,
}

impl<'t> Section<'t> {
    pub(crate) fn root(table: &'t Spanned<DeTable<'t>>, problems: &'t Problems<'t>) -> Self {
        Self::new(String::new(), table.span(), table.get_ref(), problems)
    }

    fn new(
        path: String,
        span: Range<usize>,
        table: &'t DeTable<'t>,
        problems: &'t Problems<'t>,
    ) -> Self {
        Self {
            path,
            span,
            table,
            defaults: None,
            problems,
            known: Vec::new(),
            missing: Vec::new(),
            spoilt: Vec::new(),
            inner: Vec::new(),
        }
    }

    /// Gives this table, an entry of a list, a name in place of its number in the fields of its problems.
    pub fn rename_entry(&mut self, name: &str) {
        if let Some(at) = self.path.rfind('[') {
            self.path.truncate(at);
            self.path.push_str(&format!("[{name}]"));
        }
    }

    /// Notes that the value of a key is not to be relied on.
    pub fn spoil(&mut self, key: &'static str) {
        self.spoilt.push(key);
    }

    /// Returns whether the values of all these keys are right by themselves, or rightly absent.
    pub fn are_right(&self, keys: &[&str]) -> bool {
        keys.iter().all(|key| self.is_right(key))
    }

    /// Returns whether that is true of all keys.
    pub fn is_good(&self) -> bool {
        self.spoilt.is_empty()
    }

    /// Keeps tables in it, once they are read.
    pub fn keep(&mut self, key: &'static str, sections: Vec<Self>) {
        self.inner.push((key, sections));
    }

    /// Returns the tables of a key that were read: one, or the entries of a list.
    pub fn inner(&self, key: &str) -> &[Self] {
        self.inner.iter().find(|(own, _)| *own == key).map_or(&[], |(_, sections)| sections)
    }

    /// Returns the value of a key, or its default.
    fn value_of(&self, key: &str) -> Option<&'t Spanned<DeValue<'t>>> {
        self.table.get(key).or_else(|| self.defaults?.get(key))
    }

    /// Returns the value of a key, if there is one. The key is known from here on.
    pub fn get(&mut self, key: &'static str) -> Option<&'t Spanned<DeValue<'t>>> {
        self.known.push(key);
        self.value_of(key)
    }

    /// Returns the table of a key, if there is one.
    pub fn section(&mut self, key: &'static str) -> Option<Section<'t>> {
        let value = self.get(key)?;
        match value.get_ref() {
            DeValue::Table(table) => {
                // A table that only the defaults have has no place in the text, and neither have its keys.
                let (span, table) = match self.gives(key) {
                    true => (value.span(), table),
                    false => (self.span.clone(), &*NOTHING),
                };
                let mut section = Section::new(self.field(key), span, table, self.problems);
                let defaults = self.defaults.and_then(|defaults| defaults.get(key));
                section.defaults = defaults.and_then(|defaults| defaults.get_ref().as_table());
                Some(section)
            }
            other => {
                let message = format!("is not a table but {}", value::type_of(other));
                let help = format!("write [{}] and its keys below", header(&self.field(key)));
                self.problem_at(value.span(), key, message, help);
                None
            }
        }
    }

    /// Returns the tables of `[[key]]`, numbered from 1 in their fields. Returns `None` if there is
    /// no such key, or it is wrong.
    pub fn sections(&mut self, key: &'static str) -> Option<Vec<Section<'t>>> {
        let value = self.get(key)?;
        let elements = value.get_ref().as_array().filter(|elements| !elements.is_empty());
        let tables: Option<Vec<_>> = elements.and_then(|elements| {
            let tables = elements.iter();
            tables.map(|element| Some((element.span(), element.get_ref().as_table()?))).collect()
        });
        let Some(tables) = tables else {
            let help = format!("write [[{}]] before the keys of each", header(&self.field(key)));
            self.problem_at(value.span(), key, "is not a list of tables", help);
            return None;
        };
        let sections = tables.into_iter().enumerate().map(|(index, (span, table))| {
            let path = format!("{}[{}]", self.field(key), index + 1);
            Section::new(path, span, table, self.problems)
        });
        Some(sections.collect())
    }

    /// Notes a required key that is missing, with a value it could have.
    pub fn require(&mut self, key: &'static str, example: &str) {
        if !self.has(key) {
            self.spoil(key);
            let help = format!("add a line such as {key} = {example}");
            self.missing.push(Missing { field: key, keys: vec![key], help });
        }
    }

    /// Notes what is wrong with the value of a key, or with the whole table if it has none.
    pub fn problem(&self, key: &str, message: impl Into<String>, help: impl Into<String>) {
        let span = self.table.get(key).map_or(self.span.clone(), Spanned::span);
        self.problem_at(span, key, message, help);
    }

    /// Notes what is wrong with the value of a key of a table in this one, or of an entry of a list, `list[name]`. The
    /// key may be such an entry too.
    pub fn problem_within(
        &self,
        table: &str,
        key: &str,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        let inner = value_in(self.table, table).and_then(|value| value.get_ref().as_table());
        let value = inner.and_then(|inner| value_in(inner, key));
        let span = value.map_or(self.span.clone(), Spanned::span);
        self.problem_at(span, &format!("{table}.{key}"), message, help);
    }

    /// Returns the text of a key, if it has one.
    pub fn peek(&self, key: &str) -> Option<String> {
        self.table.get(key)?.get_ref().as_str().map(str::to_owned)
    }

    /// The same, to be changed.
    pub fn inner_mut(&mut self, key: &str) -> &mut [Self] {
        let inner = self.inner.iter_mut().find(|(own, _)| *own == key);
        inner.map_or(&mut [], |(_, sections)| sections)
    }

    /// Returns the place of an element of a list, counted from 0.
    pub fn element(&self, key: &str, index: usize) -> Range<usize> {
        let list = self.value_of(key).and_then(|value| value.get_ref().as_array());
        let element = list.and_then(|list| list.get(index));
        element.map_or_else(|| self.span.clone(), Spanned::span)
    }

    /// Notes a problem for each entry of a list of tables that has the name of another one.
    pub fn check_names(&self, key: &str, refusal: impl Fn(&str) -> (String, &'static str)) {
        let mut names = Vec::new();
        for (number, entry) in (1..).zip(self.inner(key)) {
            let Some(name) = entry.peek("name") else { continue };
            if names.contains(&name) {
                let (message, help) = refusal(&name);
                let at = entry.table.get("name").map_or(entry.span.clone(), Spanned::span);
                // Its name would not tell it from the other one.
                self.problem_at(at, &format!("{key}[{number}].name"), message, help);
            }
            names.push(name);
        }
    }

    /// Notes what is wrong with a part of the value of a key.
    pub fn problem_at(
        &self,
        span: Range<usize>,
        key: &str,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.problems.add(ProblemKind::Value, span, self.field(key), message, help);
    }

    /// Notes that a key names something unknown: a `what` that is none of `known`.
    pub fn unknown_name(&self, key: &str, what: &str, name: &str, known: &[impl AsRef<str>]) {
        self.problem(key, format!("there is no {what} `{name}`"), one_of(name, known));
    }

    /// Returns the field of a key of this table.
    pub fn field(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// Reports the keys that are unknown and those that are missing. A misspelt key is one
    /// problem, not two: the key it was meant to be is not reported as missing.
    pub fn finish(&mut self) {
        for (key, _) in self.table.iter() {
            let name: &str = key.get_ref().as_ref();
            if self.known.contains(&name) {
                continue;
            }
            let absent =
                self.known.iter().copied().filter(|known| !self.table.contains_key(*known));
            let help = match nearest(name, absent) {
                Some(near) => {
                    self.missing.retain(|missing| !missing.keys.contains(&near));
                    format!("did you mean `{near}`?")
                }
                None => match nearest(name, self.known.iter().copied()) {
                    Some(near) => format!("`{near}` is the nearest key, and is already given"),
                    None => {
                        // The keys of the kinds of arrays are asked for together, and then one by one.
                        let mut keys: Vec<&str> = Vec::new();
                        for key in &self.known {
                            if !keys.contains(key) {
                                keys.push(key);
                            }
                        }
                        format!("the keys here are {}", keys.join(", "))
                    }
                },
            };
            let field = self.field(name);
            self.problems.add(ProblemKind::UnknownKey, key.span(), field, "unknown key", help);
        }
        for Missing { field, help, .. } in &self.missing {
            let (span, field) = (self.span.clone(), self.field(field));
            self.problems.add(ProblemKind::Missing, span, field, "is missing", help);
        }
    }
}

impl Text for Section<'_> {
    fn gives(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    fn has(&self, key: &str) -> bool {
        self.value_of(key).is_some()
    }

    fn is_right(&self, key: &str) -> bool {
        !self.spoilt.contains(&key)
    }

    fn is_list(&self, key: &str) -> bool {
        self.value_of(key).is_some_and(|value| value.get_ref().as_array().is_some())
    }

    fn set_defaults(&mut self, constants: &'static DeTable<'static>) {
        self.defaults = Some(constants);
    }

    fn peek_within(&self, table: &str, key: &str) -> Option<String> {
        let inner = value_in(self.table, table)?.get_ref().as_table()?;
        inner.get(key)?.get_ref().as_str().map(str::to_owned)
    }

    fn require_one_of(&mut self, keys: &[&'static str], help: &str) {
        if let Some(first) = keys.first()
            && !keys.iter().any(|key| self.has(key))
        {
            let help = help.to_owned();
            self.spoilt.extend(keys);
            self.missing.push(Missing { field: first, keys: keys.to_vec(), help });
        }
    }

    fn knows(&mut self, key: &'static str) {
        self.known.push(key);
    }

    fn refuse(&mut self, key: &'static str, message: &str, help: &str) {
        if self.gives(key) {
            self.known.push(key);
            self.problem(key, message, help);
            self.spoilt.push(key);
        }
    }
}
