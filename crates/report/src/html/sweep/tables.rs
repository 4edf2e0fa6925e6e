//! The tables of a sweep's page, which its script sorts.

use crate::html::table::grouped;
use crate::rank_correlation::{RankCorrelation, RankCorrelations};
use crate::sweep_design::SweepDesign;
use crate::sweep_words::{decimals, half_width};
use serde::Serialize;
use strewn_results::words::{fixed, signed};
use strewn_results::{Sweep, SweepDifference};

/// A page with more rows than this in a table opens slowly; the files have all of them.
const MOST_ROWS: usize = 1000;

#[derive(Serialize)]
pub(super) struct SortedTable {
    caption: &'static str,
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
    /// What is left out, and where it is.
    note: String,
}

#[derive(Serialize)]
struct Column {
    header: String,
    is_words: bool,
}

#[derive(Serialize, Default)]
struct Cell {
    text: String,
    /// What it is sorted by; its text if there is none.
    value: Option<f64>,
}

impl Cell {
    fn words(text: impl Into<String>) -> Self {
        Self { text: text.into(), value: None }
    }

    fn number(text: &str, value: f64) -> Self {
        Self { text: grouped(text), value: Some(value) }
    }
}

fn words(header: &str) -> Column {
    Column { header: header.to_owned(), is_words: true }
}

fn numbers(header: &str) -> Column {
    Column { header: header.to_owned(), is_words: false }
}

/// Returns the figures by combination; none if all figures are by segment.
pub(super) fn figures(sweep: &Sweep, design: &SweepDesign<'_>) -> Option<SortedTable> {
    let whole: Vec<usize> =
        (0..sweep.figures.len()).filter(|figure| !sweep.figures[*figure].by_segment).collect();
    if whole.is_empty() || design.len() == 0 {
        return None;
    }
    let decimals: Vec<usize> = (0..sweep.figures.len())
        .map(|figure| decimals(sweep.rows.iter().filter(|row| row.figure == figure)))
        .collect();
    let mut columns = vec![numbers("combination")];
    let axes = design.varied.iter().map(|axis| &sweep.axes[*axis]);
    columns.extend(
        axes.map(|axis| Column { header: axis.name.clone(), is_words: !axis.is_numeric() }),
    );
    for figure in &whole {
        let figure = &sweep.figures[*figure];
        let named = figure.unit.is_empty() || figure.name.contains(&figure.unit);
        let unit = if named { String::new() } else { format!(" ({})", figure.unit) };
        columns.push(numbers(&format!("{}{unit}", figure.name)));
    }
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    for combination in 0..design.len().min(MOST_ROWS) {
        let mut cells = vec![Cell::number(&combination.to_string(), combination as f64)];
        cells.extend(design.varied.iter().map(|axis| {
            Cell {
                text: design.label(combination, *axis).to_owned(),
                value: design
                    .at(combination)
                    .get(*axis)
                    .and_then(|value| sweep.axes[*axis].values.get(*value)?.number),
            }
        }));
        cells.extend(whole.iter().map(|_| Cell::default()));
        rows.push(cells);
    }
    let shown = rows.len();
    for row in sweep.rows.iter().filter(|row| row.combination < shown) {
        let Some(position) = whole.iter().position(|figure| *figure == row.figure) else {
            continue;
        };
        let Some(mean) = row.mean else { continue };
        let decimals = decimals[row.figure];
        let half = half_width(row).map(|half| format!(" ±{}", grouped(&fixed(half, decimals))));
        let text = grouped(&fixed(mean, decimals)) + &half.unwrap_or_default();
        rows[row.combination][1 + design.varied.len() + position] =
            Cell { text, value: Some(mean) };
    }
    let mut note = Vec::new();
    if design.len() > MOST_ROWS {
        let all = design.len();
        note.push(format!("The first {MOST_ROWS} of {all} combinations; sweep.csv has all."));
    }
    if whole.len() < sweep.figures.len() {
        note.push("Figures by segment are in sweep.csv.".to_owned());
    }
    Some(SortedTable { caption: "Figures", columns, rows, note: note.join(" ") })
}

/// Returns the rank correlations of scattered combinations.
pub(super) fn what_matters(sweep: &Sweep, correlations: &RankCorrelations) -> SortedTable {
    let columns = vec![
        words("axis"),
        words("figure"),
        numbers("rank correlation"),
        words("more than chance"),
    ];
    let row = |one: &RankCorrelation| {
        let is_more = correlations.is_beyond_chance(one);
        vec![
            Cell::words(&sweep.axes[one.axis].name),
            Cell::words(&sweep.figures[one.figure].name),
            Cell::number(&signed(one.rho, 2), one.rho),
            Cell::words(if is_more { "yes" } else { "no" }),
        ]
    };
    let mut rows: Vec<Vec<Cell>> = correlations.all.iter().map(row).collect();
    let mut note = String::new();
    if rows.len() > MOST_ROWS {
        note = format!("The first {MOST_ROWS} of {}.", rows.len());
        rows.truncate(MOST_ROWS);
    }
    SortedTable { caption: "What matters", columns, rows, note }
}

/// Returns what each value of an axis changes beside the first one; none if no combinations can be compared.
pub(super) fn differences(sweep: &Sweep, design: &SweepDesign<'_>) -> Option<SortedTable> {
    if sweep.differences.is_empty() {
        return None;
    }
    let mut shown: Vec<&SweepDifference> = sweep.differences.iter().collect();
    let mut note = String::new();
    if shown.len() > MOST_ROWS {
        let size = |one: &SweepDifference| one.percent.map_or(0.0, f64::abs);
        shown.sort_by(|one, other| size(other).total_cmp(&size(one)));
        let all = shown.len();
        note = format!("The largest {MOST_ROWS} of {all}, by percent; differences.csv has all.");
        shown.truncate(MOST_ROWS);
    }
    let decimals: Vec<usize> = (0..sweep.figures.len())
        .map(|figure| decimals(sweep.rows.iter().filter(|row| row.figure == figure)) + 1)
        .collect();
    let mut columns = Vec::from(["axis", "value", "beside", "others", "figure"].map(words));
    columns.push(numbers("difference"));
    columns.push(words("unit"));
    columns.push(numbers("%"));
    columns.push(numbers("from (%)"));
    columns.push(numbers("to (%)"));
    columns.push(words("larger than noise"));
    let row = |one: &&SweepDifference| {
        let others = design.varied.iter().filter(|axis| **axis != one.axis);
        let others: Vec<String> = others
            .map(|axis| {
                format!("{} {}", sweep.axes[*axis].name, design.label(one.combinations[0], *axis))
            })
            .collect();
        let figure = sweep.figures.get(one.figure);
        let decimals = decimals.get(one.figure).copied().unwrap_or(2);
        let percent = |figure: Option<f64>| {
            figure.map_or_else(Cell::default, |it| Cell::number(&signed(it, 2), it))
        };
        let end = |end: usize| {
            let interval = one.interval?;
            // As the mean is converted.
            let per_unit = one.percent.filter(|_| one.mean != 0.0)? / one.mean;
            let mut ends = interval.map(|end| end * per_unit);
            ends.sort_by(f64::total_cmp);
            Some(ends[end])
        };
        let noise = match one.larger_than_noise {
            Some(true) => "yes",
            Some(false) => "no",
            None => "",
        };
        vec![
            Cell::words(sweep.axes.get(one.axis).map_or("", |axis| &axis.name)),
            Cell::words(design.label(one.combinations[0], one.axis)),
            Cell::words(design.label(one.combinations[1], one.axis)),
            Cell::words(others.join(", ")),
            Cell::words(figure.map_or("", |figure| &figure.name)),
            Cell::number(&signed(one.mean, decimals), one.mean),
            Cell::words(figure.map_or("", |figure| difference_unit(&figure.unit))),
            percent(one.percent),
            percent(end(0)),
            percent(end(1)),
            Cell::words(noise),
        ]
    };
    let rows = shown.iter().map(row).collect();
    Some(SortedTable { caption: "Differences", columns, rows, note })
}

/// Returns the unit of a difference: of figures in percent it is points, since percent would be taken for a share.
fn difference_unit(unit: &str) -> &str {
    if unit == "%" { "points" } else { unit }
}
