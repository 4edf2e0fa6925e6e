//! A sweep as one long table, and its differences as another.
//!
//! Comma-separated values as [`write_segments_csv`](crate::write_segments_csv) writes them. The same sweep gives the
//! same bytes.

use crate::columns::{FileColumn, write_csv};
use crate::sweep_design::SweepDesign;
use std::io::Write;
use strewn_results::{ResultsError, Sweep, SweepAxis, SweepDifference, SweepFigure};

/// The columns of the long table that are no axis.
const OF_ROWS: [&str; 11] = [
    "combination",
    "figure",
    "quantity",
    "array",
    "metric",
    "segment",
    "unit",
    "n",
    "mean",
    "low",
    "high",
];
/// The columns of differences that are no axis.
const OF_DIFFERENCES: [&str; 14] = [
    "axis",
    "value",
    "first_value",
    "combination",
    "first_combination",
    "figure",
    "quantity",
    "array",
    "metric",
    "unit",
    "mean_difference",
    "low",
    "high",
    "percent",
];

/// Writes a row for each combination, figure and segment: the label and the number of each axis, what the figure is of,
/// the number of samples, their mean with its 95 % interval, and a column for each seed.
///
/// An axis with the name of another column gets `axis_` before it.
///
/// # Errors
///
/// [`ResultsError::Write`] if `writer` fails.
pub fn write_sweep_csv(sweep: &Sweep, writer: impl Write) -> Result<(), ResultsError> {
    write_csv(&sweep_columns(sweep), writer)
}

/// Writes a row for each difference: the axis, its value and its first value, the labels of all axes, the mean
/// difference by seed with its 95 % interval, the same in percent of the mean with the first value, and whether it is
/// larger than noise.
///
/// # Errors
///
/// [`ResultsError::Write`] if `writer` fails.
pub fn write_differences_csv(sweep: &Sweep, writer: impl Write) -> Result<(), ResultsError> {
    write_csv(&difference_columns(sweep), writer)
}

/// Returns the long table.
pub(crate) fn sweep_columns(sweep: &Sweep) -> Vec<FileColumn> {
    let rows = || sweep.rows.iter();
    let figures = || rows().map(|row| sweep.figures.get(row.figure));
    let mut columns = Vec::new();
    for (number, axis) in sweep.axes.iter().enumerate() {
        let value = |at: &[usize]| axis.values.get(*at.get(number)?);
        let name = axis_column(sweep, axis, &OF_ROWS);
        let labels = rows().map(|row| value(&row.at).map(|value| value.label.clone()));
        columns.push(FileColumn::words(&name, labels.map(Option::unwrap_or_default)));
        if axis.values.iter().any(|value| value.number.is_some()) {
            let numbers = rows().map(|row| value(&row.at)?.number);
            columns.push(FileColumn::numbers(number_column(&name), numbers));
        }
    }
    columns.push(FileColumn::numbers("combination", rows().map(|row| Some(row.combination))));
    columns.extend(figure_columns(figures));
    columns.push(FileColumn::numbers("segment", rows().map(|row| row.segment)));
    columns.push(unit_column(figures()));
    let count = |samples: &[Option<f64>]| samples.iter().flatten().count();
    columns.push(FileColumn::numbers("n", rows().map(|row| Some(count(&row.samples)))));
    columns.push(FileColumn::numbers("mean", rows().map(|row| row.mean)));
    columns.push(FileColumn::numbers("low", rows().map(|row| row.interval.map(|[low, _]| low))));
    let highs = rows().map(|row| row.interval.map(|[_, high]| high));
    columns.push(FileColumn::numbers("high", highs));
    for (position, seed) in sweep.seeds.iter().enumerate() {
        let samples = rows().map(|row| *row.samples.get(position)?);
        columns.push(FileColumn::numbers(format!("seed_{seed}"), samples));
    }
    columns
}

fn difference_columns(sweep: &Sweep) -> Vec<FileColumn> {
    let all = || sweep.differences.iter();
    let figures = || all().map(|one| sweep.figures.get(one.figure));
    let design = SweepDesign::of(sweep);
    let axis_of = |one: &SweepDifference| sweep.axes.get(one.axis);
    let label = |one: &SweepDifference, side: usize, axis: usize| {
        design.label(one.combinations[side], axis).to_owned()
    };
    let axes = all().map(|one| axis_of(one).map(|axis| axis.name.clone()).unwrap_or_default());
    let mut columns = vec![
        FileColumn::words("axis", axes),
        FileColumn::words("value", all().map(|one| label(one, 0, one.axis))),
        FileColumn::words("first_value", all().map(|one| label(one, 1, one.axis))),
    ];
    for (number, axis) in sweep.axes.iter().enumerate() {
        let name = axis_column(sweep, axis, &OF_DIFFERENCES);
        columns.push(FileColumn::words(name, all().map(|one| label(one, 0, number))));
    }
    let combination = |side: usize| all().map(move |one| Some(one.combinations[side]));
    columns.push(FileColumn::numbers("combination", combination(0)));
    columns.push(FileColumn::numbers("first_combination", combination(1)));
    columns.extend(figure_columns(figures));
    columns.push(unit_column(figures()));
    let end = |side: usize| all().map(move |one| one.interval.map(|ends| ends[side]));
    columns.push(FileColumn::numbers("mean_difference", all().map(|one| Some(one.mean))));
    columns.push(FileColumn::numbers("low", end(0)));
    columns.push(FileColumn::numbers("high", end(1)));
    columns.push(FileColumn::numbers("percent", all().map(|one| one.percent)));
    let larger = all().map(|one| one.larger_than_noise.map(|is| is.to_string()));
    columns.push(FileColumn::words("larger_than_noise", larger.map(Option::unwrap_or_default)));
    columns
}

/// Returns what each row's figure is, and of what.
fn figure_columns<'a, Figures>(figures: impl Fn() -> Figures) -> Vec<FileColumn>
where
    Figures: Iterator<Item = Option<&'a SweepFigure>>,
{
    let words = |name: &str, words: fn(&SweepFigure) -> &str| {
        let entries = figures().map(|figure| figure.map(words).unwrap_or_default().to_owned());
        FileColumn::words(name, entries)
    };
    vec![
        words("figure", |figure| &figure.name),
        words("quantity", |figure| &figure.quantity),
        words("array", |figure| &figure.of.array),
        words("metric", |figure| figure.of.metric.as_str()),
    ]
}

fn unit_column<'a>(figures: impl Iterator<Item = Option<&'a SweepFigure>>) -> FileColumn {
    let unit =
        |figure: Option<&SweepFigure>| figure.map(|figure| figure.unit.clone()).unwrap_or_default();
    FileColumn::words("unit", figures.map(unit))
}

/// Returns the name of an axis' column: its own, unless another column has it.
fn axis_column(sweep: &Sweep, axis: &SweepAxis, taken: &[&str]) -> String {
    let is_seed = sweep.seeds.iter().any(|seed| axis.name == format!("seed_{seed}"));
    let is_number = sweep.axes.iter().any(|other| axis.name == number_column(&other.name));
    let is_taken = taken.contains(&&*axis.name) || axis.name == "larger_than_noise";
    let prefix = if is_taken || is_seed || is_number { "axis_" } else { "" };
    format!("{prefix}{}", axis.name)
}

fn number_column(axis: &str) -> String {
    format!("{axis}_number")
}
