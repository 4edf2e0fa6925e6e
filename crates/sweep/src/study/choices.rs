//! What a study lets one choose, for a program that shows one combination at a time.

use std::path::PathBuf;

use strewn_scenario::{Files, Scenario};

use super::axis::Values;
use super::{Base, Study};
use crate::error::StudyError;

/// An axis with its values. One whose values are drawn from a range has none.
#[derive(Clone, Debug, PartialEq)]
pub struct AxisChoice {
    /// Its name.
    pub name: String,
    /// Its values.
    pub values: Vec<ValueChoice>,
}

/// A value of an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct ValueChoice {
    /// Its name.
    pub label: String,
    /// Another scenario than the study's, by the path that [`Study::scenario_texts`] gives it.
    pub scenario: Option<PathBuf>,
    /// The settings that it changes, by name and value.
    pub settings: Vec<(String, String)>,
}

impl Study {
    /// Returns the axes with their values.
    #[must_use]
    pub fn axis_choices(&self) -> Vec<AxisChoice> {
        let axes = self.axes.iter().map(|axis| {
            let levels = match &axis.values {
                Values::Listed(levels) => levels.as_slice(),
                Values::Between(_) => &[],
            };
            let values = levels.iter().map(|level| ValueChoice {
                label: level.label.clone(),
                scenario: level.scenario.clone(),
                settings: level.settings.clone(),
            });
            AxisChoice { name: axis.name.clone(), values: values.collect() }
        });
        axes.collect()
    }

    /// Returns the texts of the scenarios, with what the study sets in each of its runs: the study's own first, and
    /// those that values of axes name, by their paths in the study.
    ///
    /// # Errors
    /// If a scenario is not valid, also with the study's settings.
    pub fn scenario_texts(
        &self,
        files: &dyn Files,
    ) -> Result<Vec<(Option<PathBuf>, String)>, StudyError> {
        let text = |base: &Base| -> Result<String, StudyError> {
            let mut settings = self.set.clone();
            let scenario = Scenario::parse_with_files(&base.text, &base.path, files)?;
            if let (Some(segments), true) = (self.segments, scenario.phases.is_empty()) {
                settings.push(("segments".to_owned(), segments.to_string()));
            }
            let changed = Scenario::parse_with(&base.text, &base.path, &settings, files);
            changed.map(|(_, text)| text).map_err(|error| self.wrong_setting(error, &[]))
        };
        let others = self.other_bases.iter();
        let others = others.map(|(path, base)| Ok((Some(path.clone()), text(base)?)));
        std::iter::once(text(&self.base).map(|text| (None, text))).chain(others).collect()
    }
}
