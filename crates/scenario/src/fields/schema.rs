//! The JSON schema of a scenario's file.

use serde_json::{Map, Value, json};

use crate::fields::field::{Absence, Field};
use crate::fields::kind::Kind;
use crate::fields::slot::Slot;
use crate::fields::{Context, Entries, Fields, Maybe, Table, Visitor};
use crate::setting_value::SettingValue;

fn size() -> Value {
    json!({
        "type": "string",
        "pattern": r"^\s*[0-9]+(\.[0-9]+)?\s*(B|kB|MB|GB|TB|KiB|MiB|GiB|TiB)\s*$",
        "examples": ["4 KiB", "136000 MiB", "100 GiB", "1000 GB"],
    })
}

fn time() -> Value {
    json!({
        "type": "string",
        "pattern": "^\\s*[0-9]+(\\.[0-9]+)?\\s*(ns|us|\u{b5}s|\u{3bc}s|ms|s|min|h)\\s*$",
        "examples": ["76 us", "10 s", "20 min", "2 h"],
    })
}

/// Returns the schema of a whole scenario, whose tables are `root`.
pub fn schema_of(root: &mut dyn Table, title: &str, about: &str) -> String {
    let (mut root, mut shared) = of_table(root);
    shared.insert("size".to_owned(), size());
    shared.insert("time".to_owned(), time());
    root.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
    root.insert("title".to_owned(), json!(title));
    root.insert("description".to_owned(), json!(about));
    root.insert("$defs".to_owned(), Value::Object(shared));
    // Values of plain strings and numbers can be written.
    serde_json::to_string_pretty(&root).map(|text| text + "\n").unwrap_or_default()
}

/// Returns the schema of a table, and those that it shares.
fn of_table(table: &mut dyn Table) -> (Map<String, Value>, Map<String, Value>) {
    let mut writer = Writer::default();
    table.fields(&mut Fields::new(&mut writer, Context::default()));
    let mut schema = Map::new();
    schema.insert("type".to_owned(), json!("object"));
    schema.insert("properties".to_owned(), Value::Object(writer.properties));
    schema.insert("required".to_owned(), json!(writer.required));
    schema.insert("additionalProperties".to_owned(), json!(false));
    let rules = format!("{{{}}}", table.rules());
    // A test reads the rules of every table.
    let rules: Map<String, Value> = serde_json::from_str(&rules).unwrap_or_default();
    schema.extend(rules);
    (schema, writer.shared)
}

#[derive(Default)]
struct Writer {
    properties: Map<String, Value>,
    required: Vec<&'static str>,
    /// Schemas that several properties share.
    shared: Map<String, Value>,
}

impl Writer {
    fn add(&mut self, field: &Field, mut schema: Map<String, Value>) {
        if matches!(field.absence, Absence::Required(_)) && !self.required.contains(&field.key) {
            self.required.push(field.key);
        }
        let schema = match self.properties.remove(field.key) {
            None => {
                schema.insert("description".to_owned(), json!(field.help));
                schema
            }
            // The other form of the same key.
            Some(first) => {
                let whole = field.either.unwrap_or(field.help);
                let both = json!({ "description": whole, "oneOf": [first, schema] });
                both.as_object().cloned().unwrap_or_default()
            }
        };
        self.properties.insert(field.key.to_owned(), Value::Object(schema));
    }

    fn object(&mut self, field: &Field, table: &mut dyn Table) -> Map<String, Value> {
        let (mut schema, shared) = of_table(table);
        self.shared.extend(shared);
        if !field.each.is_empty() {
            schema.insert("description".to_owned(), json!(field.each));
        }
        let Some(name) = field.shared else { return schema };
        self.shared.insert(name.to_owned(), Value::Object(schema));
        Map::from_iter([("$ref".to_owned(), json!(format!("#/$defs/{name}")))])
    }
}

impl Visitor for Writer {
    fn value(&mut self, field: &Field, slot: &mut dyn Slot) {
        let mut schema = of_kind(&field.kind);
        let default = match &field.absence {
            Absence::Default(text) | Absence::OfKind(text) => json_of_toml(text),
            Absence::Present => slot.get().map(|value| json_of(field.kind.written(value))),
            _ => None,
        };
        if let Some(default) = default {
            schema.insert("default".to_owned(), default);
        }
        self.add(field, schema);
    }

    fn table(&mut self, field: &Field, table: &mut dyn Maybe, _: Context) {
        let schema = self.object(field, &mut *table.blank());
        self.add(field, schema);
    }

    fn part(&mut self, field: &Field, table: &mut dyn Table, _: Context) {
        let schema = self.object(field, table);
        self.add(field, schema);
    }

    fn tables(&mut self, field: &Field, tables: &mut dyn Entries, _: Context) {
        let items = self.object(field, &mut *tables.blank());
        let mut schema = Map::from_iter([
            ("type".to_owned(), json!("array")),
            ("minItems".to_owned(), json!(1)),
            ("items".to_owned(), Value::Object(items)),
        ]);
        if let Some(most) = field.most {
            schema.insert("maxItems".to_owned(), json!(most));
        }
        self.add(field, schema);
    }

    fn describes(&self) -> bool {
        true
    }
}

fn of_kind(kind: &Kind) -> Map<String, Value> {
    let schema = match kind {
        Kind::Flag => json!({ "type": "boolean" }),
        Kind::Text | Kind::Name => json!({ "type": "string", "minLength": 1 }),
        Kind::Known(_, names) => json!({ "enum": names() }),
        Kind::Count { least, most } if *most >= u32::MAX.into() => {
            json!({ "type": "integer", "minimum": least })
        }
        Kind::Count { least, most } => {
            json!({ "type": "integer", "minimum": least, "maximum": most })
        }
        Kind::Range(range) => {
            json!({ "type": "integer", "minimum": range.start(), "maximum": range.end() })
        }
        Kind::PowerOfTwo { most } => {
            let powers: Vec<u64> = (0..=most.ilog2()).map(|power| 1 << power).collect();
            json!({ "enum": powers })
        }
        Kind::MultipleOf(unit) => {
            json!({ "type": "integer", "minimum": unit, "multipleOf": unit })
        }
        Kind::Percent => json!({ "type": "number", "minimum": 0, "maximum": 100 }),
        Kind::WholePercent { least } => {
            json!({ "type": "integer", "minimum": least, "maximum": 100 })
        }
        Kind::Number { above_zero: false } => json!({ "type": "number", "minimum": 0 }),
        Kind::Number { above_zero: true } => json!({ "type": "number", "exclusiveMinimum": 0 }),
        kind if kind.is_size() => json!({ "$ref": "#/$defs/size" }),
        kind if kind.is_time() => json!({ "$ref": "#/$defs/time" }),
        Kind::Choice(words) => json!({ "enum": words }),
        Kind::List { of, is_unique: false } => {
            json!({ "type": "array", "minItems": 1, "items": of_kind(of) })
        }
        Kind::List { of, is_unique: true } => {
            json!({ "type": "array", "minItems": 1, "uniqueItems": true, "items": of_kind(of) })
        }
        // A test reads that of every kind.
        Kind::Own(own) => serde_json::from_str(&format!("{{{}}}", own.schema)).unwrap_or_default(),
        _ => json!({}),
    };
    schema.as_object().cloned().unwrap_or_default()
}

/// Returns a value in TOML as it is written there.
fn json_of_toml(text: &str) -> Option<Value> {
    let document: toml::Table = format!("value = {text}").parse().ok()?;
    serde_json::to_value(document.get("value")?).ok()
}

pub(super) fn json_of(value: SettingValue) -> Value {
    match value {
        SettingValue::Flag(flag) => flag.into(),
        SettingValue::Count(count) => count.into(),
        SettingValue::Number(number) => number.into(),
        SettingValue::Text(text) => text.into(),
        SettingValue::List(values) => values.into_iter().map(json_of).collect(),
    }
}
