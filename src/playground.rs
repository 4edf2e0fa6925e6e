//! What the page of `strewn playground` is made of: the scenarios and studies that ship, as the page has them.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};
use strewn_report::{Playground, ReportError};
use strewn_run::sensitivity_path;
use strewn_scenario::{Array, NoFiles, Scenario, ScenarioError, SetError};
use strewn_sweep::{Study, StudyError};
use thiserror::Error;

use crate::shipped::{PUBLISHED, SCENARIOS, SENSITIVITIES, ShippedText};
use crate::studies;

/// The scale at which a page first shows most scenarios: in seconds.
const FIRST_SCALE_DOWN: u32 = 64;

/// What the page calls every scenario.
const NAME: &str = "scenario.toml";

/// Why the page cannot be made.
#[derive(Debug, Error)]
pub enum PlaygroundError {
    /// A scenario that ships is not valid.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// A scenario of a study cannot be taken from its published figures.
    #[error(transparent)]
    Set(#[from] SetError),
    /// A study that ships is not valid.
    #[error(transparent)]
    Study(#[from] StudyError),
    /// The template cannot be filled in.
    #[error(transparent)]
    Page(#[from] ReportError),
}

/// Returns the page, with a module of `strewn-playground`, as a file in the `.lzma` format.
///
/// # Errors
/// None, of what ships: a test reads all of it.
pub fn page(module_lzma: &[u8]) -> Result<String, PlaygroundError> {
    let catalog = catalog()?.to_string();
    let version = env!("CARGO_PKG_VERSION");
    Ok(Playground { version, catalog: &catalog, module: module_lzma }.to_html()?)
}

/// Returns everything that ships: scenarios with the files that they name, and studies with their axes and with the
/// scenarios that they begin from.
///
/// # Errors
/// None, of what ships: a test reads all of it.
pub fn catalog() -> Result<Value, PlaygroundError> {
    let scenarios = SCENARIOS.iter().map(entry).collect::<Result<Vec<_>, _>>()?;
    let (mut entries, mut bases) = (Vec::new(), Vec::new());
    for study in studies::names().filter_map(studies::study) {
        let (study, of_study) = of_study(&study?)?;
        entries.push(study);
        bases.extend(of_study);
    }
    Ok(json!({ "scenarios": scenarios, "studies": entries, "bases": bases }))
}

fn entry(shipped: &ShippedText) -> Result<Value, PlaygroundError> {
    let path = Path::new(shipped.path);
    let scenario = Scenario::parse(shipped.text, path)?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let is_named =
        |shipped: &&ShippedText| scenario.published.as_deref() == Some(Path::new(shipped.path));
    let mut files = BTreeMap::new();
    for shipped in PUBLISHED.iter().filter(is_named) {
        let path = Path::new(shipped.path);
        let from_folder = path.strip_prefix(folder).unwrap_or(path);
        files.insert(from_folder.display().to_string(), shipped.text);
    }
    let beside = sensitivity_path(path);
    for shipped in SENSITIVITIES.iter().filter(|shipped| Path::new(shipped.path) == beside) {
        // Beside what the page calls every scenario.
        let name = sensitivity_path(Path::new(NAME));
        files.insert(name.display().to_string(), shipped.text);
    }
    let id = path.file_stem().unwrap_or_default().to_string_lossy();
    let scale = scale_of(&scenario);
    Ok(
        json!({ "id": id, "title": scenario.title, "text": shipped.text, "files": files, "scale": scale }),
    )
}

/// Returns the scale at which a page first shows a scenario. What waits for wires, timers or caches of hosts is off several times
/// over at a small one, and such scenarios last seconds.
fn scale_of(scenario: &Scenario) -> u32 {
    let is_machine = |array: &Array| {
        array.front_end.is_some() || array.page_cache.is_some() || array.client_raid.is_some()
    };
    if scenario.arrays.iter().any(is_machine) { 1 } else { FIRST_SCALE_DOWN }
}

/// Returns a study, and the scenarios that it begins from.
fn of_study(study: &Study) -> Result<(Value, Vec<Value>), PlaygroundError> {
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
