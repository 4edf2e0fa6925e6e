//! The parameters of an array that calibration may read and set: names, units and limits.

use std::fmt;

use crate::array::Array;
use crate::fields::{ArrayParameter, numbers};
use crate::kinds::ArrayLayout;

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

/// Why a parameter cannot be read or set.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ParameterError {
    /// The scenario has no such array.
    #[error("there is no array `{array}`")]
    UnknownArray {
        /// The name asked for.
        array: String,
        /// The arrays that there are.
        known: String,
    },
    /// The array has no such parameter.
    #[error("array `{array}` has no parameter `{parameter}`")]
    UnknownParameter {
        /// The array's name.
        array: String,
        /// The name asked for.
        parameter: String,
        /// The parameters that there are.
        known: String,
    },
    /// The value is not one that the parameter can have.
    #[error("{parameter} of array `{array}` cannot be {value} {unit}")]
    OutOfRange {
        /// The array's name.
        array: String,
        /// The parameter's name.
        parameter: String,
        /// The value given, in the base unit.
        value: f64,
        /// What it counts.
        unit: ParameterUnit,
        /// What values the parameter can have.
        limits: &'static str,
    },
}

impl ParameterError {
    /// Returns the remedy: the names there are, or the values the parameter can have.
    #[must_use]
    pub fn help(&self) -> &str {
        match self {
            Self::UnknownArray { known, .. } | Self::UnknownParameter { known, .. } => known,
            Self::OutOfRange { limits, .. } => limits,
        }
    }
}

/// Returns the parameter of a name, of an array with either layout; none if there is no such parameter.
pub(crate) fn named(name: &str) -> Option<ArrayParameter> {
    ArrayLayout::all().into_iter().find_map(|layout| {
        let all = numbers(&mut Array { layout, ..Array::default() }, None);
        all.into_iter().find(|number| number.name == name)
    })
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
