//! Where a scenario's text gives a setting.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Returns where a text has the value of a setting. Names of settings have the names of arrays and links in them.
pub(crate) fn place_of<'t>(table: &'t DeTable<'t>, name: &str) -> Option<Range<usize>> {
    for (key, value) in table {
        let Some(rest) = name.strip_prefix(key.get_ref().as_ref()) else { continue };
        if rest.is_empty() {
            return Some(value.span());
        }
        let Some(rest) = rest.strip_prefix('.') else { continue };
        let found = match value.get_ref() {
            DeValue::Table(inner) => place_of(inner, rest),
            DeValue::Array(entries) => place_in_list(entries, rest),
            _ => None,
        };
        if found.is_some() {
            return found;
        }
    }
    None
}

fn place_in_list<'t>(entries: &'t [Spanned<DeValue<'t>>], name: &str) -> Option<Range<usize>> {
    (1..).zip(entries).find_map(|(number, entry)| {
        let entry = entry.get_ref().as_table()?;
        let own = entry.get("name").and_then(|name| name.get_ref().as_str());
        let numbered = format!("{number}");
        let mut beginnings = own.into_iter().chain([numbered.as_str()]);
        beginnings.find_map(|own| place_of(entry, name.strip_prefix(own)?.strip_prefix('.')?))
    })
}
