//! Fits the parameters that a scenario declares as fitted to the published segments that it declares for them.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use strewn_array::DataLost;
use strewn_results::{Metric, PublishedArray, SIGNIFICANT_DIGITS, rounded};
use strewn_scenario::{Fitted, ParameterError, ParameterUnit, Scenario};
use strewn_sim::Segment;
use thiserror::Error;

use crate::memory;
use crate::observer::Observer;
use crate::parallel::{self, ThreadsError};
use crate::run::{self, RunOptions};
use crate::run_error::RunError;

/// Most simulations of one array. A fit that has not converged by then has failed.
const MOST_SIMULATIONS: u32 = 60;
/// A fit has converged when no fitted segment is off by more than this fraction of what the plane predicts for it: a
/// few times what chance moves a segment by, at an eighth of full scale.
const CLOSE_ENOUGH: f64 = 0.000_5;
/// Within this fraction, a fit is refined on a grid instead of by further steps.
const CLOSE: f64 = 0.002;
/// How far a parameter is moved to find its effect, as a fraction of its value.
const PROBE: f64 = 0.05;
/// The same on the grid.
const GRID_PROBE: f64 = 0.02;
/// A step changes a parameter by at most this factor, up or down.
const LARGEST_STEP: f64 = 8.0;
/// Newton's method begins where the segments are right by this fraction on average.
const RIGHT_SIZE: f64 = 0.05;
/// All parameters change by this factor at once on the way there, at most so many times up and down.
const LEAP: f64 = 4.0;
const MOST_LEAPS: u32 = 8;
/// A count is fitted when this many neighbours on each side are worse.
const LOOK_AHEAD: u32 = 2;
/// A count is sought up to here, or from where it is if that is more.
const MOST_POWER_OF_TWO: u32 = 64;
/// A count that comes no closer than this, with the published figure on the same side of its neighbours, is no fit.
const CLOSE_ENOUGH_FOR_A_COUNT: f64 = 0.005;

/// The fit of one array.
#[derive(Debug, Clone, PartialEq)]
pub struct Calibration {
    /// Name of the array in the scenario.
    pub array: String,
    /// Each parameter with its value before and after the fit.
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
    /// Unit of both values.
    pub unit: ParameterUnit,
    /// The value in the scenario before the fit.
    pub before: f64,
    /// The value that fits the published IOPS.
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
        /// Name of the array in the scenario.
        array: String,
        /// Number of the segment, counted from 1.
        segment: u32,
    },
    /// A parameter cannot take a value that the fit tried.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// Threads cannot be started.
    #[error(transparent)]
    Threads(#[from] ThreadsError),
    /// A simulation of the fit failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// An array lost data before its last segment.
    #[error("array \"{array}\" loses data in the segments that are fitted: {lost}")]
    DataLost {
        /// Name of the array in the scenario.
        array: String,
        /// What failed, and when.
        lost: DataLost,
    },
    /// The fit did not converge.
    #[error(
        "array \"{array}\": no values of {} were found that give the published IOPS: after {simulations} simulations, \
         {}",
        parameters.join(" and "),
        reached(errors)
    )]
    NotConverged {
        /// Name of the array in the scenario.
        array: String,
        /// The names of the parameters.
        parameters: Vec<String>,
        /// Number of simulations.
        simulations: u32,
        /// The fitted segments, and the least error of the IOPS that was reached in each, as a fraction.
        errors: Vec<(u32, f64)>,
    },
    /// The observer stopped the fit.
    #[error("stopped before the fit was done")]
    Stopped,
}

/// Fits the parameters that `scenario` declares as fitted to the published IOPS of the segments that it declares, and
/// to nothing else. Arrays are fitted in parallel on `jobs` threads (0 for one per core).
///
/// Continuous parameters are fitted by Newton's method, then refined by the plane through simulations on a grid around
/// the fit. A simulation is not smooth: the grid makes the result the same wherever the fit began. A count is fitted by
/// trying neighbours, distant ones first. Only the segments up to the last fitted one are simulated.
///
/// # Errors
/// See [`CalibrateError`].
pub fn calibrate(
    scenario: &Scenario,
    jobs: usize,
    observer: &dyn Observer,
) -> Result<Vec<Calibration>, CalibrateError> {
    scenario.check().map_err(RunError::from)?;
    let published = run::published(scenario)?.ok_or(CalibrateError::NoPublished)?;
    memory::check(scenario, 0).map_err(RunError::from)?;
    let mut fits = Vec::new();
    for (index, array) in scenario.arrays.iter().enumerate() {
        let Some(fitted) = &array.fitted else { continue };
        let figures = published.array(&array.name);
        fits.push(Fit::new(scenario, index, fitted, figures, observer)?);
    }
    if fits.is_empty() {
        return Err(CalibrateError::NothingFitted);
    }
    parallel::over_threads(jobs, fits, Fit::run)
}

/// Fits the parameters of one array, to its published figures each multiplied by its `factors`. What a published row
/// scatters by, it may also be missed by: whether a change is compatible with the rows is the question, not how well.
///
/// # Errors
/// As [`calibrate`]; and if the array has no parameters that are fitted.
pub(crate) fn calibrate_array(
    scenario: &Scenario,
    index: usize,
    figures: Option<&PublishedArray>,
    factors: &[f64],
    observer: &dyn Observer,
) -> Result<Calibration, CalibrateError> {
    let fitted = scenario.arrays[index].fitted.as_ref().ok_or(CalibrateError::NothingFitted)?;
    let mut fit = Fit::new(scenario, index, fitted, figures, observer)?;
    fit.close_enough = CLOSE_ENOUGH.max(fitted.row_scatter_percent / 100.0);
    for (published, factor) in fit.published.iter_mut().zip(factors) {
        *published *= factor;
    }
    fit.run()
}

/// The fit of one array.
struct Fit<'a> {
    scenario: Scenario,
    index: usize,
    fitted: &'a Fitted,
    published: Vec<f64>,
    observer: &'a dyn Observer,
    simulations: u32,
    /// How far a fitted segment may be off, as a fraction.
    close_enough: f64,
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
        let close_enough = CLOSE_ENOUGH;
        Ok(Self { scenario, index, fitted, published, observer, simulations: 0, close_enough })
    }

    fn run(mut self) -> Result<Calibration, CalibrateError> {
        let (before, units) = self.values()?;
        let is_count = units == [ParameterUnit::Count];
        let (after, simulated) = if is_count {
            self.try_neighbours(before[0] as u32)?
        } else {
            let near = self.newton(&before)?;
            self.refine(near)?
        };
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
        let of_segment = |index: &u32| iops(&segments[*index as usize - 1]);
        Ok(self.fitted.segments.iter().map(of_segment).collect())
    }

    /// Returns the error of each fitted segment's time per operation, as a fraction of the published one. Where the
    /// processor is the bottleneck, this is linear in its costs.
    fn errors(&self, simulated: &[f64]) -> Vec<f64> {
        simulated
            .iter()
            .zip(&self.published)
            .map(|(simulated, published)| published / simulated - 1.0)
            .collect()
    }

    fn errors_at(&mut self, values: &[f64]) -> Result<Vec<f64>, CalibrateError> {
        let simulated = self.simulate(values)?;
        Ok(self.errors(&simulated))
    }

    fn not_converged(&self, errors: &[f64]) -> CalibrateError {
        CalibrateError::NotConverged {
            array: self.scenario.arrays[self.index].name.clone(),
            parameters: self.fitted.parameters.clone(),
            simulations: self.simulations,
            // Errors of the time per operation, as those of IOPS.
            errors: { self.fitted.segments.iter().copied() }
                .zip(errors.iter().map(|error| 1.0 / (1.0 + error) - 1.0))
                .collect(),
        }
    }

    /// Runs Newton's method on the errors, with least squares if there are more segments than parameters, until a step
    /// no longer matters.
    fn newton(&mut self, start: &[f64]) -> Result<Vec<f64>, CalibrateError> {
        let (mut values, mut errors) = self.right_size(start)?;
        while self.simulations < MOST_SIMULATIONS && largest(&errors) > CLOSE {
            let slopes = self.slopes(&values, &errors, PROBE)?;
            let Some(step) = least_squares_step(&slopes, &errors) else { break };
            let next: Vec<f64> = values
                .iter()
                .zip(&step)
                .map(|(value, step)| {
                    (value + step).clamp(value / LARGEST_STEP, value * LARGEST_STEP)
                })
                .collect();
            let moved = next.iter().zip(&values).map(|(next, value)| (next / value - 1.0).abs());
            if moved.fold(0.0, f64::max) < GRID_PROBE / 2.0 {
                // More segments than parameters: this is as close as they come.
                return Ok(next);
            }
            values = next;
            errors = self.errors_at(&values)?;
        }
        if largest(&errors) <= CLOSE { Ok(values) } else { Err(self.not_converged(&errors)) }
    }

    /// Multiplies all parameters by the factor with which the segments are right on average. Where something else is
    /// the bottleneck, the parameters have no effect that Newton's method could follow; this leads out of there.
    fn right_size(&mut self, start: &[f64]) -> Result<(Vec<f64>, Vec<f64>), CalibrateError> {
        // A parameter of zero has no multiples.
        let start: Vec<f64> =
            start.iter().map(|value| if *value > 0.0 { *value } else { 1.0 }).collect();
        let scaled = |factor: f64| start.iter().map(|value| value * factor).collect::<Vec<_>>();
        let errors = self.errors_at(&start)?;
        if mean(&errors).abs() <= RIGHT_SIZE {
            return Ok((start, errors));
        }
        // The factors on both sides of the right one: first those tried, by powers up and down.
        let mut bracket = None;
        let mut nearest = [(1.0, mean(&errors)); 2];
        'powers: for _ in 0..MOST_LEAPS {
            for (side, leap) in [LEAP, 1.0 / LEAP].into_iter().enumerate() {
                let factor = nearest[side].0 * leap;
                let there = mean(&self.errors_at(&scaled(factor))?);
                let before = std::mem::replace(&mut nearest[side], (factor, there));
                if there.signum() != before.1.signum() {
                    bracket = Some([before, (factor, there)]);
                    break 'powers;
                }
            }
        }
        let Some([mut one, mut other]) = bracket else {
            return Err(self.not_converged(&errors));
        };
        loop {
            let factor = f64::sqrt(one.0 * other.0);
            let values = scaled(factor);
            let errors = self.errors_at(&values)?;
            let between = mean(&errors);
            if between.abs() <= RIGHT_SIZE {
                return Ok((values, errors));
            }
            if self.simulations >= MOST_SIMULATIONS {
                return Err(self.not_converged(&errors));
            }
            let side = if between.signum() == one.1.signum() { &mut one } else { &mut other };
            *side = (factor, between);
        }
    }

    /// The effect of each parameter on each error: `slopes[parameter][segment]`.
    fn slopes(
        &mut self,
        values: &[f64],
        errors: &[f64],
        probe: f64,
    ) -> Result<Vec<Vec<f64>>, CalibrateError> {
        let mut slopes = Vec::new();
        for number in 0..values.len() {
            let mut probed = values.to_vec();
            probed[number] *= 1.0 + probe;
            let distance = probed[number] - values[number];
            let moved = self.errors_at(&probed)?;
            slopes
                .push(moved.iter().zip(errors).map(|(to, from)| (to - from) / distance).collect());
        }
        Ok(slopes)
    }

    /// Solves for the parameters by the plane through simulations around the nearest point of a grid, until the
    /// solution is nearest to the point that it was found around. If it goes in a circle of points, it is in the
    /// middle.
    fn refine(&mut self, near: Vec<f64>) -> Result<(Vec<f64>, Vec<f64>), CalibrateError> {
        let mut values = near;
        let mut found: Vec<Plane> = Vec::new();
        let circle = loop {
            let centre: Vec<f64> = values.iter().map(|value| on_grid(*value)).collect();
            if let Some(first) = found.iter().position(|plane| plane.centre == centre) {
                break &found[first..];
            }
            let plane = self.plane(centre)?;
            let usable = plane.solution.iter().all(|value| *value > 0.0);
            if !usable || self.simulations >= MOST_SIMULATIONS {
                return Err(self.not_converged(&plane.at_centre));
            }
            values.clone_from(&plane.solution);
            found.push(plane);
        };
        let count = circle.len() as f64;
        let middle =
            |number: usize| circle.iter().map(|plane| plane.solution[number]).sum::<f64>() / count;
        let values: Vec<f64> = (0..values.len()).map(middle).collect();
        let simulated = self.simulate(&values)?;
        let errors = self.errors(&simulated);
        let predicted = circle[0].errors_at(&values);
        let surprise: Vec<f64> =
            errors.iter().zip(&predicted).map(|(error, predicted)| error - predicted).collect();
        if largest(&surprise) > self.close_enough {
            return Err(self.not_converged(&errors));
        }
        Ok((values, simulated))
    }

    /// The plane of the errors around `centre`, by simulations there and on both sides of each parameter.
    fn plane(&mut self, centre: Vec<f64>) -> Result<Plane, CalibrateError> {
        let mut sum = self.errors_at(&centre)?;
        let mut slopes: Vec<Vec<f64>> = Vec::new();
        for number in 0..centre.len() {
            let mut sides = Vec::new();
            for side in [-GRID_PROBE, GRID_PROBE] {
                let mut probed = centre.clone();
                probed[number] *= 1.0 + side;
                sides.push(self.errors_at(&probed)?);
            }
            let distance = 2.0 * GRID_PROBE * centre[number];
            let pairs = || sides[0].iter().zip(&sides[1]);
            slopes.push(pairs().map(|(less, more)| (more - less) / distance).collect());
            sum.iter_mut().zip(pairs()).for_each(|(sum, (less, more))| *sum += less + more);
        }
        let simulations = 1.0 + 2.0 * centre.len() as f64;
        let at_centre: Vec<f64> = sum.iter().map(|sum| sum / simulations).collect();
        let Some(step) = least_squares_step(&slopes, &at_centre) else {
            return Err(self.not_converged(&at_centre));
        };
        let solution = centre.iter().zip(&step).map(|(centre, step)| centre + step).collect();
        Ok(Plane { centre, at_centre, slopes, solution })
    }

    /// Finds the count that is better than its neighbours: from the best power of two, distant ones first, because one
    /// that is worse and close may be chance. Where a count no longer has an effect, all of its neighbours are.
    fn try_neighbours(&mut self, start: u32) -> Result<(Vec<f64>, Vec<f64>), CalibrateError> {
        let mut tried: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        let mut best = start.max(1);
        let mut least = self.try_count(best, &mut tried)?;
        let highest = best.checked_next_power_of_two().unwrap_or(best).max(MOST_POWER_OF_TWO);
        for count in (0..u32::BITS).map(|power| 1 << power).take_while(|count| *count <= highest) {
            let error = self.try_count(count, &mut tried)?;
            if error < least {
                (best, least) = (count, error);
            }
        }
        let mut step = (best / 2).max(LOOK_AHEAD);
        while step > 0 && self.simulations < MOST_SIMULATIONS {
            let before = best;
            // At the closest, all neighbours within reach.
            let steps = if step <= LOOK_AHEAD { 1..=LOOK_AHEAD } else { step..=step };
            for step in steps {
                for count in [before.saturating_add(step), before.saturating_sub(step).max(1)] {
                    let error = self.try_count(count, &mut tried)?;
                    if error < self.try_count(best, &mut tried)? {
                        best = count;
                    }
                }
            }
            if best == before {
                step = if step <= LOOK_AHEAD { 0 } else { (step / 2).max(LOOK_AHEAD) };
            } else {
                // It may lie much farther that way.
                step = (best.abs_diff(before)).max(LOOK_AHEAD);
            }
        }
        let signs = || tried.values().map(|simulated| mean(&self.errors(simulated)));
        let is_between = signs().any(|error| error <= 0.0) && signs().any(|error| error >= 0.0);
        let simulated = &tried[&best];
        let errors = self.errors(simulated);
        if !is_between && largest(&errors) > CLOSE_ENOUGH_FOR_A_COUNT {
            return Err(self.not_converged(&errors));
        }
        Ok((vec![best.into()], simulated.clone()))
    }

    /// The error of a count, which is simulated once.
    fn try_count(
        &mut self,
        count: u32,
        tried: &mut BTreeMap<u32, Vec<f64>>,
    ) -> Result<f64, CalibrateError> {
        if let Entry::Vacant(untried) = tried.entry(count) {
            untried.insert(self.simulate(&[count.into()])?);
        }
        Ok(norm(&self.errors(&tried[&count])))
    }
}

/// Host operations a second.
pub(crate) fn iops(segment: &Segment) -> f64 {
    segment.operations as f64 * 1e9 / segment.length_ns as f64
}

/// The nearest point of a grid whose steps are about a twentieth of the value: 1, 2 or 5 of a power of ten.
fn on_grid(value: f64) -> f64 {
    let twentieth = value / 20.0;
    let power = 10f64.powf(twentieth.log10().floor());
    let step = [5.0, 2.0, 1.0].into_iter().find(|step| step * power <= twentieth).unwrap_or(1.0);
    (value / (step * power)).round() * (step * power)
}

/// Says how close a fit came in each segment.
fn reached(errors: &[(u32, f64)]) -> String {
    let each = errors
        .iter()
        .map(|(segment, error)| format!("segment {segment} is off by {:+.2} %", 100.0 * error));
    each.collect::<Vec<_>>().join(", ")
}

/// A plane through the errors of simulations around a point, and where it is closest to zero.
struct Plane {
    centre: Vec<f64>,
    at_centre: Vec<f64>,
    slopes: Vec<Vec<f64>>,
    solution: Vec<f64>,
}

impl Plane {
    fn errors_at(&self, values: &[f64]) -> Vec<f64> {
        let mut errors = self.at_centre.clone();
        for ((slopes, value), centre) in self.slopes.iter().zip(values).zip(&self.centre) {
            for (error, slope) in errors.iter_mut().zip(slopes) {
                *error += slope * (value - centre);
            }
        }
        errors
    }
}

fn mean(errors: &[f64]) -> f64 {
    errors.iter().sum::<f64>() / errors.len() as f64
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
    fn a_grid_has_steps_of_about_a_twentieth() {
        for (value, on) in [(66_011.0, 66_000.0), (108_724.0, 110_000.0), (0.5, 0.5), (9.96, 10.0)]
        {
            assert!(
                (on_grid(value) - on).abs() < 1e-9 * on,
                "{value} is put on {}",
                on_grid(value)
            );
        }
    }
}
