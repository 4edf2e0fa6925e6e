//! Why a question has no answer.

use serde_json::{Value, json};
use strewn_run::{RunError, with_causes};
use strewn_scenario::{ScenarioError, SetError};

use crate::problems::problems;

/// What is wrong, and the remedy.
#[derive(Debug)]
pub(crate) struct Refusal {
    message: String,
    help: Option<String>,
    /// The problems of a scenario, with their places.
    problems: Option<Vec<Value>>,
    /// How many problems there are, with those that are left out.
    all: usize,
}

impl Refusal {
    pub(crate) fn new(message: impl Into<String>, help: Option<String>) -> Self {
        Self { message: message.into(), help, problems: None, all: 0 }
    }

    /// Returns one without a remedy.
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self::new(message, None)
    }

    /// Returns it as the JSON of an answer.
    pub(crate) fn answer(&self) -> Value {
        let Self { message, help, problems, all } = self;
        json!({ "ok": false, "message": message, "help": help, "problems": problems, "all": all })
    }
}

impl From<ScenarioError> for Refusal {
    fn from(error: ScenarioError) -> Self {
        let text = error.source_text().unwrap_or_default();
        let all = error.problems().len();
        let problems = Some(problems(text, error.problems()));
        Self { problems, all, ..Self::new(error.to_string(), error.help().map(str::to_owned)) }
    }
}

impl From<SetError> for Refusal {
    fn from(error: SetError) -> Self {
        match error {
            SetError::Scenario(error) => error.into(),
            error => Self::new(error.to_string(), error.help()),
        }
    }
}

impl From<RunError> for Refusal {
    fn from(error: RunError) -> Self {
        let help = match error {
            RunError::Scenario(error) => return error.into(),
            RunError::PublishedName(ref error) => Some(error.help().to_owned()),
            ref error => error.help().map(str::to_owned),
        };
        Self::new(with_causes(&error), help)
    }
}
