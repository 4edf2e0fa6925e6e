//! What a question is about: a scenario's text, the files that it names, and a scale.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use serde::Deserialize;
use strewn_run::{RunInParts, sensitivity_path};
use strewn_scenario::{Files, Scenario, ScenarioError};

use crate::refusal::Refusal;

/// The name of the text in errors.
pub(crate) const NAME: &str = "scenario.toml";

/// A scenario as a page has it.
#[derive(Deserialize)]
pub(crate) struct Source {
    pub(crate) text: String,
    /// The texts of the files that it names, by their paths in it.
    #[serde(default)]
    pub(crate) files: BTreeMap<String, String>,
    /// 1/`scale_down` of full scale; 0 and 1 mean full scale.
    #[serde(default)]
    pub(crate) scale_down: u32,
}

impl Source {
    /// Reads and checks the scenario.
    pub(crate) fn scenario(&self) -> Result<Scenario, ScenarioError> {
        Scenario::parse_with_files(&self.text, NAME, self)
    }

    /// Returns the run of its scenario, with its published figures, and bands if the page has the sensitivities of its
    /// constants.
    pub(crate) fn run(&self, scenario: &Scenario) -> Result<RunInParts, Refusal> {
        let sensitivity = sensitivity_path(Path::new(NAME));
        Ok(RunInParts::new(scenario, self.scale_down, Some(&sensitivity), self)?)
    }

    fn file(&self, path: &Path) -> Option<&str> {
        self.files.get(path.to_str()?).map(String::as_str)
    }
}

impl Files for Source {
    fn read(&self, path: &Path) -> io::Result<String> {
        let missing = || {
            io::Error::new(
                io::ErrorKind::NotFound,
                "a page has the files that its scenarios came with",
            )
        };
        self.file(path).map(str::to_owned).ok_or_else(missing)
    }
}
