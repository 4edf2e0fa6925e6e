//! Fits the settings that a scenario declares as fitted to rows of published tables.

use std::path::Path;

use strewn_results::{ArrayResults, Published, PublishedRow};
use strewn_scenario::{Disk, FittedRows, Scenario, SetError, with_settings};
use thiserror::Error;

use crate::observer::Observer;
use crate::parallel;
use crate::results;
use crate::run::{self, RunOptions};
use crate::run_error::RunError;

/// Rows that are off by no more than this fraction on average are reached.
const CLOSE_ENOUGH: f64 = 0.000_5;
/// Of a setting that works in steps, as a size of read-ahead does, the nearest value is taken if its rows are off by no
/// more than this fraction on average.
const CLOSE_ENOUGH_IN_STEPS: f64 = 0.01;
/// Most simulations for a setting.
const MOST_SIMULATIONS: u32 = 40;
/// A setting changes by this factor until the rows lie between two values.
const LEAP: f64 = 2.0;
/// Most such leaps, up or down.
const MOST_LEAPS: u32 = 8;
/// All settings are fitted one after another, this often: what one changes may move the rows of another.
const ROUNDS: u32 = 2;
/// Significant digits that a value is written with.
const DIGITS: usize = 5;

/// A setting that was fitted to published rows.
#[derive(Debug, Clone, PartialEq)]
pub struct RowCalibration {
    /// Its name in the scenario.
    pub parameter: String,
    /// The value before the fit, as in the file.
    pub before: String,
    /// The fitted value, to the digits that are written into the scenario.
    pub after: String,
    /// The rows: name, published figure, simulated figure.
    pub rows: Vec<(String, f64, f64)>,
    /// Number of simulations that the fit took.
    pub simulations: u32,
}

impl RowCalibration {
    /// The fitted value as TOML.
    #[must_use]
    pub fn written(&self) -> String {
        if self.after.contains(' ') { format!("\"{}\"", self.after) } else { self.after.clone() }
    }
}

/// Why settings cannot be fitted to rows.
#[derive(Debug, Error)]
pub enum CalibrateRowsError {
    /// The setting cannot be changed.
    #[error(transparent)]
    Set(#[from] SetError),
    /// A simulation of the fit failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The text does not give the setting, or not as a number.
    #[error("`{parameter}` is fitted, and the scenario's text gives no number for it")]
    NotGiven {
        /// Name of the setting in the scenario.
        parameter: String,
    },
    /// The scenario names no published figures, or none of a row.
    #[error("there are no published figures of what `{parameter}` is fitted to")]
    NoRow {
        /// Name of the setting in the scenario.
        parameter: String,
    },
    /// A run did not come to the figures of a row.
    #[error("no run has a figure for row `{row}`")]
    NoFigure {
        /// Name of the published row.
        row: String,
    },
    /// No value was found.
    #[error(
        "no value of `{parameter}` was found that gives the published rows: with {} they are off by {:+.1} % on average",
        .nearest, 100.0 * .error
    )]
    NotConverged {
        /// Name of the setting in the scenario.
        parameter: String,
        /// The nearest value, with its unit.
        nearest: String,
        /// The mean error there, as a fraction.
        error: f64,
    },
    /// The observer stopped the fit.
    #[error("stopped before the fit was done")]
    Stopped,
}

/// Fits the settings of `[[fitted]]` in the text of a scenario to their published rows, one after another, and to
/// nothing else. Only the arrays of these rows are simulated. `name` is the path of the scenario's file.
///
/// # Errors
/// See [`CalibrateRowsError`].
pub fn calibrate_rows(
    text: &str,
    name: &Path,
    jobs: usize,
    observer: &dyn Observer,
) -> Result<Vec<RowCalibration>, CalibrateRowsError> {
    let scenario = Scenario::parse_with_files(text, name, &Disk).map_err(RunError::from)?;
    let published = run::published(&scenario)?;
    let mut text = text.to_owned();
    let mut calibrations: Vec<RowCalibration> = Vec::new();
    for round in 0..ROUNDS {
        for (number, fitted) in scenario.fitted.iter().enumerate() {
            let rows = rows_of(published.as_ref(), fitted)?;
            let mut fit = Fit { text: &text, name, fitted, rows, jobs, observer, simulations: 0 };
            let (mut calibration, fitted_text) = fit.run()?;
            match calibrations.get_mut(number) {
                Some(earlier) if round > 0 => {
                    calibration.simulations += earlier.simulations;
                    calibration.before.clone_from(&earlier.before);
                    *earlier = calibration;
                }
                _ => calibrations.push(calibration),
            }
            text = fitted_text;
        }
        if scenario.fitted.len() < 2 {
            break;
        }
    }
    Ok(calibrations)
}

fn rows_of<'p>(
    published: Option<&'p Published>,
    fitted: &FittedRows,
) -> Result<Vec<&'p PublishedRow>, CalibrateRowsError> {
    let no_row = || CalibrateRowsError::NoRow { parameter: fitted.parameter.clone() };
    let published = published.ok_or_else(no_row)?;
    let row = |name: &String| published.rows.iter().find(|row| row.name == *name);
    fitted.rows.iter().map(|name| row(name).ok_or_else(no_row)).collect()
}

/// The fit of one setting.
struct Fit<'a> {
    text: &'a str,
    name: &'a Path,
    fitted: &'a FittedRows,
    rows: Vec<&'a PublishedRow>,
    jobs: usize,
    observer: &'a dyn Observer,
    simulations: u32,
}

/// A value of the setting, and what it gave.
#[derive(Clone)]
struct Tried {
    value: f64,
    /// The figures of the rows.
    simulated: Vec<f64>,
    /// Their mean error, as a fraction.
    error: f64,
}

impl Fit<'_> {
    fn run(&mut self) -> Result<(RowCalibration, String), CalibrateRowsError> {
        let parameter = self.fitted.parameter.clone();
        let not_given = || CalibrateRowsError::NotGiven { parameter: parameter.clone() };
        let scenario =
            Scenario::parse_with_files(self.text, self.name, &Disk).map_err(RunError::from)?;
        let values = scenario.fitted_values(&parameter)?;
        let names: Vec<String> = values.iter().map(|(name, _)| name.clone()).collect();
        let before = values.first().map(|(_, value)| value.to_string()).ok_or_else(not_given)?;
        let unit = Unit::of(&before).ok_or_else(not_given)?;
        let start = unit.number(&before).filter(|value| *value > 0.0).ok_or_else(not_given)?;
        let change = |value: f64| {
            with_settings(self.text, &names, &unit.written(value)).ok_or_else(not_given)
        };
        let [mut low, mut high] = self.bracket(start, &unit, &change)?;
        let mut best = if low.error.abs() < high.error.abs() { &low } else { &high }.clone();
        // Regula falsi with bisection: every other step halves what is left.
        while best.error.abs() > CLOSE_ENOUGH && self.simulations < MOST_SIMULATIONS {
            let by_line =
                low.value - low.error * (high.value - low.value) / (high.error - low.error);
            let middle = f64::midpoint(low.value, high.value);
            let value =
                unit.rounded(if self.simulations.is_multiple_of(3) { middle } else { by_line });
            if value == low.value || value == high.value {
                break;
            }
            let tried = self.at(value, &change)?;
            if tried.error.abs() < best.error.abs() {
                best = tried.clone();
            }
            let side =
                if tried.error.signum() == low.error.signum() { &mut low } else { &mut high };
            *side = tried;
        }
        if best.error.abs() > CLOSE_ENOUGH_IN_STEPS {
            let nearest = unit.shown(best.value);
            return Err(CalibrateRowsError::NotConverged { parameter, nearest, error: best.error });
        }
        let text = change(best.value)?;
        let rows =
            self.rows.iter().zip(best.simulated).map(|(row, simulated)| {
                (row.name.clone(), row.figure.unwrap_or_default(), simulated)
            });
        let rows = rows.collect();
        let (after, simulations) = (unit.shown(best.value), self.simulations);
        Ok((RowCalibration { parameter, before, after, rows, simulations }, text))
    }

    /// Finds two values with the published rows between what they give.
    fn bracket(
        &mut self,
        start: f64,
        unit: &Unit,
        change: &dyn Fn(f64) -> Result<String, CalibrateRowsError>,
    ) -> Result<[Tried; 2], CalibrateRowsError> {
        let first = self.at(start, change)?;
        if first.error.abs() <= CLOSE_ENOUGH {
            return Ok([first.clone(), first]);
        }
        let mut nearest = [first.clone(), first.clone()];
        for _ in 0..MOST_LEAPS {
            for (side, leap) in [LEAP, 1.0 / LEAP].into_iter().enumerate() {
                let there = self.at(nearest[side].value * leap, change)?;
                let before = std::mem::replace(&mut nearest[side], there.clone());
                if there.error.signum() != before.error.signum() {
                    return Ok([before, there]);
                }
            }
        }
        let [up, down] = nearest;
        let nearer = |one: Tried, other: Tried| {
            if other.error.abs() < one.error.abs() { other } else { one }
        };
        let nearest = nearer(nearer(first, up), down);
        Err(CalibrateRowsError::NotConverged {
            parameter: self.fitted.parameter.clone(),
            nearest: unit.shown(nearest.value),
            error: nearest.error,
        })
    }

    fn at(
        &mut self,
        value: f64,
        change: &dyn Fn(f64) -> Result<String, CalibrateRowsError>,
    ) -> Result<Tried, CalibrateRowsError> {
        let simulated = self.simulate(&change(value)?)?;
        let errors = self
            .rows
            .iter()
            .zip(&simulated)
            .map(|(row, simulated)| simulated / row.figure.unwrap_or(*simulated) - 1.0);
        let error = errors.sum::<f64>() / simulated.len() as f64;
        Ok(Tried { value, simulated, error })
    }

    /// Returns the figures of the rows with a text.
    fn simulate(&mut self, text: &str) -> Result<Vec<f64>, CalibrateRowsError> {
        self.simulations += 1;
        let scenario =
            Scenario::parse_with_files(text, self.name, &Disk).map_err(RunError::from)?;
        let arrays = &scenario.arrays;
        let is_of = |name: &str| {
            let named =
                |row: &&PublishedRow| row.of.array == name || row.of.over.as_deref() == Some(name);
            self.rows.iter().any(named)
        };
        let numbers = (0..arrays.len()).filter(|index| is_of(&arrays[*index].name)).collect();
        let options = RunOptions::default();
        let simulate = |index: usize| {
            let done = run::run_array(&scenario, &options, index, false, self.observer)?;
            Ok::<ArrayResults, RunError>(results::of_array(
                &scenario,
                &scenario.origins(),
                &arrays[index],
                &done,
            ))
        };
        let done = parallel::over_threads(self.jobs, numbers, simulate)?;
        if self.observer.stop() {
            return Err(CalibrateRowsError::Stopped);
        }
        let figure = |row: &&PublishedRow| {
            let no_figure = || CalibrateRowsError::NoFigure { row: row.name.clone() };
            row.of.value(&done).ok_or_else(no_figure)
        };
        self.rows.iter().map(figure).collect()
    }
}

/// How a setting's value is written: a number, or a number with a unit in quotes.
struct Unit(Option<String>);

impl Unit {
    /// The unit that a value is written in; `None` if it is no number.
    fn of(value: &str) -> Option<Self> {
        if value.parse::<f64>().is_ok() {
            return Some(Self(None));
        }
        let (number, unit) = value.split_once(' ')?;
        number.parse::<f64>().ok().map(|_| Self(Some(unit.to_owned())))
    }

    fn number(&self, value: &str) -> Option<f64> {
        value.split(' ').next()?.parse().ok()
    }

    fn rounded(&self, value: f64) -> f64 {
        strewn_results::rounded(value, DIGITS)
    }

    fn shown(&self, value: f64) -> String {
        match &self.0 {
            None => format!("{:?}", self.rounded(value)),
            Some(unit) => format!("{} {unit}", self.rounded(value)),
        }
    }

    /// The value as TOML.
    fn written(&self, value: f64) -> String {
        let shown = self.shown(value);
        if self.0.is_some() { format!("\"{shown}\"") } else { shown }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_keeps_the_unit_that_it_is_written_in() {
        let unit = Unit::of("508 MB").unwrap();
        assert_eq!(unit.number("508 MB"), Some(508.0));
        assert_eq!(unit.written(508.123_456), "\"508.12 MB\"");
        assert_eq!(Unit::of("12.5").unwrap().written(13.0), "13.0");
        assert!(Unit::of("sptf").is_none());
    }
}
