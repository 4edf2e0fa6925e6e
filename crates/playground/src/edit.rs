//! Changing settings in a scenario's text.

use serde_json::{Value, json};
use strewn_raid::VraidConfig;
use strewn_scenario::{InPlaceLayout, Scenario, SetError};

use crate::controls;
use crate::mix;
use crate::refusal::Refusal;
use crate::source::{NAME, Source};

/// A setting by its full name, and its value; none to remove it.
type Setting = (String, Option<String>);

/// Snapshots kept, and blocks of a run of other data, if nobody has said how many.
const KEEP: &str = "6";
const RUN_BLOCKS: &str = "8";

/// Sets settings, and returns the text with them: comments and order stay. A text that would not be valid is refused.
pub(crate) fn set(source: &Source, settings: &[Setting]) -> Value {
    changed(source, settings).unwrap_or_else(|refusal| refusal.answer())
}

fn changed(source: &Source, settings: &[Setting]) -> Result<Value, Refusal> {
    let scenario = source.scenario()?;
    let controls = controls::of(&scenario);
    let is_control = |path: &str| controls.iter().any(|one| one.path == path);
    let settings: Vec<Setting> = settings
        .iter()
        .flat_map(|setting| match is_control(&setting.0) {
            true => with_what_belongs_to_it(&scenario, setting),
            // Of a study, which says all of it, by names of its own.
            false => vec![setting.clone()],
        })
        .collect();
    let given = settings.iter().map(|(path, value)| Some((path.clone(), value.clone()?)));
    let text = match given.collect::<Option<Vec<_>>>() {
        Some(given) => Scenario::parse_with(&source.text, NAME, &given, source)?.1,
        None => {
            let text = scenario.edited(&source.text, &settings)?;
            Scenario::parse_with_files(&text, NAME, source).map_err(|error| {
                // Their places are in a text that nobody has seen.
                let problems = error.problems().to_vec();
                SetError::Invalid { setting: described(&settings), problems }
            })?;
            text
        }
    };
    Ok(json!({ "ok": true, "text": text }))
}

/// Returns what was to be set, in words.
fn described(settings: &[Setting]) -> String {
    let words = settings.iter().map(|(path, value)| match value {
        Some(value) => format!("{path}={value}"),
        None => format!("no {path}"),
    });
    words.collect::<Vec<_>>().join(", ")
}

/// Returns a setting with others that are valid only together with it.
fn with_what_belongs_to_it(scenario: &Scenario, setting: &Setting) -> Vec<Setting> {
    let (path, value) = setting;
    let Some((before, key)) = split(path) else { return vec![setting.clone()] };
    let other = |key: &str, value: Option<String>| (format!("{before}{key}"), value);
    let settings = scenario.every_setting();
    let given = |key: &str| {
        let is_it = |name: &str| name.strip_prefix(before) == Some(key);
        settings.iter().find(|(name, _)| is_it(name)).map(|(_, value)| value.to_string())
    };
    let vraid = InPlaceLayout::Vraid5.as_str();
    let mut all = vec![setting.clone()];
    match (key, value.as_deref()) {
        (mix::KEY, Some(value)) => {
            let has_lines = given("access.1.bytes").is_some();
            return mix::settings(before, value, has_lines).unwrap_or(all);
        }
        ("every" | "keep", None) => return vec![other("every", None), other("keep", None)],
        ("every", Some(_)) if given("keep").is_none() => {
            all.push(other("keep", Some(KEEP.to_owned())))
        }
        ("keep", Some(_)) if given("every").is_none() => {
            all.push(other("every", Some("1 h".to_owned())));
        }
        ("full_percent", None) => all.push(other("run_blocks", None)),
        ("full_percent", Some(_)) if given("run_blocks").is_none() => {
            all.push(other("run_blocks", Some(RUN_BLOCKS.to_owned())));
        }
        ("layout", Some(layout)) => {
            let is_vraid = layout == vraid;
            let sets =
                given("spindles").filter(|_| is_vraid).and_then(|spindles| sets_of(&spindles));
            all.push(other("redundancy_sets", sets));
            let level = if is_vraid { "single" } else { "none" };
            all.push(other("protection_level", Some(level.to_owned())));
            if !is_vraid {
                all.extend(without_protection_levels(scenario, before));
            }
        }
        ("spindles", Some(spindles)) if given("layout").as_deref() == Some(vraid) => {
            // A number that is none is refused as it is.
            all.extend(sets_of(spindles).map(|sets| other("redundancy_sets", Some(sets))));
        }
        _ => {}
    }
    all
}

/// Returns a name without its last part, and that part.
fn split(path: &str) -> Option<(&str, &str)> {
    path.rfind('.').map(|at| path.split_at(at + 1))
}

/// Returns what removes the ways to buy an array that are about protection levels, which only VRAID-5 has. `before` is
/// what comes before the names of the array's settings.
fn without_protection_levels(scenario: &Scenario, before: &str) -> Vec<Setting> {
    let configurations = scenario.overhead.iter().flat_map(|overhead| &overhead.configurations);
    let is_of_array = |array: &str| {
        let below = before.strip_prefix("array.").and_then(|rest| rest.strip_prefix(array));
        below.is_some_and(|below| below.starts_with('.'))
    };
    let numbered: Vec<_> = (1..).zip(configurations).collect();
    // From the last one on: the number of one that follows a removed one changes.
    let removed = numbered.iter().rev().filter(|(_, configuration)| {
        configuration.protection_level.is_some() && is_of_array(&configuration.array)
    });
    let keys = ["array", "name", "source", "spare", "root", "protection_level", "used_by_results"];
    let removed = removed.flat_map(|(number, _)| {
        keys.map(|key| (format!("overhead.configuration.{number}.{key}"), None))
    });
    removed.collect()
}

/// Returns the redundancy sets that an EVA makes of so many spindles, as a scenario writes them.
fn sets_of(spindles: &str) -> Option<String> {
    VraidConfig::for_spindles(spindles.parse().ok()?)
        .ok()
        .map(|config| format!("{:?}", config.redundancy_sets))
}
