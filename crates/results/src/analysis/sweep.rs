//! What the seeds of a sweep say: means with their intervals, and which differences are larger than noise.

use crate::data::number::rounded;
use crate::data::students_t::students_t;
use crate::data::sweep::{Sweep, SweepAxis, SweepDifference, SweepFigure, SweepRow};
use std::collections::HashMap;

/// Significant digits of a mean and of the ends of its interval: two more than the figures have.
const MEAN_DIGITS: usize = 8;
/// The 97.5 % quantile of the normal distribution: that of Student's t if the standard deviation is known.
pub(crate) const NORMAL_QUANTILE: f64 = 1.959_964;
/// Of so many differences or correlations that are nothing, one looks like something by chance.
const ONE_BY_CHANCE: usize = 20;

/// Returns the mean of samples, and the interval that holds the true mean with 95 % probability if the samples are
/// independent and normally distributed. No mean of no samples; no interval of fewer than two.
///
/// ```
/// let (mean, interval) = strewn_results::mean_and_interval(&[990.0, 1000.0, 1010.0]);
/// assert_eq!(mean, Some(1000.0));
/// // 4.302653 standard errors of 10 / sqrt(3).
/// assert_eq!(interval, Some([975.15862, 1024.8414]));
/// ```
#[must_use]
pub fn mean_and_interval(samples: &[f64]) -> (Option<f64>, Option<[f64; 2]>) {
    if samples.is_empty() {
        return (None, None);
    }
    let count = samples.len() as f64;
    let mean = samples.iter().sum::<f64>() / count;
    let interval = students_t(samples.len() - 1).map(|quantile| {
        let squares: f64 = samples.iter().map(|sample| (sample - mean) * (sample - mean)).sum();
        let standard_error = (squares / (count - 1.0) / count).sqrt();
        [-1.0, 1.0].map(|sign| rounded(mean + sign * quantile * standard_error, MEAN_DIGITS))
    });
    (Some(rounded(mean, MEAN_DIGITS)), interval)
}

/// Returns what each value of each axis changes beside the axis' first value, all other axes being equal: by axis, then
/// by figure, then by combination.
///
/// Samples are paired by their position, that is by seed: a seed that either side lacks is left out of both, also of
/// the mean that the percentage is of. Figures by segment and combinations without a partner have no difference.
#[must_use]
pub fn differences(
    axes: &[SweepAxis],
    figures: &[SweepFigure],
    rows: &[SweepRow],
) -> Vec<SweepDifference> {
    let by_place: HashMap<(&[usize], usize), &SweepRow> =
        rows.iter().map(|row| ((&row.at[..], row.figure), row)).collect();
    let mut found = Vec::new();
    for axis in 0..axes.len() {
        for figure in (0..figures.len()).filter(|figure| !figures[*figure].by_segment) {
            let of_figure = rows.iter().filter(|row| row.figure == figure);
            found.extend(of_figure.filter_map(|row| {
                let mut at = row.at.clone();
                let value = at.get_mut(axis).filter(|value| **value > 0)?;
                *value = 0;
                difference(axis, row, by_place.get(&(&at[..], figure))?)
            }));
        }
    }
    found
}

/// Returns what `row` has more than `first`; none if they share no seed.
fn difference(axis: usize, row: &SweepRow, first: &SweepRow) -> Option<SweepDifference> {
    let paired: Vec<(f64, f64)> = (row.samples.iter().zip(&first.samples))
        .filter_map(|(here, there)| Some(((*here)?, (*there)?)))
        .collect();
    let by_seed: Vec<f64> = paired.iter().map(|(here, there)| here - there).collect();
    let (mean, interval) = mean_and_interval(&by_seed);
    let mean = mean?;
    let of_first = paired.iter().map(|(_, there)| there).sum::<f64>() / paired.len() as f64;
    Some(SweepDifference {
        axis,
        figure: row.figure,
        combinations: [row.combination, first.combination],
        mean,
        percent: (of_first != 0.0).then(|| rounded(100.0 * mean / of_first, MEAN_DIGITS)),
        interval,
        larger_than_noise: interval.map(|[low, high]| low > 0.0 || high < 0.0),
    })
}

/// Returns in words how many of so many intervals of 95 % leave out a zero that is true.
pub fn by_chance(all: usize) -> String {
    match (all + ONE_BY_CHANCE / 2) / ONE_BY_CHANCE {
        0 => "fewer than one".to_owned(),
        count => format!("about {count}"),
    }
}

/// Returns how many differences of a sweep are larger than noise, and how many would look so by chance; none if no
/// difference was measured with two seeds or more.
///
/// One in 20 intervals of 95 % leaves out a true difference of zero. So of many differences some look larger than noise
/// that are not, and a reader should know how many. A difference that is zero with every seed is of a setting that
/// cannot reach the figure, such as one of another array: chance has no part in it, so it is not counted.
#[must_use]
pub fn noise_sentence(sweep: &Sweep) -> Option<String> {
    let (mut all, mut larger, mut nothing) = (0_usize, 0_usize, 0_usize);
    for difference in &sweep.differences {
        match difference.larger_than_noise {
            None => {}
            Some(_) if difference.interval == Some([0.0, 0.0]) => nothing += 1,
            Some(is_larger) => {
                all += 1;
                larger += usize::from(is_larger);
            }
        }
    }
    if all + nothing == 0 {
        return None;
    }
    let without = match nothing {
        0 => String::new(),
        1 => " 1 more is zero with every seed, and is not counted.".to_owned(),
        count => format!(" {count} more are zero with every seed, and are not counted."),
    };
    if all == 0 {
        return Some("All differences are zero with every seed.".to_owned());
    }
    let differences = if all == 1 { "difference is" } else { "differences are" };
    let by_chance = by_chance(all);
    Some(format!(
        "{larger} of {all} {differences} larger than noise; if nothing had any effect, {by_chance} would look so by chance \
         (5 %).{without}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_printed_tables() {
        // Abramowitz and Stegun, "Handbook of Mathematical Functions" (1964), table 26.10, column 0.95.
        for (degrees, tabulated) in [
            (1, 12.706),
            (2, 4.303),
            (3, 3.182),
            (4, 2.776),
            (5, 2.571),
            (7, 2.365),
            (10, 2.228),
            (15, 2.131),
            (20, 2.086),
            (29, 2.045),
            (30, 2.042),
            (40, 2.021),
            (60, 2.000),
            (120, 1.980),
            (1_000_000, 1.960),
        ] {
            let quantile = students_t(degrees).unwrap();
            assert!((quantile - tabulated).abs() <= 0.0005, "{degrees}: {quantile}");
        }
        assert_eq!(students_t(0), None);
    }

    #[test]
    fn few_samples_have_no_interval() {
        assert_eq!(mean_and_interval(&[]), (None, None));
        assert_eq!(mean_and_interval(&[5.0]), (Some(5.0), None));
        // Half the distance times the quantile of one degree of freedom.
        assert_eq!(mean_and_interval(&[9.0, 11.0]), (Some(10.0), Some([-2.7062, 22.7062])));
        assert_eq!(mean_and_interval(&[7.5; 4]), (Some(7.5), Some([7.5, 7.5])));
    }
}
