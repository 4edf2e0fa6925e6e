//! What a question is about: a scenario's text, the files that it names, and a scale.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use serde::Deserialize;
use strewn::Failure;
use strewn::report::Published;
use strewn::scenario::{Files, Scenario, ScenarioError};

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

    /// Reads the published figures that it names; none if it names none.
    pub(crate) fn published(&self, scenario: &Scenario) -> Result<Option<Published>, Failure> {
        let Some(path) = &scenario.published else { return Ok(None) };
        let Some(text) = self.file(path) else {
            return Err(Failure::bad_input(
                format!("{}: there is no such file of published figures", path.display()),
                "a page has those of the scenarios that it came with; remove the line `published`",
            ));
        };
        Published::from_toml(text, path)
            .map(Some)
            .map_err(|error| Failure::bad_input(error.to_string(), "correct the published figures"))
    }

    fn file(&self, path: &Path) -> Option<&str> {
        self.files.get(path.to_str()?).map(String::as_str)
    }
}

impl Files for Source {
    fn read(&self, path: &Path) -> io::Result<String> {
        let missing = || io::Error::new(io::ErrorKind::NotFound, "the page does not have it");
        self.file(path).map(str::to_owned).ok_or_else(missing)
    }
}
