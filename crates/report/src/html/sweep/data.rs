//! The figures of a sweep as its page has them: without samples, and without names in every row.

use crate::sweep_design::SweepDesign;
use serde::Serialize;
use strewn_results::Sweep;

/// A sweep, for the script.
#[derive(Serialize)]
pub(super) struct SweepData<'a> {
    axes: Vec<AxisData<'a>>,
    figures: Vec<FigureData<'a>>,
    /// The value of each axis in each combination.
    at: Vec<&'a [usize]>,
    rows: Vec<RowData>,
}

#[derive(Serialize)]
struct AxisData<'a> {
    name: &'a str,
    log: bool,
    labels: Vec<&'a str>,
    /// None if they are words.
    numbers: Option<Vec<f64>>,
}

#[derive(Serialize)]
struct FigureData<'a> {
    array: &'a str,
    quantity: &'a str,
    unit: &'a str,
    /// Whether it is in percent of another figure of its kind.
    share: bool,
    by_segment: bool,
}

/// Combination, figure, segment, mean, and the ends of its interval.
type RowData = (usize, usize, Option<u32>, f64, Option<f64>, Option<f64>);

impl<'a> SweepData<'a> {
    pub(super) fn of(sweep: &'a Sweep, design: &SweepDesign<'a>) -> Self {
        let axes = sweep.axes.iter().map(|axis| AxisData {
            name: &axis.name,
            log: axis.is_logarithmic,
            labels: axis.values.iter().map(|value| value.label.as_str()).collect(),
            numbers: axis.values.iter().map(|value| value.number).collect(),
        });
        let figures = sweep.figures.iter().map(|figure| FigureData {
            array: &figure.of.array,
            quantity: &figure.quantity,
            unit: &figure.unit,
            share: figure.of.over.is_some() || figure.of.over_segment.is_some(),
            by_segment: figure.by_segment,
        });
        let rows = sweep.rows.iter().filter_map(|row| {
            let [low, high] = row.interval.map_or([None; 2], |ends| ends.map(Some));
            Some((
                row.combination,
                row.figure,
                row.segment,
                row.mean.filter(|mean| mean.is_finite())?,
                low,
                high,
            ))
        });
        Self {
            axes: axes.collect(),
            figures: figures.collect(),
            at: (0..design.len()).map(|combination| design.at(combination)).collect(),
            rows: rows.collect(),
        }
    }
}
