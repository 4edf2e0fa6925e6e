//! The tables of a sweep's page, which its script sorts.

use crate::columns::{Cell as TableCell, Columns, Figure};
use crate::html::table::grouped;
use crate::rank_correlation::{RankCorrelation, RankCorrelations};
use crate::sweep_design::SweepDesign;
use crate::sweep_table::{correlation_columns, figure_columns};
use crate::sweep_words::decimals;
use serde::Serialize;
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

#[derive(Serialize)]
struct Cell {
    text: String,
    /// What it is sorted by; its text if there is none.
    value: Option<f64>,
}

impl SortedTable {
    /// Returns a table of the first rows, with a note on the others if there are more than fit.
    fn of<Row>(
        caption: &'static str,
        columns: &Columns<'_, Row>,
        rows: &[Row],
        note: impl Into<String>,
    ) -> Self {
        let head = columns.iter().map(|column| Column {
            header: column.heading.long.clone(),
            is_words: column.is_words(),
        });
        let row = |row: &Row| columns.iter().map(|column| Cell::of(column.cell(row))).collect();
        let rows = rows.iter().take(MOST_ROWS).map(row).collect();
        Self { caption, columns: head.collect(), rows, note: note.into() }
    }
}

impl Cell {
    fn of(cell: TableCell) -> Self {
        match cell {
            TableCell::Number(figure) => {
                // A mean, and half the width of its interval.
                let parts = figure.digits().split(" ±").map(grouped);
                let text = parts.collect::<Vec<_>>().join(" ±");
                Self { text, value: Some(figure.value) }
            }
            TableCell::Label(text, value) => Self { text, value: Some(value) },
            TableCell::Text(text) => Self { text, value: None },
            _ => Self { text: String::new(), value: None },
        }
    }
}

/// Returns the figures by combination; none if all figures are by segment.
pub(super) fn figures(sweep: &Sweep, design: &SweepDesign<'_>) -> Option<SortedTable> {
    let whole: Vec<usize> =
        (0..sweep.figures.len()).filter(|figure| !sweep.figures[*figure].by_segment).collect();
    if whole.is_empty() || design.len() == 0 {
        return None;
    }
    let mut note = Vec::new();
    if design.len() > MOST_ROWS {
        let all = design.len();
        note.push(format!("The first {MOST_ROWS} of {all} combinations; sweep.csv has all."));
    }
    if whole.len() < sweep.figures.len() {
        note.push("Figures by segment are in sweep.csv.".to_owned());
    }
    let combinations: Vec<usize> = (0..design.len()).collect();
    let columns = figure_columns(sweep, design, &whole, false);
    Some(SortedTable::of("Figures", &columns, &combinations, note.join(" ")))
}

/// Returns the rank correlations of scattered combinations.
pub(super) fn what_matters(sweep: &Sweep, correlations: &RankCorrelations) -> SortedTable {
    let all: Vec<&RankCorrelation> = correlations.all.iter().collect();
    let note = match all.len() > MOST_ROWS {
        true => format!("The first {MOST_ROWS} of {}.", all.len()),
        false => String::new(),
    };
    let columns = correlation_columns(sweep, correlations, str::to_owned);
    SortedTable::of("What matters", &columns, &all, note)
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
    }
    let decimals: Vec<usize> = (0..sweep.figures.len())
        .map(|figure| decimals(sweep.rows.iter().filter(|row| row.figure == figure)) + 1)
        .collect();
    let others = |one: &SweepDifference| {
        let others = design.varied.iter().filter(|axis| **axis != one.axis);
        let label = |axis: &usize| {
            format!("{} {}", sweep.axes[*axis].name, design.label(one.combinations[0], *axis))
        };
        others.map(label).collect::<Vec<_>>().join(", ")
    };
    let figure = |one: &SweepDifference| sweep.figures.get(one.figure);
    let percent = |percent: Option<f64>| percent.map(|it| Figure::change(it, 2));
    let end = |one: &SweepDifference, end: usize| {
        let interval = one.interval?;
        // As the mean is converted.
        let per_unit = one.percent.filter(|_| one.mean != 0.0)? / one.mean;
        let mut ends = interval.map(|end| end * per_unit);
        ends.sort_by(f64::total_cmp);
        Some(ends[end])
    };
    let columns = Columns::<&SweepDifference>::new()
        .words("axis", |one| sweep.axes.get(one.axis).map(|axis| axis.name.clone()))
        .words("value", |one| design.label(one.combinations[0], one.axis))
        .words("beside", |one| design.label(one.combinations[1], one.axis))
        .words("others", |one| others(one))
        .words("figure", |one| figure(one).map(|figure| figure.name.clone()))
        .number("difference", |one| {
            Figure::change(one.mean, decimals.get(one.figure).copied().unwrap_or(2))
        })
        .words("unit", |one| figure(one).map(|figure| difference_unit(&figure.unit).to_owned()))
        .number("%", |one| percent(one.percent))
        .number("from (%)", |one| percent(end(one, 0)))
        .number("to (%)", |one| percent(end(one, 1)))
        .words("larger than noise", |one| {
            one.larger_than_noise.map(|is_larger| if is_larger { "yes" } else { "no" })
        });
    Some(SortedTable::of("Differences", &columns, &shown, note))
}

/// Returns the unit of a difference: of figures in percent it is points, since percent would be taken for a share.
fn difference_unit(unit: &str) -> &str {
    if unit == "%" { "points" } else { unit }
}
