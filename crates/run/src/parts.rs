//! A run whose arrays run apart.

use std::io::ErrorKind;
use std::path::Path;

use strewn_results::{LayoutMap, Published, Results, Scaled};
use strewn_scenario::{Files, Scenario};

use crate::array_run::ArrayRun;
use crate::observer::Observer;
use crate::replicates::Uncertainty;
use crate::run::{self, ScaledScenario};
use crate::run_error::RunError;

/// A run whose arrays run one at a time, in any order and in any process, and whose results are put together from what
/// they did: those of [`run_with_map`](crate::run_with_map), also from arrays that have not come to their end.
///
/// It reads files through [`Files`] alone, starts no thread and looks at no clock, so it runs in a browser.
///
/// ```
/// use strewn_run::{ArrayRun, RunInParts};
/// use strewn_scenario::{NoFiles, Scenario};
///
/// let scenario = Scenario { segments: 2, ..Scenario::default() };
/// let run = RunInParts::new(&scenario, 64, None, &NoFiles)?;
/// let first = run.array(0, &())?.to_bytes()?;
/// // Elsewhere, or later:
/// let (results, _map) = run.results(vec![ArrayRun::from_bytes(&first)?, ArrayRun::default()])?;
/// assert!(results.partial);
/// assert_eq!(results.arrays[0].segments.len(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct RunInParts {
    scaled: ScaledScenario,
    published: Option<Published>,
    uncertainty: Uncertainty,
}

impl RunInParts {
    /// Checks a scenario, which will run at 1/`scale_down` of its scale (0 and 1 mean full scale), and reads its
    /// published figures. `sensitivity` is the path of what unknown constants do to the figures, for bands around them;
    /// it is no error if it is not there.
    ///
    /// # Errors
    /// If the scenario, which code may have changed, is not valid; if a file cannot be read, or is wrong.
    pub fn new(
        scenario: &Scenario,
        scale_down: u32,
        sensitivity: Option<&Path>,
        files: &dyn Files,
    ) -> Result<Self, RunError> {
        scenario.check()?;
        let read = |path: &Path| {
            let failed = |source| RunError::PublishedFile { path: path.to_owned(), source };
            files.read(path).map_err(failed)
        };
        let published = scenario.published.as_deref().map(read).transpose()?;
        let read = |path: &Path| match files.read(path) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(source) => Err(RunError::SensitivityFile { path: path.to_owned(), source }),
        };
        let of_constants = sensitivity.map(read).transpose()?.flatten();
        // The path is for messages; without a text, nothing is to be read.
        let sensitivity = sensitivity.filter(|_| of_constants.is_some());
        Ok(Self {
            scaled: ScaledScenario::new(scenario, scale_down),
            published: run::read_published(scenario, published.as_deref())?,
            uncertainty: Uncertainty::read(scenario, sensitivity, of_constants.as_deref())?,
        })
    }

    /// Returns the scenario at its scale.
    #[must_use]
    pub const fn scenario(&self) -> &Scenario {
        &self.scaled.scenario
    }

    /// Returns what was scaled down, unless it runs at full scale.
    #[must_use]
    pub const fn scaled(&self) -> Option<&Scaled> {
        self.scaled.scaled.as_ref()
    }

    /// Returns the published figures, if it has some.
    #[must_use]
    pub const fn published(&self) -> Option<&Published> {
        self.published.as_ref()
    }

    /// Runs array number `index`, and records where its file lies.
    ///
    /// # Errors
    /// As [`run`](crate::run()).
    ///
    /// # Panics
    /// If the scenario has no such array.
    pub fn array(&self, index: usize, observer: &dyn Observer) -> Result<ArrayRun, RunError> {
        run::run_own_array(self.scenario(), index, observer)
    }

    /// Puts together what the arrays did, in the scenario's order. `wall_seconds` is 0.
    ///
    /// # Errors
    /// If the cost of spindles cannot be computed.
    ///
    /// # Panics
    /// If there are more or fewer than the scenario's arrays.
    pub fn results(&self, mut done: Vec<ArrayRun>) -> Result<(Results, LayoutMap), RunError> {
        assert_eq!(done.len(), self.scenario().arrays.len(), "one for each array");
        let published = self.published.as_ref();
        let (mut results, map) = run::together(&self.scaled, published, None, &mut done)?;
        let alone = std::slice::from_ref(self.scenario());
        self.uncertainty.add_bands(&mut results, alone, &[], published);
        Ok((results, map))
    }
}
