//! A chart's axis: its range, the values that have ticks, and their labels.

use std::ops::Range;
use strewn_results::rounded;
use strewn_results::words::with_commas;

/// An axis with chosen ticks.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    range: Range<f64>,
    ticks: Vec<f64>,
}

impl Axis {
    /// Creates an axis for segments numbered `first` to `last`, with half a segment of room at both ends and at most 20
    /// ticks.
    pub(crate) fn of_segments(first: u32, last: u32) -> Self {
        let segments = first..=last;
        let every = segments.clone().count().div_ceil(20).max(1);
        Self {
            range: f64::from(first) - 0.5..f64::from(last) + 0.5,
            ticks: segments.step_by(every).map(f64::from).collect(),
        }
    }

    /// Creates an axis from the lowest to the highest of ascending `ticks`, with a little room at both ends.
    pub(crate) fn of_ticks(ticks: Vec<f64>) -> Self {
        let (first, last) = (ticks.first().copied(), ticks.last().copied());
        let (low, high) = (first.unwrap_or_default(), last.unwrap_or_default());
        let room = if high > low { (high - low) * 0.03 } else { 0.5 };
        Self { range: low - room..high + room, ticks }
    }

    /// Creates an axis with this range and these ascending ticks.
    pub(crate) const fn of_range(range: Range<f64>, ticks: Vec<f64>) -> Self {
        Self { range, ticks }
    }

    /// Creates an axis around figures from `lowest` to `highest`, which need not begin at zero, with ticks 1, 2 or 5
    /// times a power of ten apart.
    pub(crate) fn around(lowest: f64, highest: f64) -> Self {
        let span = highest - lowest;
        let span = if span > 0.0 { span } else { lowest.abs().max(1.0) * 0.1 };
        let mut step = 1.0;
        while span / step >= 10.0 {
            step *= 10.0;
        }
        while span / step < 1.0 {
            step /= 10.0;
        }
        step *= match span / step {
            ..=2.0 => 0.5,
            ..=5.0 => 1.0,
            _ => 2.0,
        };
        let range = lowest - span * 0.06..highest + span * 0.06;
        let first = (range.start / step).ceil();
        let ticks = (0..).map(|count| (first + f64::from(count)) * step);
        Self { ticks: ticks.take_while(|tick| *tick <= range.end).collect(), range }
    }

    /// Returns the values that have ticks, ascending.
    pub(crate) fn ticks(&self) -> &[f64] {
        &self.ticks
    }

    /// Creates an axis from 0 to `highest`, with the ticks of [`Axis::from_zero_to`].
    pub(crate) fn from_zero_to_just(highest: f64) -> Self {
        let Self { range, mut ticks } = Self::from_zero_to(highest);
        let end = if highest > 0.0 { highest } else { range.end };
        ticks.retain(|tick| *tick <= end);
        Self { range: 0.0..end, ticks }
    }

    /// Creates an axis of decimal logarithms around those of `lowest` and `highest`, with ticks at 1, 2 and 5 times
    /// powers of ten.
    pub(crate) fn logarithms_around(lowest: f64, highest: f64) -> Self {
        let (low, high) = (lowest.log10(), highest.log10());
        let room = ((high - low) * 0.05).max(0.05);
        let range = low - room..high + room;
        let powers = range.start.floor() as i32..=range.end.ceil() as i32;
        let ticks = powers.flat_map(|power| {
            [1.0_f64, 2.0, 5.0].map(|leading| leading.log10() + f64::from(power))
        });
        Self { ticks: ticks.filter(|tick| range.contains(tick)).collect(), range }
    }

    /// Creates the axis of [`Axis::from_zero_to`] with at most five ticks, for a low plot.
    pub(crate) fn few_from_zero_to(highest: f64) -> Self {
        let Self { range, ticks } = Self::from_zero_to(highest);
        let every = ticks.len().div_ceil(5).max(1);
        Self { range, ticks: ticks.into_iter().step_by(every).collect() }
    }

    /// Creates an axis from 0 to a little above `highest`, so that a marker there is whole. It has five to eleven
    /// ticks, 1, 2 or 5 times a power of ten apart.
    pub(crate) fn from_zero_to(highest: f64) -> Self {
        if highest <= 0.0 {
            return Self { range: 0.0..1.0, ticks: vec![0.0, 1.0] };
        }
        // Powers of ten are multiplied: logarithms may differ between machines in the last bit.
        let mut power = 1.0;
        while highest / power >= 10.0 {
            power *= 10.0;
        }
        while highest / power < 1.0 {
            power /= 10.0;
        }
        let leading = highest / power;
        let step = match leading {
            ..=2.0 => power * 0.2,
            ..=5.0 => power * 0.5,
            _ => power,
        };
        let end = highest * 1.06;
        let ticks = (0..).map(|count| f64::from(count) * step).take_while(|tick| *tick <= end);
        Self { range: 0.0..end, ticks: ticks.collect() }
    }

    /// Returns the lowest and the highest value.
    pub(crate) fn range(&self) -> Range<f64> {
        self.range.clone()
    }

    /// Returns the position of a value on an axis that is drawn between these positions.
    pub(crate) fn place(&self, value: f64, (low, high): (i32, i32)) -> i32 {
        let share = (value - self.range.start) / (self.range.end - self.range.start);
        low + (share * f64::from(high - low)).round() as i32
    }

    /// Formats the figure with a comma every three digits, and decimals only if it has any.
    pub(crate) fn format(figure: f64) -> String {
        let figure = rounded(figure, 7).to_string();
        let (whole, decimals) = figure.split_at(figure.find('.').unwrap_or(figure.len()));
        with_commas(whole) + decimals
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_figure_has_room_and_ticks_are_round() {
        for (highest, last, ticks) in [
            (5983.0, 6000.0, 7),
            (43.5, 45.0, 10),
            (1.0, 1.0, 6),
            (0.003_1, 0.003, 7),
            (99.9, 100.0, 11),
            (0.0, 1.0, 2),
        ] {
            let axis = Axis::from_zero_to(highest);
            assert!(axis.range.end > highest, "{highest}: {axis:?}");
            assert!((axis.ticks.last().unwrap() - last).abs() < 1e-9, "{highest}: {axis:?}");
            assert_eq!(axis.ticks.len(), ticks, "{highest}: {axis:?}");
        }
    }

    #[test]
    fn ticks_of_many_segments_stay_apart() {
        assert_eq!(Axis::of_segments(1, 14).ticks.len(), 14);
        assert_eq!(Axis::of_segments(1, 200).ticks.len(), 20);
    }

    #[test]
    fn figures_have_commas_by_thousands() {
        for (figure, text) in [
            (0.0, "0"),
            (500.0, "500"),
            (1000.0, "1,000"),
            (1_234_567.0, "1,234,567"),
            (0.5, "0.5"),
        ] {
            assert_eq!(Axis::format(figure), text);
        }
    }
}
