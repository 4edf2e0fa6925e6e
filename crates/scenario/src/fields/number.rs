//! Settings that calibration may set, as numbers in their base units.

use std::fmt;

use crate::fields::field::Listing;
use crate::fields::kind::Kind;
use crate::fields::walk::each_setting;
use crate::fields::{Context, Table};
use crate::setting_value::SettingValue;

/// A setting of an array that calibration may set.
#[derive(Debug, Clone)]
pub struct ArrayParameter {
    /// Its name below the array, such as `processor.host_operation`.
    pub name: String,
    /// The base unit of its value.
    pub unit: ParameterUnit,
    /// Its value, in the base unit.
    pub value: f64,
    /// Whether it is nothing unless a text gives it.
    pub is_optional: bool,
    place: u8,
}

/// Returns the parameters of a table in their order, after setting one, if it is given, by its name and the value.
pub(crate) fn numbers(table: &mut dyn Table, change: Option<(&str, f64)>) -> Vec<ArrayParameter> {
    let mut numbers = Vec::new();
    each_setting(table, Context::default(), &mut |found| {
        let field = found.field;
        let Some(place) = field.fit.filter(|_| !found.is_new && !found.is_of_entry) else { return };
        let name = found.name();
        if let Some((_, value)) = change.filter(|(changed, _)| *changed == name) {
            // A place of whole numbers takes the nearest, and others the number itself.
            found.slot.set(SettingValue::Count(value as u64));
            found.slot.set(SettingValue::Number(value));
        }
        let value = match found.slot.get() {
            Some(SettingValue::Count(count)) => count as f64,
            Some(SettingValue::Number(number)) => number,
            _ => return,
        };
        let is_optional = field.listing == Listing::UnlessDefault;
        let unit = unit_of(&field.kind);
        numbers.push(ArrayParameter { name, unit, value, is_optional, place });
    });
    numbers.sort_by_key(|number| number.place);
    numbers
}

const fn unit_of(kind: &Kind) -> ParameterUnit {
    match kind {
        Kind::Time { .. } | Kind::TimeRange(_) => ParameterUnit::Nanoseconds,
        Kind::Size { .. } | Kind::SizeRange(..) | Kind::Sectors { .. } => ParameterUnit::Bytes,
        Kind::Percent | Kind::WholePercent { .. } => ParameterUnit::Percent,
        Kind::Count { .. } | Kind::Range(_) => ParameterUnit::Count,
        _ => ParameterUnit::Number,
    }
}

/// The base unit of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParameterUnit {
    /// Whole nanoseconds.
    Nanoseconds,
    /// Whole bytes.
    Bytes,
    /// A percentage from 0 to 100.
    Percent,
    /// A whole number of at least one.
    Count,
    /// A number above zero.
    Number,
}

impl ParameterUnit {
    /// Returns the nearest value that a scenario's file can hold, or `None` if the value is out of
    /// range.
    ///
    /// Times, sizes and counts are whole numbers there. Rounding before the trial makes the value
    /// recorded the value that was tried.
    pub(crate) fn nearest(self, value: f64) -> Option<f64> {
        // Whole numbers up to here are exact in 64-bit floating point.
        let largest = 2f64.powi(53);
        let (nearest, smallest, largest) = match self {
            Self::Nanoseconds => (value.round(), 0.0, largest),
            Self::Bytes => (value.round(), 1.0, largest),
            Self::Count => (value.round(), 1.0, f64::from(u32::MAX)),
            Self::Percent => (value, 0.0, 100.0),
            Self::Number => (value, f64::MIN_POSITIVE, largest),
        };
        // NaN is in no range.
        (smallest..=largest).contains(&nearest).then_some(nearest)
    }

    /// Returns the values that a parameter of this unit can have, in words.
    pub(crate) fn limits(self) -> &'static str {
        match self {
            Self::Nanoseconds => "a time is zero nanoseconds or more",
            Self::Bytes => "a size is one byte or more",
            Self::Count => "a count is one or more",
            Self::Percent => "a percentage is from 0 to 100",
            Self::Number => "the value must be above zero",
        }
    }
}

impl fmt::Display for ParameterUnit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Self::Nanoseconds => "ns",
            Self::Bytes => "B",
            Self::Percent => "%",
            Self::Count | Self::Number => "",
        })
    }
}
