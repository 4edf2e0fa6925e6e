//! Reading and setting the parameters of an array by name, as calibration does.

use crate::array::Array;
use crate::fields::{ArrayParameter, ParameterUnit, numbers};
use crate::parameter::ParameterError;
use crate::scenario::Scenario;
use crate::value::one_of;

impl Array {
    /// Returns the parameters that this array has.
    #[must_use]
    pub fn parameters(&self) -> Vec<ArrayParameter> {
        numbers(&mut self.clone(), None)
    }

    /// Returns the parameter of a name, after setting it to a value if one is given.
    fn number(
        &mut self,
        parameter: &str,
        value: Option<f64>,
    ) -> Result<ArrayParameter, ParameterError> {
        let all = numbers(self, value.map(|value| (parameter, value)));
        let found = all.iter().find(|number| number.name == parameter).cloned();
        // The nearest names take longer to find than all parameters, which every run's results list.
        found.ok_or_else(|| {
            let names: Vec<&str> = all.iter().map(|number| number.name.as_str()).collect();
            ParameterError::UnknownParameter {
                array: self.name.clone(),
                parameter: parameter.to_owned(),
                known: one_of(parameter, &names),
            }
        })
    }
}

impl Scenario {
    /// Sets one parameter of one array, named as the scenario's file names it, to a value in its
    /// base unit: nanoseconds, bytes, percent, or a plain number.
    ///
    /// A time, size or count is rounded to the nearest whole number, which is what a file can
    /// hold. [`Array::parameters`] lists the names.
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
        let of_array = self.array_mut(array)?;
        let unit = of_array.number(parameter, None)?.unit;
        let nearest = unit.nearest(value).ok_or_else(|| ParameterError::OutOfRange {
            array: array.to_owned(),
            parameter: parameter.to_owned(),
            value,
            unit,
            limits: unit.limits(),
        })?;
        of_array.number(parameter, Some(nearest)).map(drop)
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
        // Going over settings serves reading and setting alike. Reading is rare, so it can afford a copy of the array.
        let found = self.array(array).ok_or_else(|| self.unknown_array(array))?;
        let mut copy = found.clone();
        let number = copy.number(parameter, None)?;
        Ok((number.value, number.unit))
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
