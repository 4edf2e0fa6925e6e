//! The parameters of an array that calibration may read and set, by name.

use std::fmt;

use crate::array::{Array, Layout};
use crate::scenario::Scenario;
use crate::value::one_of;

/// What a parameter's value counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParameterUnit {
    /// Nanoseconds, whole ones.
    Nanoseconds,
    /// Bytes, whole ones.
    Bytes,
    /// Percent of 0 to 100.
    Percent,
    /// A whole number, one at least.
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
    /// What would be right: the names there are, or the values the parameter can have.
    #[must_use]
    pub fn help(&self) -> &str {
        match self {
            Self::UnknownArray { known, .. } | Self::UnknownParameter { known, .. } => known,
            Self::OutOfRange { limits, .. } => limits,
        }
    }
}

/// A number of an array, for reading and setting.
enum Slot<'a> {
    Float(&'a mut f64),
    Long(&'a mut u64),
    Short(&'a mut u32),
}

/// One parameter: what its value counts, and where it is in an array, if the array has it.
struct Parameter {
    name: &'static str,
    unit: ParameterUnit,
    slot: fn(&mut Array) -> Option<Slot<'_>>,
}

macro_rules! parameters {
    ($($name:literal, $unit:ident, $array:ident => $slot:expr;)*) => {
        &[$(Parameter {
            name: $name,
            unit: ParameterUnit::$unit,
            slot: |$array| $slot,
        }),*]
    };
}

macro_rules! write_anywhere {
    ($array:ident, $kind:ident, $field:ident) => {
        match &mut $array.layout {
            Layout::WriteAnywhere(layout) => Some(Slot::$kind(&mut layout.$field)),
            Layout::InPlace(_) => None,
        }
    };
}

macro_rules! in_place {
    ($array:ident, $kind:ident, $field:ident) => {
        match &mut $array.layout {
            Layout::InPlace(layout) => Some(Slot::$kind(&mut layout.$field)),
            Layout::WriteAnywhere(_) => None,
        }
    };
}

const PARAMETERS: &[Parameter] = parameters! {
    "processor.host_operation", Nanoseconds, array =>
        Some(Slot::Float(&mut array.processor.host_operation_ns));
    "processor.spindle_command", Nanoseconds, array =>
        Some(Slot::Float(&mut array.processor.spindle_command_ns));
    "processor.per_kib", Nanoseconds, array =>
        Some(Slot::Float(&mut array.processor.per_kib_ns));
    "commands_per_spindle", Count, array => Some(Slot::Short(&mut array.commands_per_spindle));
    "write_anywhere.tetrises_in_flight", Count, array =>
        write_anywhere!(array, Short, tetrises_in_flight);
    "write_anywhere.checkpoint_interval", Nanoseconds, array =>
        write_anywhere!(array, Long, checkpoint_interval_ns);
    "write_anywhere.buffer_cache", Bytes, array =>
        write_anywhere!(array, Long, buffer_cache_bytes);
    "write_anywhere.protected_percent", Percent, array =>
        write_anywhere!(array, Float, protected_percent);
    "write_anywhere.dirty_limit_percent", Percent, array =>
        write_anywhere!(array, Float, dirty_limit_percent);
    "write_anywhere.delayed_free_percent", Percent, array =>
        write_anywhere!(array, Float, delayed_free_percent);
    "in_place.write_cache", Bytes, array => in_place!(array, Long, write_cache_bytes);
    "in_place.destage_low_percent", Percent, array =>
        in_place!(array, Float, destage_low_percent);
    "in_place.destages_per_spindle", Number, array =>
        in_place!(array, Float, destages_per_spindle);
};

/// The parameters of an array of this layout.
pub(crate) fn names(layout: &Layout) -> Vec<&'static str> {
    let other = match layout {
        Layout::WriteAnywhere(_) => "in_place.",
        Layout::InPlace(_) => "write_anywhere.",
    };
    let names = PARAMETERS.iter().map(|parameter| parameter.name);
    names.filter(|name| !name.starts_with(other)).collect()
}

/// What a named parameter's value counts, if there is such a parameter.
pub(crate) fn unit(name: &str) -> Option<ParameterUnit> {
    PARAMETERS.iter().find(|parameter| parameter.name == name).map(|parameter| parameter.unit)
}

impl ParameterUnit {
    /// The nearest value that a scenario's file can hold, or `None` if the value is out of range.
    ///
    /// Times, sizes and counts are whole numbers there, so that what was tried is what is
    /// recorded.
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

impl Array {
    /// The names of the parameters that this array has.
    #[must_use]
    pub fn parameter_names(&self) -> Vec<&'static str> {
        names(&self.layout)
    }

    fn slot(&mut self, parameter: &str) -> Result<(Slot<'_>, ParameterUnit), ParameterError> {
        let unknown = ParameterError::UnknownParameter {
            array: self.name.clone(),
            parameter: parameter.to_owned(),
            known: one_of(parameter, &self.parameter_names()),
        };
        let Some(known) = PARAMETERS.iter().find(|known| known.name == parameter) else {
            return Err(unknown);
        };
        (known.slot)(self).map(|slot| (slot, known.unit)).ok_or(unknown)
    }
}

impl Scenario {
    /// Sets one parameter of one array, named as the scenario's file names it, to a value in its
    /// base unit: nanoseconds, bytes, percent, or a plain number.
    ///
    /// A time, size or count is rounded to the nearest whole number, which is what a file can
    /// hold. [`Array::parameter_names`] lists the names.
    ///
    /// # Errors
    ///
    /// If there is no such array, the array has no such parameter, or the value is out of range.
    pub fn set_parameter(
        &mut self,
        array: &str,
        parameter: &str,
        value: f64,
    ) -> Result<(), ParameterError> {
        let (slot, unit) = self.array_mut(array)?.slot(parameter)?;
        let nearest = unit.nearest(value).ok_or_else(|| ParameterError::OutOfRange {
            array: array.to_owned(),
            parameter: parameter.to_owned(),
            value,
            unit,
            limits: unit.limits(),
        })?;
        match slot {
            Slot::Float(float) => *float = nearest,
            Slot::Long(long) => *long = nearest as u64,
            Slot::Short(short) => *short = nearest as u32,
        }
        Ok(())
    }

    /// One parameter of one array, in its base unit, and what that unit is.
    ///
    /// # Errors
    ///
    /// If there is no such array, or the array has no such parameter.
    pub fn parameter(
        &self,
        array: &str,
        parameter: &str,
    ) -> Result<(f64, ParameterUnit), ParameterError> {
        // One table of slots serves reading and setting; reading is rare, so it copies the array.
        let found = self.array(array).ok_or_else(|| self.unknown_array(array))?;
        let mut copy = found.clone();
        let (slot, unit) = copy.slot(parameter)?;
        let value = match slot {
            Slot::Float(float) => *float,
            Slot::Long(long) => *long as f64,
            Slot::Short(short) => f64::from(*short),
        };
        Ok((value, unit))
    }

    fn array_mut(&mut self, name: &str) -> Result<&mut Array, ParameterError> {
        let unknown = self.unknown_array(name);
        self.arrays.iter_mut().find(|array| array.name == name).ok_or(unknown)
    }

    fn unknown_array(&self, name: &str) -> ParameterError {
        let known: Vec<&str> = self.arrays.iter().map(|array| array.name.as_str()).collect();
        ParameterError::UnknownArray { array: name.to_owned(), known: one_of(name, &known) }
    }
}
