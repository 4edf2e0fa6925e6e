//! Sweeps of each shape, with figures from a formula.

use strewn_results::{
    AxisValue, FigureMetric, FigureOf, SWEEP_SCHEMA, Statistic, Sweep, SweepAxis, SweepBase,
    SweepFigure, SweepRow, differences, mean_and_interval,
};

/// An axis of plain numbers.
pub(crate) fn numbers(name: &str, unit: &str, values: &[f64]) -> SweepAxis {
    let label = |value: &f64| format!("{value} {unit}").trim().to_owned();
    let value = |value: &f64| AxisValue { label: label(value), number: Some(*value) };
    SweepAxis {
        name: name.to_owned(),
        setting: name.to_owned(),
        unit: unit.to_owned(),
        is_logarithmic: false,
        values: values.iter().map(value).collect(),
    }
}

/// An axis of words.
pub(crate) fn words(name: &str, values: &[&str]) -> SweepAxis {
    let value = |label: &&str| AxisValue { label: (*label).to_owned(), number: None };
    SweepAxis {
        name: name.to_owned(),
        setting: String::new(),
        unit: String::new(),
        is_logarithmic: false,
        values: values.iter().map(value).collect(),
    }
}

/// A figure of an array.
pub(crate) fn figure(array: &str, quantity: &str, metric: FigureMetric) -> SweepFigure {
    let of = FigureOf {
        array: array.to_owned(),
        phase: None,
        segment: None,
        workload: None,
        link: None,
        metric,
        statistic: Statistic::MEAN,
        over: None,
        over_segment: None,
    };
    SweepFigure {
        name: format!("{array}: {quantity}"),
        quantity: quantity.to_owned(),
        unit: of.unit().to_owned(),
        of,
        by_segment: false,
    }
}

/// IOPS of two arrays.
pub(crate) fn iops() -> Vec<SweepFigure> {
    let of = |array| figure(array, "IOPS, last segment", FigureMetric::IOPS);
    vec![of("FAS2050"), of("CX3")]
}

/// A sweep with these combinations, whose figures follow from a formula: each step of axis `a` takes `a + 1` percent,
/// each figure is half as high as the one before it, and each seed adds a little.
pub(crate) fn sweep_of(
    axes: Vec<SweepAxis>,
    figures: Vec<SweepFigure>,
    combinations: &[Vec<usize>],
    seeds: u64,
) -> Sweep {
    let mut rows = Vec::new();
    for (combination, at) in combinations.iter().enumerate() {
        for (figure, of) in figures.iter().enumerate() {
            let segments: Vec<Option<u32>> =
                if of.by_segment { (1..=6).map(Some).collect() } else { vec![None] };
            for segment in segments {
                let mut value = 4000.0 / (figure + 1) as f64;
                for (axis, position) in at.iter().enumerate() {
                    value *= 1.0 - (axis + 1) as f64 / 100.0 * *position as f64;
                }
                value *= 1.0 - 0.02 * f64::from(segment.unwrap_or_default());
                let sample = |seed: u64| {
                    let noise = ((seed * 7 + combination as u64 * 3 + figure as u64) % 5) as f64;
                    Some(strewn_results::rounded(value + noise, 6))
                };
                rows.push(row(combination, at, figure, segment, (1..=seeds).map(sample).collect()));
            }
        }
    }
    let differences = differences(&axes, &figures, &rows);
    Sweep {
        schema: SWEEP_SCHEMA,
        study: "small".to_owned(),
        title: "Does it matter?".to_owned(),
        strewn: "0.1.0".to_owned(),
        scale_down: 8,
        seeds: (1..=seeds).collect(),
        confidence_percent: 95.0,
        base: SweepBase::default(),
        axes,
        figures,
        rows,
        differences,
        missing: Vec::new(),
    }
}

/// A row with its mean and interval.
pub(crate) fn row(
    combination: usize,
    at: &[usize],
    figure: usize,
    segment: Option<u32>,
    samples: Vec<Option<f64>>,
) -> SweepRow {
    let there: Vec<f64> = samples.iter().copied().flatten().collect();
    let (mean, interval) = mean_and_interval(&there);
    SweepRow { combination, at: at.to_vec(), figure, segment, samples, mean, interval }
}

/// All combinations of the values of axes, the last axis fastest.
pub(crate) fn grid(axes: &[SweepAxis]) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for axis in axes {
        let longer = |at: Vec<usize>| {
            (0..axis.values.len()).map(move |value| {
                let mut at = at.clone();
                at.push(value);
                at
            })
        };
        all = all.into_iter().flat_map(longer).collect();
    }
    all
}

/// A grid of IOPS of two arrays with three seeds.
pub(crate) fn grid_sweep(axes: Vec<SweepAxis>) -> Sweep {
    let combinations = grid(&axes);
    sweep_of(axes, iops(), &combinations, 3)
}
