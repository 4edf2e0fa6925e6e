//! Names of settings that a scenario does not have, and that it may be given.

use crate::fields::field::{Absence, Listing};
use crate::fields::list::is_default;
use crate::fields::walk::each_setting;
use crate::fields::{Context, Table};

/// Returns the names of settings of a table that are not listed and may be given: what is off, at a default that is not
/// listed, or of no use as other settings are, which is refused with its remedy.
pub fn absent_names(table: &mut dyn Table, context: Context) -> Vec<String> {
    let mut absent = Vec::new();
    each_setting(table, context, &mut |found| {
        let field = found.field;
        let is_absent = match (field.listing, found.slot.get()) {
            (Listing::Never, _) => matches!(field.absence, Absence::Default(_)),
            _ if found.is_new => true,
            (_, None) => !field.is_apart,
            (Listing::UnlessDefault, Some(value)) => is_default(field, &value),
            (Listing::Always, Some(_)) => false,
        };
        if is_absent {
            absent.push(found.name());
        }
    });
    absent
}
