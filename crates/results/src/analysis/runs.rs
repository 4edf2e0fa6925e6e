//! Compares runs side by side: what differs between them, segment by segment, for the arrays that they share. Arrays
//! are matched by name. If every run has a single array, those are compared whatever their names.

use crate::analysis::beyond_bands::{beside_bands, notes};
use crate::analysis::in_run::{InRun, is_set_differently};
use crate::analysis::verdicts::verdicts;
use crate::data::array::ArrayResults;
use crate::data::columns::Place;
use crate::data::comparison::Metric;
use crate::data::number::rounded;
use crate::data::quantity;
use crate::data::results::{Results, Setting};
use crate::data::runs::{
    COMPARISON_SCHEMA, ComparedArray, ComparedFigures, ComparedRun, DifferingParameter, RunFigures,
    RunsComparison, SegmentOfRuns,
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
                let quoted = |name: &str| match name.contains(',') {
                    true => format!("\"{name}\""),
                    false => name.to_owned(),
                };
                let names: Vec<String> =
                    results.arrays.iter().map(|array| quoted(&array.name)).collect();
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
        arrays.iter().flat_map(|array| array.rated_segments()).map(|one| one.index).collect();
    indices.sort_unstable();
    indices.dedup();
    let segment = |index: u32| {
        let first = arrays.first().and_then(|array| Some((array, array.rated_segment(index)?)));
        let figures = arrays.iter().enumerate().map(|(position, array)| {
            let segment = array.rated_segment(index)?;
            let is_like = |of: &ArrayResults, other| of.kind_of(other) == array.kind_of(segment);
            let compared_with = first.filter(|(of, other)| position > 0 && is_like(of, other));
            let of_segment = figures(array, segment, compared_with.map(|(_, other)| other));
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

fn figures(array: &ArrayResults, segment: &Segment, first: Option<&Segment>) -> RunFigures {
    let difference = |metric: Metric| {
        let (here, there) = (metric.of(segment), metric.of(first?));
        (there > 0.0).then(|| rounded(100.0 * (here - there) / there, 4))
    };
    RunFigures {
        iops: segment.iops,
        iops_difference_percent: difference(Metric::Iops),
        response_ms: segment.response_ms.mean,
        response_difference_percent: difference(Metric::ResponseMs),
        others: ComparedFigures::of(&Place { array, segment, workload: None }),
        iops_beyond_bands: None,
        response_beyond_bands: None,
    }
}

/// The beginning of the names of an array's settings, before its name.
const OF_ARRAYS: &str = "array.";

/// Returns a row of values, one for each run, if they are not all the same. Sizes and times are in one unit.
fn row(name: &str, values: Vec<Option<String>>) -> Option<DifferingParameter> {
    // Being the same is no chain: one that is absent is like its default.
    let differs = values.iter().enumerate().any(|(at, one)| {
        let mut others = values[at + 1..].iter();
        others.any(|other| is_set_differently(name, one.as_deref(), other.as_deref()))
    });
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
    let mut rows = vec![
        row("layout", values(&|(_, array)| Some(array.layout.as_str().to_owned()))),
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
