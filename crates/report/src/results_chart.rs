//! The charts of a run's results, by name.

use crate::bands::Band;
use crate::bar_chart::{Bar, BarChart, Row};
use crate::beside::Beside;
use crate::chart::{ChartError, ChartStyle};
use crate::line_chart::{Across, Line, LineChart, Up};
use crate::machine_table::time_of_requests_notes;
use crate::map_chart;
use crate::marker::Appearance;
use crate::rows_chart::{RowUnit, rows_chart};
use crate::segment_chart::{self, segment_axis, subtitles};
use crate::sheet::high_enough;
use crate::theme::{COLOURS, Colour, INK};
use crate::throughput_chart::throughput_chart;
use strewn_results::words::{fixed, grouped};
use strewn_results::{
    ArrayResults, Column, LayoutMap, Loss, Metric, Place, Results, Segment, Unit, losses,
};

/// Every chart of results, in a reader's order.
pub const RESULTS_CHARTS: [ResultsChart; 18] = [
    ResultsChart::Rows,
    ResultsChart::RowsIops,
    ResultsChart::RowsResponse,
    ResultsChart::RowsSeconds,
    ResultsChart::RowsPercent,
    ResultsChart::Throughput,
    ResultsChart::Iops,
    ResultsChart::Response,
    ResultsChart::Loss,
    ResultsChart::Map,
    ResultsChart::Commands,
    ResultsChart::Utilization,
    ResultsChart::TimeIn,
    ResultsChart::Groups,
    ResultsChart::Percentiles,
    ResultsChart::Workloads,
    ResultsChart::Scores,
    ResultsChart::PerSpindle,
];

/// A chart of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultsChart {
    /// Published rows of throughput beside simulated ones.
    Rows,
    /// The same of operations per second.
    RowsIops,
    /// The same of response times.
    RowsResponse,
    /// The same of how long something took.
    RowsSeconds,
    /// The same of ratios and shares.
    RowsPercent,
    /// Throughput over time, for runs with published rows and short segments.
    Throughput,
    /// Host operations per second by segment, with published ones.
    Iops,
    /// Mean response time by segment, with published ones.
    Response,
    /// The causes of the loss, from the first segment's IOPS to the last's.
    Loss,
    /// Where the file is on the spindles, by segment.
    Map,
    /// Spindle commands per host operation by segment.
    Commands,
    /// Utilization of controller, data and parity spindles, and of a real log, by segment.
    Utilization,
    /// Where the mean response time of host operations went, by segment, for arrays behind links or with two
    /// controllers.
    TimeIn,
    /// Utilization of the data spindles of each parity group by segment, for arrays with several.
    Groups,
    /// Percentiles of the response time by segment.
    Percentiles,
    /// Mean response time of each workload by segment, for runs of several.
    Workloads,
    /// Layout score and free-space score by segment.
    Scores,
    /// IOPS per purchased spindle, for each way to buy an array.
    PerSpindle,
}

/// A line of each array: its name, and the column that it is of.
type Figure = (&'static str, &'static Column);

const COMMANDS: &[Figure] = &[
    ("all spindle commands", Column::declared("spindle_commands_per_host_op")),
    ("for host reads", Column::declared("data_reads_per_host_op")),
    ("for parity", Column::declared("parity_commands_per_host_op")),
];
const UTILIZATION: &[Figure] = &[
    ("controller", Column::declared("controller_utilization_0_to_1")),
    ("data spindles", Column::declared("spindle_utilization_0_to_1")),
    ("parity spindles", Column::declared("parity_spindle_utilization_0_to_1")),
];
const PERCENTILES: &[Figure] = &[
    ("99th percentile", Column::declared("response_p99_ms")),
    ("95th", Column::declared("response_p95_ms")),
    ("median", Column::declared("response_p50_ms")),
];
const SCORES: &[Figure] = &[
    ("layout", Column::declared("layout_score_0_to_1")),
    ("free space", Column::declared("free_space_score_0_to_1")),
];

impl ResultsChart {
    /// Returns the name of the chart's file, without its extension.
    #[must_use]
    pub const fn file_stem(self) -> &'static str {
        match self {
            Self::Rows => "rows",
            Self::RowsIops => "rows-iops",
            Self::RowsResponse => "rows-response",
            Self::RowsSeconds => "rows-seconds",
            Self::RowsPercent => "rows-percent",
            Self::Throughput => "throughput",
            Self::Iops => "iops",
            Self::Response => "response",
            Self::Loss => "loss",
            Self::Map => "map",
            Self::Commands => "commands",
            Self::Utilization => "utilization",
            Self::TimeIn => "time-in",
            Self::Groups => "groups",
            Self::Percentiles => "percentiles",
            Self::Workloads => "workloads",
            Self::Scores => "scores",
            Self::PerSpindle => "per-spindle",
        }
    }

    /// Returns whether it has a point for each segment of each array.
    const fn is_by_segment(self) -> bool {
        !matches!(
            self,
            Self::Rows
                | Self::RowsIops
                | Self::RowsResponse
                | Self::RowsSeconds
                | Self::RowsPercent
                | Self::Throughput
                | Self::PerSpindle
        )
    }

    /// Returns the chart as SVG; the same results give the same bytes. None if these results have nothing for it: no
    /// map, no way to buy an array, no loss, no array with several parity groups, no several workloads, no links, no
    /// published rows. If legend and subtitles leave no room for the plot, the chart is higher than requested.
    ///
    /// # Errors
    ///
    /// If there is no segment, a figure cannot be drawn, or the size is out of bounds.
    pub fn draw(
        self,
        results: &Results,
        map: Option<&LayoutMap>,
        style: ChartStyle,
    ) -> Result<Option<String>, ChartError> {
        self.draw_beside(results, map, &Beside::default(), style)
    }

    /// Returns the same chart with more beside the results, if it is one that shows it: that of IOPS, or of response
    /// times.
    ///
    /// # Errors
    ///
    /// As [`draw`](Self::draw).
    pub fn draw_beside(
        self,
        results: &Results,
        map: Option<&LayoutMap>,
        beside: &Beside<'_>,
        style: ChartStyle,
    ) -> Result<Option<String>, ChartError> {
        match high_enough(style, |style| self.draw_at(results, map, beside, style)) {
            // Of a run that did nothing, say: no reason to have no other chart.
            Err(ChartError::NoFigures { .. }) => Ok(None),
            drawn => drawn,
        }
    }

    fn draw_at(
        self,
        results: &Results,
        map: Option<&LayoutMap>,
        beside: &Beside<'_>,
        style: ChartStyle,
    ) -> Result<Option<String>, ChartError> {
        if self.is_by_segment() && is_a_table_of_many(results) {
            return Ok(None);
        }
        match self {
            Self::Rows => rows_chart(results, RowUnit::Throughput, style),
            Self::RowsIops => rows_chart(results, RowUnit::Iops, style),
            Self::RowsResponse => rows_chart(results, RowUnit::Milliseconds, style),
            Self::RowsSeconds => rows_chart(results, RowUnit::Seconds, style),
            Self::RowsPercent => rows_chart(results, RowUnit::Percent, style),
            Self::Throughput => throughput_chart(results, style),
            Self::Iops => segment_chart::by_segment(results, Metric::Iops, beside, style).map(Some),
            Self::Response => {
                segment_chart::by_segment(results, Metric::ResponseMs, beside, style).map(Some)
            }
            Self::Loss => loss_chart(results, style),
            Self::Map => {
                let phases = results.arrays.first().map_or(&[][..], |array| &array.phases);
                map.map(|map| map_chart::by_segment(map, phases, subtitles(results), style))
                    .transpose()
            }
            Self::Commands => {
                let up = Up::FromZero("spindle commands per host operation");
                by_segment(results, "Spindle commands by segment", up, COMMANDS, false, style)
            }
            Self::Utilization => {
                let up = Up::FromZeroTo("busy (% of the time)", 100.0);
                by_segment(results, "Utilization by segment", up, UTILIZATION, true, style)
            }
            Self::TimeIn => time_in_chart(results, style),
            Self::Groups => groups_chart(results, style),
            Self::Percentiles => {
                let up = Up::FromZero("response time (ms)");
                by_segment(
                    results,
                    "Percentiles of the response time by segment",
                    up,
                    PERCENTILES,
                    false,
                    style,
                )
            }
            Self::Workloads => workloads_chart(results, style),
            Self::Scores => {
                let up = Up::FromZeroTo("score (1 is contiguous)", 1.0);
                by_segment(
                    results,
                    "Layout and free-space score by segment",
                    up,
                    SCORES,
                    false,
                    style,
                )
            }
            Self::PerSpindle => per_spindle_chart(results, style),
        }
    }
}

/// The most segments, of all arrays together, that charts by segment show of a run with published rows. Where each row
/// has an array, and samples of a second, charts of rows and of throughput over time say more.
const MOST_SEGMENTS_DRAWN: usize = 200;

fn is_a_table_of_many(results: &Results) -> bool {
    let segments: usize = results.arrays.iter().map(|array| array.segments.len()).sum();
    !results.published_rows.is_empty() && segments > MOST_SEGMENTS_DRAWN
}

/// Returns the axis of segments, with the phases that they are in.
fn across_segments(results: &Results) -> Across {
    Across::Segments(segment_axis(&results.arrays), Band::all_of(&results.arrays))
}

/// Draws a line for each figure of each array and, with `with_log`, one for the log of real spindles. An array has its
/// colour and marker, a figure its dash.
fn by_segment(
    results: &Results,
    title: &'static str,
    up: Up,
    figures: &[Figure],
    with_log: bool,
    style: ChartStyle,
) -> Result<Option<String>, ChartError> {
    let line =
        |position: usize, number: usize, words: &str, figure: &dyn Fn(&Segment) -> Option<f64>| {
            let array = &results.arrays[position];
            let points = array.rated_segments().iter();
            let points = points.filter_map(|at| Some((f64::from(at.index), figure(at)?)));
            Line {
                name: format!("{}: {words}", array.name),
                appearance: Appearance::of(position).of_figure(number),
                hollow: false,
                points: points.collect(),
            }
        };
    let mut lines = Vec::new();
    for position in 0..results.arrays.len() {
        let array = &results.arrays[position];
        for (number, (words, column)) in figures.iter().enumerate() {
            let figure = |segment: &Segment| {
                // Without an operation there is no figure for each.
                let is_there = column.unit != Unit::Commands || segment.ops > 0;
                let place = Place { array, segment, workload: None };
                column.in_percent(&place).filter(|_| is_there)
            };
            lines.push(line(position, number, words, &figure));
        }
        if let Some(real) = results.real_spindles.as_ref().filter(|_| with_log) {
            let busy = |at: &Segment| Some(100.0 * real.log_of(at.index)?.1.utilization);
            lines.push(line(position, figures.len(), "log", &busy));
        }
    }
    lines.retain(|line| !line.points.is_empty());
    if lines.is_empty() {
        return Err(ChartError::NothingToDraw);
    }
    let across = across_segments(results);
    let subtitles = subtitles(results);
    let legend_columns = figures.len() + usize::from(with_log && results.real_spindles.is_some());
    LineChart { title, subtitles, across, up, lines, legend_columns }.draw(style).map(Some)
}

/// Draws a line for each parity group or disk group of each array that has several.
fn groups_chart(results: &Results, style: ChartStyle) -> Result<Option<String>, ChartError> {
    let names = |array: &ArrayResults| {
        (1..).zip(&array.parity_groups).map(|(number, group)| group.words(number)).collect()
    };
    let busy = |segment: &Segment, number: usize, _: &str| {
        segment.groups.get(number)?.spindles.map(|busy| 100.0 * busy)
    };
    let title = results.group_words().chart_title;
    by_part(results, title, Up::FromZeroTo("busy (% of the time)", 100.0), &names, &busy, style)
}

/// More workloads of an array than this are told apart better in a table.
const MOST_WORKLOADS_DRAWN: usize = 8;

/// Draws a line for each workload of each array that has several.
fn workloads_chart(results: &Results, style: ChartStyle) -> Result<Option<String>, ChartError> {
    let names = |array: &ArrayResults| {
        // Each phase has workloads of its own.
        let mut names: Vec<String> = Vec::new();
        for workload in array.segments.iter().flat_map(|segment| &segment.by_workload) {
            if !names.contains(&workload.name) {
                names.push(workload.name.clone());
            }
        }
        if names.len() <= MOST_WORKLOADS_DRAWN { names } else { Vec::new() }
    };
    let response = |segment: &Segment, _: usize, name: &str| {
        let mut at_work = segment.by_workload.iter().filter(|workload| workload.ops() > 0);
        at_work.find(|workload| workload.name == name).map(|workload| workload.response_ms.mean)
    };
    let title = "Response time of each workload by segment";
    by_part(results, title, Up::FromZero("mean response time (ms)"), &names, &response, style)
}

/// Draws a line for each part of each array, by the figure that a segment has for the part of a number. Nothing if no
/// array has parts.
fn by_part(
    results: &Results,
    title: &'static str,
    up: Up,
    names: &dyn Fn(&ArrayResults) -> Vec<String>,
    figure: &dyn Fn(&Segment, usize, &str) -> Option<f64>,
    style: ChartStyle,
) -> Result<Option<String>, ChartError> {
    let mut lines = Vec::new();
    let mut most_parts = 0;
    for (position, array) in results.arrays.iter().enumerate() {
        let names = names(array);
        most_parts = most_parts.max(names.len());
        for (number, name) in names.into_iter().enumerate() {
            let points = array.rated_segments().iter();
            let points = points
                .filter_map(|at| Some((f64::from(at.index), figure(at, number, &name)?)))
                .collect();
            lines.push(Line {
                name: format!("{}: {name}", array.name),
                appearance: Appearance::of(position).of_figure(number),
                hollow: false,
                points,
            });
        }
    }
    lines.retain(|line| !line.points.is_empty());
    if lines.is_empty() {
        return Ok(None);
    }
    let subtitles = subtitles(results);
    let across = across_segments(results);
    let legend_columns = most_parts.min(4);
    LineChart { title, subtitles, across, up, lines, legend_columns }.draw(style).map(Some)
}

/// The colours of the parts of a response time, from the host inwards. Black would be too heavy for the longest.
const TIME_IN_COLOURS: [Colour; 6] =
    [COLOURS[0], COLOURS[1], COLOURS[2], COLOURS[3], COLOURS[5], COLOURS[6]];

/// Draws the mean response time of each segment as parts behind each other, from the host inwards. Where the parts are
/// the time of requests, a bar is as long as these take for each operation.
fn time_in_chart(results: &Results, style: ChartStyle) -> Result<Option<String>, ChartError> {
    let has_parts = |array: &&ArrayResults| array.segments.iter().any(|at| at.machine.is_some());
    let names = strewn_results::TimeIn::default().parts().map(|part| part.0);
    let mut rows = vec![Row::Key(TIME_IN_COLOURS.into_iter().zip(names).collect())];
    let [mut any_of_response, mut any_of_requests] = [false; 2];
    for array in results.arrays.iter().filter(has_parts) {
        rows.push(Row::Heading(array.name.clone()));
        for segment in array.rated_segments() {
            let Some(machine) = &segment.machine else { continue };
            let mut end_ms = 0.0;
            let parts = machine.time_in_ms.parts().into_iter().zip(TIME_IN_COLOURS);
            let parts = parts.filter(|((_, part_ms), _)| *part_ms > 0.0);
            let mut bars: Vec<Bar> = parts
                .map(|((name, part_ms), colour)| {
                    let from = end_ms;
                    end_ms += part_ms;
                    let index = segment.index;
                    let words =
                        format!("{}, segment {index}: {name} {} ms", array.name, fixed(part_ms, 3));
                    Bar { from, to: end_ms, colour, hollow: false, figure: String::new(), words }
                })
                .collect();
            let is_of_requests = segment.time_is_of_requests();
            any_of_requests |= is_of_requests;
            any_of_response |= !is_of_requests;
            if let Some(last) = bars.last_mut() {
                let whole_ms = if is_of_requests { end_ms } else { segment.response_ms.mean };
                last.figure = fixed(whole_ms, 1);
            }
            rows.push(Row::Stack { words: format!("segment {}", segment.index), bars });
        }
    }
    // An array that answered nothing has no times.
    let is_drawn = |row: &Row| matches!(row, Row::Stack { bars, .. } if !bars.is_empty());
    if !rows.iter().any(is_drawn) {
        return Ok(None);
    }
    let mut subtitles = subtitles(results);
    subtitles.extend(time_of_requests_notes(results));
    let axis = match (any_of_response, any_of_requests) {
        (_, false) => "mean response time (ms)",
        (true, true) => "mean response time, or time of requests per operation (ms)",
        (false, true) => "time of requests per operation (ms)",
    };
    let chart = BarChart { title: "Where the time of an operation went", subtitles, axis, rows };
    chart.draw(style).map(Some)
}

fn loss_chart(results: &Results, style: ChartStyle) -> Result<Option<String>, ChartError> {
    let losses = losses(results);
    let mut rows = Vec::new();
    for loss in losses.iter().filter(|loss| loss.is_notable()) {
        rows.extend(loss_rows(results, loss));
    }
    if rows.is_empty() {
        return Ok(None);
    }
    let chart = BarChart {
        title: "Where the loss came from",
        subtitles: subtitles(results),
        axis: "host operations per second (IOPS)",
        rows,
    };
    chart.draw(style).map(Some)
}

fn loss_rows(results: &Results, loss: &Loss) -> Vec<Row> {
    let position = results.arrays.iter().position(|array| array.name == loss.array);
    let colour = COLOURS[position.unwrap_or_default() % COLOURS.len()];
    let whole = |segment: u32, iops: f64, hollow| {
        let words = format!("segment {segment}");
        let figure = grouped(iops, false);
        let said = format!("{}, {words}: {figure} IOPS", loss.subject());
        let bar = Bar { from: 0.0, to: iops, colour, hollow, figure, words: said };
        Row::Bars { words, bars: vec![bar] }
    };
    let of = loss.limit.as_str();
    let mut rows = vec![
        Row::Heading(format!("{}, by how the time of the {of} was spent", loss.subject())),
        whole(loss.from_segment, loss.from_iops, true),
    ];
    let mut at = loss.from_iops;
    let mut small = 0.0;
    for part in &loss.parts {
        // Changes too small to see are combined into one row at the end.
        if part.iops.abs() < loss.from_iops * 5e-4 {
            small += part.iops;
            continue;
        }
        rows.push(change(&loss.subject(), part.cause.words(loss.limit), at, part.iops));
        at += part.iops;
    }
    if small.abs() >= 0.5 {
        rows.push(change(&loss.subject(), "all other causes", at, small));
    }
    rows.push(whole(loss.to_segment, loss.to_iops, false));
    rows
}

/// Returns a bar that begins where the one above ends.
fn change(array: &str, cause: &str, at: f64, iops: f64) -> Row {
    let figure = grouped(iops, true);
    let words = format!("{array}, {cause}: {figure} IOPS");
    let bar = Bar { from: at, to: at + iops, colour: INK, hollow: iops > 0.0, figure, words };
    Row::Bars { words: cause.to_owned(), bars: vec![bar] }
}

fn per_spindle_chart(results: &Results, style: ChartStyle) -> Result<Option<String>, ChartError> {
    let mut rows = Vec::new();
    for (position, array) in results.arrays.iter().enumerate() {
        let ways: Vec<_> = results.overhead.iter().filter(|way| way.array == array.name).collect();
        if ways.is_empty() {
            continue;
        }
        let colour = COLOURS[position % COLOURS.len()];
        let mut workloads = None;
        for way in ways {
            if workloads != Some(&way.workloads) {
                workloads = Some(&way.workloads);
                rows.push(Row::Heading(format!("{}, spindles to buy", way.subject())));
            }
            let bar = |iops: f64, when: &str, hollow: bool| Bar {
                from: 0.0,
                to: iops,
                colour,
                hollow,
                figure: format!("{} {when}", fixed(iops, 0)),
                words: format!(
                    "{}, {}: {} IOPS per spindle {when}",
                    way.subject(),
                    way.name,
                    fixed(iops, 1)
                ),
            };
            rows.push(Row::Bars {
                words: format!("{}{}", way.name, if way.used_by_results { " *" } else { "" }),
                bars: vec![
                    bar(way.iops_per_spindle_fresh, "fresh", true),
                    bar(way.iops_per_spindle_end, "in the end", false),
                ],
            });
        }
    }
    if rows.is_empty() {
        return Ok(None);
    }
    let mut subtitles = subtitles(results);
    subtitles.push(
        "Fresh: first segment. In the end: last segment. * Configuration used for all other figures."
            .to_owned(),
    );
    let chart = BarChart {
        title: "IOPS per purchased spindle",
        subtitles,
        axis: "host operations per second and purchased spindle",
        rows,
    };
    chart.draw(style).map(Some)
}
