//! Fits the parameters that a scenario declares as fitted to the published segments that it declares for them.

use rayon::prelude::*;
use strewn_array::DataLost;
use strewn_report::{Metric, PublishedArray, SIGNIFICANT_DIGITS, rounded};
use strewn_scenario::{Fitted, ParameterError, ParameterUnit, Scenario};
use thiserror::Error;

use crate::memory;
use crate::run::{self, Observer, RunError, RunOptions};

/// Most simulations of one array; a fit that has not converged by then ends there.
const MOST_SIMULATIONS: u32 = 16;
/// A fit has converged when no fitted segment is off by more than this fraction.
const CLOSE_ENOUGH: f64 = 0.000_2;
/// How far a parameter is moved to find its effect, as a fraction of its value.
const PROBE: f64 = 0.05;
/// A count is fitted when this many neighbours on each side are worse.
const LOOK_AHEAD: f64 = 2.0;
/// A step changes a parameter by at most this factor, up or down.
const LARGEST_STEP: f64 = 2.0;

/// The fit of one array.
#[derive(Debug, Clone, PartialEq)]
pub struct Calibration {
    /// The array.
    pub array: String,
    /// The fitted parameters.
    pub parameters: Vec<FittedParameter>,
    /// The published segments that they were fitted to.
    pub segments: Vec<FittedSegment>,
    /// Number of simulations that the fit took.
    pub simulations: u32,
}

/// One fitted parameter.
#[derive(Debug, Clone, PartialEq)]
pub struct FittedParameter {
    /// Its name in the scenario.
    pub name: String,
    /// Its unit.
    pub unit: ParameterUnit,
    /// The value in the scenario before the fit.
    pub before: f64,
    /// The fitted value.
    pub after: f64,
}

/// One segment that the parameters were fitted to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FittedSegment {
    /// Number of the segment, counted from 1.
    pub index: u32,
    /// Published IOPS.
    pub published: f64,
    /// Simulated IOPS with the fitted parameters.
    pub simulated: f64,
}

/// Why a scenario cannot be calibrated.
#[derive(Debug, Error)]
pub enum CalibrateError {
    /// The scenario declares no parameter as fitted.
    #[error("no array of the scenario has an [array.fitted] table: there is nothing to fit")]
    NothingFitted,
    /// The scenario names no published figures.
    #[error("the scenario names no published figures to fit to")]
    NoPublished,
    /// The published figures lack a segment that the scenario fits to.
    #[error("the published figures have no IOPS of \"{array}\" for segment {segment}")]
    NoFigure {
        /// The array.
        array: String,
        /// The segment.
        segment: u32,
    },
    /// A parameter cannot take a value that the fit tried.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// A simulation failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// An array lost data before its last segment.
    #[error("array \"{array}\" loses data in the segments that are fitted: {lost}")]
    DataLost {
        /// The array.
        array: String,
        /// The loss.
        lost: DataLost,
    },
    /// The observer stopped the fit.
    #[error("stopped before the fit was done")]
    Stopped,
}

/// Fits the parameters that `scenario` declares as fitted to the published IOPS of the segments that it declares, and
/// to nothing else. Arrays are fitted in parallel on `jobs` threads (0 for one per core).
///
/// Continuous parameters are fitted by Newton's method with Broyden's updates, a count by trying its neighbours. Only
/// the segments up to the last fitted one are simulated.
///
/// # Errors
/// See [`CalibrateError`].
pub fn calibrate(
    scenario: &Scenario,
    jobs: usize,
    observer: &dyn Observer,
) -> Result<Vec<Calibration>, CalibrateError> {
    let published = run::read_published(scenario)?.ok_or(CalibrateError::NoPublished)?;
    memory::check(scenario).map_err(RunError::from)?;
    let mut fits = Vec::new();
    for (index, array) in scenario.arrays.iter().enumerate() {
        let Some(fitted) = &array.fitted else { continue };
        let figures = published.array(&array.name);
        fits.push(Fit::new(scenario, index, fitted, figures, observer)?);
    }
    if fits.is_empty() {
        return Err(CalibrateError::NothingFitted);
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs).build().map_err(RunError::from)?;
    pool.install(|| fits.into_par_iter().map(Fit::run).collect())
}

/// The fit of one array.
struct Fit<'a> {
    scenario: Scenario,
    index: usize,
    fitted: &'a Fitted,
    published: Vec<f64>,
    observer: &'a dyn Observer,
    simulations: u32,
}

impl<'a> Fit<'a> {
    fn new(
        scenario: &Scenario,
        index: usize,
        fitted: &'a Fitted,
        figures: Option<&PublishedArray>,
        observer: &'a dyn Observer,
    ) -> Result<Self, CalibrateError> {
        let array = &scenario.arrays[index].name;
        let published = fitted
            .segments
            .iter()
            .map(|segment| {
                figures.and_then(|figures| figures.figure(Metric::Iops, *segment)).ok_or_else(
                    || CalibrateError::NoFigure { array: array.clone(), segment: *segment },
                )
            })
            .collect::<Result<_, _>>()?;
        let mut scenario = scenario.clone();
        scenario.segments = fitted.segments.iter().copied().max().unwrap_or(1);
        Ok(Self { scenario, index, fitted, published, observer, simulations: 0 })
    }

    fn run(mut self) -> Result<Calibration, CalibrateError> {
        let (before, units) = self.values()?;
        let is_count = units == [ParameterUnit::Count];
        let (after, simulated) =
            if is_count { self.try_neighbours(before[0])? } else { self.newton(&before)? };
        let parameters = self.fitted.parameters.iter().zip(units).zip(before).zip(after);
        let segments = self.fitted.segments.iter().zip(&self.published).zip(simulated);
        Ok(Calibration {
            array: self.scenario.arrays[self.index].name.clone(),
            parameters: parameters
                .map(|(((name, unit), before), after)| FittedParameter {
                    name: name.clone(),
                    unit,
                    before,
                    after,
                })
                .collect(),
            segments: segments
                .map(|((index, published), simulated)| FittedSegment {
                    index: *index,
                    published: *published,
                    simulated: rounded(simulated, SIGNIFICANT_DIGITS),
                })
                .collect(),
            simulations: self.simulations,
        })
    }

    fn values(&self) -> Result<(Vec<f64>, Vec<ParameterUnit>), ParameterError> {
        let array = &self.scenario.arrays[self.index].name;
        let parameters = self.fitted.parameters.iter();
        parameters.map(|name| self.scenario.parameter(array, name)).collect()
    }

    /// Returns the simulated IOPS of the fitted segments, with the fitted parameters at `values`.
    fn simulate(&mut self, values: &[f64]) -> Result<Vec<f64>, CalibrateError> {
        let array = self.scenario.arrays[self.index].name.clone();
        for (name, value) in self.fitted.parameters.iter().zip(values) {
            self.scenario.set_parameter(&array, name, *value)?;
        }
        self.simulations += 1;
        let options = RunOptions::default();
        let done = run::run_array(&self.scenario, &options, self.index, false, self.observer)?;
        if let Some(lost) = done.data_loss {
            return Err(CalibrateError::DataLost { array, lost });
        }
        let segments = done.segments;
        if segments.len() < self.scenario.segments as usize {
            return Err(CalibrateError::Stopped);
        }
        let iops = |index: &u32| {
            let segment = &segments[*index as usize - 1];
            segment.operations as f64 * 1e9 / segment.length_ns as f64
        };
        Ok(self.fitted.segments.iter().map(iops).collect())
    }

    /// Returns the error of each fitted segment, as a fraction of its published figure.
    fn errors(&self, simulated: &[f64]) -> Vec<f64> {
        simulated
            .iter()
            .zip(&self.published)
            .map(|(simulated, published)| simulated / published - 1.0)
            .collect()
    }

    /// Runs Newton's method on the errors, with least squares if there are more segments than parameters. The first
    /// derivatives come from moving each parameter a little, later ones from the effect of each step (Broyden).
    fn newton(&mut self, start: &[f64]) -> Result<(Vec<f64>, Vec<f64>), CalibrateError> {
        let mut values = start.to_vec();
        let mut simulated = self.simulate(&values)?;
        let mut errors = self.errors(&simulated);
        let mut slopes: Vec<Vec<f64>> = Vec::new();
        for number in 0..values.len() {
            let mut probe = values.clone();
            probe[number] *= 1.0 + PROBE;
            let moved = self.simulate(&probe)?;
            let distance = probe[number] - values[number];
            let moved = self.errors(&moved);
            slopes
                .push(moved.iter().zip(&errors).map(|(to, from)| (to - from) / distance).collect());
        }
        let mut best = (norm(&errors), values.clone(), simulated.clone());
        while self.simulations < MOST_SIMULATIONS && largest(&errors) > CLOSE_ENOUGH {
            let Some(step) = least_squares_step(&slopes, &errors) else { break };
            let next: Vec<f64> = values
                .iter()
                .zip(&step)
                .map(|(value, step)| {
                    (value + step).clamp(value / LARGEST_STEP, value * LARGEST_STEP)
                })
                .collect();
            simulated = self.simulate(&next)?;
            let reached = self.errors(&simulated);
            let step: Vec<f64> = next.iter().zip(&values).map(|(to, from)| to - from).collect();
            broyden_update(&mut slopes, &step, &errors, &reached);
            values = next;
            errors = reached;
            if norm(&errors) < best.0 {
                best = (norm(&errors), values.clone(), simulated.clone());
            }
        }
        Ok((best.1, best.2))
    }

    /// Walks from `start` to the count that is better than two neighbours on each side: one worse neighbour may be
    /// chance.
    fn try_neighbours(&mut self, start: f64) -> Result<(Vec<f64>, Vec<f64>), CalibrateError> {
        let mut best = (start, self.simulate(&[start])?);
        for direction in [1.0, -1.0] {
            let mut worse = 0.0;
            while worse < LOOK_AHEAD && self.simulations < MOST_SIMULATIONS {
                let count = best.0 + direction * (worse + 1.0);
                if count < 1.0 {
                    break;
                }
                let simulated = self.simulate(&[count])?;
                if norm(&self.errors(&simulated)) < norm(&self.errors(&best.1)) {
                    best = (count, simulated);
                    worse = 0.0;
                } else {
                    worse += 1.0;
                }
            }
        }
        Ok((vec![best.0], best.1))
    }
}

fn norm(errors: &[f64]) -> f64 {
    errors.iter().map(|error| error * error).sum::<f64>().sqrt()
}

fn largest(errors: &[f64]) -> f64 {
    errors.iter().fold(0.0, |largest, error| error.abs().max(largest))
}

/// Returns the step that brings the linearised errors closest to zero, for one or two parameters: the normal
/// equations, solved by Cramer's rule. `slopes[number][segment]`. Returns `None` if the parameters' effects cannot be
/// told apart.
fn least_squares_step(slopes: &[Vec<f64>], errors: &[f64]) -> Option<Vec<f64>> {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    match slopes {
        [only] => {
            let square = dot(only, only);
            (square > 0.0).then(|| vec![-dot(only, errors) / square])
        }
        [first, second] => {
            let (a, b, d) = (dot(first, first), dot(first, second), dot(second, second));
            let determinant = a * d - b * b;
            let (e, f) = (-dot(first, errors), -dot(second, errors));
            (determinant > 1e-12 * a * d)
                .then(|| vec![(e * d - b * f) / determinant, (a * f - e * b) / determinant])
        }
        _ => None,
    }
}

/// Applies Broyden's rank-one update: the slopes closest to the old ones that explain the effect of the step.
fn broyden_update(slopes: &mut [Vec<f64>], step: &[f64], before: &[f64], after: &[f64]) {
    let square: f64 = step.iter().map(|step| step * step).sum();
    if square == 0.0 {
        return;
    }
    for segment in 0..before.len() {
        let predicted: f64 =
            slopes.iter().zip(step).map(|(slope, step)| slope[segment] * step).sum();
        let surprise = after[segment] - before[segment] - predicted;
        for (slope, step) in slopes.iter_mut().zip(step) {
            slope[segment] += surprise * step / square;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_solves_a_linear_problem_exactly() {
        // errors(x, y) = (2x + y - 5, x - 3y + 1) at (0, 0).
        let slopes = [vec![2.0, 1.0], vec![1.0, -3.0]];
        let step = least_squares_step(&slopes, &[-5.0, 1.0]).unwrap();
        assert!((step[0] - 2.0).abs() < 1e-12 && (step[1] - 1.0).abs() < 1e-12);
    }

    #[test]
    fn numbers_with_the_same_effect_cannot_be_told_apart() {
        assert_eq!(least_squares_step(&[vec![1.0, 2.0], vec![2.0, 4.0]], &[1.0, 1.0]), None);
    }

    #[test]
    fn an_update_explains_the_step() {
        let mut slopes = vec![vec![1.0], vec![0.0]];
        broyden_update(&mut slopes, &[1.0, 1.0], &[0.0], &[4.0]);
        assert!((slopes[0][0] + slopes[1][0] - 4.0).abs() < 1e-12);
    }
}
