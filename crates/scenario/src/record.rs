//! Writing a fitted value back into a scenario's text.

use toml::de::DeTable;

use crate::fields::ParameterUnit;
use crate::parameter;
use crate::quantity::{Bytes, Nanoseconds};

/// Why a value cannot be recorded.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RecordFittedError {
    /// The text is not TOML.
    #[error("the scenario's text is not TOML: {0}")]
    NotToml(String),
    /// There is no such array in the text.
    #[error("the text has no array `{0}`")]
    UnknownArray(String),
    /// There is no such parameter, or the array in the text does not give it.
    #[error("array `{array}` gives no parameter `{parameter}`")]
    UnknownParameter {
        /// The array's name.
        array: String,
        /// The parameter's name.
        parameter: String,
    },
    /// The value is not one that the parameter can have.
    #[error("{parameter} cannot be {value} {unit}")]
    OutOfRange {
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

impl RecordFittedError {
    /// Returns the remedy, if the message does not give it already.
    #[must_use]
    pub fn help(&self) -> Option<&str> {
        match self {
            Self::NotToml(_) | Self::UnknownArray(_) => None,
            Self::UnknownParameter { .. } => {
                Some("name a parameter by its keys below [[array]], joined by dots")
            }
            Self::OutOfRange { limits, .. } => Some(limits),
        }
    }
}

/// Returns the scenario's text with one parameter of one array set to a value, given in the
/// parameter's base unit as [`Scenario::set_parameter`](crate::Scenario::set_parameter) takes it.
///
/// Every other byte of the text stays as it is: comments, layout, line ends, the order of keys. A
/// time or size keeps the unit it is written in, with as many decimals as the value needs.
///
/// # Errors
///
/// If the text is not TOML, has no such array, the array does not give the parameter, or the value
/// is out of range.
pub fn record_fitted(
    text: &str,
    array: &str,
    parameter: &str,
    value: f64,
) -> Result<String, RecordFittedError> {
    let unknown = || RecordFittedError::UnknownParameter {
        array: array.to_owned(),
        parameter: parameter.to_owned(),
    };
    let unit = parameter::named(parameter).ok_or_else(unknown)?.unit;
    let nearest = unit.nearest(value).ok_or_else(|| RecordFittedError::OutOfRange {
        parameter: parameter.to_owned(),
        value,
        unit,
        limits: unit.limits(),
    })?;
    let document = DeTable::parse(text)
        .map_err(|error| RecordFittedError::NotToml(error.message().trim().to_owned()))?;
    let table = array_named(document.get_ref(), array)
        .ok_or_else(|| RecordFittedError::UnknownArray(array.to_owned()))?;

    let (tables, key) = parameter.rsplit_once('.').unwrap_or(("", parameter));
    let mut table = table;
    for name in tables.split('.').filter(|name| !name.is_empty()) {
        let inner = table.get(name).and_then(|inner| inner.get_ref().as_table());
        table = inner.ok_or_else(unknown)?;
    }
    let present = table.get(key).ok_or_else(unknown)?;
    let replacement = written(unit, nearest, present.get_ref().as_str());
    let span = present.span();
    let (before, after) = (text.get(..span.start), text.get(span.end..));
    let (before, after) = before.zip(after).ok_or_else(unknown)?;
    Ok(format!("{before}{replacement}{after}"))
}

fn array_named<'t>(document: &'t DeTable<'t>, name: &str) -> Option<&'t DeTable<'t>> {
    let arrays = document.get("array")?.get_ref().as_array()?;
    arrays
        .iter()
        .filter_map(|array| array.get_ref().as_table())
        .find(|array| array.get("name").and_then(|name| name.get_ref().as_str()) == Some(name))
}

/// Returns a value as TOML, in the unit of the text that it replaces.
fn written(unit: ParameterUnit, value: f64, present: Option<&str>) -> String {
    let whole = value as u64;
    match unit {
        ParameterUnit::Nanoseconds => {
            let text = in_unit_of(present, value, |one| {
                one.parse::<Nanoseconds>().ok().map(|time| time.0)
            });
            let text = text.filter(|text| text.parse() == Ok(Nanoseconds(whole)));
            format!("\"{}\"", text.unwrap_or_else(|| Nanoseconds(whole).to_string()))
        }
        ParameterUnit::Bytes => {
            let text =
                in_unit_of(present, value, |one| one.parse::<Bytes>().ok().map(|bytes| bytes.0));
            let text = text.filter(|text| text.parse() == Ok(Bytes(whole)));
            format!("\"{}\"", text.unwrap_or_else(|| Bytes(whole).to_string()))
        }
        ParameterUnit::Count => whole.to_string(),
        // Debug writes the shortest text that reads back as the same number, and keeps ".0".
        ParameterUnit::Percent | ParameterUnit::Number => format!("{value:?}"),
    }
}

/// Converts `value` to the unit that `present` is written in, if it has one.
fn in_unit_of(
    present: Option<&str>,
    value: f64,
    size_of: impl Fn(&str) -> Option<u64>,
) -> Option<String> {
    let present = present?.trim();
    let start = present.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let spelling = &present[start..];
    let size = size_of(&format!("1{spelling}"))?;
    Some(format!("{}{spelling}", value / size as f64))
}
