//! What the schema of scenarios says of a key: what it means, and what values it takes.

use std::sync::LazyLock;

use serde_json::Value;
use strewn_scenario::SCHEMA_JSON;

static SCHEMA: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(SCHEMA_JSON).unwrap_or_default());

/// What a key takes.
#[derive(Debug, PartialEq)]
pub(crate) enum Takes {
    /// One of these words.
    Words(Vec<String>),
    /// A number, whole or not, from one to another.
    Number { least: Option<f64>, most: Option<f64> },
    /// A number of bytes, with its unit.
    Size,
    /// A time, with its unit.
    Time,
    /// Anything else.
    Text,
}

/// Returns what a key means and takes, by its path in the schema: `array.write_anywhere.policy`. Numbers of a path,
/// which count the entries of a list, are left out.
pub(crate) fn of(path: &str) -> Option<(&'static str, Takes)> {
    let node = path.split('.').try_fold(&*SCHEMA, below)?;
    let about = text(node, "description").or_else(|| text(target(node)?, "description"))?;
    Some((about, takes(node)))
}

/// Returns the schema of a key of tables that this schema describes.
fn below(node: &'static Value, key: &str) -> Option<&'static Value> {
    let node = target(node).unwrap_or(node);
    if let Some(found) = node.get("properties").and_then(|properties| properties.get(key)) {
        return Some(found);
    }
    let choices = node.get("oneOf").and_then(Value::as_array).into_iter().flatten();
    choices.chain(node.get("items")).find_map(|node| below(node, key))
}

fn target(node: &'static Value) -> Option<&'static Value> {
    let name = text(node, "$ref")?.strip_prefix("#/$defs/")?;
    SCHEMA.get("$defs")?.get(name)
}

fn text(node: &'static Value, key: &str) -> Option<&'static str> {
    node.get(key)?.as_str()
}

fn takes(node: &'static Value) -> Takes {
    let words = node.get("enum").and_then(Value::as_array);
    if let Some(words) = words {
        let words = words.iter().filter_map(Value::as_str).map(str::to_owned);
        return Takes::Words(words.collect());
    }
    match (text(node, "$ref"), text(node, "type")) {
        (Some("#/$defs/size"), _) => Takes::Size,
        (Some("#/$defs/time"), _) => Takes::Time,
        (_, Some("integer" | "number")) => {
            let bound = |key: &str| node.get(key).and_then(Value::as_f64);
            Takes::Number { least: bound("minimum"), most: bound("maximum") }
        }
        // A length, or a list of tables with names.
        _ => {
            let choices = node.get("oneOf").and_then(Value::as_array).into_iter().flatten();
            choices.map(takes).find(|takes| *takes != Takes::Text).unwrap_or(Takes::Text)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_in_tables_and_lists_of_tables() {
        let takes = |path: &str| of(path).unwrap_or_else(|| panic!("{path}")).1;
        assert_eq!(
            takes("array.in_place.spindles"),
            Takes::Number { least: Some(1.0), most: None }
        );
        assert_eq!(takes("array.lun"), Takes::Size);
        assert_eq!(takes("array.write_anywhere.snapshots.every"), Takes::Time);
        let percent = Takes::Number { least: Some(0.0), most: Some(100.0) };
        assert_eq!(takes("workload.access.read_percent"), percent);
        assert!(
            matches!(takes("array.write_anywhere.policy"), Takes::Words(words) if words.len() > 2)
        );
        assert_eq!(of("array.no_such_key"), None);
    }
}
