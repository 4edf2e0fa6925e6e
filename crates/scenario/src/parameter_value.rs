//! Reading and setting the parameters of an array by name, as calibration does.

use crate::array::Array;
use crate::in_place::InPlace;
use crate::layout::ArrayLayout;
use crate::parameter::{self, ParameterError, ParameterUnit};
use crate::processor::Processor;
use crate::scenario::Scenario;
use crate::value::one_of;
use crate::write_anywhere::WriteAnywhere;

/// The number of an array that a parameter names.
enum Slot<'a> {
    Float(&'a mut f64),
    Long(&'a mut u64),
    Short(&'a mut u32),
}

impl Slot<'_> {
    fn get(&self) -> f64 {
        match self {
            Self::Float(float) => **float,
            Self::Long(long) => **long as f64,
            Self::Short(short) => f64::from(**short),
        }
    }

    /// Sets the number to a value that the parameter's unit allows.
    fn set(self, value: f64) {
        match self {
            Self::Float(float) => *float = value,
            Self::Long(long) => *long = value as u64,
            Self::Short(short) => *short = value as u32,
        }
    }
}

fn processor_slot<'a>(
    processor: &'a mut Processor,
    key: &str,
    is_in_place: bool,
) -> Option<Slot<'a>> {
    Some(match key {
        "host_operation" => Slot::Float(&mut processor.host_operation_ns),
        "spindle_command" => Slot::Float(&mut processor.spindle_command_ns),
        "per_kib" => Slot::Float(&mut processor.per_kib_ns),
        "parity_per_kib" => Slot::Float(&mut processor.parity_per_kib_ns),
        "interrupt" => Slot::Float(&mut processor.interrupt_ns),
        _ if is_in_place => return None,
        "allocated_block" => Slot::Float(&mut processor.allocated_block_ns),
        "freed_block" => Slot::Float(&mut processor.freed_block_ns),
        "metadata_block" => Slot::Float(&mut processor.metadata_block_ns),
        _ => return None,
    })
}

fn write_anywhere_slot<'a>(layout: &'a mut WriteAnywhere, key: &str) -> Option<Slot<'a>> {
    Some(match key {
        "tetrises_in_flight" => Slot::Short(&mut layout.tetrises_in_flight),
        "checkpoint_interval" => Slot::Long(&mut layout.checkpoint_interval_ns),
        "buffer_cache" => Slot::Long(&mut layout.buffer_cache_bytes),
        "protected_percent" => Slot::Float(&mut layout.protected_percent),
        "dirty_limit_percent" => Slot::Float(&mut layout.dirty_limit_percent),
        "delayed_free_percent" => Slot::Float(&mut layout.delayed_free_percent),
        "read_ahead" => Slot::Long(&mut layout.read_ahead_bytes),
        _ => return None,
    })
}

fn in_place_slot<'a>(layout: &'a mut InPlace, key: &str) -> Option<Slot<'a>> {
    Some(match key {
        "write_cache" => Slot::Long(&mut layout.write_cache_bytes),
        "destage_low_percent" => Slot::Float(&mut layout.destage_low_percent),
        "destages_per_spindle" => Slot::Float(&mut layout.destages_per_spindle),
        "read_ahead" => Slot::Long(&mut layout.read_ahead_bytes),
        "read_cache" => Slot::Long(&mut layout.read_cache_bytes),
        _ => return None,
    })
}

impl Array {
    /// Returns the names of the parameters that this array has.
    #[must_use]
    pub fn parameter_names(&self) -> Vec<&'static str> {
        parameter::names(&self.layout)
    }

    /// Whether `parameter` is a cost that an array has only if its scenario gives it.
    #[must_use]
    pub fn is_optional_cost(parameter: &str) -> bool {
        let key = parameter.strip_prefix("processor.");
        key.is_some_and(|key| Processor::OPTIONAL_COSTS.contains(&key))
    }

    fn slot(&mut self, parameter: &str) -> Result<(Slot<'_>, ParameterUnit), ParameterError> {
        let (array, names) = (self.name.clone(), self.parameter_names());
        let slot = match (parameter.split_once('.'), &mut self.layout) {
            (None, _) if parameter == "commands_per_spindle" => {
                Some(Slot::Short(&mut self.commands_per_spindle))
            }
            (Some(("processor", key)), layout) => {
                let is_in_place = matches!(layout, ArrayLayout::InPlace(_));
                processor_slot(&mut self.processor, key, is_in_place)
            }
            (Some(("write_anywhere", key)), ArrayLayout::WriteAnywhere(layout)) => {
                write_anywhere_slot(layout, key)
            }
            (Some(("in_place", key)), ArrayLayout::InPlace(layout)) => in_place_slot(layout, key),
            _ => None,
        };
        // The nearest names take longer to find than all parameters, which every run's results list.
        slot.zip(parameter::unit(parameter)).ok_or_else(|| ParameterError::UnknownParameter {
            array,
            parameter: parameter.to_owned(),
            known: one_of(parameter, &names),
        })
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
        slot.set(nearest);
        Ok(())
    }

    /// Returns one parameter of one array in its base unit, and that unit.
    ///
    /// # Errors
    ///
    /// If there is no such array, or the array has no such parameter.
    pub fn parameter(
        &self,
        array: &str,
        parameter: &str,
    ) -> Result<(f64, ParameterUnit), ParameterError> {
        // Slots serve reading and setting alike. Reading is rare, so it can afford a copy of the array.
        let found = self.array(array).ok_or_else(|| self.unknown_array(array))?;
        let mut copy = found.clone();
        let (slot, unit) = copy.slot(parameter)?;
        Ok((slot.get(), unit))
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
