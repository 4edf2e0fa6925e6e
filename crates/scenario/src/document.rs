//! A scenario as the text of a file, and what follows from it: serde's traits, and a check of a scenario made by code.

use std::path::Path;

use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use toml::{Table, Value};

use crate::fields::moments;
use crate::files::Profiles;
use crate::problem::ScenarioError;
use crate::scenario::{SCHEMA, Scenario};
use crate::set::OF_ARRAYS;
use crate::setting_value::SettingValue;
use crate::snapshots::SnapshotSchedule;
use crate::template::Template;

/// The name that errors give a text that comes from no file.
const NO_FILE: &str = "scenario";

impl Scenario {
    /// Returns the text of a file that [`parse`](Self::parse) reads as this scenario, with every setting, defaults
    /// included; if it has a drive profile's file, [`parse_with_files`](Self::parse_with_files) does. The paths in it
    /// start from where the program runs. `None` if the scenario is [scaled
    /// down](Self::scaled_down), which a file cannot say.
    ///
    /// ```
    /// use strewn_scenario::Scenario;
    ///
    /// let scenario = Scenario::default();
    /// let text = scenario.to_toml().expect("it is of full scale");
    /// assert!(text.contains("policy = \"emptiest-area\""));
    /// assert_eq!(Scenario::parse(&text, "copy.toml")?, scenario);
    /// # Ok::<(), strewn_scenario::ScenarioError>(())
    /// ```
    #[must_use]
    pub fn to_toml(&self) -> Option<String> {
        self.document().map(|document| document.to_string())
    }

    /// Checks a scenario whose fields were set by code, as [`parse`](Self::parse) checks a text, except that fewer
    /// segments than the scenario speaks of are no mistake: that is a run that ends earlier. Nor are more segments than
    /// a schedule of snapshots goes on for: a workload that ends by itself is given any number. A scenario that is
    /// scaled down is not checked: it was before. No file is read: drive profiles are those that the scenario has.
    ///
    /// # Errors
    ///
    /// With every problem found. Their places are those in the text of [`to_toml`](Self::to_toml).
    pub fn check(&self) -> Result<(), ScenarioError> {
        let mut whole = self.clone();
        if self.segments > 0 && self.segment_ns > 0 {
            whole.segments =
                self.segments.max(self.segments_spoken_of()).min(self.most_segments_of_snapshots());
        }
        let files = self.arrays.iter().filter_map(|array| array.spindle.file().cloned());
        let profiles = Profiles::of(files.collect());
        whole
            .to_toml()
            .map_or(Ok(()), |text| Self::parse_at(&text, Path::new(NO_FILE), &profiles).map(drop))
    }

    /// Returns the number of segments up to the last that a fit uses, in which a spindle, a blade, a link or a
    /// controller fails or comes back, a parity group is added, a first snapshot is taken or a reallocation scan
    /// begins.
    fn segments_spoken_of(&self) -> u32 {
        let fitted = self.arrays.iter().filter_map(|array| array.fitted.as_ref());
        let fitted = fitted.flat_map(|fitted| fitted.segments.iter().copied()).max();
        let happens = moments(&mut self.clone()).into_iter().max();
        let happens = happens.map_or(0, |at_ns| at_ns / self.segment_ns + 1);
        let happens = u32::try_from(happens).unwrap_or(u32::MAX);
        happens.max(fitted.unwrap_or(0))
    }

    /// Returns the number of segments in which no schedule of snapshots takes more than it may.
    fn most_segments_of_snapshots(&self) -> u32 {
        let schedules = self.arrays.iter().filter_map(|array| array.layout.snapshots());
        let most = schedules.map(|schedule| {
            let most_ns = schedule.every_ns.saturating_mul(SnapshotSchedule::MOST_TAKEN);
            u32::try_from(most_ns / self.segment_ns).unwrap_or(u32::MAX).max(1)
        });
        most.min().unwrap_or(u32::MAX)
    }

    /// Returns the tables of its file; `None` if it is scaled down.
    fn document(&self) -> Option<Table> {
        if self.spindle_stretch > 1 {
            return None;
        }
        let mut root = Table::from_iter([("schema".to_owned(), Value::Integer(SCHEMA as i64))]);
        let of_arrays = |(name, _): &(String, SettingValue)| name.starts_with(OF_ARRAYS);
        for (name, value) in self.every_setting().into_iter().filter(|setting| !of_arrays(setting))
        {
            put_below(&mut root, &name, written(value));
        }
        let arrays = self.arrays.iter().map(|array| {
            let mut table = Table::from_iter([("name".to_owned(), array.name.as_str().into())]);
            array
                .settings(self)
                .into_iter()
                .for_each(|(name, value)| put_below(&mut table, &name, written(value)));
            Value::Table(table)
        });
        root.insert("array".to_owned(), Value::Array(arrays.collect()));
        Some(root)
    }
}

/// Sets a value below a table. Numbers count the entries of lists of tables from 1. Tables are made as needed, and so
/// is the next entry of a list.
fn put_below(table: &mut Table, path: &str, value: Value) {
    let Some((key, rest)) = path.split_once('.') else {
        table.insert(path.to_owned(), value);
        return;
    };
    let entry = rest.split_once('.').and_then(|(number, below)| {
        let index = number.parse::<usize>().ok()?.checked_sub(1)?;
        Some((index, below))
    });
    let inner = table.entry(key).or_insert_with(|| match entry {
        Some(_) => Value::Array(Vec::new()),
        None => Value::Table(Table::new()),
    });
    match (inner, entry) {
        (Value::Table(inner), _) => put_below(inner, rest, value),
        (Value::Array(entries), Some((index, below))) => {
            if index == entries.len() {
                entries.push(Value::Table(Table::new()));
            }
            if let Some(entry) = entries.get_mut(index).and_then(Value::as_table_mut) {
                put_below(entry, below, value);
            }
        }
        _ => {}
    }
}

fn written(value: SettingValue) -> Value {
    match value {
        SettingValue::Flag(flag) => flag.into(),
        // TOML has no larger integers; the reader takes a string of digits for none.
        SettingValue::Count(count) => {
            i64::try_from(count).map_or_else(|_| count.to_string().into(), Value::from)
        }
        SettingValue::Number(number) => number.into(),
        SettingValue::Text(text) => text.into(),
        SettingValue::List(values) => values.into_iter().map(written).collect::<Vec<_>>().into(),
    }
}

/// The scenario of `strewn new`: a write-anywhere array beside one that updates in place.
impl Default for Scenario {
    fn default() -> Self {
        let text = Template::BOTH.scenario("default");
        // A test reads every template.
        Self::parse(&text, NO_FILE).unwrap_or_else(|error| unreachable!("{error}"))
    }
}

/// As the tables and keys of its file ([`Scenario::to_toml`]).
impl Serialize for Scenario {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let document = self.document().ok_or_else(|| {
            S::Error::custom("a scenario that is scaled down cannot be written as one")
        })?;
        document.serialize(serializer)
    }
}

/// From the tables and keys of its file, all of which are checked. A drive profile's file is refused, as by
/// [`Scenario::parse`]: give the table's text to [`Scenario::parse_with_files`] instead.
impl<'de> Deserialize<'de> for Scenario {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Table::deserialize(deserializer)?.to_string();
        Self::parse(&text, NO_FILE).map_err(D::Error::custom)
    }
}
