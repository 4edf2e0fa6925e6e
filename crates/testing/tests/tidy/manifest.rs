//! A `Cargo.toml`, as far as the rules ask.

/// A key with its value as written.
#[derive(Debug, Clone)]
pub struct Value {
    pub key: String,
    pub raw: String,
    pub line: u32,
}

impl Value {
    /// The value without quotes.
    pub fn text(&self) -> &str {
        self.raw.trim_matches('"')
    }
}

/// A table with its header's name.
#[derive(Debug, Clone)]
pub struct Table {
    pub name: String,
    pub values: Vec<Value>,
}

/// Which code a dependency is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Purpose {
    Normal,
    Development,
    Build,
    /// An entry of `[workspace.dependencies]`.
    Workspace,
}

/// A dependency as declared.
#[derive(Debug, Clone)]
pub struct Dependency {
    pub name: String,
    pub purpose: Purpose,
    pub optional: bool,
    /// It switches on features that its other declarations may not.
    pub features: bool,
    pub line: u32,
}

/// The tables and dependencies of a manifest.
#[derive(Debug, Default, Clone)]
pub struct Manifest {
    pub tables: Vec<Table>,
    pub dependencies: Vec<Dependency>,
}

impl Manifest {
    /// Reads `text`, in which each key is on a line of its own, and arrays may take several.
    pub fn read(text: &str) -> Self {
        let mut manifest = Self::default();
        let mut lines = (1..).zip(text.lines());
        while let Some((number, line)) = lines.next() {
            let line = line.trim();
            if line.starts_with('[') {
                let name = line.trim_matches(|mark| mark == '[' || mark == ']').to_string();
                manifest.tables.push(Table { name, values: Vec::new() });
            } else if let Some((key, value)) =
                line.split_once('=').filter(|_| !line.starts_with('#'))
            {
                let mut raw = value.trim().to_string();
                while raw.starts_with('[') && !raw.trim_end().ends_with(']') {
                    let Some((_, more)) = lines.next() else { break };
                    raw.push_str(more.split('#').next().unwrap_or_default().trim());
                }
                let value = Value { key: key.trim().into(), raw, line: number };
                if manifest.tables.is_empty() {
                    manifest.tables.push(Table { name: String::new(), values: Vec::new() });
                }
                manifest
                    .tables
                    .last_mut()
                    .into_iter()
                    .for_each(|table| table.values.push(value.clone()));
            }
        }
        manifest.dependencies = manifest.tables.iter().flat_map(dependencies).collect();
        manifest
    }

    /// The value of `key` in `table`.
    pub fn value(&self, table: &str, key: &str) -> Option<&str> {
        self.values(table).find(|value| value.key == key).map(Value::text)
    }

    /// All values of the tables named `table`.
    pub fn values(&self, table: &str) -> impl Iterator<Item = &Value> {
        self.tables.iter().filter(move |found| found.name == table).flat_map(|table| &table.values)
    }
}

fn dependencies(table: &Table) -> Vec<Dependency> {
    let purpose = match table.name.rsplit_once('.') {
        Some(("workspace", "dependencies")) => Purpose::Workspace,
        Some((target, _)) if !target.starts_with("target.") => return Vec::new(),
        _ if table.name.ends_with("dev-dependencies") => Purpose::Development,
        _ if table.name.ends_with("build-dependencies") => Purpose::Build,
        _ if table.name.ends_with("dependencies") => Purpose::Normal,
        _ => return Vec::new(),
    };
    let dependency = |value: &Value| Dependency {
        name: value.key.trim_end_matches(".workspace").into(),
        purpose,
        optional: value.raw.contains("optional = true"),
        features: value.raw.contains("features"),
        line: value.line,
    };
    table.values.iter().map(dependency).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_of_every_form_are_read() {
        let manifest = Manifest::read(
            "[package]\nname = \"a\"\nkeywords = [\n  \"b\", # c = 1\n  \"d\",\n]\n[dependencies]\nserde.workspace = true\n\
             [target.'cfg(unix)'.dependencies]\nrustix = { version = \"1\", features = [\"fs\"], optional = true }\n\
             [dev-dependencies]\ncsv = \"1\"\n[workspace.dependencies]\ntoml = \"1\"\n[package.metadata.docs.rs]\nx = 1\n",
        );
        let found: Vec<String> = manifest
            .dependencies
            .iter()
            .map(|one| {
                format!(
                    "{} {:?} {} {} {}",
                    one.name, one.purpose, one.optional, one.features, one.line
                )
            })
            .collect();
        assert_eq!(
            found,
            [
                "serde Normal false false 8",
                "rustix Normal true true 10",
                "csv Development false false 12",
                "toml Workspace false false 14",
            ]
        );
    }
}
