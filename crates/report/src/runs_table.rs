//! Runs side by side, as text and as CSV.

use crate::columns::{Columns, Figure, csv_text, figure, optional, response_decimals};
use strewn_results::words::{fixed, signed};
use strewn_results::{
    Column, ComparedArray, ComparedRun, DifferingParameter, RunFigures, RunsComparison,
    SegmentOfRuns, Table,
};

/// A figure of a segment, its difference from the first run in percent, and whether that is beyond the bands.
type WithDifference = fn(&RunFigures) -> (f64, Option<f64>, Option<bool>);

/// Returns as text the runs, and for each array its differing settings, the IOPS and the mean response times.
#[must_use]
pub fn runs_tables(comparison: &RunsComparison) -> String {
    let mut text = Columns::<ComparedRun>::new()
        .words("run", |run| run.name.clone())
        .words("scenario", |run| run.scenario.clone())
        .number("seed", |run| run.seed.to_string())
        .words("strewn", |run| run.strewn.clone())
        .number("scale", |run| match run.scaled_by {
            1 => "full".to_owned(),
            by => format!("1/{by}"),
        })
        .when(comparison.runs.iter().any(|run| run.partial), |columns| {
            columns.words("", |run| if run.partial { "partial" } else { "" }.to_owned())
        })
        .render(&comparison.runs);
    let everywhere: Vec<usize> = (0..comparison.runs.len()).collect();
    text.push_str(&differences(comparison, "all arrays", &everywhere, &comparison.settings));
    for array in &comparison.arrays {
        text.push_str(&differences(comparison, &array.name, &array.runs, &array.parameters));
        text.push_str(&format!("\n{}: IOPS\n\n", array.name));
        text.push_str(&figures_table(comparison, array, 0, |figures| {
            (figures.iops, figures.iops_difference_percent, figures.iops_beyond_bands)
        }));
        // Files and flash answer within fractions of a millisecond.
        let mut figures =
            array.segments.iter().flat_map(|segment| segment.figures.iter().flatten());
        let decimals = response_decimals(figures.any(|figures| figures.response_ms < 10.0));
        text.push_str(&format!("\n{}: mean response time, ms\n\n", array.name));
        text.push_str(&figures_table(comparison, array, decimals, |figures| {
            let beyond = figures.response_beyond_bands;
            (figures.response_ms, figures.response_difference_percent, beyond)
        }));
        text.push_str(&format!("\n{}: 95th and 99th percentile, ms\n\n", array.name));
        text.push_str(&percentiles_table(comparison, array, decimals));
        text.push_str(&format!("\n{}: why\n\n{}", array.name, causes_table(comparison, array)));
        if !array.verdicts.is_empty() {
            text.push_str(&format!("\n{}: verdict\n\n", array.name));
            array.verdicts.iter().for_each(|verdict| text.push_str(&format!(" {verdict}\n")));
        }
    }
    if !comparison.notes.is_empty() {
        text.push_str(&format!("\n{}\n", comparison.notes.join("\n")));
    }
    if !comparison.left_out.is_empty() {
        text.push_str(&format!(
            "\nIn one run alone, and not compared: {}\n",
            comparison.left_out.join(", ")
        ));
    }
    text
}

/// Returns what was set differently, with a column for each run; empty if nothing was.
fn differences(
    comparison: &RunsComparison,
    title: &str,
    runs: &[usize],
    rows: &[DifferingParameter],
) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let mut columns =
        Columns::<DifferingParameter>::new().words("set differently", |row| row.name.clone());
    for (position, run) in runs.iter().enumerate() {
        columns = columns.number(comparison.runs[*run].name.clone(), move |row| {
            row.values[position].clone().unwrap_or_else(|| "-".to_owned())
        });
    }
    format!("\n{title}\n\n{}", columns.render(rows))
}

fn percentiles_table(
    comparison: &RunsComparison,
    array: &ComparedArray,
    decimals: usize,
) -> String {
    let mut columns =
        Columns::<SegmentOfRuns>::new().number("segment", |row| row.index.to_string());
    for (position, run) in array.runs.iter().enumerate() {
        for (name, column) in [("p95", PERCENTILES[0]), ("p99", PERCENTILES[1])] {
            let header = format!("{}\n{name}", comparison.runs[*run].name);
            columns = columns.number(header, move |row| {
                Some(Figure::new(row.figures[position]?.others.get(column)?, decimals))
            });
        }
    }
    columns.render(&array.segments)
}

const PERCENTILES: [&Column; 2] =
    [Column::declared("response_p95_ms"), Column::declared("response_p99_ms")];

/// The order of the first columns of causes, and of the first ones in `comparison.csv`. Others follow.
const CAUSES: [&str; 7] = [
    "spindle_commands_per_host_op",
    "parity_commands_per_host_op",
    "full_stripe_percent",
    "controller_utilization_0_to_1",
    "spindle_utilization_0_to_1",
    "parity_spindle_utilization_0_to_1",
    "layout_score_0_to_1",
];
const FIRST_IN_CSV: [&str; 6] = [
    "spindle_commands_per_host_op",
    "layout_score_0_to_1",
    "response_p95_ms",
    "response_p99_ms",
    "parity_commands_per_host_op",
    "full_stripe_percent",
];

/// Returns the columns that are compared beside IOPS and mean response time, those of some keys first.
fn compared(first: &[&str]) -> Vec<&'static Column> {
    let mut columns: Vec<&Column> = Column::of_table(Table::Compare).collect();
    let place = |column: &Column| first.iter().position(|key| *key == column.key);
    columns.sort_by_key(|column| place(column).unwrap_or(first.len()));
    columns
}

/// Returns what the array did for an operation in the last segment that all runs have, a row for each run.
fn causes_table(comparison: &RunsComparison, array: &ComparedArray) -> String {
    let whole = |segment: &&SegmentOfRuns| segment.figures.iter().all(Option::is_some);
    let last = array.segments.iter().rev().find(whole).or(array.segments.last());
    let rows: Vec<(String, u32, RunFigures)> = last
        .iter()
        .flat_map(|segment| {
            let of_runs = array.runs.iter().zip(&segment.figures);
            of_runs.filter_map(|(run, figures)| {
                Some((comparison.runs[*run].name.clone(), segment.index, (*figures)?))
            })
        })
        .collect();
    let mut columns = Columns::<(String, u32, RunFigures)>::new()
        .words("run", |(run, ..)| run.clone())
        .number("segment", |(_, segment, _)| segment.to_string());
    let is_percentile = |column: &&Column| PERCENTILES.contains(column);
    for column in compared(&CAUSES).into_iter().filter(|column| !is_percentile(column)) {
        // There is room for whole words.
        let heading = column.short_heading().replace("-\n", "");
        columns = columns.number(heading, |(.., of)| {
            Some(figure(column, of.others.get(column)?, column.decimals))
        });
    }
    columns.render(&rows)
}

fn figures_table(
    comparison: &RunsComparison,
    array: &ComparedArray,
    decimals: usize,
    figure: WithDifference,
) -> String {
    let of_segments = array.segments.iter().flat_map(|segment| segment.figures.iter());
    let marked = of_segments.flatten().any(|of| figure(of).2.is_some());
    let mut columns =
        Columns::<SegmentOfRuns>::new().number("segment", |row| row.index.to_string());
    for (position, run) in array.runs.iter().enumerate() {
        columns = columns.number(comparison.runs[*run].name.clone(), move |row| {
            row.figures[position]
                .map_or_else(|| "-".to_owned(), |of| fixed(figure(&of).0, decimals))
        });
        if position > 0 {
            columns = columns.number("%", move |row| {
                let Some(of) = row.figures[position] else { return "-".to_owned() };
                let (_, difference, beyond) = figure(&of);
                let percent = optional(difference, |percent| signed(percent, 1));
                match (marked, beyond) {
                    (false, _) => percent,
                    (true, Some(true)) => percent + "*",
                    (true, _) => percent + " ",
                }
            });
        }
    }
    columns.render(&array.segments)
}

/// Returns a row per run, array and segment, as comma-separated values (RFC 4180).
#[must_use]
pub fn runs_csv(comparison: &RunsComparison) -> String {
    let others = compared(&FIRST_IN_CSV);
    let names = [
        "run",
        "array",
        "segment",
        "host_ops_per_s",
        "host_ops_per_s_difference_percent",
        "response_mean_ms",
        "response_mean_difference_percent",
    ];
    let beyond = ["host_ops_per_s_beyond_bands", "response_mean_beyond_bands"];
    let names = names.into_iter().chain(others.iter().map(|column| column.key)).chain(beyond);
    let mut rows: Vec<Vec<String>> = vec![names.map(str::to_owned).collect()];
    let optional =
        |figure: Option<f64>| figure.map(|figure| figure.to_string()).unwrap_or_default();
    let flag = |flag: Option<bool>| flag.map(|flag| flag.to_string()).unwrap_or_default();
    for array in &comparison.arrays {
        for (position, run) in array.runs.iter().enumerate() {
            for segment in &array.segments {
                let Some(of) = segment.figures[position] else { continue };
                let mut row = vec![
                    comparison.runs[*run].name.clone(),
                    array.name_in(position).to_owned(),
                    segment.index.to_string(),
                    of.iops.to_string(),
                    optional(of.iops_difference_percent),
                    of.response_ms.to_string(),
                    optional(of.response_difference_percent),
                ];
                row.extend(others.iter().map(|column| optional(of.others.get(column))));
                row.extend([of.iops_beyond_bands, of.response_beyond_bands].map(flag));
                rows.push(row);
            }
        }
    }
    String::from_utf8_lossy(&csv_text(rows.into_iter())).into_owned()
}
