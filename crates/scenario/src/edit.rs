//! Changing a scenario's text in place: comments, order and layout stay as a person wrote them.

use toml_edit::{
    Array, ArrayOfTables, DocumentMut, InlineTable, Item, RawString, Table, TableLike, TomlError,
    Value,
};

/// The list of arrays, whose entries are found by name.
const ARRAYS: &str = "array";
/// What some editors put before a text.
const BYTE_ORDER_MARK: &str = "\u{feff}";

/// A text that is being changed.
pub(crate) struct EditedText {
    document: DocumentMut,
    starts_with_mark: bool,
    /// Whether lines end as on Windows; the document knows only line feeds.
    has_carriage_returns: bool,
    /// Whether the last line ends, as the document always has it.
    last_line_ends: bool,
}

/// Where a setting belongs: below the array of a name, or below the root.
#[derive(Clone, Copy)]
pub(crate) struct SettingPath<'p> {
    pub(crate) array: Option<&'p str>,
    pub(crate) below: &'p str,
}

impl EditedText {
    pub(crate) fn of(text: &str) -> Result<Self, TomlError> {
        Ok(Self {
            document: text.parse()?,
            starts_with_mark: text.starts_with(BYTE_ORDER_MARK),
            has_carriage_returns: text.contains("\r\n"),
            last_line_ends: text.ends_with('\n'),
        })
    }

    /// Sets a value. Tables are made as needed, and so is the next entry of a list. Returns whether there is a place
    /// for it.
    pub(crate) fn put(&mut self, path: SettingPath<'_>, value: Value) -> bool {
        self.table_of(path.array).is_some_and(|table| put_below(table, path.below, value))
    }

    /// Removes a value, and the tables and entries of lists that are empty then. Returns whether it was there.
    pub(crate) fn remove(&mut self, path: SettingPath<'_>) -> bool {
        self.table_of(path.array).is_some_and(|table| remove_below(table, path.below))
    }

    fn table_of(&mut self, array: Option<&str>) -> Option<TableAt<'_>> {
        let Some(name) = array else { return Some(TableAt::of(self.document.as_table_mut())) };
        let is_it = |table: &dyn TableLike| table.get("name").and_then(Item::as_str) == Some(name);
        match self.document.get_mut(ARRAYS)? {
            Item::ArrayOfTables(tables) => {
                tables.iter_mut().find(|table| is_it(*table)).map(TableAt::of)
            }
            Item::Value(Value::Array(tables)) => {
                let mut tables = tables.iter_mut().filter_map(Value::as_inline_table_mut);
                tables.find(|table| is_it(*table)).map(TableAt::of_inline)
            }
            _ => None,
        }
    }
}

impl std::fmt::Display for EditedText {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut text = self.document.to_string();
        if !self.last_line_ends && text.ends_with('\n') {
            text.pop();
        }
        if self.has_carriage_returns {
            text = text.replace("\r\n", "\n").replace('\n', "\r\n");
        }
        let mark = if self.starts_with_mark { BYTE_ORDER_MARK } else { "" };
        write!(formatter, "{mark}{text}")
    }
}

/// Returns a value as it is written in the text of a setting; what is no TOML is a string without its quotes.
pub(crate) fn written(text: &str) -> Value {
    let document = format!("value = {text}").parse::<DocumentMut>().ok();
    let item = document.and_then(|mut document| document.remove("value"));
    item.and_then(|item| item.into_value().ok()).unwrap_or_else(|| Value::from(text))
}

/// How tables are written below a table.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    /// With headers of their own.
    Headers,
    /// As the first words of dotted keys.
    Dotted,
    /// In braces.
    Inline,
}

/// A table, and how those below it are written.
struct TableAt<'t> {
    table: &'t mut dyn TableLike,
    style: Style,
}

impl<'t> TableAt<'t> {
    fn of(table: &'t mut Table) -> Self {
        let style = if table.is_dotted() { Style::Dotted } else { Style::Headers };
        Self { table, style }
    }

    fn of_inline(table: &'t mut InlineTable) -> Self {
        Self { table, style: Style::Inline }
    }
}

/// The number of an entry of a list, from 0, and what is below it; `None` if a path does not begin with one.
fn entry_of(path: &str) -> Option<(usize, &str)> {
    let (number, below) = path.split_once('.')?;
    Some((number.parse::<usize>().ok()?.checked_sub(1)?, below))
}

fn put_below(TableAt { table, style }: TableAt<'_>, path: &str, value: Value) -> bool {
    let Some((key, rest)) = path.split_once('.') else {
        put_value(table, style, path, value);
        return true;
    };
    let entry = entry_of(rest);
    if !table.contains_key(key) {
        match entry {
            Some((0, _)) => add(table, style, key, new_list(style)),
            Some(_) => return false,
            None => add(table, style, key, new_table(style)),
        }
    }
    match (table.get_mut(key), entry) {
        (Some(Item::Table(inner)), _) => put_below(TableAt::of(inner), rest, value),
        (Some(Item::Value(Value::InlineTable(inner))), _) => {
            put_below(TableAt::of_inline(inner), rest, value)
        }
        (Some(Item::ArrayOfTables(entries)), Some((index, below))) => {
            if index == entries.len() {
                entries.push(Table::new());
            }
            entries.get_mut(index).is_some_and(|entry| put_below(TableAt::of(entry), below, value))
        }
        (Some(Item::Value(Value::Array(entries))), Some((index, below))) => {
            // A list of other values, such as of segments, has no keys.
            if index == entries.len() && entries.iter().all(Value::is_inline_table) {
                push_entry(entries);
            }
            let entry = entries.get_mut(index).and_then(Value::as_inline_table_mut);
            entry.is_some_and(|entry| put_below(TableAt::of_inline(entry), below, value))
        }
        _ => false,
    }
}

fn new_table(style: Style) -> Item {
    match style {
        Style::Headers => Item::Table(Table::new()),
        Style::Dotted => {
            let mut table = Table::new();
            table.set_dotted(true);
            Item::Table(table)
        }
        Style::Inline => Item::Value(InlineTable::new().into()),
    }
}

fn new_list(style: Style) -> Item {
    match style {
        Style::Headers => Item::ArrayOfTables(ArrayOfTables::new()),
        Style::Dotted | Style::Inline => Item::Value(Array::new().into()),
    }
}

/// Sets a value of a table. One that is there leaves its place and the comment after it to the new one.
fn put_value(table: &mut dyn TableLike, style: Style, key: &str, mut value: Value) {
    match table.get_mut(key) {
        Some(Item::Value(old)) => {
            *value.decor_mut() = old.decor().clone();
            *old = value;
        }
        Some(other) => {
            value.decor_mut().clear();
            *other = Item::Value(value);
            // That was a table, whose key was in a header.
            if let Some(mut key) = table.key_mut(key) {
                key.fmt();
            }
        }
        None => {
            value.decor_mut().clear();
            add(table, style, key, Item::Value(value));
        }
    }
}

/// Adds what a table does not have, laid out as the last value that it has.
fn add(table: &mut dyn TableLike, style: Style, key: &str, mut item: Item) {
    let last = table.get_values().last().and_then(|(keys, _)| keys.last().copied());
    let indent = last.and_then(|last| last.leaf_decor().prefix()).and_then(RawString::as_str);
    let indent = indent.map(|prefix| last_line(prefix, style).to_owned());
    if style == Style::Inline
        && let Some(last) = last_value(table)
        && let Item::Value(value) = &mut item
    {
        // What is between the last value and the brace.
        let before_brace = last.decor().suffix().cloned().unwrap_or_default();
        last.decor_mut().set_suffix("");
        value.decor_mut().set_prefix(" ");
        value.decor_mut().set_suffix(before_brace);
    }
    let is_value = item.is_value();
    table.insert(key, item);
    if let (Some(indent), true, Some(mut key)) = (indent, is_value, table.key_mut(key)) {
        key.leaf_decor_mut().set_prefix(indent);
    }
}

/// Returns the white space that a key's line begins with, of what is before the key: comments are of that key. A key in
/// braces has the line break too.
fn last_line(before_key: &str, style: Style) -> &str {
    let line = match (before_key.rfind('\n'), style) {
        (None, _) => before_key,
        (Some(at), Style::Inline) => &before_key[at..],
        (Some(at), _) => &before_key[at + 1..],
    };
    if line.trim().is_empty() { line } else { "" }
}

/// Returns the last value of a table in braces.
fn last_value(table: &mut dyn TableLike) -> Option<&mut Value> {
    let (_, last) = table.iter_mut().last()?;
    if last.as_inline_table().is_some_and(InlineTable::is_dotted) {
        last_value(last.as_inline_table_mut()?)
    } else {
        last.as_value_mut()
    }
}

/// Adds an empty table to a list, laid out as the last one.
fn push_entry(entries: &mut Array) {
    let mut entry = Value::from(InlineTable::new());
    let last = entries.len().checked_sub(1).and_then(|last| entries.get_mut(last));
    let Some(last) = last else { return entries.push(entry) };
    let before = last.decor().prefix().and_then(RawString::as_str).unwrap_or_default();
    let before = last_line(before, Style::Inline);
    entry.decor_mut().set_prefix(if before.is_empty() { " " } else { before });
    let after = last.decor().suffix().cloned().unwrap_or_default();
    last.decor_mut().set_suffix("");
    entry.decor_mut().set_suffix(after);
    entries.push_formatted(entry);
}

/// Removes a value, and what is empty then.
fn remove_below(TableAt { table, style }: TableAt<'_>, path: &str) -> bool {
    // What is between the last value and the brace stays there.
    let is_in_braces = style == Style::Inline && !table.is_dotted();
    let last = if is_in_braces { last_value(table) } else { None };
    let before_brace = last.and_then(|last| last.decor().suffix()).cloned();
    let is_removed = remove(table, path);
    if let (true, Some(before_brace)) = (is_removed, before_brace)
        && let Some(last) = last_value(table)
    {
        last.decor_mut().set_suffix(before_brace);
    }
    is_removed
}

fn remove(table: &mut dyn TableLike, path: &str) -> bool {
    let Some((key, rest)) = path.split_once('.') else { return take_out(table, path) };
    let (is_removed, is_empty) = match (table.get_mut(key), entry_of(rest)) {
        (Some(Item::ArrayOfTables(entries)), Some((index, below))) => {
            let Some(entry) = entries.get_mut(index) else { return false };
            let is_removed = remove_below(TableAt::of(entry), below);
            if is_removed && entry.is_empty() {
                entries.remove(index);
            }
            (is_removed, entries.is_empty())
        }
        (Some(Item::Value(Value::Array(entries))), Some((index, below))) => {
            let entry = entries.get_mut(index).and_then(Value::as_inline_table_mut);
            let Some(entry) = entry else { return false };
            let is_removed = remove_below(TableAt::of_inline(entry), below);
            if is_removed && entry.is_empty() {
                entries.remove(index);
            }
            (is_removed, entries.is_empty())
        }
        (Some(Item::Table(inner)), _) => (remove_below(TableAt::of(inner), rest), inner.is_empty()),
        (Some(Item::Value(Value::InlineTable(inner))), _) => {
            (remove_below(TableAt::of_inline(inner), rest), inner.is_empty())
        }
        _ => return false,
    };
    if is_removed && is_empty {
        take_out(table, key);
    }
    is_removed
}

/// Removes a key with the comment right above it. What is above a blank line is left to the next key.
fn take_out(table: &mut dyn TableLike, key: &str) -> bool {
    let keys: Vec<String> = table.iter().map(|(key, _)| key.to_owned()).collect();
    let Some(at) = keys.iter().position(|one| one == key) else { return false };
    let before = table.key(key).and_then(|key| key.leaf_decor().prefix());
    let before = before.and_then(RawString::as_str).unwrap_or_default();
    let kept = before.rfind("\n\n").map_or(0, |at| at + 2);
    let kept = before[..kept.max(usize::from(before.starts_with('\n')))].to_owned();
    table.remove(key);
    let next = keys.get(at + 1).filter(|next| table.get(next).is_some_and(Item::is_value));
    if let Some(mut next) = next.and_then(|next| table.key_mut(next)) {
        let own = next.leaf_decor().prefix().and_then(RawString::as_str).unwrap_or_default();
        let kept = if own.starts_with('\n') { kept.strip_suffix('\n') } else { Some(&*kept) };
        let prefix = format!("{}{own}", kept.unwrap_or_default());
        next.leaf_decor_mut().set_prefix(prefix);
    }
    true
}
