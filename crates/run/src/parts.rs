//! A run whose arrays run apart.

use std::path::Path;

use strewn_report::{LayoutMap, Published, Results};
use strewn_scenario::Scenario;

use crate::array_run::ArrayRun;
use crate::published_names;
use crate::run::{self, Observer, RunError, RunOptions, ScaledScenario};

/// A run whose arrays run one at a time, in any order and in any process, and whose results are put together from what they
/// did: those of [`run_with_map`](crate::run_with_map), also from arrays that have not come to their end.
///
/// It reads no file, starts no thread and looks at no clock, so it runs in a browser.
///
/// ```
/// use strewn_run::{ArrayRun, RunInParts};
/// use strewn_scenario::Scenario;
///
/// let run = RunInParts::new(&Scenario { segments: 2, ..Scenario::default() }, 64, None)?;
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
}

impl RunInParts {
    /// Checks a scenario, which will run at 1/`scale_down` of its scale (0 and 1 mean full scale), and its published figures.
    ///
    /// # Errors
    /// If the scenario, which code may have changed, is not valid, or the published figures name what it does not have.
    pub fn new(
        scenario: &Scenario,
        scale_down: u32,
        published: Option<Published>,
    ) -> Result<Self, RunError> {
        scenario.check()?;
        if let Some(figures) = &published {
            let path = scenario.published.as_deref().unwrap_or(Path::new(""));
            published_names::check(scenario, figures, path)?;
        }
        Ok(Self { scaled: ScaledScenario::new(scenario, scale_down), published })
    }

    /// Returns the scenario at its scale.
    #[must_use]
    pub const fn scenario(&self) -> &Scenario {
        &self.scaled.scenario
    }

    /// Runs array number `index`, and records where its file lies.
    ///
    /// # Errors
    /// As [`run`](crate::run()).
    ///
    /// # Panics
    /// If the scenario has no such array.
    pub fn array(&self, index: usize, observer: &dyn Observer) -> Result<ArrayRun, RunError> {
        run::run_array(self.scenario(), &RunOptions::default(), index, true, observer)
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
        run::together(&self.scaled, self.published.as_ref(), None, &mut done)
    }
}
