//! Python's values as those of a scenario's file, and back.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyMapping, PySequence, PyString};
use pyo3::{IntoPyObjectExt, intern};
use strewn::scenario::SettingValue;
use toml::{Table, Value};

use crate::errors::not_a_value;

/// Returns a dictionary as a table. `place` is its name in errors; empty for a whole file.
pub(crate) fn table(mapping: &Bound<'_, PyAny>, place: &str) -> PyResult<Table> {
    table_at(mapping, place, 0)
}

fn table_at(mapping: &Bound<'_, PyAny>, place: &str, level: usize) -> PyResult<Table> {
    let Ok(mapping) = mapping.cast::<PyMapping>() else {
        let kind = mapping.get_type().name()?;
        return Err(not_a_value(place, &format!("a {kind} is no table"), "give a dict"));
    };
    let mut table = Table::new();
    for item in mapping.items()?.iter() {
        let (key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
        let Ok(key) = key.extract::<String>() else {
            let message = format!("the key {} is not a str", key.repr()?);
            return Err(not_a_value(place, &message, "keys are those of a scenario's file"));
        };
        let inside = if place.is_empty() { key.clone() } else { format!("{place}.{key}") };
        table.insert(key, of(&value, &inside, level + 1)?);
    }
    Ok(table)
}

/// Most levels of lists and dictionaries in each other: no scenario has a tenth of them, and a list in itself has no
/// end.
const MOST_LEVELS: usize = 64;

/// Returns a value as a file writes it. `place` is its name in errors.
fn of(value: &Bound<'_, PyAny>, place: &str, level: usize) -> PyResult<Value> {
    if level > MOST_LEVELS {
        let message = format!("there are more than {MOST_LEVELS} levels of lists and dicts");
        // The whole place would fill a screen.
        let place = place.chars().take(40).collect::<String>();
        return Err(not_a_value(&place, &message, "does one contain itself?"));
    }
    // A bool is an int too, so it comes first.
    if let Ok(flag) = value.cast::<PyBool>() {
        return Ok(Value::Boolean(flag.is_true()));
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(Value::String(text.extract()?));
    }
    if let Ok(number) = value.cast::<PyFloat>() {
        return Ok(Value::Float(number.extract()?));
    }
    // Whole numbers of other packages are no int, but can be one.
    if value.hasattr(intern!(value.py(), "__index__"))? {
        return value.extract().map(Value::Integer).map_err(|_| {
            not_a_value(place, "the number is too large", "whole numbers have at most 64 bits")
        });
    }
    if value.hasattr(intern!(value.py(), "__fspath__"))? {
        let path = value.call_method0(intern!(value.py(), "__fspath__"))?;
        return of(&path, place, level + 1);
    }
    if value.cast::<PyMapping>().is_ok() {
        return table_at(value, place, level).map(Value::Table);
    }
    if let Ok(list) = value.cast::<PySequence>() {
        let items = list.try_iter()?.enumerate();
        let items = items.map(|(at, item)| of(&item?, &format!("{place}[{at}]"), level + 1));
        return items.collect::<PyResult<_>>().map(Value::Array);
    }
    let kind = value.get_type().name()?.to_string();
    let help = match kind.as_str() {
        "NoneType" => "leave the key out",
        _ => "give a bool, a number, a str, a list or a dict",
    };
    Err(not_a_value(place, &format!("{kind} is no value of a scenario"), help))
}

/// Returns the value of a setting as Python's.
pub(crate) fn of_setting<'py>(
    py: Python<'py>,
    value: &SettingValue,
) -> PyResult<Bound<'py, PyAny>> {
    match value {
        SettingValue::Flag(flag) => flag.into_bound_py_any(py),
        SettingValue::Count(count) => count.into_bound_py_any(py),
        SettingValue::Number(number) => number.into_bound_py_any(py),
        SettingValue::Text(text) => text.into_bound_py_any(py),
        SettingValue::List(values) => {
            let values = values.iter().map(|value| of_setting(py, value));
            values.collect::<PyResult<Vec<_>>>()?.into_bound_py_any(py)
        }
    }
}

/// Returns settings by name as `strewn run --set` takes them.
pub(crate) fn settings(settings: &Bound<'_, PyDict>) -> PyResult<Vec<(String, String)>> {
    let table = table(settings.as_any(), "")?;
    // In the order in which they were given: a setting may need an earlier one.
    let names = settings.keys().iter().map(|name| name.extract::<String>());
    let names = names.collect::<PyResult<Vec<_>>>()?;
    let written = |name: String| Some((table.get(&name)?.to_string(), name));
    Ok(names.into_iter().filter_map(written).map(|(value, name)| (name, value)).collect())
}
