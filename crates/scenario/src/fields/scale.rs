//! Dividing what a scenario's scale changes.

use std::fmt::Display;

use strewn_base::BLOCK_BYTES;

use crate::fields::field::{Field, Listing, Scales};
use crate::fields::slot::Slot;
use crate::fields::walk::name_of;
use crate::fields::{Context, Entries, Fields, Maybe, Table, Visitor};
use crate::quantity::{Bytes, Nanoseconds};
use crate::setting_value::SettingValue;

/// Divides the quantities of a scenario by `by` or its square root, and returns a line for each change.
pub fn scale(scenario: &mut dyn Table, by: u32) -> Vec<String> {
    let lines = divide(scenario, String::new(), by).into_iter();
    lines.map(|(_, line)| line).collect()
}

fn divide(table: &mut dyn Table, owner: String, by: u32) -> Vec<(Scales, String)> {
    let mut divider = Divider { owner, by, changes: Vec::new() };
    table.fields(&mut Fields::new(&mut divider, Context::default()));
    divider.changes
}

struct Divider {
    /// What the quantities are of.
    owner: String,
    by: u32,
    changes: Vec<(Scales, String)>,
}

impl Visitor for Divider {
    fn value(&mut self, field: &Field, slot: &mut dyn Slot) {
        let (Some((scales, what)), Some(value)) = (&field.scales, slot.get()) else { return };
        if field.listing == Listing::Never {
            return;
        }
        let SettingValue::Count(before) = value else { return };
        let by = match scales {
            Scales::Whole => self.by,
            Scales::Root => self.by.isqrt().max(1),
        };
        let what = what.replace("{}", &self.owner);
        let (after, change) = divided(field, before, by);
        slot.set(SettingValue::Count(after));
        self.changes.extend(change.map(|change| (*scales, format!("{what} {change}"))));
    }

    fn table(&mut self, _: &Field, table: &mut dyn Maybe, context: Context) {
        if let Some(table) = table.get() {
            table.fields(&mut Fields::new(self, context));
        }
    }

    fn part(&mut self, _: &Field, table: &mut dyn Table, context: Context) {
        table.fields(&mut Fields::new(self, context));
    }

    fn tables(&mut self, field: &Field, tables: &mut dyn Entries, _: Context) {
        for index in 0..tables.count() {
            let table = tables.get(index);
            let name = name_of(table).unwrap_or_default();
            let owner =
                field.owner.replace("{name}", &name).replace("{n}", &(index + 1).to_string());
            let owner =
                owner.replace("{n + 1}", &(index + 2).to_string()).replace("{}", &self.owner);
            let mut changes = divide(table, owner, self.by);
            changes.sort_by_key(|(scales, _)| *scales);
            self.changes.extend(changes);
        }
    }
}

/// Divides a quantity, and says what it was and is if that can be seen.
fn divided(field: &Field, before: u64, by: u32) -> (u64, Option<String>) {
    if field.kind.is_size() {
        let after = divided_size(before, by);
        let words = [before, after].map(|bytes| Bytes(bytes).approximately());
        (after, change(&words[0], &words[1]))
    } else {
        let after = (before / u64::from(by)).max(before.min(1));
        let change = match field.kind.is_time() {
            true => change(&Nanoseconds(before), &Nanoseconds(after)),
            false => change(&before, &after),
        };
        (after, change)
    }
}

/// Divides a size, down to whole blocks. Nothing becomes zero unless it was.
pub fn divided_size(bytes: u64, by: u32) -> u64 {
    let divided = bytes / u64::from(by);
    (divided - divided % BLOCK_BYTES).max(BLOCK_BYTES.min(bytes))
}

/// Returns what changes, if it can be seen.
pub fn change(before: &impl Display, after: &impl Display) -> Option<String> {
    let (before, after) = (before.to_string(), after.to_string());
    (before != after).then(|| format!("{before} -> {after}"))
}
