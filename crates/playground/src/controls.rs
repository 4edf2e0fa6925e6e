//! Controls: settings that people argue about, with their units and limits.

use strewn_scenario::{Array, Bytes, SCHEDULERS, Scenario, Setting, Takes};
use strewn_spindle::Profile;

use crate::control::{Choice, Control, Kind};
use crate::mix;

/// Returns the controls of a scenario, in the order of a page: those of workloads, of arrays and of the run.
pub(crate) fn of(scenario: &Scenario) -> Vec<Control> {
    let mut found: Vec<(usize, u8, Control)> = Vec::new();
    for setting in scenario.described() {
        let Some(shown) = &setting.control else { continue };
        // The lines of a mix after the first one, and schedules of volumes, have none.
        let is_further = setting.name.contains(".access.") && !setting.name.contains(".access.1.");
        let Some((order, of)) = owner(scenario, &setting.name).filter(|_| !is_further) else {
            continue;
        };
        let place = shown.place;
        found.extend(control(scenario, of, setting).map(|control| (order, place, control)));
    }
    found.sort_by_key(|(order, place, _)| (*order, *place));
    found.into_iter().map(|(.., control)| control).collect()
}

/// Returns what a setting is of, and its place on the page; none if it has no place there.
fn owner(scenario: &Scenario, name: &str) -> Option<(usize, String)> {
    let workloads = scenario.workloads.len();
    if let Some(below) = name.strip_prefix("workload.") {
        let number = below.split('.').next().and_then(|number| number.parse::<usize>().ok());
        let named = number.and_then(|number| scenario.workloads.get(number - 1)?.named.as_ref());
        return Some(match named {
            Some(named) => (number.unwrap_or(0), format!("Workload {}", named.name)),
            None => (0, "Workload".to_owned()),
        });
    }
    let Some(below) = name.strip_prefix("array.") else {
        return Some((workloads + scenario.arrays.len() + 1, "Run".to_owned()));
    };
    let is_it =
        |array: &Array| below.strip_prefix(&array.name).is_some_and(|below| below.starts_with('.'));
    let position = scenario.arrays.iter().position(is_it)?;
    let array = &scenario.arrays[position];
    // Volumes may have schedules of their own.
    let is_shown = array.volumes.is_empty() || !below.contains(".snapshots.");
    is_shown.then(|| (workloads + 1 + position, array.name.clone()))
}

/// Returns the control of a setting; none if the scenario does not and could not have it.
fn control(scenario: &Scenario, of: String, setting: Setting) -> Option<Control> {
    let Setting { name: path, value, takes, is_optional: optional, control, .. } = setting;
    let shown = control?;
    let key = path.rsplit('.').next().unwrap_or_default();
    if key == mix::KEY {
        return Some(mix::control(scenario, path, &of, shown.label));
    }
    if value.is_none() && !optional {
        return None;
    }
    let choice = |value: &str| Choice { value: value.to_owned(), label: value.to_owned() };
    let (kind, choices, least, most) = match (key, takes) {
        ("spindle", _) => (Kind::Choice, drives(value.as_deref()), None, None),
        ("scheduler", _) => {
            // The last one also takes a number.
            let further = value.as_deref().filter(|value| !SCHEDULERS.contains(value));
            let names = SCHEDULERS.into_iter().chain(further);
            (Kind::Choice, names.map(choice).collect(), None, None)
        }
        (_, Takes::Words(words)) => {
            (Kind::Choice, words.into_iter().map(choice).collect(), None, None)
        }
        (_, Takes::Number { least, most }) => {
            let most = most.map(|most| most.to_string());
            (Kind::Number, Vec::new(), Some(least.to_string()), most)
        }
        ("file", _) => (Kind::Quantity, Vec::new(), None, smallest_lun(scenario)),
        (_, Takes::Size | Takes::Time) => (Kind::Quantity, Vec::new(), None, None),
        (_, Takes::Text) => (Kind::Text, Vec::new(), None, None),
    };
    Some(Control {
        path,
        of,
        label: shown.label,
        about: shown.about,
        kind,
        value,
        unit: shown.unit,
        least,
        most,
        choices,
        optional,
    })
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
