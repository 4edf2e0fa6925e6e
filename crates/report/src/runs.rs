//! Runs side by side: what differs between them, segment by segment, for the arrays that they have in common. Arrays are
//! matched by name; where every run has one array alone, those are compared whatever they are called.

use crate::chart::{ChartError, ChartStyle, high_enough};
use crate::comparison::Metric;
use crate::quantity;
use crate::results::{
    ArrayResults, LayoutKind, Results, ResultsError, SIGNIFICANT_DIGITS, Segment, rounded,
};
use crate::segment_chart::{Shown, segment_chart};
use crate::table::{Columns, fixed, response_decimals, signed};
use serde::{Deserialize, Serialize};

/// Version of the layout of `comparison.json`.
pub const COMPARISON_SCHEMA: u32 = 1;

/// Runs side by side, in the form of `comparison.json`. The others are compared with the first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunsComparison {
    /// Layout of this file; [`COMPARISON_SCHEMA`].
    pub schema: u32,
    /// The runs, in the order given.
    pub runs: Vec<ComparedRun>,
    /// The arrays that two runs or more have, in the order of the first run that has them; or the one that each has.
    pub arrays: Vec<ComparedArray>,
    /// Arrays that only one run has, as "run: array".
    pub left_out: Vec<String>,
}

/// Which run it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ComparedRun {
    /// What it is called here.
    pub name: String,
    /// Name of its scenario.
    pub scenario: String,
    /// Its seed.
    pub seed: u64,
    /// The version of Strewn that ran it.
    pub strewn: String,
    /// How many times smaller than full scale; 1 at full scale.
    pub scaled_by: u32,
    /// Whether it was stopped before its last segment, or lost data.
    pub partial: bool,
}

/// One array in several runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComparedArray {
    /// Name of the array; the names in its runs, with commas between, where they are not the same.
    pub name: String,
    /// Its name in each of its runs; absent where all of them call it the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// Runs that have it, by position.
    pub runs: Vec<usize>,
    /// What it was configured with that is not the same in all of them.
    pub parameters: Vec<DifferingParameter>,
    /// The segments that any of them has, ascending.
    pub segments: Vec<SegmentOfRuns>,
}

/// A number that runs were configured with, and not all alike.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DifferingParameter {
    /// Path in the scenario; `layout`, `outstanding`, `spindles`, `workload` and `LUN` too.
    pub name: String,
    /// Its value in each of the array's runs with its unit; none where the run has no such number.
    pub values: Vec<Option<String>>,
}

/// One segment of an array in several runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SegmentOfRuns {
    /// Number of the segment; the first is 1.
    pub index: u32,
    /// Its figures in each of the array's runs; none where the run did not come so far.
    pub figures: Vec<Option<RunFigures>>,
}

/// What is compared of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunFigures {
    /// Host operations completed per second.
    pub iops: f64,
    /// Difference from the first of the runs, percent of that; none in the first.
    pub iops_difference_percent: Option<f64>,
    /// Mean response time, milliseconds.
    pub response_ms: f64,
    /// Difference from the first of the runs, percent of that; none in the first.
    pub response_difference_percent: Option<f64>,
    /// Spindle commands per host operation.
    pub commands_per_host_op: f64,
    /// Layout score, 0 to 1.
    pub layout_score: f64,
}

/// Why runs cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompareError {
    /// No two of them have an array of the same name, and some have several.
    #[error("the runs have no array in common: {0}")]
    NothingInCommon(String),
}

/// Sets runs side by side; a run is its name and its results. Arrays are matched by name, and where every run has one array
/// alone that one with those of the others.
///
/// # Errors
///
/// If no two runs have an array of the same name, and any has more than one.
pub fn compare_runs(runs: &[(String, &Results)]) -> Result<RunsComparison, CompareError> {
    let alone = runs.iter().map(|(_, results)| match &results.arrays[..] {
        [only] => Some((*results, only)),
        _ => None,
    });
    if let Some(arrays) = alone.collect::<Option<Vec<InRun<'_>>>>().filter(|all| all.len() > 1) {
        let array = compared_array((0..runs.len()).collect(), &arrays);
        return Ok(comparison(runs, vec![array], Vec::new()));
    }
    let mut names: Vec<&str> = Vec::new();
    for array in runs.iter().flat_map(|(_, results)| &results.arrays) {
        if !names.contains(&array.name.as_str()) {
            names.push(&array.name);
        }
    }
    let having = |name: &str| -> Vec<usize> {
        (0..runs.len()).filter(|run| runs[*run].1.array(name).is_some()).collect()
    };
    let (common, alone): (Vec<&str>, Vec<&str>) =
        names.into_iter().partition(|name| having(name).len() > 1);
    if common.is_empty() {
        let all: Vec<String> = runs
            .iter()
            .map(|(run, results)| {
                let names: Vec<&str> = results.arrays.iter().map(|array| &*array.name).collect();
                format!("{run} has {}", names.join(", "))
            })
            .collect();
        return Err(CompareError::NothingInCommon(all.join("; ")));
    }
    let of_name = |name: &str| {
        let having = having(name);
        let of_run = |run: &usize| {
            let results = runs[*run].1;
            Some((results, results.array(name)?))
        };
        let arrays: Vec<InRun<'_>> = having.iter().filter_map(of_run).collect();
        compared_array(having, &arrays)
    };
    let left_out = alone
        .into_iter()
        .flat_map(|name| having(name).into_iter().map(move |run| (run, name)))
        .map(|(run, name)| format!("{}: {name}", runs[run].0))
        .collect();
    Ok(comparison(runs, common.into_iter().map(of_name).collect(), left_out))
}

fn comparison(
    runs: &[(String, &Results)],
    arrays: Vec<ComparedArray>,
    left_out: Vec<String>,
) -> RunsComparison {
    RunsComparison {
        schema: COMPARISON_SCHEMA,
        runs: runs
            .iter()
            .map(|(name, results)| ComparedRun {
                name: name.clone(),
                scenario: results.scenario.clone(),
                seed: results.seed,
                strewn: results.strewn.clone(),
                scaled_by: results.scaled.as_ref().map_or(1, |scaled| scaled.by),
                partial: results.partial,
            })
            .collect(),
        arrays,
        left_out,
    }
}

/// An array, and the results that it is of.
type InRun<'a> = (&'a Results, &'a ArrayResults);

/// The arrays that are compared as one.
fn compared_array(having: Vec<usize>, in_runs: &[InRun<'_>]) -> ComparedArray {
    let arrays: Vec<&ArrayResults> = in_runs.iter().map(|(_, array)| *array).collect();
    let mut names: Vec<String> = arrays.iter().map(|array| array.name.clone()).collect();
    if names.windows(2).all(|pair| pair[0] == pair[1]) {
        names.truncate(1);
    }
    let name = names.join(", ");
    if names.len() == 1 {
        names.clear();
    }
    let mut indices: Vec<u32> =
        arrays.iter().flat_map(|array| &array.segments).map(|segment| segment.index).collect();
    indices.sort_unstable();
    indices.dedup();
    let segment = |index: u32| {
        let first = arrays.first().and_then(|array| array.segment(index));
        let figures = arrays.iter().enumerate().map(|(position, array)| {
            let compared_with = first.filter(|_| position > 0);
            Some(figures(array.segment(index)?, compared_with))
        });
        SegmentOfRuns { index, figures: figures.collect() }
    };
    ComparedArray {
        name,
        names,
        parameters: differing_parameters(in_runs),
        segments: indices.into_iter().map(segment).collect(),
        runs: having,
    }
}

fn figures(segment: &Segment, first: Option<&Segment>) -> RunFigures {
    let difference = |metric: Metric| {
        let (here, there) = (metric.of(segment), metric.of(first?));
        (there > 0.0).then(|| rounded(100.0 * (here - there) / there, 4))
    };
    RunFigures {
        iops: segment.iops,
        iops_difference_percent: difference(Metric::Iops),
        response_ms: segment.response_ms.mean,
        response_difference_percent: difference(Metric::ResponseMs),
        commands_per_host_op: rounded(segment.commands_per_host_op(), SIGNIFICANT_DIGITS),
        layout_score: segment.layout.score,
    }
}

fn differing_parameters(in_runs: &[InRun<'_>]) -> Vec<DifferingParameter> {
    let arrays: Vec<&ArrayResults> = in_runs.iter().map(|(_, array)| *array).collect();
    let layout = |kind: LayoutKind| Some(kind.as_str().to_owned());
    let mut all = vec![
        ("layout".to_owned(), arrays.iter().map(|array| layout(array.layout)).collect()),
        (
            "outstanding".to_owned(),
            arrays.iter().map(|array| Some(array.outstanding.to_string())).collect(),
        ),
        (
            "spindles, data + parity".to_owned(),
            arrays
                .iter()
                .map(|array| Some(format!("{} + {}", array.spindles.data, array.spindles.parity)))
                .collect::<Vec<Option<String>>>(),
        ),
        ("workload".to_owned(), in_runs.iter().map(|(results, _)| results.load_words()).collect()),
        (
            "LUN".to_owned(),
            arrays.iter().map(|array| Some(quantity::about(array.lun_bytes? as f64))).collect(),
        ),
    ];
    let mut names: Vec<&str> = Vec::new();
    for parameter in arrays.iter().flat_map(|array| &array.parameters) {
        if !names.contains(&parameter.name.as_str()) {
            names.push(&parameter.name);
        }
    }
    for name in names {
        let value = |array: &&ArrayResults| {
            let found = array.parameters.iter().find(|parameter| parameter.name == name)?;
            Some(quantity::text(found.value, &found.unit))
        };
        all.push((name.to_owned(), arrays.iter().map(value).collect()));
    }
    let differs = |values: &Vec<Option<String>>| values.windows(2).any(|pair| pair[0] != pair[1]);
    all.into_iter()
        .filter(|(_, values)| differs(values))
        .map(|(name, values)| DifferingParameter { name, values })
        .collect()
}

impl ComparedArray {
    /// What it is called in the run at `position` among its runs.
    #[must_use]
    pub fn name_in(&self, position: usize) -> &str {
        self.names.get(position).unwrap_or(&self.name)
    }
}

impl RunsComparison {
    /// The text of `comparison.json`.
    ///
    /// # Errors
    ///
    /// [`ResultsError::NotFinite`] if a figure is infinite or not a number.
    pub fn to_json_string(&self) -> Result<String, ResultsError> {
        let text = serde_json::to_string_pretty(self)? + "\n";
        match serde_json::from_str::<Self>(&text) {
            Ok(read) if read == *self => Ok(text),
            _ => Err(ResultsError::NotFinite),
        }
    }

    /// The runs, and for each array what was set differently, the IOPS and the mean response times, as text.
    #[must_use]
    pub fn tables(&self) -> String {
        let mut text = Columns::<ComparedRun>::new()
            .words("run", |run| run.name.clone())
            .words("scenario", |run| run.scenario.clone())
            .number("seed", |run| run.seed.to_string())
            .words("strewn", |run| run.strewn.clone())
            .number("scale", |run| match run.scaled_by {
                1 => "full".to_owned(),
                by => format!("1/{by}"),
            })
            .words("", |run| if run.partial { "partial" } else { "" }.to_owned())
            .render(&self.runs);
        for array in &self.arrays {
            if !array.parameters.is_empty() {
                let mut columns = Columns::<DifferingParameter>::new()
                    .words("set differently", |row| row.name.clone());
                for (position, run) in array.runs.iter().enumerate() {
                    columns = columns.number(self.runs[*run].name.clone(), move |row| {
                        row.values[position].clone().unwrap_or_else(|| "-".to_owned())
                    });
                }
                text.push_str(&format!(
                    "\n{}\n\n{}",
                    array.name,
                    columns.render(&array.parameters)
                ));
            }
            text.push_str(&format!("\n{}: IOPS\n\n", array.name));
            text.push_str(&self.figures_table(array, 0, |figures| {
                (figures.iops, figures.iops_difference_percent)
            }));
            text.push_str(&format!("\n{}: mean response time, ms\n\n", array.name));
            // Files and flash answer in fractions of a millisecond.
            let mut figures =
                array.segments.iter().flat_map(|segment| segment.figures.iter().flatten());
            let is_quick = figures.any(|figures| figures.response_ms < 10.0);
            text.push_str(&self.figures_table(array, response_decimals(is_quick), |figures| {
                (figures.response_ms, figures.response_difference_percent)
            }));
        }
        if !self.left_out.is_empty() {
            text.push_str(&format!(
                "\nIn one run alone, and not compared: {}\n",
                self.left_out.join(", ")
            ));
        }
        text
    }

    fn figures_table(
        &self,
        array: &ComparedArray,
        decimals: usize,
        figure: fn(&RunFigures) -> (f64, Option<f64>),
    ) -> String {
        let mut columns =
            Columns::<SegmentOfRuns>::new().number("segment", |row| row.index.to_string());
        for (position, run) in array.runs.iter().enumerate() {
            columns = columns.number(self.runs[*run].name.clone(), move |row| {
                row.figures[position]
                    .map_or_else(|| "-".to_owned(), |of| fixed(figure(&of).0, decimals))
            });
            if position > 0 {
                columns = columns.number("%", move |row| {
                    let difference = row.figures[position].and_then(|of| figure(&of).1);
                    difference.map_or_else(|| "-".to_owned(), |percent| signed(percent, 1))
                });
            }
        }
        columns.render(&array.segments)
    }

    /// A row a run, array and segment, as comma-separated values (RFC 4180).
    #[must_use]
    pub fn csv(&self) -> String {
        let mut text = String::new();
        let names = [
            "run",
            "array",
            "segment",
            "host_ops_per_s",
            "host_ops_per_s_difference_percent",
            "response_mean_ms",
            "response_mean_difference_percent",
            "spindle_commands_per_host_op",
            "layout_score_0_to_1",
        ];
        crate::csv::append_row(&mut text, names.iter().map(|name| (*name).to_owned()));
        let optional =
            |figure: Option<f64>| figure.map(|figure| figure.to_string()).unwrap_or_default();
        for array in &self.arrays {
            for (position, run) in array.runs.iter().enumerate() {
                for segment in &array.segments {
                    let Some(of) = segment.figures[position] else { continue };
                    let fields = [
                        self.runs[*run].name.clone(),
                        array.name_in(position).to_owned(),
                        segment.index.to_string(),
                        of.iops.to_string(),
                        optional(of.iops_difference_percent),
                        of.response_ms.to_string(),
                        optional(of.response_difference_percent),
                        of.commands_per_host_op.to_string(),
                        of.layout_score.to_string(),
                    ];
                    crate::csv::append_row(&mut text, fields.into_iter());
                }
            }
        }
        text
    }
}

/// IOPS or mean response time by segment of all arrays that runs have in common, a line each for every run; published
/// figures once.
///
/// # Errors
///
/// If no array is in common, there is no segment, a figure cannot be drawn, or the size is out of bounds.
pub fn runs_chart(
    runs: &[(String, &Results)],
    metric: Metric,
    style: ChartStyle,
) -> Result<String, ChartError> {
    let Ok(comparison) = compare_runs(runs) else { return Err(ChartError::NothingToDraw) };
    let mut shown = Vec::new();
    let mut subtitles = Vec::new();
    for array in &comparison.arrays {
        for (position, run) in array.runs.iter().enumerate() {
            let (name, results) = &runs[*run];
            let Some(found) = results.array(array.name_in(position)) else { continue };
            shown.push(Shown {
                results,
                array: found,
                name: format!("{}, {name}", found.name),
                // The dashes of all runs would lie on each other.
                shows_published: position == 0,
            });
        }
    }
    for (name, results) in runs {
        let (scenario, seed, strewn) = (&results.scenario, results.seed, &results.strewn);
        let caveats = results.chart_caveats().join(" ");
        subtitles.push(
            format!("{name}: {scenario}, seed {seed}, strewn {strewn}. {caveats}")
                .trim()
                .to_owned(),
        );
    }
    high_enough(style, |style| segment_chart(&shown, metric, subtitles.clone(), style))
}
