//! Compares runs side by side: what differs between them, segment by segment, for the arrays that they share. Arrays
//! are matched by name. If every run has a single array, those are compared whatever their names.

use crate::analysis::beyond_bands::{beside_bands, notes};
use crate::analysis::like::{have_same_mix, is_measure_of_array};
use crate::data::comparison::Metric;
use crate::data::number::{SIGNIFICANT_DIGITS, fixed, rounded};
use crate::data::quantity;
use crate::data::results::{ArrayResults, LayoutKind, Results, Setting};
use crate::data::runs::{
    COMPARISON_SCHEMA, ComparedArray, ComparedRun, DifferingParameter, RunFigures, RunsComparison,
    SegmentOfRuns,
};
use crate::data::segment::Segment;

/// Why runs cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompareError {
    /// No two of them have an array of the same name, and some have several arrays.
    #[error("the runs have no array in common: {0}")]
    NothingInCommon(String),
}

/// Compares runs side by side; a run is its name and its results. Arrays are matched by name. If every run has a single
/// array, those are compared whatever their names.
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
        let array = compared_array(runs, (0..runs.len()).collect(), &arrays);
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
        compared_array(runs, having, &arrays)
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
    let compared = RunsComparison {
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
        settings: differing_settings(runs),
        arrays,
        left_out,
        notes: Vec::new(),
    };
    RunsComparison { notes: notes(runs, &compared), ..compared }
}

/// An array, and the results that it belongs to.
type InRun<'a> = (&'a Results, &'a ArrayResults);

/// Compares arrays as one.
fn compared_array(
    runs: &[(String, &Results)],
    having: Vec<usize>,
    in_runs: &[InRun<'_>],
) -> ComparedArray {
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
        let first = arrays.first().and_then(|array| Some((array, array.segment(index)?)));
        let figures = arrays.iter().enumerate().map(|(position, array)| {
            let segment = array.segment(index)?;
            let is_like = |of: &ArrayResults, other| of.kind_of(other) == array.kind_of(segment);
            let compared_with = first.filter(|(of, other)| position > 0 && is_like(of, other));
            let of_segment = figures(segment, compared_with.map(|(_, other)| other));
            let beyond = |metric: Metric| {
                let (of, other) = compared_with?;
                let first = (in_runs[0].0, *of, other);
                let beside = beside_bands(first, (in_runs[position].0, *array, segment), metric);
                beside.map(|beside| beside.is_beyond)
            };
            Some(RunFigures {
                iops_beyond_bands: beyond(Metric::Iops),
                response_beyond_bands: beyond(Metric::ResponseMs),
                ..of_segment
            })
        });
        SegmentOfRuns { index, figures: figures.collect() }
    };
    let compared = ComparedArray {
        name,
        names,
        parameters: differing_parameters(in_runs),
        segments: indices.into_iter().map(segment).collect(),
        verdicts: Vec::new(),
        runs: having,
    };
    let verdicts = verdicts(runs, &differing_settings(runs), &compared, in_runs);
    ComparedArray { verdicts, ..compared }
}

fn figures(segment: &Segment, first: Option<&Segment>) -> RunFigures {
    let difference = |metric: Metric| {
        let (here, there) = (metric.of(segment), metric.of(first?));
        (there > 0.0).then(|| rounded(100.0 * (here - there) / there, 4))
    };
    let commands = &segment.spindle_commands;
    let of_parity = (commands.parity_update_reads + commands.parity_writes) as f64;
    RunFigures {
        iops: segment.iops,
        iops_difference_percent: difference(Metric::Iops),
        response_ms: segment.response_ms.mean,
        response_difference_percent: difference(Metric::ResponseMs),
        p95_ms: segment.response_ms.p95,
        p99_ms: segment.response_ms.p99,
        commands_per_host_op: rounded(segment.commands_per_host_op(), SIGNIFICANT_DIGITS),
        layout_score: segment.layout.score,
        parity_commands_per_host_op: rounded(
            of_parity / segment.ops.max(1) as f64,
            SIGNIFICANT_DIGITS,
        ),
        full_stripe_percent: segment.consistency_points.map(|points| points.full_stripe_percent),
        utilization: segment.utilization,
        iops_beyond_bands: None,
        response_beyond_bands: None,
    }
}

/// The settings that tell runs apart and change no figure.
const NAMES: [&str; 3] = ["name", "title", "published"];
/// The beginning of the names of prices, which change no figure that is compared.
const PRICES: &str = "overhead.";
/// The beginning of the names of an array's settings, before its name.
const OF_ARRAYS: &str = "array.";

/// Returns a row of values, one for each run, if they are not all the same. Sizes and times are in one unit.
fn row(name: &str, values: Vec<Option<String>>) -> Option<DifferingParameter> {
    let differs = values.windows(2).any(|pair| pair[0] != pair[1]);
    let quantities: Vec<(f64, &str)> =
        values.iter().flatten().filter_map(|text| quantity::read(text)).collect();
    let as_many = quantities.len() == values.iter().flatten().count();
    let in_one_unit = as_many.then(|| quantity::in_one_unit(&quantities)).flatten();
    let values = match in_one_unit.map(Vec::into_iter) {
        Some(mut texts) => {
            values.iter().map(|value| value.as_ref().and_then(|_| texts.next())).collect()
        }
        None => values,
    };
    differs.then(|| DifferingParameter { name: name.to_owned(), values })
}

/// Returns the names in several lists, each once, in order.
fn all_names<'a>(lists: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for name in lists {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Returns the settings of whole runs that differ. Runs that do not say what they were set to are not compared.
fn differing_settings(runs: &[(String, &Results)]) -> Vec<DifferingParameter> {
    let scale = |(_, results): &(String, &Results)| match &results.scaled {
        Some(scaled) => Some(format!("1/{}", scaled.by)),
        None => Some("full".to_owned()),
    };
    let mut rows: Vec<DifferingParameter> =
        row("scale", runs.iter().map(scale).collect()).into_iter().collect();
    if runs.iter().any(|(_, results)| results.settings.is_empty()) {
        return rows;
    }
    let names = all_names(runs.iter().flat_map(|(_, results)| {
        results.settings.keys().map(String::as_str).filter(|name| !name.starts_with(OF_ARRAYS))
    }));
    let values = |name: &str| -> Vec<Option<String>> {
        runs.iter().map(|(_, results)| Some(results.settings.get(name)?.to_string())).collect()
    };
    rows.extend(names.into_iter().filter_map(|name| row(name, values(name))));
    rows
}

fn differing_parameters(in_runs: &[InRun<'_>]) -> Vec<DifferingParameter> {
    let arrays: Vec<&ArrayResults> = in_runs.iter().map(|(_, array)| *array).collect();
    let values = |value: &dyn Fn(&InRun<'_>) -> Option<String>| in_runs.iter().map(value).collect();
    let layout = |kind: LayoutKind| Some(kind.as_str().to_owned());
    let mut rows = vec![
        row("layout", values(&|(_, array)| layout(array.layout))),
        row("outstanding", values(&|(_, array)| Some(array.outstanding.to_string()))),
        row(
            "spindles, data + parity",
            values(&|(_, array)| {
                Some(format!("{} + {}", array.spindles.data, array.spindles.parity))
            }),
        ),
        row("workload", values(&|(results, _)| results.load_words())),
    ];
    if in_runs.iter().all(|(results, _)| !results.settings.is_empty()) {
        let own: Vec<Vec<(&str, &Setting)>> = in_runs.iter().map(own_settings).collect();
        let names = all_names(own.iter().flatten().map(|(name, _)| *name));
        for name in names.into_iter().filter(|name| *name != "outstanding") {
            let value = |own: &Vec<(&str, &Setting)>| {
                Some(own.iter().find(|(known, _)| *known == name)?.1.to_string())
            };
            rows.push(row(name, own.iter().map(value).collect()));
        }
    } else {
        let lun = |array: &ArrayResults| Some(quantity::about(array.lun_bytes? as f64));
        rows.push(row("LUN", values(&|(_, array)| lun(array))));
        let parameters = arrays.iter().flat_map(|array| &array.parameters);
        for name in all_names(parameters.map(|parameter| parameter.name.as_str())) {
            let value = |array: &ArrayResults| {
                let found = array.parameters.iter().find(|parameter| parameter.name == name)?;
                Some(quantity::text(found.value, &found.unit))
            };
            rows.push(row(name, values(&|(_, array)| value(array))));
        }
    }
    rows.into_iter().flatten().collect()
}

/// Returns the settings of an array, by their names below it.
fn own_settings<'a>((results, array): &InRun<'a>) -> Vec<(&'a str, &'a Setting)> {
    let below =
        |name: &'a str| name.strip_prefix(OF_ARRAYS)?.strip_prefix(&array.name)?.strip_prefix('.');
    let settings = results.settings.iter();
    settings.filter_map(|(name, setting)| Some((below(name)?, setting))).collect()
}

/// A difference smaller than this is none, if there are no bands to compare it with: other seeds differ as much.
const SAME_PERCENT: f64 = 1.0;

/// Returns which of an array's runs is faster than the first, by how much, and what was set differently.
fn verdicts(
    runs: &[(String, &Results)],
    settings: &[DifferingParameter],
    array: &ComparedArray,
    in_runs: &[InRun<'_>],
) -> Vec<String> {
    let Some((baseline, others)) = in_runs.split_first() else { return Vec::new() };
    let others = others.iter().enumerate();
    others
        .map(|(number, other)| {
            let position = number + 1;
            let [first_name, name] =
                [array.runs[0], array.runs[position]].map(|run| runs[run].0.as_str());
            let of_run = |row: &DifferingParameter, run: usize, first: usize| {
                row.values.get(run) != row.values.get(first)
            };
            let run_wide = settings
                .iter()
                .filter(|row| of_run(row, array.runs[position], array.runs[0]))
                .map(|row| row.name.as_str())
                .filter(|name| !NAMES.contains(name) && !name.starts_with(PRICES));
            let own = array.parameters.iter().filter(|row| of_run(row, position, 0));
            let mut causes: Vec<&str> =
                own.map(|row| row.name.as_str()).chain(run_wide).collect();
            // Longer runs do not make a segment faster.
            causes.retain(|name| *name != "segments");
            let why = match causes.as_slice() {
                [] => "Nothing that changes figures was set differently.".to_owned(),
                [only] => format!("Set differently: {only}."),
                several => {
                    format!("Set differently, each a possible cause: {}.", several.join(", "))
                }
            };
            match outcome(baseline, other) {
                Some((segment, outcome, beside)) => {
                    format!("In segment {segment} {name} {outcome} {first_name}{beside}. {why}")
                }
                None => format!(
                    "{name} and {first_name} have no segment with the same operations in both. {why}"
                ),
            }
        })
        .collect()
}

/// Returns the last segment in which two runs did the same, how the second compares with the first there, to stand before
/// the name of the first, and what their bands say, to stand after it. IOPS are compared where both arrays were the limit;
/// otherwise response times are.
fn outcome(first: &InRun<'_>, second: &InRun<'_>) -> Option<(u32, String, String)> {
    let pairs = first.1.segments.iter().rev();
    let mut pairs = pairs.filter_map(|segment| Some((segment, second.1.segment(segment.index)?)));
    // Different accesses would be compared with each other.
    if first.0.load_words() != second.0.load_words() {
        return None;
    }
    let is_limit = |run: &InRun<'_>, segment: &Segment| {
        is_measure_of_array(run.0.workload.as_ref(), run.1, segment)
    };
    let (one, other) = pairs.find(|(one, other)| {
        one.ops > 0
            && first.1.kind_of(one) == second.1.kind_of(other)
            && have_same_mix(first.0.workload.as_ref(), one, other)
    })?;
    let by_iops = is_limit(first, one) && is_limit(second, other);
    let (metric, more, less) = match by_iops {
        true => (Metric::Iops, "faster", "slower"),
        false => (Metric::ResponseMs, "slower", "faster"),
    };
    let (before, after) = (metric.of(one), metric.of(other));
    let percent = 100.0 * (after - before) / before;
    let decimals = match metric {
        Metric::Iops => 0,
        _ if before < 10.0 => 2,
        _ => 1,
    };
    let (after, before) = (fixed(after, decimals), fixed(before, decimals));
    let figures = match by_iops {
        true => format!("({after} IOPS against {before})"),
        false => format!("({after} ms on average against {before})"),
    };
    let beside = beside_bands((first.0, first.1, one), (second.0, second.1, other), metric);
    let outcome = match percent {
        percent if percent.abs() < SAME_PERCENT && beside.is_none() => {
            format!("{figures} is within {SAME_PERCENT} % of")
        }
        percent if percent.abs() < 0.05 => format!("{figures} is as fast as"),
        percent => {
            let word = if percent > 0.0 { more } else { less };
            format!("{figures} is {} % {word} than", fixed(percent.abs(), 1))
        }
    };
    let beside = beside.map_or_else(String::new, |beside| {
        let explained = fixed(beside.explained_percent, 2);
        let what = if beside.seeds_alone { "other seeds make" } else { "their bands explain" };
        let more = if beside.is_beyond { "more" } else { "no more" };
        format!(", {more} than {what} ({explained} %)")
    });
    Some((one.index, outcome, beside))
}
