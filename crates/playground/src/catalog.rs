//! The scenarios and studies of the page.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};
use strewn_run::sensitivity_path;
use strewn_scenario::{Array, NoFiles, Scenario};
use strewn_sweep::Study;

use crate::page_error::PageError;

/// The scale at which a page first shows most scenarios: in seconds.
const FIRST_SCALE_DOWN: u32 = 64;

/// What the page calls every scenario.
const NAME: &str = "scenario.toml";

/// A text that the page has.
#[derive(Clone, Copy, Debug)]
pub struct ShippedText {
    /// Its path from the project's root.
    pub path: &'static str,
    /// The text.
    pub text: &'static str,
}

/// What one can choose from on the page.
#[derive(Clone, Copy, Debug)]
pub struct Shipped<'a> {
    /// The scenarios.
    pub scenarios: &'a [ShippedText],
    /// The published figures that they name.
    pub published: &'a [ShippedText],
    /// The files of sensitivities that lie beside them.
    pub sensitivities: &'a [ShippedText],
    /// The studies.
    pub studies: &'a [Study],
}

/// Returns scenarios with the files that they name, and studies with their axes and with the scenarios that they begin
/// from.
pub(crate) fn catalog(shipped: &Shipped<'_>) -> Result<Value, PageError> {
    let entries = shipped.scenarios.iter().map(|scenario| entry(scenario, shipped));
    let scenarios = entries.collect::<Result<Vec<_>, _>>()?;
    let (mut entries, mut bases) = (Vec::new(), Vec::new());
    for study in shipped.studies {
        let (study, of_study) = of_study(study)?;
        entries.push(study);
        bases.extend(of_study);
    }
    Ok(json!({ "scenarios": scenarios, "studies": entries, "bases": bases }))
}

fn entry(shown: &ShippedText, shipped: &Shipped<'_>) -> Result<Value, PageError> {
    let path = Path::new(shown.path);
    let scenario = Scenario::parse(shown.text, path)?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let is_named =
        |figures: &&ShippedText| scenario.published.as_deref() == Some(Path::new(figures.path));
    let mut files = BTreeMap::new();
    for figures in shipped.published.iter().filter(is_named) {
        let path = Path::new(figures.path);
        let from_folder = path.strip_prefix(folder).unwrap_or(path);
        files.insert(from_folder.display().to_string(), figures.text);
    }
    let beside = sensitivity_path(path);
    for file in shipped.sensitivities.iter().filter(|file| Path::new(file.path) == beside) {
        // Beside what the page calls every scenario.
        let name = sensitivity_path(Path::new(NAME));
        files.insert(name.display().to_string(), file.text);
    }
    let id = path.file_stem().unwrap_or_default().to_string_lossy();
    let scale = scale_of(&scenario);
    Ok(
        json!({ "id": id, "title": scenario.title, "text": shown.text, "files": files, "scale": scale }),
    )
}

/// Returns the scale at which a page first shows a scenario. What waits for wires, timers or caches of hosts is off
/// several times over at a small one, and such scenarios last seconds.
fn scale_of(scenario: &Scenario) -> u32 {
    let is_machine = |array: &Array| {
        array.front_end.is_some() || array.page_cache.is_some() || array.client_raid.is_some()
    };
    if scenario.arrays.iter().any(is_machine) { 1 } else { FIRST_SCALE_DOWN }
}

/// Returns a study, and the scenarios that it begins from.
fn of_study(study: &Study) -> Result<(Value, Vec<Value>), PageError> {
    // No scenario has such a name.
    let id = |path: Option<&Path>| match path {
        None => format!("study {}", study.name),
        Some(path) => format!("study {}: {}", study.name, path.display()),
    };
    let mut bases = Vec::new();
    for (path, text) in study.scenario_texts(&NoFiles)? {
        let scenario = Scenario::parse(&text, NAME)?;
        // A study is of other settings than those of published figures.
        let text = match scenario.published {
            Some(_) => scenario.edited(&text, &[("published".to_owned(), None)])?,
            None => text,
        };
        let scale = scale_of(&scenario);
        let id = id(path.as_deref());
        let base =
            json!({ "id": id, "title": scenario.title, "text": text, "files": {}, "scale": scale });
        bases.push(base);
    }
    let axes =
        study.axis_choices().into_iter().filter(|axis| !axis.values.is_empty()).map(|axis| {
            let values = axis.values.iter().map(|value| {
                let base = value.scenario.as_deref().map(|path| id(Some(path)));
                json!({ "label": value.label, "base": base, "settings": value.settings })
            });
            json!({ "name": axis.name, "label": axis.name, "values": values.collect::<Vec<_>>() })
        });
    let entry = json!({
        "id": study.name,
        "title": study.title,
        "question": study.text.question.trim(),
        "base": id(None),
        "axes": axes.collect::<Vec<_>>(),
    });
    Ok((entry, bases))
}
