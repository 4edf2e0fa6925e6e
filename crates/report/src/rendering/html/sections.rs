//! What stands in a report, section by section.

mod segments;
mod summary;

use super::table::{Cell, Table};
use super::{Report, ReportError};
use crate::analysis::loss::{self};
use crate::data::comparison::PublishedComparison;
use crate::data::loss::Loss;
use crate::data::loss::LossPart;
use crate::data::number::{fixed, signed};
use crate::data::quantity::in_words;
use crate::data::results::{ArrayResults, LayoutKind, Results};
use crate::data::segment::Segment;
use crate::rendering::chart::{ChartError, ChartSize, ChartStyle};
use crate::rendering::columns::segment_list;
use crate::rendering::map_chart::{DOUBLINGS_PER_COLOUR, FARTHEST, shown};
use crate::rendering::results_chart::ResultsChart;
use crate::rendering::theme::{MAP_COLOURS, Theme};
use crate::rendering::value_mark::escaped;

/// A part of the page with a title.
pub(super) struct Section {
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    pub(super) html: String,
}

/// The sections that these results have something for.
pub(super) fn all(report: &Report<'_>) -> Result<Vec<Section>, ReportError> {
    let results = report.results;
    let section = |id, title, html| Section { id, title, html };
    let sections = vec![
        section("summary", "Summary", summary::summary(report)?),
        section("loss", "Where the loss came from", losses(report)?),
        section("map", "The map", map(report)?),
        section("behaviour", "What the arrays did", behaviour(report)?),
        section("failures", "Spindles that failed", failures(results)),
        section("prediction", "Fitted and predicted", prediction(results)),
        section("price", "Spindles to buy", price(report)?),
        section("segments", "All segments", segments::segments(results)),
        section(
            "scenario",
            if results.real_spindles.is_some() { "The array" } else { "The scenario" },
            scenario(report),
        ),
    ];
    Ok(sections.into_iter().filter(|section| !section.html.is_empty()).collect())
}

/// Which run it is.
pub(super) fn run_line(results: &Results) -> String {
    let Results { scenario, seed, strewn, host_ops, .. } = results;
    let operations = crate::rendering::axis::grouped(*host_ops as f64, false);
    format!("Strewn {strewn}: {scenario}, seed {seed}, {operations} host operations")
}

/// The run in a sentence: how the write-anywhere array fares beside the one in place, or how each array fares.
pub(super) fn headline(results: &Results) -> String {
    let is = |kind: LayoutKind| {
        move |array: &&ArrayResults| array.layout == kind && !array.segments.is_empty()
    };
    let anywhere = results.arrays.iter().find(is(LayoutKind::WriteAnywhere));
    let in_place = results.arrays.iter().find(is(LayoutKind::InPlace));
    if let (Some(of), Some(over)) = (anywhere, in_place)
        && let Some((first, last)) = ends(of)
        && let (Some(over_first), Some(over_last)) =
            (over.segment(first.index), over.segment(last.index))
        && over_first.iops > 0.0
        && over_last.iops > 0.0
    {
        let (before, after) =
            (100.0 * first.iops / over_first.iops, 100.0 * last.iops / over_last.iops);
        let (of, over) = (&of.name, &over.name);
        if first.index == last.index {
            return format!("The {of} delivers {} % of the {over}\u{2019}s IOPS", fixed(after, 1));
        }
        let from = if after < before { "down from" } else { "up from" };
        return format!(
            "After {} segments the {of} delivers {} % of the {over}\u{2019}s IOPS, {from} {} %",
            last.index,
            fixed(after, 1),
            fixed(before, 1)
        );
    }
    if results.arrays.len() > 2
        && let Some(words) = range_of_changes(results)
    {
        return words;
    }
    let one = |array: &ArrayResults| {
        let (first, last) = ends(array)?;
        Some(match first.index == last.index {
            true => format!("{} delivers {} IOPS", array.name, whole(first.iops)),
            false => format!(
                "{} goes from {} to {} IOPS in {} segments",
                array.name,
                whole(first.iops),
                whole(last.iops),
                last.index
            ),
        })
    };
    let all: Vec<String> = results.arrays.iter().filter_map(one).collect();
    if all.is_empty() { results.scenario.clone() } else { all.join("; ") }
}

/// Of many arrays, which lost most and which least; none if no array has two segments.
fn range_of_changes(results: &Results) -> Option<String> {
    let change = |array: &ArrayResults| {
        let (first, last) = ends(array)?;
        let percent = 100.0 * (last.iops - first.iops) / first.iops;
        (first.index < last.index && percent.is_finite())
            .then(|| (percent, array.name.clone(), last.index))
    };
    let mut changes: Vec<(f64, String, u32)> = results.arrays.iter().filter_map(change).collect();
    changes.sort_by(|one, other| one.0.total_cmp(&other.0));
    let ((most, most_of, segments), (least, least_of, _)) = (changes.first()?, changes.last()?);
    Some(format!(
        "After {segments} segments IOPS have changed by {} % ({most_of}) to {} % ({least_of})",
        percent_change(*most),
        percent_change(*least)
    ))
}

fn ends(array: &ArrayResults) -> Option<(&Segment, &Segment)> {
    array.segments.first().zip(array.segments.last())
}

/// A change in percent with its sign, as words have it.
fn percent_change(percent: f64) -> String {
    signed(percent, 1).replace('-', "\u{2212}")
}

fn whole(figure: f64) -> String {
    crate::rendering::axis::grouped(figure, false)
}

fn paragraph(words: &str) -> String {
    format!("<p>{}</p>\n", escaped(words))
}

/// A chart in the page's colours; nothing if the results have nothing for it.
fn chart(report: &Report<'_>, chart: ResultsChart, has_rows: bool) -> Result<String, ReportError> {
    // A plot of the same height however many rows its legend has.
    let more_px =
        22 * u32::try_from(report.results.arrays.len().saturating_sub(2)).unwrap_or_default();
    let size = ChartSize { width_px: 960, height_px: (480 + more_px).min(4000) };
    let style = ChartStyle { size, theme: Theme::Page };
    let rows = if has_rows { " data-rows=\"1\"" } else { "" };
    match chart.draw(report.results, report.map, style) {
        Ok(Some(svg)) => Ok(format!(
            "<figure class=\"chart\"{rows} id=\"chart-{}\">\n{svg}</figure>\n",
            chart.file_stem()
        )),
        Ok(None) | Err(ChartError::NothingToDraw) => Ok(String::new()),
        Err(error) => Err(error.into()),
    }
}

fn losses(report: &Report<'_>) -> Result<String, ReportError> {
    let losses = loss::losses(report.results);
    if !losses.iter().any(Loss::is_notable) {
        return Ok(String::new());
    }
    let mut html = paragraph(
        "Between two operations answered there pass 1 / IOPS seconds, and what limits the array spends them on something that \
         is counted. The differences between first and last segment are the causes below; they add up to the whole difference \
         by construction. It is an account, not an experiment: it does not say what would have been had one cause been absent.",
    );
    html.push_str(&chart(report, ResultsChart::Loss, true)?);
    for loss in &losses {
        if !loss.is_notable() {
            html.push_str(&paragraph(&loss.sentence()));
            continue;
        }
        let difference = loss.to_iops - loss.from_iops;
        let part = |part: &LossPart| {
            vec![
                Cell::words(part.cause.words(loss.limit)),
                match part.in_place_of_first() {
                    Some(words) => Cell::number(words),
                    None => Cell::number(fixed(part.from_us_per_op, 2)),
                },
                Cell::number(fixed(part.to_us_per_op, 2)),
                Cell::number(if part.iops.abs() < 0.05 {
                    "0.0".to_owned()
                } else {
                    signed(part.iops, 1)
                }),
                Cell::number(fixed(100.0 * part.iops / difference, 1)),
            ]
        };
        let mut rows: Vec<Vec<Cell>> = loss.parts.iter().map(part).collect();
        let sum = |figure: fn(&LossPart) -> f64| loss.parts.iter().map(figure).sum::<f64>();
        rows.push(vec![
            Cell::words("sum"),
            Cell::number(fixed(sum(|part| part.from_us_per_op), 2)),
            Cell::number(fixed(sum(|part| part.to_us_per_op), 2)),
            Cell::number(signed(sum(|part| part.iops), 1)),
            Cell::number(fixed(100.0 * sum(|part| part.iops) / difference, 1)),
        ]);
        let of = loss.limit.as_str();
        let table = Table {
            caption: &format!("{}: how the time of the {of} was spent", loss.array),
            headers: &[
                "cause",
                &format!("µs per operation, segment {}", loss.from_segment),
                &format!("µs per operation, segment {}", loss.to_segment),
                "IOPS",
                "% of the difference",
            ],
            rows,
            has_total: true,
        };
        html.push_str(&table.html());
    }
    Ok(html)
}

/// What spindles made of it: no part of an account where the controller is the limit, and asked for all the same.
fn spindles_meanwhile(results: &Results) -> String {
    let rows = results.arrays.iter().enumerate().filter_map(|(position, array)| {
        let (first, last) = ends(array)?;
        let end = array.segments.len() - 1;
        let pair = |from: f64, to: f64, decimals: usize, field: &str| {
            let path = |segment: usize| format!("arrays/{position}/segments/{segment}/{field}");
            [Cell::figure(from, decimals, path(0)), Cell::figure(to, decimals, path(end))]
        };
        let mut row = vec![Cell::words(&array.name)];
        row.extend(pair(
            first.layout.span_percent,
            last.layout.span_percent,
            1,
            "layout/span_percent",
        ));
        let (from, to) = (&first.spindle_commands, &last.spindle_commands);
        row.extend(pair(
            from.mean_queue_depth,
            to.mean_queue_depth,
            1,
            "spindle_commands/mean_queue_depth",
        ));
        row.extend(pair(
            from.mean_service_ms,
            to.mean_service_ms,
            2,
            "spindle_commands/mean_service_ms",
        ));
        row.extend(pair(
            first.utilization.spindles,
            last.utilization.spindles,
            3,
            "utilization/spindles",
        ));
        let parity = |segment: usize, of: &Segment| {
            let path = format!("arrays/{position}/segments/{segment}/utilization/parity_spindles");
            Cell::optional(of.utilization.parity_spindles, 3, path)
        };
        row.extend([parity(0, first), parity(end, last)]);
        Some(row)
    });
    Table {
        caption: "The spindles: seek span, queue and service time, first and last segment",
        headers: &[
            "array",
            "span of the stroke %, first",
            "last",
            "commands at a spindle, first",
            "last",
            "service ms, first",
            "last",
            "data spindles busy, first",
            "last",
            "parity spindles busy, first",
            "last",
        ],
        rows: rows.collect(),
        has_total: false,
    }
    .html()
}

fn map(report: &Report<'_>) -> Result<String, ReportError> {
    let Some(map) = report.map else { return Ok(String::new()) };
    let last = map
        .arrays
        .iter()
        .flat_map(|array| &array.snapshots)
        .flat_map(|at| &at.after_segments)
        .max();
    let Some(last) = last else { return Ok(String::new()) };
    let mut html = paragraph(
        "A row a spindle, from its first address at the left to its last. The height of a column is the share of it that holds \
         the file; its colour is how far those blocks lie from the blocks before them in the file.",
    );
    html.push_str(&chart(report, ResultsChart::Map, true)?);
    let span = map.arrays.iter().map(crate::data::layout_map::ArrayMap::span).fold(0.0, f64::max);
    let part = shown(span);
    let boxes: String = (0..MAP_COLOURS.len())
        .map(|number| format!("<i style=\"background:var(--map-{number})\"></i>"))
        .collect();
    let most = FARTHEST;
    html.push_str(&format!(
        "<h3>Spindle by spindle</h3>\n\
         <noscript><p class=\"note\">This part needs script; the picture above does not.</p></noscript>\n\
         <div class=\"controls\">\n\
         <label for=\"map-segment\">Segment</label>\n\
         <input type=\"range\" id=\"map-segment\" min=\"0\" max=\"{last}\" value=\"{last}\" step=\"1\" data-doublings-per-colour=\"{DOUBLINGS_PER_COLOUR}\" aria-describedby=\"map-now\">\n\
         <output id=\"map-now\" for=\"map-segment\" aria-live=\"polite\">after segment {last}</output>\n\
         <button type=\"button\" id=\"map-play\">Play</button>\n\
         <label><input type=\"checkbox\" id=\"map-whole\" data-shown=\"{part}\"{}> the whole stroke</label>\n\
         </div>\n\
         <p class=\"scale\"><span>right behind</span> <span class=\"boxes\" aria-hidden=\"true\">{boxes}</span> <span>{most} and more</span></p>\n\
         <p class=\"note\">How far a block lies from the one before it in the file, geometric mean.</p>\n",
        if part >= 1.0 { " disabled" } else { "" }
    ));
    for (position, array) in map.arrays.iter().enumerate() {
        let name = escaped(&array.name);
        let allocates =
            array.snapshots.iter().any(|at| at.spindles.iter().any(|strip| strip.free.is_some()));
        html.push_str(&format!(
            "<h3>{name}</h3>\n<p id=\"map-words-{position}\" class=\"note\"></p>\n\
             <div><canvas id=\"map-file-{position}\" role=\"img\" aria-label=\"Map of {name}\"></canvas></div>\n"
        ));
        if allocates {
            html.push_str(&format!(
                "<p class=\"note\">Free space of {name}: what is shaded is in use, the stronger the more of it.</p>\n\
                 <div><canvas id=\"map-free-{position}\" role=\"img\" aria-label=\"Free space of {name}; its score is in the table of all \
                 segments\"></canvas></div>\n"
            ));
        }
        if array.snapshots.len() == 1 && *last > 0 {
            html.push_str(
                "<p class=\"note\">Nothing moves here: all segments are one picture.</p>\n",
            );
        }
    }
    html.push_str("<p class=\"note\">As numbers: layout score, span and free-space score in the table of <a href=\"#segments\">all segments</a>.</p>\n");
    Ok(html)
}

fn behaviour(report: &Report<'_>) -> Result<String, ReportError> {
    let charts = [
        ResultsChart::Commands,
        ResultsChart::Utilization,
        ResultsChart::Percentiles,
        ResultsChart::Scores,
    ];
    let charts = charts.into_iter().map(|one| chart(report, one, false));
    Ok(charts.collect::<Result<String, _>>()? + &spindles_meanwhile(report.results))
}

fn failures(results: &Results) -> String {
    let seconds =
        |time: Option<f64>| Cell::number(time.map_or_else(String::new, |time| fixed(time, 1)));
    let mut rows = Vec::new();
    for array in &results.arrays {
        for failure in &array.failures {
            rows.push(vec![
                Cell::words(&array.name),
                Cell::number(failure.spindle.to_string()),
                Cell::number(fixed(failure.at_seconds, 1)),
                seconds(failure.rebuild_began_at_seconds),
                seconds(failure.rebuilt_at_seconds),
                seconds(failure.rebuild_seconds),
                Cell::number(fixed(failure.rebuilt_percent, 1)),
            ]);
        }
    }
    if rows.is_empty() {
        return String::new();
    }
    Table {
        caption: "Failures and rebuilds",
        headers: &[
            "array",
            "spindle",
            "failed at, s",
            "rebuild began, s",
            "rebuilt at, s",
            "rebuild took, s",
            "rebuilt %",
        ],
        rows,
        has_total: false,
    }
    .html()
}

fn prediction(results: &Results) -> String {
    let mut html = String::new();
    if !results.published.is_empty() {
        let row = |(position, compared): (usize, &PublishedComparison)| {
            let path = |field: &str| format!("published/{position}/{field}");
            let predicted = compared.segments.iter().filter(|segment| !segment.fitted).count();
            vec![
                Cell::words(&compared.array),
                Cell::words(compared.metric.unit()),
                Cell::words(segment_list(&compared.fitted_segments)),
                Cell::number(predicted.to_string()),
                Cell::optional(
                    compared.predicted_rms_error_percent,
                    2,
                    path("predicted_rms_error_percent"),
                ),
                Cell::figure(compared.worst_error_percent, 2, path("worst_error_percent")),
                Cell::number(compared.worst_segment.to_string()),
            ]
        };
        html.push_str(
            &Table {
                caption: "Simulated beside published",
                headers: &[
                    "array",
                    "metric",
                    "fitted to segments",
                    "segments predicted",
                    "RMS error of predicted, %",
                    "worst error of all, %",
                    "in segment",
                ],
                rows: results.published.iter().enumerate().map(row).collect(),
                has_total: false,
            }
            .html(),
        );
    }
    if !results.ratios.is_empty() {
        let row = |(position, ratio): (usize, &crate::data::comparison::Ratio)| {
            let path = |field: &str| format!("ratios/{position}/{field}");
            vec![
                Cell::words(format!("{} over {}, {}", ratio.of, ratio.over, ratio.name)),
                Cell::number(ratio.segment.to_string()),
                Cell::figure(ratio.published_percent, 1, path("published_percent")),
                Cell::figure(ratio.simulated_percent, 1, path("simulated_percent")),
                Cell::words(if ratio.fitted { "fitted" } else { "predicted" }),
            ]
        };
        html.push_str(
            &Table {
                caption: "Ratios of IOPS",
                headers: &["ratio", "segment", "published %", "simulated %", ""],
                rows: results.ratios.iter().enumerate().map(row).collect(),
                has_total: false,
            }
            .html(),
        );
    }
    if !html.is_empty() {
        html.push_str("<p class=\"note\">A segment is fitted if a number of the array was fitted to what is published of it; all others are predicted. In charts fitted figures are hollow, predicted ones filled, published ones level dashes.</p>\n");
    }
    html
}

fn price(report: &Report<'_>) -> Result<String, ReportError> {
    let overhead = &report.results.overhead;
    if overhead.is_empty() {
        return Ok(String::new());
    }
    let row = |(position, way): (usize, &crate::data::overhead::OverheadRow)| {
        let path = |field: &str| format!("overhead/{position}/{field}");
        vec![
            Cell::words(&way.array),
            Cell::words(format!("{}{}", way.name, if way.used_by_results { " *" } else { "" })),
            Cell::words(&way.source),
            Cell::number(way.purchased.to_string()),
            Cell::figure(way.usable_gib, 0, path("usable_gib")),
            Cell::figure(way.iops_per_spindle_fresh, 1, path("iops_per_spindle_fresh")),
            Cell::figure(way.iops_per_spindle_end, 1, path("iops_per_spindle_end")),
            Cell::figure(way.iops_per_1000_usd_fresh, 1, path("iops_per_1000_usd_fresh")),
            Cell::figure(way.iops_per_1000_usd_end, 1, path("iops_per_1000_usd_end")),
        ]
    };
    let table = Table {
        caption: "What has to be bought, and what a spindle of it gives",
        headers: &[
            "array",
            "spindles to buy",
            "who says so",
            "spindles",
            "usable GiB",
            "IOPS per spindle, fresh",
            "IOPS per spindle, in the end",
            "IOPS per 1000 USD, fresh",
            "IOPS per 1000 USD, in the end",
        ],
        rows: overhead.iter().enumerate().map(row).collect(),
        has_total: false,
    };
    Ok(chart(report, ResultsChart::PerSpindle, true)?
        + &table.html()
        + "<p class=\"note\">* The way that the other figures are of.</p>\n")
}

fn scenario(report: &Report<'_>) -> String {
    let results = report.results;
    let mut html = paragraph(&match &results.real_spindles {
        None => format!(
            "Scenario {}, seed {}. A number that was fitted says to which published segments; every other one was set before \
             the run, from a source or by choice.",
            results.scenario, results.seed
        ),
        Some(_) => format!(
            "Array {}, seed {} of the host\u{2019}s operations. Its numbers are those of its labels.",
            results.scenario, results.seed
        ),
    });
    if let Some(scaled) = &results.scaled {
        let changes: String =
            scaled.what.iter().map(|what| format!("<li>{}</li>", escaped(what))).collect();
        html.push_str(&format!("<p>At 1/{} of its scale:</p>\n<ul>{changes}</ul>\n", scaled.by));
    }
    for (position, array) in results.arrays.iter().enumerate() {
        let row = |(number, parameter): (usize, &crate::data::results::Parameter)| {
            let path = format!("arrays/{position}/parameters/{number}/value");
            let (value, unit) = in_words(parameter.value, &parameter.unit);
            vec![
                Cell::words(&parameter.name),
                Cell::figure_in_words(parameter.value, &value, path),
                Cell::words(unit),
                Cell::words(match parameter.fitted {
                    true => format!(
                        "fitted to segments {}",
                        segment_list(&parameter.fitted_to_segments)
                    ),
                    false => parameter.source.clone(),
                }),
            ]
        };
        let table = Table {
            caption: &format!("{}: parameters", array.name),
            headers: &["parameter", "value", "unit", "where from"],
            rows: array.parameters.iter().enumerate().map(row).collect(),
            has_total: false,
        };
        html.push_str(&table.html());
    }
    if let Some(text) = report.scenario {
        html.push_str(&format!(
            "<details>\n<summary>{}</summary>\n<pre tabindex=\"0\">{}</pre>\n</details>\n",
            match &results.real_spindles {
                None =>
                    "The scenario\u{2019}s file; a seed, a number of segments or a scale given on the command line went before \
                     what it says",
                Some(_) => "What the labels of the array say",
            },
            escaped(text)
        ));
    }
    html
}
