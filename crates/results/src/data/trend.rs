//! Whether a figure still changes: the least-squares line through segments, and its 95 % interval.

use crate::data::students_t::students_t;

/// Fewer segments than these say nothing of a trend's interval.
pub(crate) const LEAST_SEGMENTS: usize = 8;

/// A line through points.
struct Line {
    mean: f64,
    /// From the first point to the last.
    change: f64,
    /// Half the width of the 95 % interval of the change, as if what the line leaves were independent and normally
    /// distributed; none of two points.
    half_width: Option<f64>,
}

/// Returns what the line through points of time and figure changes from the first to the last, percent of their mean;
/// none of fewer than two points, or if their mean is zero.
pub(crate) fn percent(points: &[(f64, f64)]) -> Option<f64> {
    let line = line(points)?;
    (line.mean != 0.0).then(|| 100.0 * line.change / line.mean)
}

/// Returns how many points come before those whose line has a change that is not distinguishable from zero; none if
/// that is true of no [`LEAST_SEGMENTS`] or more at the end.
pub(crate) fn steady_after(points: &[(f64, f64)]) -> Option<usize> {
    level_after(points, |change, half_width, _| change <= half_width)
}

/// Returns how many points come before those, [`LEAST_SEGMENTS`] or more at the end, whose line is level by its change,
/// half of the interval of that, and its mean.
fn level_after(points: &[(f64, f64)], is_level: impl Fn(f64, f64, f64) -> bool) -> Option<usize> {
    let last = points.len().checked_sub(LEAST_SEGMENTS)?;
    (0..=last).find(|first| {
        let line = line(&points[*first..]);
        let level =
            line.and_then(|line| Some(is_level(line.change.abs(), line.half_width?, line.mean)));
        level.unwrap_or(false)
    })
}

/// Figures whose trend may be larger than this share of their mean are not steady.
const STEADY_SHARE: f64 = 0.03;

/// Returns whether figures of equal segments, all or the last eight or more of them, have no trend: the 95 % interval
/// of what the line through them changes holds zero, and nothing beyond 3 % of their mean. Without the second, a figure
/// that begins to fall is steady, because it is far from any line.
#[must_use]
pub fn is_steady(figures: &[f64]) -> bool {
    let points: Vec<(f64, f64)> =
        figures.iter().enumerate().map(|(at, figure)| (at as f64, *figure)).collect();
    let steady = level_after(&points, |change, half_width, mean| {
        change <= half_width && change + half_width <= STEADY_SHARE * mean
    });
    steady.is_some()
}

fn line(points: &[(f64, f64)]) -> Option<Line> {
    let (first, last) = (points.first()?.0, points.last()?.0);
    let count = points.len() as f64;
    let mean_time = points.iter().map(|(time, _)| time).sum::<f64>() / count;
    let mean = points.iter().map(|(_, figure)| figure).sum::<f64>() / count;
    let spread: f64 = points.iter().map(|(time, _)| (time - mean_time).powi(2)).sum();
    if spread <= 0.0 {
        return None;
    }
    let together = points.iter().map(|(time, figure)| (time - mean_time) * (figure - mean));
    let slope = together.sum::<f64>() / spread;
    let residuals = points.iter().map(|(time, figure)| {
        let residual = figure - mean - slope * (time - mean_time);
        residual * residual
    });
    let squares: f64 = residuals.sum();
    let half_width = points.len().checked_sub(2).and_then(students_t).map(|quantile| {
        let of_slope = (squares / (count - 2.0) / spread).sqrt();
        quantile * of_slope * (last - first)
    });
    Some(Line { mean, change: slope * (last - first), half_width })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(figures: impl IntoIterator<Item = f64>) -> Vec<(f64, f64)> {
        figures.into_iter().enumerate().map(|(index, figure)| (index as f64, figure)).collect()
    }

    #[test]
    fn a_line_has_the_trend_that_it_was_drawn_with() {
        // From 110 to 90 around 100.
        let drawn = points((0..=10).map(|index| 110.0 - 2.0 * f64::from(index)));
        let percent = percent(&drawn).unwrap();
        assert!((percent + 20.0).abs() < 1e-9, "{percent}");
        assert_eq!(steady_after(&drawn), None);
    }

    /// Computed apart, with numpy: slope -0.113095, standard error 0.050848, times the quantile for six degrees.
    #[test]
    fn an_interval_is_that_of_a_known_regression() {
        let known = points([5.1, 4.7, 5.3, 4.6, 4.9, 4.2, 4.8, 4.1]);
        let line = line(&known).unwrap();
        let (change, half_width) = (line.change / 7.0, line.half_width.unwrap() / 7.0);
        assert!((change + 0.113_095_238).abs() < 1e-9, "{change}");
        assert!((half_width - 0.124_420_28).abs() < 1e-6, "{half_width}");
    }

    #[test]
    fn what_falls_and_then_stays_is_steady_from_there_on() {
        let falls = (0..20).map(|index| 100.0 - f64::from(index));
        let stays = (0..20).map(|index| if index % 2 == 0 { 80.5 } else { 79.5 });
        let steady = steady_after(&points(falls.chain(stays))).unwrap();
        assert!((18..=20).contains(&steady), "{steady}");
    }

    #[test]
    fn few_segments_are_never_steady() {
        assert_eq!(steady_after(&points([1.0; 7])), None);
        assert_eq!(steady_after(&points([1.0; 8])), Some(0));
        assert_eq!(percent(&points([1.0])), None);
        assert_eq!(percent(&points([0.0, 0.0])), None);
    }
}
