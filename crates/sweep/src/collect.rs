//! The table of a sweep's figures, from the runs that are there.

use strewn_results::{
    ArrayResults, FigureOf, MissingRun, SWEEP_SCHEMA, SegmentChoice, Sweep, SweepFigure, SweepRow,
    differences, mean_and_interval,
};

use crate::plan::Plan;
use crate::planned_study::PlannedStudy;
use crate::store::{PointStoreError, Store};

/// Share of intervals that hold the true mean, percent.
const CONFIDENCE_PERCENT: f64 = 95.0;

/// The figures of one run: for each figure, its segments and values.
type Measured = Vec<Vec<(Option<u32>, f64)>>;

/// Makes a table of the runs that are there. `failures` says why others are not, by their numbers.
///
/// # Errors
/// If results cannot be read.
pub fn collect(
    plan: &Plan,
    store: &Store,
    failures: &[(usize, String)],
) -> Result<Sweep, PointStoreError> {
    let PlannedStudy { figures, combinations, runs, seeds, scale_down, .. } = &plan.study;
    let measured = plan.points.iter().map(|point| {
        let results = store.results(point)?;
        Ok(results.map(|results| measure(figures, *scale_down, &results.arrays)))
    });
    let measured: Vec<Option<Measured>> = measured.collect::<Result<_, _>>()?;
    let mut rows = Vec::new();
    let mut missing = Vec::new();
    for (combination, (at, runs)) in combinations.iter().zip(runs).enumerate() {
        for (run, seed) in runs.iter().zip(seeds).filter(|(run, _)| measured[**run].is_none()) {
            let failed = failures.iter().find(|(index, _)| index == run);
            let error = failed.map(|(_, error)| error.clone());
            missing.push(MissingRun { combination, seed: *seed, error });
        }
        let of_runs: Vec<Option<&Measured>> =
            runs.iter().map(|run| measured[*run].as_ref()).collect();
        rows.extend(rows_of(combination, at, &of_runs, figures.len()));
    }
    let mut sweep = Sweep {
        schema: SWEEP_SCHEMA,
        study: plan.study.name.clone(),
        title: plan.study.title.clone(),
        strewn: plan.study.strewn.clone(),
        scale_down: plan.study.scale_down,
        seeds: seeds.clone(),
        confidence_percent: CONFIDENCE_PERCENT,
        base: plan.study.base.clone(),
        axes: plan.study.axes.clone(),
        figures: figures.clone(),
        rows,
        differences: Vec::new(),
        missing,
    };
    sweep.differences = differences(&sweep.axes, &sweep.figures, &sweep.rows);
    Ok(sweep)
}

/// Sizes and times are those of full scale, whatever the scale of the run.
fn measure(figures: &[SweepFigure], scale_down: u32, arrays: &[ArrayResults]) -> Measured {
    let measure = |figure: &SweepFigure| {
        let value_of = |of: &FigureOf| {
            let factor = if of.scales() { f64::from(scale_down.max(1)) } else { 1.0 };
            of.value(arrays).map(|value| factor * value)
        };
        if !figure.by_segment {
            return value_of(&figure.of).map(|value| (None, value)).into_iter().collect();
        }
        let of_array = arrays.iter().find(|array| array.name == figure.of.array);
        let segments = of_array.into_iter().flat_map(|array| &array.segments);
        let value = |index: u32| {
            let segment = Some(SegmentChoice::Number(index));
            let of = FigureOf { segment, ..figure.of.clone() };
            Some((Some(index), value_of(&of)?))
        };
        segments.filter_map(|segment| value(segment.index)).collect()
    };
    figures.iter().map(measure).collect()
}

/// Returns the rows of a combination: by figure, then by segment.
fn rows_of(
    combination: usize,
    at: &[usize],
    runs: &[Option<&Measured>],
    figures: usize,
) -> Vec<SweepRow> {
    let mut rows = Vec::new();
    for figure in 0..figures {
        let of_figure: Vec<&[(Option<u32>, f64)]> = runs
            .iter()
            .map(|run| run.map(|run| run[figure].as_slice()).unwrap_or_default())
            .collect();
        let mut segments: Vec<Option<u32>> = of_figure
            .iter()
            .flat_map(|values| values.iter().map(|(segment, _)| *segment))
            .collect();
        segments.sort_unstable();
        segments.dedup();
        for segment in segments {
            let value = |values: &&[(Option<u32>, f64)]| {
                values.iter().find(|(other, _)| *other == segment).map(|(_, value)| *value)
            };
            let samples: Vec<Option<f64>> = of_figure.iter().map(value).collect();
            let there: Vec<f64> = samples.iter().copied().flatten().collect();
            let (mean, interval) = mean_and_interval(&there);
            rows.push(SweepRow {
                combination,
                at: at.to_vec(),
                figure,
                segment,
                samples,
                mean,
                interval,
            });
        }
    }
    rows
}
