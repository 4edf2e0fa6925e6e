//! Compares runs side by side: what differs between them, segment by segment, for the arrays that they share. Arrays
//! are matched by name. If every run has a single array, those are compared whatever their names.

use crate::data::comparison::Metric;
use crate::data::number::{SIGNIFICANT_DIGITS, rounded};
use crate::data::quantity;
use crate::data::results::{ArrayResults, LayoutKind, Results};
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

/// An array, and the results that it belongs to.
type InRun<'a> = (&'a Results, &'a ArrayResults);

/// Compares arrays as one.
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
