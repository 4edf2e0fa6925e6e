//! The parameters of an array that calibration may read and set: names, units and limits.

use crate::array::Array;
use crate::fields::{ArrayParameter, ParameterUnit, numbers};
use crate::kinds::ArrayLayout;

/// Why a parameter cannot be read or set.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
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
