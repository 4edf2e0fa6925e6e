//! Published rows beside simulated ones, and what the comparison comes to.

use crate::columns::{Cell, Columns, Figure};
use strewn_results::words::{fixed, signed};
use strewn_results::{
    CLOSE_PERCENT, ComparedRow, Results, RowStatus, independent_rows, root_mean_square,
};

/// The heading of the table.
pub(crate) const ROWS_HEADING: &str = "Published rows";

/// More rows than these are not named in the sentence that says why they are not scored.
const MOST_NAMED: usize = 4;

/// Returns the published rows with the simulated figures, what was fitted, and how close the predicted ones are. Empty
/// if there are none.
#[must_use]
pub fn rows_table(results: &Results) -> String {
    let mut table = row_columns(results).render_any(&row_rows(results));
    for sentence in row_sentences(results) {
        table.push_str(&format!("\n{sentence}\n"));
    }
    table
}

/// A row, with its position.
pub(crate) type PublishedRowAt<'a> = (usize, &'a ComparedRow);

pub(crate) fn row_rows(results: &Results) -> Vec<PublishedRowAt<'_>> {
    results.published_rows.iter().enumerate().collect()
}

pub(crate) fn row_columns<'a>(results: &Results) -> Columns<'a, PublishedRowAt<'a>> {
    let any = |has: fn(&ComparedRow) -> bool| results.published_rows.iter().any(has);
    let figure = |(at, _): &PublishedRowAt<'_>, value: Option<f64>, field: &str| {
        let path = format!("published_rows/{at}/{field}");
        value.map(|value| Figure::new(value, decimals(value)).at(path))
    };
    let range = |[low, high]: [f64; 2]| Cell::Range {
        ends: [low, high],
        decimals: decimals(high),
        text: format!("{}-{}", shown(low), shown(high)),
    };
    Columns::new()
        .words("row", |(_, row): &PublishedRowAt<'_>| row.name.clone())
        .words(("", "unit"), |(_, row)| unit(row))
        .number("published", move |row| match (row.1.published, row.1.range) {
            (None, Some(ends)) => range(ends),
            (published, _) => figure(row, published, "published").into(),
        })
        .number("simulated", move |row| figure(row, row.1.simulated, "simulated"))
        .number("error\n%", |(at, row)| {
            let path = format!("published_rows/{at}/error_percent");
            row.error_percent.map(|error| Figure::change(error, 1).at(path))
        })
        .words("", |(_, row)| row.status.as_str())
        .when(any(|row| row.over_seeds.is_some()), |columns| {
            columns.number("over\nseeds", move |(_, row)| row.over_seeds.map(range))
        })
        .when(any(|row| row.published_peak.is_some()), |columns| {
            columns
                .number("peak\npublished", move |row| {
                    figure(row, row.1.published_peak, "published_peak")
                })
                .number(("\nsimulated", "peak simulated"), move |row| {
                    figure(row, row.1.simulated_peak, "simulated_peak")
                })
        })
}

/// Returns what stands below the rows: why some are not scored, what was fitted, and what the errors come to.
pub(crate) fn row_sentences(results: &Results) -> Vec<String> {
    let rows = &results.published_rows;
    let mut sentences = Vec::new();
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for row in rows.iter().filter(|row| row.status == RowStatus::NotScored) {
        let why = row.why.as_deref().unwrap_or_default();
        match reasons.iter_mut().find(|reason| reason.0 == why) {
            Some(reason) => reason.1.push(&row.name),
            None => reasons.push((why, vec![&row.name])),
        }
    }
    for (why, names) in reasons {
        let names = match names.len() {
            1..=MOST_NAMED => names.join("; "),
            many => format!("{many} rows"),
        };
        sentences.push(format!("Not scored: {names}: {why}."));
    }
    for fitted in &results.fitted_settings {
        let (parameter, value, rows) = (&fitted.parameter, &fitted.value, fitted.rows.join("; "));
        sentences.push(match fitted.off_percent {
            None => format!("Fitted: {parameter} = {value}, to {rows}."),
            Some(off) => format!(
                "Not fitted: {parameter} = {value}; {rows} are off by {} % on average: strewn calibrate fits it.",
                signed(off, 1)
            ),
        });
    }
    sentences.extend(verdict(results));
    sentences
}

/// Returns how close the predicted rows are; none if nothing was predicted.
fn verdict(results: &Results) -> Option<String> {
    let rows = &results.published_rows;
    let count = |status| rows.iter().filter(|row| row.status == status).count();
    let (fitted, all_predicted) = (count(RowStatus::Fitted), count(RowStatus::Predicted));
    let predicted = independent_rows(results);
    let errors = || predicted.iter().filter_map(|row| Some((&row.name, row.error_percent?)));
    let rms = root_mean_square(errors().map(|row| row.1))?;
    let (worst, error) = errors().max_by(|one, other| one.1.abs().total_cmp(&other.1.abs()))?;
    let close = predicted.iter().filter(|row| row.is_close()).count();
    let follow = match all_predicted - predicted.len() {
        0 => String::new(),
        count => format!(
            " {count} of these follow from others, by Little's law or the mean size of an operation, and are not counted \
             again."
        ),
    };
    let scored = format!(
        "{} of {} rows are scored: {fitted} fitted, {all_predicted} predicted.{follow}",
        fitted + all_predicted,
        rows.len()
    );
    if error == 0.0 {
        return Some(format!("{scored} All of the predicted are within their ranges."));
    }
    Some(format!(
        "{scored} Of the predicted, {close} are within {CLOSE_PERCENT} %; RMS error {} %; worst {} % ({worst}).",
        fixed(rms, 1),
        signed(error, 1)
    ))
}

/// Returns what is published, a figure or a range.
pub(crate) fn published(row: &ComparedRow) -> String {
    match (row.published, row.range) {
        (Some(figure), _) => shown(figure),
        (None, Some([low, high])) => format!("{}-{}", shown(low), shown(high)),
        (None, None) => "-".to_owned(),
    }
}

/// Returns the unit of a row, with its statistic.
pub(crate) fn unit(row: &ComparedRow) -> String {
    format!("{}{}", row.of.unit(), row.of.statistic.in_short())
}

/// Formats a figure with about four significant digits.
pub(crate) fn shown(value: f64) -> String {
    fixed(value, decimals(value))
}

/// The decimals of that.
pub(crate) fn decimals(value: f64) -> usize {
    match value.abs() {
        value if value >= 1_000.0 => 0,
        value if value >= 100.0 => 1,
        value if value >= 10.0 => 2,
        _ => 3,
    }
}
