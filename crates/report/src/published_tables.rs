//! Simulated figures beside published ones, and the numbers that were fitted to these.

use crate::band_words::range;
use crate::columns::{Cell, Columns, Figure, segment_list};
use strewn_results::{
    FigureRange, Metric, Origin, Parameter, PublishedComparison, Ratio, Results, follows_from_iops,
};

/// A comparison of a metric, with its position.
pub(crate) type ComparisonAt<'a> = (usize, &'a PublishedComparison);
/// A ratio of arrays, with its position.
pub(crate) type RatioAt<'a> = (usize, &'a Ratio);

/// Returns how close the simulated figures are to the published ones: errors by array and metric,
/// and the ratios of arrays. Empty if nothing is published.
#[must_use]
pub fn summary_table(results: &Results) -> String {
    let compared: Vec<ComparisonAt<'_>> = results.published.iter().enumerate().collect();
    let ratios: Vec<RatioAt<'_>> = results.ratios.iter().enumerate().collect();
    let mut errors = comparison_columns(results, true).render_any(&compared);
    if results.published.iter().any(|row| follows_from_iops(results, row)) {
        errors.push_str(&format!("\n{FOLLOWS}\n"));
    }
    let tables = [errors, ratio_columns(results, true).render_any(&ratios)];
    tables.iter().filter(|table| !table.is_empty()).cloned().collect::<Vec<_>>().join("\n")
}

/// What stands instead of an error of figures that are no prediction of their own.
pub(crate) const FOLLOWS: &str = "follows: from IOPS, by the mean size of an operation or by Little's law. It is no second prediction.";

/// Returns the columns of errors by array and metric, for the terminal or for the page.
pub(crate) fn comparison_columns<'a>(
    results: &'a Results,
    on_terminal: bool,
) -> Columns<'a, ComparisonAt<'a>> {
    let any_seeds = results.published.iter().any(|row| row.over_seeds.is_some());
    let over_seeds = |ends: Option<FigureRange>, is_signed: bool| {
        ends.map(|of| Cell::Range {
            ends: [of.low, of.high],
            decimals: 2,
            text: range(&of, is_signed),
        })
    };
    Columns::new()
        .words("array", |(_, row): &ComparisonAt<'_>| row.array.clone())
        .words("metric", |(_, row)| match row.metric {
            Metric::ResponseMs => "mean response, ms",
            metric => metric.unit(),
        })
        .words("fitted to\nsegments", |(_, row)| segment_list(&row.fitted_segments))
        .when(on_terminal, |columns| {
            columns.number("segments\ncompared", |(_, row)| row.segments.len().to_string())
        })
        .number("segments\npredicted", |(_, row)| {
            row.segments.iter().filter(|segment| !segment.fitted).count().to_string()
        })
        .number("RMS error of\npredicted, %", |(at, row)| {
            let path = format!("published/{at}/predicted_rms_error_percent");
            let error = row.predicted_rms_error_percent?;
            Some(match follows_from_iops(results, row) {
                // Another prediction would be counted twice.
                true => Cell::from("follows"),
                false => Figure::new(error, 2).at(path).into(),
            })
        })
        .number("worst error\nof all, %", |(at, row)| {
            let path = format!("published/{at}/worst_error_percent");
            Figure::change(row.worst_error_percent, 2).at(path)
        })
        .number("in\nsegment", |(_, row)| row.worst_segment.to_string())
        .when(any_seeds && on_terminal, |columns| {
            columns.number("seeds", |(_, row)| {
                row.over_seeds.map_or(1, |errors| errors.seeds).to_string()
            })
        })
        .when(any_seeds, |columns| {
            columns
                .number("RMS error\nover seeds, %", move |(_, row)| {
                    over_seeds(row.over_seeds?.predicted_rms_error_percent, false)
                })
                .number("worst error\nover seeds, %", move |(_, row)| {
                    over_seeds(Some(row.over_seeds?.worst_error_percent), true)
                })
        })
}

/// Returns the columns of ratios, for the terminal or for the page.
pub(crate) fn ratio_columns<'a>(results: &Results, on_terminal: bool) -> Columns<'a, RatioAt<'a>> {
    let any_band = results.ratios.iter().any(|ratio| ratio.band.is_some());
    let of = |row: &Ratio| format!("{} over {}", row.of, row.over);
    let figure = |(at, _): &RatioAt<'_>, value: f64, field: &str| {
        Figure::new(value, 1).at(format!("ratios/{at}/{field}"))
    };
    let columns = match on_terminal {
        true => Columns::new()
            .words("ratio of IOPS", move |(_, row): &RatioAt<'_>| of(row))
            .words("", |(_, row)| row.name.clone()),
        false => Columns::new()
            .words("ratio", move |(_, row): &RatioAt<'_>| format!("{}, {}", of(row), row.name)),
    };
    columns
        .number("segment", |(_, row)| row.segment.to_string())
        .number("published %", move |row| figure(row, row.1.published_percent, "published_percent"))
        .number("simulated %", move |row| figure(row, row.1.simulated_percent, "simulated_percent"))
        .when(any_band, |columns| {
            columns.number("band %", |(_, row)| Some(Cell::band(row.band.as_ref()?, 1)))
        })
        .words("", |(_, row)| if row.fitted { Origin::Fitted } else { Origin::Predicted }.as_str())
}

/// Returns the numbers that were fitted to published segments. Empty if none was.
#[must_use]
pub fn fitted_table(results: &Results) -> String {
    let arrays = results.arrays.iter();
    let all = arrays.flat_map(|array| array.parameters.iter().map(|of| (&*array.name, of)));
    let fitted: Vec<(&str, &Parameter)> =
        all.filter(|(_, parameter)| !parameter.fitted_to_segments.is_empty()).collect();
    Columns::<(&str, &Parameter)>::new()
        .words("array", |(array, _)| *array)
        .words("fitted parameter", |(_, parameter)| parameter.name.clone())
        .number("value", |(_, parameter)| parameter.value.to_string())
        .words("unit", |(_, parameter)| parameter.unit.clone())
        .words("to published\nsegments", |(_, parameter)| {
            segment_list(&parameter.fitted_to_segments)
        })
        .render_any(&fitted)
}
