//! Controls: settings that people argue about, with their units and limits.

use serde::Serialize;
use strewn_scenario::{Array, Bytes, MOST_OUTSTANDING, SCHEDULERS, Scenario};
use strewn_spindle::Profile;

use crate::limits::{self, Takes};
use crate::mix;

/// A control of the page.
#[derive(Debug, Serialize)]
pub(crate) struct Control {
    /// The setting, by its full name.
    pub(crate) path: String,
    /// What it is of: the run, a workload, or an array.
    of: String,
    label: &'static str,
    /// What the setting means.
    about: String,
    kind: Kind,
    /// Its value as a scenario writes it; none if it is not set.
    value: Option<String>,
    unit: Option<&'static str>,
    least: Option<String>,
    most: Option<String>,
    choices: Vec<Choice>,
    /// Whether it may be left out.
    optional: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Choice,
    Number,
    /// A number with its unit, as text.
    Quantity,
    Text,
}

/// A value to choose.
#[derive(Debug, Serialize)]
pub(crate) struct Choice {
    pub(crate) value: String,
    pub(crate) label: String,
}

/// A setting that has a control.
struct Entry {
    /// Its name below the run, the workload or the array.
    key: &'static str,
    label: &'static str,
    unit: Option<&'static str>,
}

const fn entry(key: &'static str, label: &'static str) -> Entry {
    Entry { key, label, unit: None }
}

const fn in_unit(key: &'static str, label: &'static str, unit: &'static str) -> Entry {
    Entry { key, label, unit: Some(unit) }
}

const OF_RUN: &[Entry] = &[
    entry("segments", "Segments"),
    entry("segment", "Length of a segment"),
    entry("seed", "Seed"),
];

const OF_WORKLOAD: &[Entry] = &[
    entry(mix::KEY, "Mix of operations"),
    entry("access.1.bytes", "Size of an operation"),
    in_unit("access.1.read_percent", "Reads", "%"),
    in_unit("access.1.random_percent", "Random", "%"),
    entry("alignment", "Alignment"),
    entry("offset", "Offset of the partition"),
    entry("file", "File under load"),
    entry("outstanding", "Outstanding operations"),
    entry("operations_per_second", "Most operations a second"),
];

const OF_ARRAY: &[Entry] = &[
    entry("outstanding", "Outstanding operations"),
    entry("lun", "LUN"),
    entry("write_anywhere.policy", "Allocation policy"),
    entry("write_anywhere.parity", "Parity"),
    in_unit("write_anywhere.data_spindles", "Data spindles", "spindles"),
    in_unit("write_anywhere.other_data.full_percent", "How full, with other data", "%"),
    in_unit("write_anywhere.reserve_percent", "File system's reserve", "%"),
    entry("write_anywhere.snapshots.every", "Snapshot every"),
    in_unit("write_anywhere.snapshots.keep", "Snapshots kept", "snapshots"),
    entry("write_anywhere.buffer_cache", "Buffer cache"),
    entry("write_anywhere.checkpoint_interval", "Consistency point at least every"),
    entry("in_place.layout", "Layout"),
    in_unit("in_place.spindles", "Spindles", "spindles"),
    entry("in_place.write_cache", "Write cache"),
    entry("in_place.read_cache", "Read cache"),
    entry("spindle", "Drive"),
    entry("scheduler", "Scheduler of a drive"),
    in_unit("commands_per_spindle", "Queue of a drive", "commands"),
];

/// What a change of layout takes with it.
const WITHOUT_VRAID: &str =
    "Without vraid-5, redundancy sets, the protection level, and what [overhead] says of it go.";

const POLICIES: &str = "emptiest-area: the one with most free blocks; sequential-sweep: the next one that is as empty as the \
                        average; first-fit: the lowest with a free block; near-neighbours: the block behind the one before it \
                        in the file, if that is free. While an aggregate is nearly empty, the first two are one.";
const WITHOUT_OTHER_DATA: &str = "Left empty, there is none: the file lies alone, and writes go on into space that was never used, \
                                  which is not the low end of this. Other data is scattered at random.";

/// Settings that may be absent. They have a control if the table that they are in can be there.
const OPTIONAL: &[&str] = &[
    "offset",
    "operations_per_second",
    "write_anywhere.other_data.full_percent",
    "write_anywhere.snapshots.every",
    "write_anywhere.snapshots.keep",
];

/// Returns what a setting means: in other words than the schema's, which are for whoever writes a file, or with more of
/// them.
fn about_of(key: &str, in_schema: &str) -> String {
    let further = match key {
        "in_place.layout" => WITHOUT_VRAID,
        "write_anywhere.policy" => POLICIES,
        "write_anywhere.other_data.full_percent" => WITHOUT_OTHER_DATA,
        _ => "",
    };
    let words = match key {
        "outstanding" => "Operations that hosts keep in flight: each answer brings the next one.",
        "lun" => "Length of the LUN.",
        "segments" => "Segments to run, one after another. Each is measured by itself.",
        "write_anywhere.data_spindles" => "Spindles that hold data; those of parity come on top.",
        "in_place.spindles" => {
            "All spindles of the disk group: 5 or more with vraid-5, 3 to 64 with raid-5, 1 to 64 with raid-0."
        }
        "spindle" => "The model of the drives.",
        "scheduler" => "The order in which a drive serves what it has queued.",
        _ => in_schema,
    };
    [words, further].join(" ").trim_end().to_owned()
}

/// Returns the controls of a scenario, in the order of a page.
pub(crate) fn of(scenario: &Scenario) -> Vec<Control> {
    let settings = Values::of(scenario);
    let mut controls = Vec::new();
    for (number, workload) in (1..).zip(&scenario.workloads) {
        let (of, before) = match &workload.named {
            None => ("Workload".to_owned(), "workload.".to_owned()),
            Some(named) => (format!("Workload {}", named.name), format!("workload.{number}.")),
        };
        for entry in OF_WORKLOAD {
            let control = settings.control(scenario, &of, &before, "workload.", entry);
            // The only workload of a scenario has no pace.
            let has_it = workload.named.is_some() || entry.key != "operations_per_second";
            controls.extend(control.filter(|_| has_it));
        }
    }
    for array in &scenario.arrays {
        let before = format!("array.{}.", array.name);
        for entry in OF_ARRAY {
            let control = settings.control(scenario, &array.name, &before, "array.", entry);
            controls.extend(control.filter(|_| applies(array, entry.key)));
        }
    }
    for entry in OF_RUN {
        controls.extend(settings.control(scenario, "Run", "", "", entry));
    }
    controls
}

/// Returns whether an array can have a setting that it may lack.
fn applies(array: &Array, key: &str) -> bool {
    let layout = array.layout.write_anywhere();
    match key.split_once('.') {
        // Volumes may have schedules of their own.
        Some(("write_anywhere", "snapshots.every" | "snapshots.keep")) => {
            layout.is_some() && array.volumes.is_empty()
        }
        Some(("write_anywhere", _)) => layout.is_some(),
        Some(("in_place", _)) => layout.is_none(),
        _ => true,
    }
}

/// The values of all settings, by name.
struct Values(Vec<(String, String)>);

impl Values {
    fn of(scenario: &Scenario) -> Self {
        let settings = scenario.every_setting().into_iter();
        Self(settings.map(|(name, value)| (name, value.to_string())).collect())
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }

    /// Returns the control of a setting; none if the scenario does not and could not have it.
    fn control(
        &self,
        scenario: &Scenario,
        of: &str,
        before: &str,
        schema: &str,
        entry: &Entry,
    ) -> Option<Control> {
        let path = format!("{before}{}", entry.key);
        if entry.key == mix::KEY {
            return Some(mix::control(scenario, path, of, entry.label));
        }
        let value = self.get(&path).map(str::to_owned);
        let optional = OPTIONAL.contains(&entry.key);
        if value.is_none() && !optional {
            return None;
        }
        let key = entry.key.replace(".1.", ".");
        let (about, takes) = limits::of(&format!("{schema}{key}"))?;
        let choice = |value: &str| Choice { value: value.to_owned(), label: value.to_owned() };
        let (kind, choices, least, most) = match (entry.key, takes) {
            ("spindle", _) => (Kind::Choice, drives(value.as_deref()), None, None),
            ("scheduler", _) => {
                // The last one also takes a number.
                let further = value.as_deref().filter(|value| !SCHEDULERS.contains(value));
                let names = SCHEDULERS.into_iter().chain(further);
                (Kind::Choice, names.map(choice).collect(), None, None)
            }
            (_, Takes::Words(words)) => {
                (Kind::Choice, words.iter().map(|word| choice(word)).collect(), None, None)
            }
            (_, Takes::Number { least, most }) => {
                let text = |bound: f64| bound.to_string();
                let most = match entry.key {
                    "outstanding" => Some(MOST_OUTSTANDING.to_string()),
                    // That of a whole number in TOML.
                    "seed" => Some(i64::MAX.to_string()),
                    _ => most.map(text),
                };
                (Kind::Number, Vec::new(), least.map(text), most)
            }
            ("file", _) => (Kind::Quantity, Vec::new(), None, smallest_lun(scenario)),
            (_, Takes::Size | Takes::Time) => (Kind::Quantity, Vec::new(), None, None),
            (_, Takes::Text) => (Kind::Text, Vec::new(), None, None),
        };
        Some(Control {
            path,
            of: of.to_owned(),
            label: entry.label,
            about: about_of(entry.key, about),
            kind,
            value,
            unit: entry.unit,
            least,
            most,
            choices,
            optional,
        })
    }
}

impl Control {
    /// Returns a control that chooses among values.
    pub(crate) fn choice(
        path: String,
        of: &str,
        label: &'static str,
        about: &str,
        value: String,
        choices: Vec<Choice>,
    ) -> Self {
        Self {
            path,
            of: of.to_owned(),
            label,
            about: about.to_owned(),
            kind: Kind::Choice,
            value: Some(value),
            unit: None,
            least: None,
            most: None,
            choices,
            optional: false,
        }
    }
}

/// Returns the drives to choose from: those that ship, and the one that the scenario has in a file.
fn drives(own: Option<&str>) -> Vec<Choice> {
    let own = own.filter(|own| !Profile::shipped_names().any(|name| name == *own));
    let choice = |name: &str| {
        let size = |profile: Profile| profile.capacity_sectors * u64::from(profile.sector_bytes);
        let label = match Profile::shipped(name) {
            Some(profile) => format!("{name}, {}", Bytes(size(profile)).approximately()),
            None => name.to_owned(),
        };
        Choice { value: name.to_owned(), label }
    };
    let mut choices: Vec<Choice> = Profile::shipped_names().map(choice).collect();
    choices.extend(own.map(choice));
    choices
}

/// Returns the length of the smallest LUN, which no file exceeds.
fn smallest_lun(scenario: &Scenario) -> Option<String> {
    let luns = scenario.arrays.iter().flat_map(|array| &array.luns);
    luns.map(|lun| lun.bytes).min().map(|bytes| Bytes(bytes).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_in_the_schema() {
        for (of, entries) in [("", OF_RUN), ("workload.", OF_WORKLOAD), ("array.", OF_ARRAY)] {
            for Entry { key, .. } in entries.iter().filter(|entry| entry.key != mix::KEY) {
                let path = format!("{of}{}", key.replace(".1.", "."));
                assert!(limits::of(&path).is_some(), "{path}");
            }
        }
    }
}
