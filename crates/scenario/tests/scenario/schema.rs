//! The JSON schema that editors use has the keys that the reader takes, no more and no fewer.

use std::collections::BTreeSet;

use serde_json::Value;
use strewn_scenario::{Nanoseconds, ProblemKind, Scenario, schema_json};

use crate::common::GOOD;

/// No key is near this one, so the reader answers with the known keys.
const STRANGE: &str = "zzzzzzzzzzzz";

/// Every table, each with only a strange key.
const EVERY_TABLE: &str = "
    zzzzzzzzzzzz = 1
    [workload]
    zzzzzzzzzzzz = 1
    [[workload.access]]
    zzzzzzzzzzzz = 1
    [[array]]
    name = 'wa'
    zzzzzzzzzzzz = 1
    [array.processor]
    zzzzzzzzzzzz = 1
    [array.fitted]
    zzzzzzzzzzzz = 1
    [[array.failure]]
    zzzzzzzzzzzz = 1
    [array.write_anywhere]
    zzzzzzzzzzzz = 1
    [array.write_anywhere.other_data]
    zzzzzzzzzzzz = 1
    [[array.write_anywhere.group]]
    zzzzzzzzzzzz = 1
    [array.write_anywhere.snapshots]
    zzzzzzzzzzzz = 1
    [array.write_anywhere.background_scan]
    zzzzzzzzzzzz = 1
    [array.write_anywhere.reallocation_scan]
    zzzzzzzzzzzz = 1
    [array.write_anywhere.cleaning]
    zzzzzzzzzzzz = 1
    [[array]]
    name = 'ip'
    [array.in_place]
    zzzzzzzzzzzz = 1
    [[array.in_place.group]]
    zzzzzzzzzzzz = 1
    [overhead]
    zzzzzzzzzzzz = 1
    [[overhead.configuration]]
    zzzzzzzzzzzz = 1
    [[unknown]]
    zzzzzzzzzzzz = 1
";

/// The tables that a scenario has instead if its workloads and LUNs have names.
const NAMED_TABLES: &str = "
    [[workload]]
    zzzzzzzzzzzz = 1
    [[workload.access]]
    zzzzzzzzzzzz = 1
    [[phase]]
    zzzzzzzzzzzz = 1
    [[array]]
    name = 'wa'
    [[array.lun]]
    zzzzzzzzzzzz = 1
    [[array.volume]]
    zzzzzzzzzzzz = 1
    [array.volume.snapshots]
    zzzzzzzzzzzz = 1
";

/// The tables of what lies between hosts and arrays: one array for each protocol, since a front end has one.
const NETWORK_TABLES: &str = "
    [[host]]
    zzzzzzzzzzzz = 1
    [[link]]
    zzzzzzzzzzzz = 1
    [[array]]
    name = 'fcp'
    [array.page_cache]
    zzzzzzzzzzzz = 1
    [array.client_raid]
    zzzzzzzzzzzz = 1
    [array.pair]
    zzzzzzzzzzzz = 1
    [array.front_end]
    protocol = 'fcp'
    [array.front_end.fcp]
    zzzzzzzzzzzz = 1
    [[array]]
    name = 'iscsi'
    [array.front_end]
    protocol = 'iscsi'
    zzzzzzzzzzzz = 1
    [array.front_end.iscsi]
    zzzzzzzzzzzz = 1
    [array.front_end.tcp]
    zzzzzzzzzzzz = 1
    [array.front_end.router]
    zzzzzzzzzzzz = 1
    [[array]]
    name = 'nfs'
    [array.front_end]
    protocol = 'nfs'
    [array.front_end.nfs]
    zzzzzzzzzzzz = 1
    [array.gateway]
    protocol = 'nfs'
    zzzzzzzzzzzz = 1
    [array.gateway.nfs]
    zzzzzzzzzzzz = 1
    [array.gateway.tcp]
    zzzzzzzzzzzz = 1
    [[array]]
    name = 'smb1'
    [array.front_end]
    protocol = 'smb1'
    [array.front_end.smb1]
    zzzzzzzzzzzz = 1
    [[array]]
    name = 'smb2'
    [array.front_end]
    protocol = 'smb2'
    [array.front_end.smb2]
    zzzzzzzzzzzz = 1
";

fn schema() -> Value {
    serde_json::from_str(&schema_json()).unwrap()
}

/// Returns the schema of a table, by the field that a problem names: `array[wa].failure[1]`.
fn table(field: &str) -> Value {
    let mut table = schema();
    for step in field.split('.').filter(|step| !step.is_empty()) {
        let key = step.split('[').next().unwrap();
        table = table["properties"][key].clone();
        if let Some(choices) = table["oneOf"].as_array().cloned() {
            // One table, or a list of them.
            let is_it = |choice: &&Value| choice.get("items").is_some() == step.contains('[');
            table = choices.iter().find(is_it).unwrap().clone();
        }
        if table.get("items").is_some() {
            table = table["items"].clone();
        }
        if let Some(name) = table["$ref"].as_str() {
            table = schema()["$defs"][name.strip_prefix("#/$defs/").unwrap()].clone();
        }
        assert!(table.is_object(), "no {key} of {field} in the schema");
    }
    table
}

#[test]
fn the_schema_has_the_keys_that_the_reader_takes() {
    for text in [EVERY_TABLE, NAMED_TABLES, NETWORK_TABLES] {
        has_the_keys_that_the_reader_takes(text);
    }
}

fn has_the_keys_that_the_reader_takes(text: &str) {
    let error = Scenario::parse(text, "every.toml").unwrap_err();
    let mut tables = 0;
    for problem in error.problems().iter().filter(|one| one.kind() == ProblemKind::UnknownKey) {
        let field = problem.field().strip_suffix(STRANGE).unwrap().trim_end_matches('.');
        let keys = problem.help().strip_prefix("the keys here are ");
        let keys = keys.unwrap_or_else(|| panic!("{field}: {}", problem.help()));
        let read: BTreeSet<&str> = keys.split(", ").collect();
        let table = table(field);
        let properties = table["properties"].as_object().unwrap();
        let written: BTreeSet<&str> = properties.keys().map(String::as_str).collect();
        assert_eq!(written, read, "keys of [{field}]");
        assert_eq!(table["additionalProperties"], false, "[{field}]");
        for required in table["required"].as_array().into_iter().flatten() {
            assert!(written.contains(required.as_str().unwrap()), "{required} of [{field}]");
        }
        tables += 1;
    }
    assert_eq!(tables, text.matches(STRANGE).count());
}

#[test]
fn every_key_of_the_schema_is_described() {
    fn look(at: &Value, path: &str) {
        for (key, value) in at["properties"].as_object().into_iter().flatten() {
            assert!(value["description"].is_string(), "{path}.{key}");
            look(value, &format!("{path}.{key}"));
            look(&value["items"], &format!("{path}.{key}[]"));
            for choice in value["oneOf"].as_array().into_iter().flatten() {
                look(choice, &format!("{path}.{key}"));
                look(&choice["items"], &format!("{path}.{key}[]"));
            }
        }
    }
    look(&schema(), "");
}

/// Editors show the defaults that the reader takes.
#[test]
fn defaults_of_network_tables_are_those_of_the_reader() {
    for (protocol, kind) in [
        ("fcp", "fc-4g"),
        ("iscsi", "ethernet-1g"),
        ("nfs", "ethernet-1g"),
        ("smb1", "ethernet-1g"),
        ("smb2", "ethernet-1g"),
    ] {
        let front_end = format!(
            "[array.front_end]\nprotocol = \"{protocol}\"\npath = [\"one\"]\n\
             [[link]]\nname = \"one\"\nkind = \"{kind}\"\n\n[[array]]\nname = \"inplace\""
        );
        let text = GOOD.replacen("[[array]]\nname = \"inplace\"", &front_end, 1);
        let scenario = Scenario::parse(&text, "defaults.toml").unwrap();
        let beginning = "array.anywhere.front_end.";
        let settings = scenario.every_setting();
        let of_front_end = settings
            .iter()
            .filter_map(|(name, value)| Some((name.strip_prefix(beginning)?, value)));
        let mut seen = 0;
        for (name, value) in of_front_end.filter(|(name, _)| !["protocol", "path"].contains(name)) {
            let schema = schema();
            let mut written = &schema["properties"]["array"]["items"]["properties"]["front_end"];
            for step in name.split('.') {
                written = &written["properties"][step];
            }
            let default = &written["default"];
            let default = default.as_str().map_or_else(|| default.to_string(), str::to_owned);
            let is_same_time = || {
                let [one, other] =
                    [&default, &value.to_string()].map(|text| text.parse::<Nanoseconds>());
                one.is_ok() && one == other
            };
            assert!(
                default == value.to_string() || is_same_time(),
                "{protocol}: {name} is {value}, not {default}"
            );
            seen += 1;
        }
        assert!(seen > 10, "{settings:?}");
    }
}
