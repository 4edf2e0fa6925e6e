//! Times of the run at which something happens.

use crate::fields::walk::each_setting;
use crate::fields::{Context, Table};
use crate::setting_value::SettingValue;

/// Returns the times of the run, in nanoseconds, at which something happens by the settings of a table.
pub fn moments(table: &mut dyn Table) -> Vec<u64> {
    let mut moments = Vec::new();
    each_setting(table, Context::default(), &mut |found| {
        let happens = found.field.is_moment && !found.is_new;
        if let (true, Some(SettingValue::Count(ns))) = (happens, found.slot.get()) {
            moments.push(ns);
        }
    });
    moments
}
