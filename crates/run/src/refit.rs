//! Predictions of a scenario with something changed, each after its fitted parameters have been fitted again.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use strewn_results::{Published, SIGNIFICANT_DIGITS, rounded};
use strewn_scenario::{Disk, Scenario, ScenarioError, SetError};
use thiserror::Error;

use crate::calibrate::{self, CalibrateError};
use crate::memory::{self, NotEnoughMemory};
use crate::observer::Observer;
use crate::parallel::{self, ThreadsError};
use crate::run::{self, RunOptions};
use crate::run_error::RunError;

/// What is changed before the fit; by default nothing.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Variation {
    /// Settings by name, each with its value, as [`Scenario::parse_with`] takes them.
    pub settings: Vec<(String, String)>,
    /// The seed, if it is another.
    pub seed: Option<u64>,
    /// A published segment that the fit is given multiplied by a factor.
    pub row: Option<(u32, f64)>,
    /// The arrays to run, by index; those without fitted parameters are left out.
    pub arrays: Vec<usize>,
}

/// How to fit again.
#[derive(Debug, Clone, Copy, Default)]
pub struct RefitOptions {
    /// Number of threads; 0 for one per core. The results do not depend on it.
    pub jobs: usize,
    /// Simulate at 1/`scale_down` of full scale; 0 and 1 mean full scale.
    pub scale_down: u32,
}

/// What one variation made of one array.
#[derive(Debug, Clone, PartialEq)]
pub struct Refit {
    /// Index of the variation.
    pub variation: usize,
    /// Index of the array.
    pub array: usize,
    /// The prediction, or why there is none.
    pub outcome: Result<Prediction, NoFit>,
}

/// A prediction with fitted parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct Prediction {
    /// The fitted parameters, in the order of the scenario, in the units of its parameters.
    pub fitted: Vec<f64>,
    /// Host operations a second, by segment.
    pub iops: Vec<f64>,
}

/// No values of the fitted parameters reproduce the fitted segments.
#[derive(Debug, Clone, PartialEq)]
pub struct NoFit {
    /// How far the IOPS of each fitted segment remain off at the closest, in percent.
    pub off_percent: Vec<f64>,
}

/// Why predictions cannot be made again.
#[derive(Debug, Error)]
pub enum RefitError {
    /// The scenario is not valid.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The scenario names no published figures.
    #[error("the scenario names no published figures, so nothing in it is fitted")]
    NoPublished,
    /// No array has fitted parameters.
    #[error("no array of the scenario has an [array.fitted] table: there is nothing to fit again")]
    NothingFitted,
    /// The scenario as it is reaches no fit, so there is nothing to compare with.
    #[error(
        "array \"{array}\" reaches no fit as it is: its fitted segments are off by {} %",
        off_percent.iter().map(|off| format!("{off:+.2}")).collect::<Vec<_>>().join(" and ")
    )]
    NoBaseline {
        /// Name of the array in the scenario.
        array: String,
        /// How far the IOPS of each fitted segment remain off at the closest, in percent.
        off_percent: Vec<f64>,
    },
    /// A setting cannot be changed so.
    #[error("{setting}: {source}")]
    Setting {
        /// The setting and its value.
        setting: String,
        /// What is wrong with it.
        source: SetError,
    },
    /// A fit failed otherwise than by not converging.
    #[error(transparent)]
    Calibrate(#[from] CalibrateError),
    /// A simulation of a prediction failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The runs would not fit the machine's memory.
    #[error(transparent)]
    Memory(#[from] NotEnoughMemory),
    /// Threads cannot be started.
    #[error(transparent)]
    Threads(#[from] ThreadsError),
    /// The observer stopped it.
    #[error("stopped before all rows were done")]
    Stopped,
}

/// Fits the parameters of a scenario's text again under each variation, and runs all of its segments. `name` is the
/// path of its file. `on_done` is told how many of how many predictions are done.
///
/// # Errors
/// See [`RefitError`]. It is no error if a variation reaches no fit: its outcome says so.
pub fn refit(
    text: &str,
    name: &Path,
    variations: &[Variation],
    options: RefitOptions,
    observer: &dyn Observer,
    on_done: &(dyn Fn(usize, usize) + Sync),
) -> Result<Vec<Refit>, RefitError> {
    let scenario = Scenario::parse_with_files(text, name, &Disk)?;
    let published = run::published(&scenario)?.ok_or(RefitError::NoPublished)?;
    if scenario.arrays.iter().all(|array| array.fitted.is_none()) {
        return Err(RefitError::NothingFitted);
    }
    let mut tasks = Vec::new();
    for (number, variation) in variations.iter().enumerate() {
        // All settings are looked at before the first simulation.
        let mut varied = varied(text, name, variation)?;
        varied.seed = variation.seed.unwrap_or(varied.seed);
        let (varied, _) = varied.scaled_down(options.scale_down);
        memory::check(&varied, 0)?;
        let fitted =
            |array: &usize| varied.arrays.get(*array).is_some_and(|of| of.fitted.is_some());
        for array in variation.arrays.iter().copied().filter(fitted) {
            tasks.push(Task {
                variation: number,
                row: variation.row,
                scenario: varied.clone(),
                array,
            });
        }
    }
    let (count, done) = (tasks.len(), AtomicUsize::new(0));
    on_done(0, count);
    parallel::over_threads(options.jobs, tasks, |task| {
        let refit = task.run(&published, observer);
        on_done(done.fetch_add(1, Ordering::Relaxed) + 1, count);
        refit
    })
}

fn varied(text: &str, name: &Path, variation: &Variation) -> Result<Scenario, RefitError> {
    let found = Scenario::parse_with(text, name, &variation.settings, &Disk);
    let (scenario, _) = found.map_err(|source| {
        let settings = variation.settings.iter().map(|(name, value)| format!("{name} = {value}"));
        RefitError::Setting { setting: settings.collect::<Vec<_>>().join(", "), source }
    })?;
    Ok(scenario)
}

/// One array to be fitted and run.
struct Task {
    variation: usize,
    row: Option<(u32, f64)>,
    scenario: Scenario,
    array: usize,
}

impl Task {
    fn run(self, published: &Published, observer: &dyn Observer) -> Result<Refit, RefitError> {
        let Self { variation, row, mut scenario, array } = self;
        let described = &scenario.arrays[array];
        let segments = described.fitted.as_ref().map(|fitted| fitted.segments.as_slice());
        let factor_of = |segment: &u32| match row {
            Some((moved, factor)) if moved == *segment => factor,
            _ => 1.0,
        };
        let factors: Vec<f64> = segments.unwrap_or_default().iter().map(factor_of).collect();
        let figures = published.array(&described.name);
        let fit = match calibrate::calibrate_array(&scenario, array, figures, &factors, observer) {
            Ok(fit) => fit,
            Err(CalibrateError::NotConverged { errors, .. }) => {
                let off = errors.iter().map(|(_, error)| rounded(100.0 * error, 3));
                let outcome = Err(NoFit { off_percent: off.collect() });
                return Ok(Refit { variation, array, outcome });
            }
            Err(CalibrateError::Stopped) => return Err(RefitError::Stopped),
            Err(error) => return Err(error.into()),
        };
        for parameter in &fit.parameters {
            scenario
                .set_parameter(&fit.array, &parameter.name, parameter.after)
                .map_err(CalibrateError::from)?;
        }
        let options = RunOptions::default();
        let done = run::run_array(&scenario, &options, array, false, observer)?;
        if done.segments.len() < scenario.segments as usize {
            return Err(RefitError::Stopped);
        }
        let segments = done.segments.iter();
        let iops = segments.map(|segment| rounded(calibrate::iops(segment), SIGNIFICANT_DIGITS));
        let fitted =
            { fit.parameters.iter() }.map(|parameter| rounded(parameter.after, SIGNIFICANT_DIGITS));
        let outcome = Ok(Prediction { fitted: fitted.collect(), iops: iops.collect() });
        Ok(Refit { variation, array, outcome })
    }
}
