//! The axes of charts of a sweep: from values to places, and which places are labelled.

use crate::axis::Axis;
use crate::canvas::width_px;
use crate::chart::ChartError;
use crate::sweep_chart::content::{Content, Places, Point};
use std::ops::Range;

/// The least room between labels.
const APART_PX: i32 = 6;
/// An axis begins at zero unless the lowest figure is above this share of the highest: then differences would not show.
const ZERO_SHARE: f64 = 0.7;
/// Means that differ by less than this share are drawn as if they differed by that, so that noise does not fill a
/// chart.
const LEAST_SPAN: f64 = 0.02;

/// An interval reaches beyond the means by at most this share of the highest, or it is cut: one of two seeds may be 25
/// times as wide as these are apart, and would flatten all lines.
const INTERVAL_SHARE: f64 = 0.5;

const NOT_FROM_ZERO: &str = "The axis does not begin at zero.";
const CUT: &str = "Intervals that leave the axis are cut.";

/// The axis of the figures, the same in all panels.
pub(super) struct FigureAxis {
    pub(super) axis: Axis,
    pub(super) begins_at_zero: bool,
    /// Whether an interval leaves it.
    cuts: bool,
}

impl FigureAxis {
    pub(super) fn of(content: &Content<'_>) -> Self {
        Self::around(content.points().map(|point| (point.mean, point.row.interval)))
    }

    /// The axis of the figures along x, where that is no axis of the sweep.
    pub(super) fn across(content: &Content<'_>) -> Self {
        let across = |point: &Point<'_>| Some((point.across?.mean, point.across?.row.interval));
        Self::around(content.points().filter_map(across))
    }

    /// The axis of figures with their intervals.
    fn around(figures: impl Iterator<Item = (f64, Option<[f64; 2]>)>) -> Self {
        let figures: Vec<_> = figures.collect();
        let means = || figures.iter().map(|(mean, _)| *mean);
        let lowest = means().fold(f64::INFINITY, f64::min);
        let highest = means().fold(f64::NEG_INFINITY, f64::max);
        let span = (highest - lowest).max(LEAST_SPAN * highest.abs());
        let ends = || figures.iter().filter_map(|(_, interval)| *interval);
        let (least, most) = ends()
            .fold((lowest, highest), |(least, most), [low, high]| (least.min(low), most.max(high)));
        let room = span.max(INTERVAL_SHARE * highest.abs());
        // What is never below zero has nothing there but an interval's end.
        let floor = if lowest >= 0.0 { 0.0 } else { f64::NEG_INFINITY };
        let (low, high) = (least.max(lowest - room).max(floor), most.min(highest + room));
        let cuts = least < low || most > high;
        if low >= 0.0 && lowest <= ZERO_SHARE * highest {
            return Self { axis: Axis::from_zero_to(high), begins_at_zero: true, cuts };
        }
        if lowest == 0.0 && highest == 0.0 {
            return Self { axis: Axis::from_zero_to(0.0), begins_at_zero: true, cuts };
        }
        let half = (span - (high - low)).max(0.0) / 2.0;
        Self { axis: Axis::around(low - half, high + half), begins_at_zero: false, cuts }
    }

    /// Returns the figure, or the end of the axis that is nearest to it.
    pub(super) fn within(&self, figure: f64) -> f64 {
        let range = self.axis.range();
        figure.clamp(range.start, range.end)
    }

    /// Returns the same axis with fewer ticks, for a small panel.
    pub(super) fn with_ticks(&self, most: usize) -> Axis {
        let ticks = self.axis.ticks();
        let every = ticks.len().div_ceil(most.max(1)).max(1);
        Axis::of_range(self.axis.range(), ticks.iter().copied().step_by(every).collect())
    }

    pub(super) fn note(&self) -> Option<String> {
        let notes = [(!self.begins_at_zero).then_some(NOT_FROM_ZERO), self.cuts.then_some(CUT)];
        let notes: Vec<&str> = notes.into_iter().flatten().collect();
        (!notes.is_empty()).then(|| notes.join(" "))
    }
}

/// The axis along x.
pub(super) struct XAxis {
    /// Its name, with the unit if labels lack it.
    pub(super) words: String,
    pub(super) axis: Axis,
    /// The place of each value on it.
    positions: Vec<f64>,
    labels: Vec<String>,
}

impl XAxis {
    /// Creates an axis as long as `plot_px`, with the labels that have room.
    pub(super) fn of(places: &Places, plot_px: i32) -> Result<Self, ChartError> {
        let positions: Vec<f64> = match &places.numbers {
            Some(numbers) if places.is_logarithmic && numbers.iter().all(|it| *it > 0.0) => {
                numbers.iter().map(|number| number.log10()).collect()
            }
            Some(numbers) => numbers.clone(),
            None => (0..places.labels.len()).map(|place| place as f64).collect(),
        };
        let low = positions.iter().copied().fold(f64::INFINITY, f64::min);
        let high = positions.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let room = if high > low { (high - low) * 0.04 } else { 0.5 };
        let range = low - room..high + room;
        let (ticks, labels, words) = labelled(&positions, places, &range, plot_px)?;
        let axis = Axis::of_range(range, ticks);
        Ok(Self { words, axis, positions, labels })
    }

    pub(super) fn position(&self, place: usize) -> f64 {
        self.positions.get(place).copied().unwrap_or_default()
    }

    pub(super) fn label(&self, position: f64) -> String {
        let is_there = |other: &f64| (other - position).abs() < 1e-9;
        let found = self.positions.iter().position(is_there);
        found.and_then(|at| self.labels.get(at).cloned()).unwrap_or_default()
    }
}

/// Returns the positions whose labels do not overlap, all labels, and the words of the axis. Where not all labels fit
/// and all end in the same unit, the unit moves to the words.
pub(super) fn labelled(
    positions: &[f64],
    places: &Places,
    range: &Range<f64>,
    plot_px: i32,
) -> Result<(Vec<f64>, Vec<String>, String), ChartError> {
    let Places { labels, name, .. } = places;
    let fitting = apart(positions, labels, range, plot_px)?;
    if fitting.len() < positions.len()
        && let Some((shorter, unit)) = without_unit(labels)
    {
        let fitting = apart(positions, &shorter, range, plot_px)?;
        return Ok((fitting, shorter, format!("{name} ({unit})").trim_start().to_owned()));
    }
    Ok((fitting, labels.clone(), name.clone()))
}

/// Returns labels without the unit in which all of them end, and the unit.
fn without_unit(labels: &[String]) -> Option<(Vec<String>, String)> {
    let (_, unit) = labels.first()?.rsplit_once(' ')?;
    let shorter: Option<Vec<String>> = labels
        .iter()
        .map(|label| {
            let (number, other) = label.rsplit_once(' ')?;
            (other == unit && number.parse::<f64>().is_ok()).then(|| number.to_owned())
        })
        .collect();
    Some((shorter?, unit.to_owned()))
}

/// Returns the positions whose labels do not overlap, ascending: the first, the last, and between them those that fit.
fn apart(
    positions: &[f64],
    labels: &[String],
    range: &Range<f64>,
    plot_px: i32,
) -> Result<Vec<f64>, ChartError> {
    let place_px = |position: f64| {
        ((position - range.start) / (range.end - range.start) * f64::from(plot_px)) as i32
    };
    let mut spans = Vec::new();
    for (position, label) in positions.iter().zip(labels) {
        let half_px = width_px(label, 12)? / 2;
        let middle_px = place_px(*position);
        spans.push((*position, middle_px - half_px..middle_px + half_px));
    }
    let Some(last) = spans.last().cloned() else { return Ok(Vec::new()) };
    let mut kept: Vec<(f64, Range<i32>)> = Vec::new();
    let clear = |one: &Range<i32>, next: &Range<i32>| one.end + APART_PX <= next.start;
    for span in spans {
        let is_last = span.0 >= last.0;
        if is_last || kept.last().is_none_or(|before| clear(&before.1, &span.1)) {
            kept.push(span);
        }
    }
    // The last one is worth more than those that it would cover.
    while kept.len() > 2 && !clear(&kept[kept.len() - 2].1, &last.1) {
        kept.remove(kept.len() - 2);
    }
    Ok(kept.into_iter().map(|(position, _)| position).collect())
}
